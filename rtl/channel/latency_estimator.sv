// SPDX-License-Identifier: MIT
// How long a PIM operation takes at the most, and whether it fits before the next REF. Contract: latency_estimator.md.

module latency_estimator #(
  /// Dot products that a GEMV takes at least: those that fill the pipeline of the PUs, 1 to 32.
  parameter int unsigned FILL = 6
) (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: no estimate is under way.
  input  logic        rst_ni,
  /// tRTP, in tCK; sampled in the first cycle after reset, as all timings.
  input  logic [7:0]  rtp_i,
  /// tRP, in tCK.
  input  logic [7:0]  rp_i,
  /// tRCD of PIM, in tCK.
  input  logic [7:0]  rcd_i,
  /// tFAW, in tCK.
  input  logic [7:0]  faw_i,
  /// Dot product to dot product, and the burst of results, in tCK.
  input  logic [3:0]  dot_i,
  /// Length of a GWRITE, in tCK.
  input  logic [7:0]  copy_i,
  /// Time that is added to every estimate, in tCK.
  input  logic [7:0]  guard_i,
  /// An operation is to be estimated.
  input  logic        valid_i,
  /// The operation is a GWRITE; else a GEMV.
  input  logic        gwrite_i,
  /// Precharges before the operation, 0 to 32.
  input  logic [5:0]  precharges_i,
  /// PIM_ACTIVATIONs that come one behind the other in a pseudo-rank, 0 to 8.
  input  logic [3:0]  activations_i,
  /// Dot products of the GEMV, less one.
  input  logic [4:0]  count_i,
  /// Bursts of results of the GEMV, less one.
  input  logic [2:0]  results_i,
  /// Time until the next REF of either pseudo-rank, in tCK.
  input  logic [19:0] slack_i,
  /// estimate_o and admit_o are of the operation four cycles before.
  output logic        valid_o,
  /// Estimate, in tCK, or zero.
  output logic [14:0] estimate_o,
  /// The operation fits before the next REF: estimate_o is less than slack_i in the last cycle.
  output logic        admit_o
);

  // Timings. What every GEMV and every GWRITE has is added up once, in the cycle after they were sampled.
  typedef struct packed {
    logic [7:0] rtp;
    logic [7:0] rp;
    logic [7:0] rcd;
    logic [7:0] faw;
    logic [3:0] dot;
    logic [7:0] copy;
    logic [7:0] guard;
  } times_t;

  logic       configured_q;
  times_t     times_d, times_q;
  logic [9:0] gemv_d, gemv_q, gwrite_d, gwrite_q;

  assign times_d  = configured_q ? times_q : {rtp_i, rp_i, rcd_i, faw_i, dot_i, copy_i, guard_i};
  assign gemv_d   = 10'(times_d.rcd) + 10'(times_d.guard);
  assign gwrite_d = gemv_d + 10'(times_d.rp) + 10'(times_d.copy);

  // Stage 1: how many of each. A row that is open wants no window, and none takes a negative time.
  typedef struct packed {
    logic       gwrite;
    logic [5:0] precharges;
    logic [3:0] windows;
    logic [5:0] beats;
  } counts_t;

  localparam logic [5:0] LEAST = 6'(FILL);

  counts_t    counts_d, counts_q;
  logic [5:0] dots;

  assign dots = 6'(count_i) + 6'd1;

  always_comb begin
    counts_d.gwrite     = gwrite_i;
    counts_d.precharges = precharges_i;
    counts_d.windows    = gwrite_i || activations_i == '0 ? '0 : activations_i - 4'd1;
    counts_d.beats      = gwrite_i ? '0 : (dots < LEAST ? LEAST : dots) + 6'(results_i);
  end

  // Stage 2: products.
  typedef struct packed {
    logic [9:0]  fixed;
    logic [13:0] precharges;
    logic [11:0] windows;
    logic [9:0]  beats;
  } products_t;

  products_t products_d, products_q;

  always_comb begin
    products_d.fixed      = counts_q.gwrite ? gwrite_q : gemv_q;
    products_d.precharges = 14'(counts_q.precharges) * 14'(times_q.rtp);
    products_d.windows    = 12'(counts_q.windows) * 12'(times_q.faw);
    products_d.beats      = 10'(counts_q.beats) * 10'(times_q.dot);
  end

  // Stage 3: the sum. Stage 4: whether it is less than the slack.
  logic [14:0] sum_d, sum_q, estimate_d, estimate_q;
  logic [3:0]  valid_d, valid_q;
  logic        admit_d, admit_q;

  assign sum_d      = (15'(products_q.precharges) + 15'(products_q.windows)) +
                      (15'(products_q.beats) + 15'(products_q.fixed));
  assign estimate_d = valid_q[2] ? sum_q : '0;
  assign admit_d    = valid_q[2] && 20'(sum_q) < slack_i;
  assign valid_d    = {valid_q[2:0], valid_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      configured_q <= 1'b0;
      valid_q      <= '0;
      estimate_q   <= '0;
      admit_q      <= 1'b0;
    end else begin
      configured_q <= 1'b1;
      valid_q      <= valid_d;
      estimate_q   <= estimate_d;
      admit_q      <= admit_d;
    end
  end

  // Without a reset: valid_q says where there is an operation.
  always_ff @(posedge clk_i) begin
    times_q    <= times_d;
    gemv_q     <= gemv_d;
    gwrite_q   <= gwrite_d;
    counts_q   <= counts_d;
    products_q <= products_d;
    sum_q      <= sum_d;
  end

  assign valid_o    = valid_q[3];
  assign estimate_o = estimate_q;
  assign admit_o    = admit_q;

  if (FILL == 0 || FILL > 32) $fatal(1, "FILL = %0d: expected 1 to 32", FILL);

endmodule
