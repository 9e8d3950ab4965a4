// SPDX-License-Identifier: MIT
// pingpong_buffer beside its reference, clock by clock, from reset on. What is to be proven: differ_o is
// never 1, whatever the inputs, a reset at any time among them; and no assertion of the RTL fails.

module lockstep #(
  /// Width of a word.
  parameter int unsigned WIDTH        = 64,
  /// Words of a side.
  parameter int unsigned DEPTH        = 16,
  /// Width of a read address.
  parameter int unsigned ADDRESS_BITS = 8,
  /// 1: two sides; 0: one.
  parameter int unsigned PING_PONG    = 1
) (
  /// Clock.
  input  logic                    clk_i,
  /// Asynchronous reset, active low. It is active in the first clock anyway.
  input  logic                    rst_ni,
  /// Inputs of both.
  input  logic                    write_valid_i,
  input  logic [WIDTH-1:0]        write_data_i,
  input  logic                    write_last_i,
  input  logic                    read_valid_i,
  input  logic [ADDRESS_BITS-1:0] read_address_i,
  input  logic                    release_i,
  /// An output differs.
  output logic                    differ_o
);

  typedef struct packed {
    logic                  write_ready;
    logic                  read_ready;
    logic [ADDRESS_BITS:0] read_words;
    logic                  data_valid;
    logic [WIDTH-1:0]      data;
  } outputs_t;

  outputs_t rtl, reference;

  // The first clock is over.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;

  pingpong_buffer #(
    .WIDTH(WIDTH), .DEPTH(DEPTH), .ADDRESS_BITS(ADDRESS_BITS), .PING_PONG(PING_PONG)
  ) u_rtl (
    .clk_i, .rst_ni(rst_ni && begun_q), .write_valid_i, .write_data_i, .write_last_i,
    .read_valid_i, .read_address_i, .release_i,
    .write_ready_o(rtl.write_ready), .read_ready_o(rtl.read_ready),
    .read_words_o(rtl.read_words), .data_valid_o(rtl.data_valid), .data_o(rtl.data)
  );

  pingpong_buffer_reference #(
    .WIDTH(WIDTH), .DEPTH(DEPTH), .ADDRESS_BITS(ADDRESS_BITS), .PING_PONG(PING_PONG)
  ) u_reference (
    .clk_i, .rst_ni(rst_ni && begun_q), .write_valid_i, .write_data_i, .write_last_i,
    .read_valid_i, .read_address_i, .release_i,
    .write_ready_o(reference.write_ready), .read_ready_o(reference.read_ready),
    .read_words_o(reference.read_words), .data_valid_o(reference.data_valid),
    .data_o(reference.data)
  );

  assign differ_o = rtl != reference;

endmodule
