// SPDX-License-Identifier: MIT
// A stream of results, packed into bursts that the host reads. Contract: host_port.md.

module host_results import pimlico_pkg::*; #(
  /// Gear: tCK in a cycle of the core, and so elements of a cycle: 1, 2 or 4.
  parameter int unsigned GEAR = DEFAULT_GEAR
) (
  /// Clock: a beat.
  input  logic                  clk_i,
  /// Clock: one edge per tCK.
  input  logic                  clk_tck_i,
  /// Asynchronous reset, active low: nothing is packed.
  input  logic                  rst_ni,
  /// The second of the two beats of a tCK.
  input  logic                  second_i,
  /// The last tCK of a cycle of the core.
  input  logic                  last_i,
  /// There is an element, by lane.
  input  logic [GEAR-1:0]       valid_i,
  /// The elements, the first at the bottom.
  input  logic [GEAR-1:0][15:0] element_i,
  /// In the last tCK of a cycle of the core: an unfinished burst is written.
  input  logic                  flush_i,
  /// A burst is read.
  input  logic                  read_i,
  /// The burst that is read, modulo 64.
  input  logic [5:0]            read_burst_i,
  /// No element comes, and none is being packed.
  output logic                  packed_o,
  /// A burst is unfinished.
  output logic                  unfinished_o,
  /// Bursts that were written.
  output logic [15:0]           count_o,
  /// The burst that was read last.
  output burst_t                burst_o
);

  localparam int unsigned ELEMENTS = $bits(burst_t) / 16;
  localparam int unsigned BURSTS   = 64;

  typedef logic [$clog2(ELEMENTS)-1:0] index_t;

  // The elements of the cycle before: a lane in each tCK, the next one at the bottom.
  logic [GEAR-1:0]       valid_d, valid_q;
  logic [GEAR-1:0][15:0] element_d, element_q;
  logic                  any_d, any_q, packs;
  logic [15:0]           element;

  assign valid_d   = last_i ? valid_i : valid_q >> 1;
  assign element_d = last_i ? element_i : element_q >> 16;
  assign any_d     = last_i ? valid_i != '0 : any_q;
  assign packed_o  = valid_i == '0 && !any_q;
  assign packs     = valid_q[0];
  assign element   = element_q[0];

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      any_q   <= 1'b0;
    end else begin
      valid_q <= valid_d;
      any_q   <= any_d;
    end
  end

  always_ff @(posedge clk_tck_i) begin
    element_q <= element_d;
  end

  // The burst that is being packed, which of its elements there are, and the next.
  logic [ELEMENTS-1:0][15:0] elements, written;
  logic [ELEMENTS-1:0]       held_d, held_q;
  index_t                    index_d, index_q;

  word_registers #(.WIDTH(16), .DEPTH(ELEMENTS)) u_elements (
    .clk_i, .write_i(packs && second_i), .address_i(index_q), .data_i(element), .words_o(elements)
  );

  // A burst is written in the tCK after its last element, or after it was asked for.
  logic        full_d, full_q, asked_d, asked_q, writes;
  logic [15:0] count_d, count_q;

  assign unfinished_o = index_q != '0;
  assign full_d       = packs && index_q == '1;
  assign asked_d      = flush_i && unfinished_o && !asked_q;
  assign writes       = full_q || asked_q;
  assign count_d      = writes ? count_q + 16'd1 : count_q;

  always_comb begin
    held_d  = writes ? '0 : held_q;
    index_d = asked_q ? '0 : index_q;
    if (packs) begin
      held_d[index_q] = 1'b1;
      index_d         = index_q + index_t'(1);
    end
  end

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q  <= '0;
      index_q <= '0;
      full_q  <= 1'b0;
      asked_q <= 1'b0;
      count_q <= '0;
    end else begin
      held_q  <= held_d;
      index_q <= index_d;
      full_q  <= full_d;
      asked_q <= asked_d;
      count_q <= count_d;
    end
  end

  for (genvar e = 0; e < ELEMENTS; e++) begin : gen_element
    assign written[e] = held_q[e] ? elements[e] : '0;
  end

  // A burst that is written in this tCK is not read: the host reads no burst before it is counted.
  logic clashes;

  assign clashes = writes && read_burst_i == count_q[5:0];

  // A memory for two words each: one for the burst would not be as fast as a tCK.
  burst_t words;

  assign words = burst_t'(written);

  for (genvar w = 0; w < 8; w += 2) begin : gen_words
    ram_1r1w #(.WIDTH(2 * 64), .DEPTH(BURSTS)) u_words (
      .clk_i           (clk_tck_i),
      .write_i         (writes),
      .write_address_i (count_q[5:0]),
      .data_i          (words[w+:2]),
      .read_i          (read_i && !clashes),
      .read_address_i  (read_burst_i),
      .data_o          (burst_o[w+:2])
    );
  end

  assign count_o = count_q;

  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);

endmodule
