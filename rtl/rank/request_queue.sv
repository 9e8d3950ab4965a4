// SPDX-License-Identifier: MIT
// A queue of requests: an entry is sent, and stays until it is done. Both happen in the order of the
// entries.
//
//   cycle          0    1    2    3    4    5
//   push_i         a    b
//   next_o              a    b    b              the first that is not sent
//   send_i              1         1
//   oldest_o            a    a    a    a    b    the first that is not done
//   done_i                             1
//
// An entry may be sent and done in the same cycle. The entries are a memory, which is not reset.

module request_queue #(
  /// Width of an entry.
  parameter  int unsigned WIDTH       = 8,
  /// Entries, a power of two, 2 or more.
  parameter  int unsigned DEPTH       = 16,
  /// Bits of an entry, from the bottom, that can be searched for.
  parameter  int unsigned SEARCH_BITS = 1
) (
  /// Clock.
  input  logic                   clk_i,
  /// Asynchronous reset, active low: empty.
  input  logic                   rst_ni,
  /// data_i enters. Only where ready_o is set.
  input  logic                   push_i,
  /// The entry.
  input  logic [WIDTH-1:0]       data_i,
  /// The next is sent. Only where next_valid_o is set.
  input  logic                   send_i,
  /// The oldest is done. Only where it is sent, in this cycle at the latest.
  input  logic                   done_i,
  /// What is searched for.
  input  logic [SEARCH_BITS-1:0] search_i,
  /// There is room.
  output logic                   ready_o,
  /// There is no entry.
  output logic                   empty_o,
  /// An entry is not sent.
  output logic                   next_valid_o,
  /// The first that is not sent.
  output logic [WIDTH-1:0]       next_o,
  /// The first that is not done.
  output logic [WIDTH-1:0]       oldest_o,
  /// An entry is sent and not done.
  output logic                   sent_o,
  /// An entry has the bits that are searched for.
  output logic                   found_o
);

  localparam int unsigned INDEX_BITS = $clog2(DEPTH);

  typedef logic [INDEX_BITS-1:0] index_t;

  // One bit more than an index, to tell full from empty.
  logic [INDEX_BITS:0] head_d, head_q, next_d, next_q, tail_d, tail_q, count;
  logic [WIDTH-1:0]    entries_q [DEPTH];
  logic [DEPTH-1:0]    matched;

  assign head_d = head_q + (INDEX_BITS + 1)'(done_i);
  assign next_d = next_q + (INDEX_BITS + 1)'(send_i);
  assign tail_d = tail_q + (INDEX_BITS + 1)'(push_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      next_q <= '0;
      tail_q <= '0;
    end else begin
      head_q <= head_d;
      next_q <= next_d;
      tail_q <= tail_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) entries_q[index_t'(tail_q)] <= data_i;
  end

  assign count        = tail_q - head_q;
  assign ready_o      = count != (INDEX_BITS + 1)'(DEPTH);
  assign empty_o      = count == '0;
  assign sent_o       = next_q != head_q;
  assign next_valid_o = next_q != tail_q;
  assign next_o       = entries_q[index_t'(next_q)];
  assign oldest_o     = entries_q[index_t'(head_q)];

  for (genvar e = 0; e < DEPTH; e++) begin : gen_match
    index_t place;  // behind the oldest

    assign place      = index_t'(e) - index_t'(head_q);
    assign matched[e] = {1'b0, place} < count && entries_q[e][SEARCH_BITS-1:0] == search_i;
  end

  assign found_o = matched != '0;

  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);
  if (SEARCH_BITS == 0 || SEARCH_BITS > WIDTH)
    $fatal(1, "WIDTH, SEARCH_BITS = %0d, %0d: expected 1 to WIDTH bits", WIDTH, SEARCH_BITS);

endmodule
