// SPDX-License-Identifier: MIT
// Checker of ram_1p, which has no reset: there is such a word.

`ifndef SYNTHESIS

module ram_1p_checks #(
  /// Words.
  parameter  int unsigned DEPTH        = 16,
  localparam int unsigned ADDRESS_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
  input logic                    clk_i,
  input logic                    write_i,
  input logic                    read_i,
  input logic [ADDRESS_BITS-1:0] address_i
);

  assert_address : assert property (@(posedge clk_i)
    (!write_i && !read_i) || 32'(address_i) < DEPTH);

endmodule

bind ram_1p ram_1p_checks #(.DEPTH(DEPTH)) u_checks (.*);

`endif
