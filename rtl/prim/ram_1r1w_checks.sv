// SPDX-License-Identifier: MIT
// Checker of ram_1r1w, which has no reset: there are such words, and none is read while it is written.

`ifndef SYNTHESIS

module ram_1r1w_checks #(
  /// Words.
  parameter  int unsigned DEPTH        = 64,
  localparam int unsigned ADDRESS_BITS = $clog2(DEPTH)
) (
  input logic                    clk_i,
  input logic                    write_i,
  input logic [ADDRESS_BITS-1:0] write_address_i,
  input logic                    read_i,
  input logic [ADDRESS_BITS-1:0] read_address_i
);

  assert_write : assert property (@(posedge clk_i) !write_i || 32'(write_address_i) < DEPTH);
  assert_read : assert property (@(posedge clk_i) !read_i || 32'(read_address_i) < DEPTH);
  assert_apart : assert property (@(posedge clk_i)
    !write_i || !read_i || write_address_i != read_address_i);

endmodule

bind ram_1r1w ram_1r1w_checks #(.DEPTH(DEPTH)) u_checks (.*);

`endif
