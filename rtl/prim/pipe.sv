// SPDX-License-Identifier: MIT
// A pipeline register that a parameter turns into a wire.

module pipe #(
  /// Width of the data.
  parameter int unsigned WIDTH   = 1,
  /// 1: a register; 0: a wire.
  parameter bit          ENABLED = 1'b1,
  /// 1: the register is 0 after reset; 0: it has no reset.
  parameter bit          RESET   = 1'b0
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// Data in.
  input  logic [WIDTH-1:0] data_i,
  /// Data out, a clock later or at once.
  output logic [WIDTH-1:0] data_o
);

  if (ENABLED && !RESET) begin : gen_open
    logic [WIDTH-1:0] data_q;
    logic             unused_reset;

    always_ff @(posedge clk_i) begin
      data_q <= data_i;
    end

    assign unused_reset = rst_ni;
    assign data_o       = data_q;
  end else if (ENABLED) begin : gen_register
    logic [WIDTH-1:0] data_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) data_q <= '0;
      else         data_q <= data_i;
    end

    assign data_o = data_q;
  end else begin : gen_wire
    logic unused_clock;

    assign unused_clock = &{1'b0, clk_i, rst_ni};
    assign data_o       = data_i;
  end

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);

endmodule
