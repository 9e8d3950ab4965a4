// SPDX-License-Identifier: MIT
// The sums of the context on their way to the host: eight at a time from the adder unit, one of each chip,
// one by one in each tCK from then on.
//
//   tCK       0    1    2   ...  7    8
//   push_i    a                       b
//   valid_o   1    1    1        1    1
//   data_o    a0   a1   a2       a7   b0
//
// Eight sums come in five tCK at the most, and leave in eight: of rows that follow each other without a gap
// three in eight wait. Eight heads of 256 elements are 256 rows, so that 128 places are enough.

module old_context_queue #(
  /// Rows of eight sums, a power of two, 2 or more.
  parameter int unsigned DEPTH = 128
) (
  /// Clock: tCK.
  input  logic             clk_i,
  /// Asynchronous reset, active low: nothing waits.
  input  logic             rst_ni,
  /// Eight sums enter.
  input  logic             push_i,
  /// The sums.
  input  logic [7:0][15:0] sums_i,
  /// There is a sum.
  output logic             valid_o,
  /// The oldest; it leaves with the end of the tCK.
  output logic [15:0]      data_o
);

  logic             waiting;
  logic [7:0][15:0] oldest, row;
  logic [2:0]       index_d, index_q;

  fifo #(.WIDTH(128), .DEPTH(DEPTH)) u_rows (
    .clk_i,
    .rst_ni,
    .push_i,
    .data_i  (sums_i),
    .pop_i   (waiting && index_q == '1),
    .valid_o (waiting),
    .data_o  (oldest)
  );

  // A row that finds none before it begins at once, and is in the queue from the next tCK on.
  assign row     = waiting ? oldest : sums_i;
  assign valid_o = waiting || push_i;
  assign data_o  = valid_o ? row[index_q] : '0;
  assign index_d = valid_o ? index_q + 3'd1 : index_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) index_q <= '0;
    else         index_q <= index_d;
  end

endmodule
