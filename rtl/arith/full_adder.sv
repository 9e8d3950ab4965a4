// SPDX-License-Identifier: MIT
// A full adder: three bits of one weight make one of it and one of twice the weight.
//
// A cell of the library takes this module's place, if it has one: synthesis, which finds the gates of
// an adder by itself, does not find the cell again, and the gates are half as large again.

module full_adder (
  /// Bits of one weight.
  input  logic a_i,
  input  logic b_i,
  input  logic c_i,
  /// The bit of their weight.
  output logic sum_o,
  /// The bit of twice their weight.
  output logic carry_o
);

  assign sum_o   = a_i ^ b_i ^ c_i;
  assign carry_o = (a_i && b_i) || (c_i && (a_i || b_i));

endmodule
