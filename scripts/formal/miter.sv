// SPDX-License-Identifier: MIT
// An RTL module of two operands beside its reference. What is to be proven: differ_o is never 1.
// The macros MODULE and REFERENCE name the two. With FAST the module is built for speed.

module miter #(
  /// Width of the exponent field.
  parameter  int unsigned EXP_BITS   = 5,
  /// Width of the trailing significand field.
  parameter  int unsigned MAN_BITS   = 10,
  /// 1: gradual underflow; 0: subnormal numbers are flushed to zero.
  parameter  int unsigned SUBNORMALS = 1,
  localparam int unsigned WIDTH      = 1 + EXP_BITS + MAN_BITS
) (
  /// First operand.
  input  logic [WIDTH-1:0] a_i,
  /// Second operand.
  input  logic [WIDTH-1:0] b_i,
  /// Result of the RTL.
  output logic [WIDTH-1:0] rtl_o,
  /// Result of the reference.
  output logic [WIDTH-1:0] reference_o,
  /// The results differ.
  output logic             differ_o
);

  `MODULE #(
`ifdef FAST
    .FAST       (1),
`endif
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS),
    .STAGES     (0)
  ) u_rtl (
    .clk_i(1'b0), .rst_ni(1'b1), .a_i, .b_i, .result_o(rtl_o)
  );

  `REFERENCE #(
    .EXP_BITS   (EXP_BITS),
    .MAN_BITS   (MAN_BITS),
    .SUBNORMALS (SUBNORMALS)
  ) u_reference (
    .a_i, .b_i, .result_o(reference_o)
  );

  assign differ_o = rtl_o != reference_o;

endmodule
