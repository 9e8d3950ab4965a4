// SPDX-License-Identifier: MIT
// A delay line of a number of clocks, which may be none.

module relayout_delay #(
  /// Width of the data.
  parameter int unsigned WIDTH  = 1,
  /// Clocks of delay; 0: a wire.
  parameter int unsigned CLOCKS = 1
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Data in.
  input  logic [WIDTH-1:0] data_i,
  /// Data out, CLOCKS later.
  output logic [WIDTH-1:0] data_o
);

  if (CLOCKS > 0) begin : gen_line
    logic [CLOCKS-1:0][WIDTH-1:0] line_d, line_q;

    always_comb begin
      line_d    = line_q << WIDTH;
      line_d[0] = data_i;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) line_q <= '0;
      else         line_q <= line_d;
    end

    assign data_o = line_q[CLOCKS-1];
  end else begin : gen_wire
    logic unused_clock;

    assign unused_clock = &{1'b0, clk_i, rst_ni};
    assign data_o       = data_i;
  end

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);

endmodule
