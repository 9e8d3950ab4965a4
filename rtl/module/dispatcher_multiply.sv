// SPDX-License-Identifier: MIT
// Products of a Dyn-Modi: coefficients times numbers of repetitions. Contract: dispatcher.md.
//
// The run ends in the first repetition in which a field overflows. Until then a product exceeds its field by less than a
// coefficient: 19 bits hold it for a place, 13 for 64 times as much, 10 for other fields. The coefficient's digits are of
// two bits: 0, 1, 2 or 3 times the number.

module dispatcher_multiply import dispatcher_pkg::*; (
  /// Coefficients.
  input  term_t [SLOTS-1:0]      terms_i,
  /// Numbers of the repetitions, for each.
  input  logic [SLOTS-1:0][15:0] numbers_i,
  /// Products.
  output logic [SLOTS-1:0][18:0] product_o
);

  logic unused_targets;

  assign unused_targets = &{1'b0, terms_i};

  for (genvar s = 0; s < SLOTS; s++) begin : gen_product
    logic [18:0] number, thrice;

    assign number = 19'(numbers_i[s]);
    assign thrice = number + (number << 1);

    always_comb begin : multiply
      product_o[s] = '0;
      for (int unsigned d = 0; d < 10; d += 2) begin
        logic [18:0] digit;

        unique case (terms_i[s].coefficient[d+:2])
          2'd0: digit = '0;
          2'd1: digit = number;
          2'd2: digit = number << 1;
          2'd3: digit = thrice;
        endcase
        product_o[s] = product_o[s] + (digit << d);
      end
    end
  end

endmodule
