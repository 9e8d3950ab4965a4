// SPDX-License-Identifier: MIT
// A queue of two entries between a port and the controller: takes and gives one in every clock,
// with ready_o from registers alone.
//
//   clock     0    1    2
//   push_i    a    0    0
//   valid_o   0    1    0
//   data_o         a
//   pop_i          1

module skid_buffer #(
  /// Width of an entry.
  parameter int unsigned WIDTH = 8
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// data_i enters. Only where ready_o is set.
  input  logic             push_i,
  /// The entry.
  input  logic [WIDTH-1:0] data_i,
  /// There is room.
  output logic             ready_o,
  /// The oldest entry leaves. Only where valid_o is set.
  input  logic             pop_i,
  /// There is an entry.
  output logic             valid_o,
  /// The oldest entry.
  output logic [WIDTH-1:0] data_o
);

  // Entry 0 is the oldest.
  logic [1:0]            count_d, count_q;
  logic [1:0][WIDTH-1:0] entry_d, entry_q;

  always_comb begin
    count_d = count_q + 2'(push_i) - 2'(pop_i);
    entry_d = entry_q;
    if (pop_i) entry_d[0] = entry_q[1];
    if (push_i) entry_d[count_q[0] && !pop_i] = data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      entry_q <= '0;
    end else begin
      count_q <= count_d;
      entry_q <= entry_d;
    end
  end

  assign ready_o = !count_q[1];
  assign valid_o = count_q != '0;
  assign data_o  = entry_q[0];

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);

endmodule
