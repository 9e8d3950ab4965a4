// SPDX-License-Identifier: MIT
// Shared buffer of a chip: words that are written by the data bus, and factors for all of its PUs.
//
//   tCK              0    1    2    ...  8
//   read_i           1                   1      RD_ALL
//   read_address_i   a                   b
//   factors_o             a    a    ...  a      until the tCK behind the next read
//
// The PUs of a bank group have their factors from the word that was read last: in tree mode lane k has
// element k; in accumulator mode all lanes of group g have element g. Nothing is reset. A word is not read
// in the cycle in which it is written.

module shared_buffer #(
  /// Words, 2 or more.
  parameter  int unsigned DEPTH        = 256,
  localparam int unsigned ADDRESS_BITS = $clog2(DEPTH)
) (
  /// Clock: one edge per tCK. The factors are taken a slot later.
  input  logic                    clk_i,
  /// data_i is written.
  input  logic                    write_i,
  /// The word that is written.
  input  logic [ADDRESS_BITS-1:0] write_address_i,
  /// What is written.
  input  logic [63:0]             data_i,
  /// A word is read.
  input  logic                    read_i,
  /// The word that is read.
  input  logic [ADDRESS_BITS-1:0] read_address_i,
  /// Accumulator mode, for the word that was read last.
  input  logic                    accumulate_i,
  /// Factors of the lanes, for each bank group.
  output logic [3:0][3:0][15:0]   factors_o
);

  logic [3:0][15:0] word;

  ram_1r1w #(.WIDTH(64), .DEPTH(DEPTH)) u_words (
    .clk_i,
    .write_i,
    .write_address_i,
    .data_i,
    .read_i,
    .read_address_i,
    .data_o          (word)
  );

  for (genvar g = 0; g < 4; g++) begin : gen_factors
    assign factors_o[g] = accumulate_i ? {4{word[g]}} : word;
  end

  if (DEPTH < 2) $fatal(1, "DEPTH = %0d: expected 2 or more", DEPTH);

endmodule
