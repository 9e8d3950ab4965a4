// SPDX-License-Identifier: MIT
// Results of the channels on their way to the GPR, added to what is there or not. Contract: aim_hub.md.
//
//   EPU cycle      0      1      2      3      4      5
//   head           a                                        a is added
//   gpr_read_o     a
//   stage                 1      2      3      4      5
//   adder units           begin  begin  add    low    high
//                                add           sums   sums
//   gpr_write_o                                       a

module aim_adders #(
  /// Channels, a power of two, up to 32.
  parameter int unsigned CHANNELS = 2
) (
  /// Clock: one edge per cycle.
  input  logic                            clk_i,
  /// Clock of the EPU: one edge in two cycles.
  input  logic                            clk_epu_i,
  /// Asynchronous reset, active low.
  input  logic                            rst_ni,
  /// The second cycle of an EPU cycle.
  input  logic                            second_i,
  /// Results are requested. Only where room_o is set.
  input  logic                            push_i,
  /// Line of the GPR for the results.
  input  logic [13:0]                     line_i,
  /// The results are added to what is there.
  input  logic                            goes_on_i,
  /// Results arrive.
  input  logic                            result_valid_i,
  /// The results, a word of each channel.
  input  logic [CHANNELS-1:0][15:0][15:0] result_i,
  /// The words read last from the GPR.
  input  logic [CHANNELS-1:0][15:0][15:0] gpr_data_i,
  /// Another result may be requested.
  output logic                            room_o,
  /// No results are pending.
  output logic                            empty_o,
  /// A line of the GPR is read.
  output logic                            gpr_read_o,
  /// The line that is read.
  output logic [13:0]                     gpr_read_line_o,
  /// A line of the GPR is written.
  output logic                            gpr_write_o,
  /// The line that is written.
  output logic [13:0]                     gpr_write_line_o,
  /// What is written.
  output logic [CHANNELS-1:0][15:0][15:0] gpr_write_data_o
);

  localparam int unsigned DEPTH  = 32;
  localparam int unsigned STAGES = 5;

  typedef logic [CHANNELS-1:0][15:0][15:0] line_t;
  typedef logic [CHANNELS-1:0][7:0][15:0]  half_t;

  // Results, and where they go. Those that are requested are pending until they are written.
  logic        arrived, stores, adds, takes, unused_room, unused_places_room, unused_valid, goes_on;
  logic [5:0]  unused_count, unused_places, pending_d, pending_q;
  logic [13:0] place;
  line_t       result;

  counted_fifo #(.WIDTH(256 * CHANNELS), .DEPTH(DEPTH)) u_results (
    .clk_i, .rst_ni,
    .push_i  (result_valid_i),
    .data_i  (result_i),
    .pop_i   (takes),
    .ready_o (unused_room),
    .valid_o (arrived),
    .count_o (unused_count),
    .data_o  (result)
  );
  counted_fifo #(.WIDTH(15), .DEPTH(DEPTH)) u_places (
    .clk_i, .rst_ni,
    .push_i  (push_i),
    .data_i  ({goes_on_i, line_i}),
    .pop_i   (takes),
    .ready_o (unused_places_room),
    .valid_o (unused_valid),
    .count_o (unused_places),
    .data_o  ({goes_on, place})
  );

  assign takes     = stores || adds;
  assign pending_d = pending_q + 6'(push_i) - 6'(gpr_write_o);

  // Additions under way, by the EPU cycles since their read.
  logic [STAGES:1]       busy_d, busy_q;
  logic [STAGES:1][13:0] line_d, line_q;
  logic                  meets;

  always_comb begin
    meets = busy_q[1];
    for (int unsigned s = 2; s <= STAGES; s++) meets |= busy_q[s] && line_q[s] == place;
  end

  assign stores = second_i && arrived && !goes_on && busy_q == '0;
  assign adds   = second_i && arrived && goes_on && !meets;
  assign busy_d = {busy_q[STAGES-1:1], adds};
  assign line_d = {line_q[STAGES-1:1], place};

  // What is added: the lower half in stage 2, the upper in stage 3. What it is added to is given a stage before.
  line_t added_d, added_q;
  half_t upper_d, upper_q, kept_d, kept_q, x, start, sums, low_d, low_q;

  assign added_d = adds ? result : added_q;

  for (genvar c = 0; c < CHANNELS; c++) begin : gen_channel
    logic        unused_tree_valid;
    logic [15:0] unused_tree;

    assign upper_d[c] = added_q[c][15:8];
    assign kept_d[c]  = gpr_data_i[c][15:8];
    assign x[c]       = busy_q[2] ? added_q[c][7:0] : upper_q[c];
    assign start[c]   = busy_q[1] ? gpr_data_i[c][7:0] : kept_q[c];

    adder_unit #(.GEAR(1)) u_adders (
      .clk_i        (clk_epu_i),
      .rst_ni       (rst_ni),
      .valid_i      (1'b0),
      .accumulate_i (busy_q[2] || busy_q[3]),
      .x_i          (x[c]),
      .partial_i    ('0),
      .begin_i      (busy_q[1] || busy_q[2]),
      .goes_on_i    (1'b1),
      .start_i      (start[c]),
      .tree_valid_o (unused_tree_valid),
      .tree_o       (unused_tree),
      .lanes_o      (sums[c])
    );

    assign low_d[c]            = sums[c];
    assign gpr_write_data_o[c] = stores ? result[c] : busy_q[STAGES] ? {sums[c], low_q[c]} : '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pending_q <= '0;
    else         pending_q <= pending_d;
  end

  always_ff @(posedge clk_epu_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= '0;
    else         busy_q <= busy_d;
  end

  // Without a reset: busy_q says whether these count.
  always_ff @(posedge clk_epu_i) begin
    line_q  <= line_d;
    added_q <= added_d;
    upper_q <= upper_d;
    kept_q  <= kept_d;
    low_q   <= low_d;
  end

  assign room_o           = pending_q != 6'(DEPTH);
  assign empty_o          = pending_q == '0;
  assign gpr_read_o       = adds;
  assign gpr_read_line_o  = place;
  assign gpr_write_o      = stores || (second_i && busy_q[STAGES]);
  assign gpr_write_line_o = stores ? place : line_q[STAGES];

  if (CHANNELS == 0 || CHANNELS > 32 || CHANNELS != 1 << $clog2(CHANNELS))
    $fatal(1, "CHANNELS = %0d: expected a power of two, 1 to 32", CHANNELS);

endmodule
