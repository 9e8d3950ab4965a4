// SPDX-License-Identifier: MIT
// A queue whose users know that there is room: takes and gives one entry in every clock.
//
//   clock     0    1    2
//   push_i    a    b    0
//   valid_o   0    1    1
//   data_o         a    b
//   pop_i          1
//
// The entries are a memory, which is not reset.

module fifo #(
  /// Width of an entry.
  parameter int unsigned WIDTH = 8,
  /// Entries, a power of two, 2 or more.
  parameter int unsigned DEPTH = 16
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low: empty.
  input  logic             rst_ni,
  /// data_i enters. Only where there is room.
  input  logic             push_i,
  /// The entry.
  input  logic [WIDTH-1:0] data_i,
  /// The oldest entry leaves. Only where valid_o is set.
  input  logic             pop_i,
  /// There is an entry.
  output logic             valid_o,
  /// The oldest entry.
  output logic [WIDTH-1:0] data_o
);

  localparam int unsigned INDEX_BITS = $clog2(DEPTH);

  // One bit more than an index, to tell full from empty.
  logic [INDEX_BITS:0] head_d, head_q, tail_d, tail_q;
  logic [WIDTH-1:0]    entries_q [DEPTH];

  assign head_d = head_q + (INDEX_BITS + 1)'(pop_i);
  assign tail_d = tail_q + (INDEX_BITS + 1)'(push_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
    end else begin
      head_q <= head_d;
      tail_q <= tail_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) entries_q[tail_q[INDEX_BITS-1:0]] <= data_i;
  end

  assign valid_o = head_q != tail_q;
  assign data_o  = entries_q[head_q[INDEX_BITS-1:0]];

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
