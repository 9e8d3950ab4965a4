// SPDX-License-Identifier: MIT
// A queue of requests: an entry is sent, and keeps its room until it is done. Both happen in the order of the
// entries.
//
//   cycle          0    1    2    3    4    5    6    7
//   push_i         a    b
//   fetched                  a    b    b
//   next_valid_o   0    0    0    1    1    1    0    0
//   next_o                        a    a    b               the first that is not sent, a register
//   send_i                             1    1
//   empty_o        1    0    0    0    0    0    0    1
//   done_i                                  1    1
//
// The entries are in a memory. The first two that are not sent are read ahead: one is in next_o, one in the
// memory's own output register. So an entry is in next_o three cycles after it has entered, and in the cycle
// after the one before it is sent, whichever is later. An entry may be sent and done in the same cycle.

module request_queue #(
  /// Width of an entry.
  parameter int unsigned WIDTH = 8,
  /// Entries, a power of two, 2 or more.
  parameter int unsigned DEPTH = 16
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low: empty.
  input  logic             rst_ni,
  /// data_i enters. Only where ready_o is set.
  input  logic             push_i,
  /// The entry.
  input  logic [WIDTH-1:0] data_i,
  /// The next is sent. Only where next_valid_o is set.
  input  logic             send_i,
  /// The oldest is done. Only where it is sent, in this cycle at the latest.
  input  logic             done_i,
  /// There is room.
  output logic             ready_o,
  /// There is no entry that is not done.
  output logic             empty_o,
  /// There is one entry that is not done.
  output logic             single_o,
  /// The first that is not sent is in next_o.
  output logic             next_valid_o,
  /// The first that is not sent.
  output logic [WIDTH-1:0] next_o
);

  localparam int unsigned INDEX_BITS = $clog2(DEPTH);

  typedef logic [INDEX_BITS-1:0] index_t;

  // One bit more than an index, to tell full from empty.
  logic [INDEX_BITS:0] head_d, head_q, read_d, read_q, tail_d, tail_q, count;
  logic                reads, loads, fetched_d, fetched_q, next_valid_d, next_valid_q;
  logic [WIDTH-1:0]    fetched, next_d, next_q;

  assign loads = fetched_q && (!next_valid_q || send_i);
  assign reads = read_q != tail_q && (!fetched_q || loads);

  ram_1r1w #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_entries (
    .clk_i,
    .write_i         (push_i),
    .write_address_i (index_t'(tail_q)),
    .data_i,
    .read_i          (reads),
    .read_address_i  (index_t'(read_q)),
    .data_o          (fetched)
  );

  assign head_d       = head_q + (INDEX_BITS + 1)'(done_i);
  assign read_d       = read_q + (INDEX_BITS + 1)'(reads);
  assign tail_d       = tail_q + (INDEX_BITS + 1)'(push_i);
  assign fetched_d    = reads || fetched_q && !loads;
  assign next_valid_d = loads || next_valid_q && !send_i;
  assign next_d       = loads ? fetched : next_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q       <= '0;
      read_q       <= '0;
      tail_q       <= '0;
      fetched_q    <= 1'b0;
      next_valid_q <= 1'b0;
    end else begin
      head_q       <= head_d;
      read_q       <= read_d;
      tail_q       <= tail_d;
      fetched_q    <= fetched_d;
      next_valid_q <= next_valid_d;
    end
  end

  always_ff @(posedge clk_i) next_q <= next_d;

  assign count        = tail_q - head_q;
  assign ready_o      = !count[INDEX_BITS];
  assign empty_o      = count == '0;
  assign single_o     = count == (INDEX_BITS + 1)'(1);
  assign next_valid_o = next_valid_q;
  assign next_o       = next_q;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
