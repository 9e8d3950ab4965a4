// SPDX-License-Identifier: MIT
// Counts the zeros above the leading one.

module leading_zeros #(
  /// Width of the data.
  parameter  int unsigned WIDTH       = 16,
  localparam int unsigned COUNT_WIDTH = $clog2(WIDTH)
) (
  /// Data.
  input  logic [WIDTH-1:0]       data_i,
  /// Zeros above the leading one; all bits set if there is none, which costs less than a 0.
  output logic [COUNT_WIDTH-1:0] count_o,
  /// There is no one.
  output logic                   empty_o
);

  always_comb begin
    count_o = '1;
    for (int unsigned i = 0; i < WIDTH; i++) begin
      if (data_i[i]) count_o = COUNT_WIDTH'(WIDTH - 1 - i);
    end
  end

  assign empty_o = data_i == '0;

  if (WIDTH < 2) $fatal(1, "WIDTH = %0d: expected 2 or more", WIDTH);

endmodule
