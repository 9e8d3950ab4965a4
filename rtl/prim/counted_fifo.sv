// SPDX-License-Identifier: MIT
// A fifo that says how many entries it has, and whether there is room for another.
//
//   clock     0    1    2    3
//   push_i    a    b    0    0
//   pop_i     0    0    1    0
//   count_o   0    1    2    1
//   valid_o   0    1    1    1
//   data_o         a    a    b

module counted_fifo #(
  /// Width of an entry.
  parameter  int unsigned WIDTH      = 8,
  /// Entries, a power of two, 2 or more. More than sixteen are a memory.
  parameter  int unsigned DEPTH      = 16,
  localparam int unsigned COUNT_BITS = $clog2(DEPTH) + 1
) (
  /// Clock.
  input  logic                  clk_i,
  /// Asynchronous reset, active low: empty.
  input  logic                  rst_ni,
  /// data_i enters. Only where ready_o is set.
  input  logic                  push_i,
  /// The entry.
  input  logic [WIDTH-1:0]      data_i,
  /// The oldest entry leaves. Only where valid_o is set.
  input  logic                  pop_i,
  /// There is room.
  output logic                  ready_o,
  /// There is an entry.
  output logic                  valid_o,
  /// Entries.
  output logic [COUNT_BITS-1:0] count_o,
  /// The oldest entry.
  output logic [WIDTH-1:0]      data_o
);

  logic [COUNT_BITS-1:0] count_d, count_q;

  fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_fifo (.clk_i, .rst_ni, .push_i, .data_i, .pop_i, .valid_o, .data_o);

  assign count_d = count_q + COUNT_BITS'(push_i) - COUNT_BITS'(pop_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else         count_q <= count_d;
  end

  assign ready_o = !count_q[COUNT_BITS-1];
  assign count_o = count_q;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
