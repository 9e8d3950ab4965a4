// SPDX-License-Identifier: MIT
// Bursts that one side is going to drive on the data bus. Contract: burst_source.md.

module burst_source #(
  /// Width of a beat.
  parameter int unsigned WIDTH = 64,
  /// Bursts that wait, 2 or more.
  parameter int unsigned DEPTH = 18
) (
  /// Clock: one edge per tCK.
  input  logic                  clk_i,
  /// Asynchronous reset, active low: nothing waits.
  input  logic                  rst_ni,
  /// A burst enters, only where there is room.
  input  logic                  push_i,
  /// Beats of the burst that enters, the first at the bottom.
  input  logic [7:0][WIDTH-1:0] beats_i,
  /// The oldest burst is on the bus in two tCK, only where there is one.
  input  logic                  busy_i,
  /// tCK of the burst that is on the bus in two tCK, 0 to 3.
  input  logic [1:0]            index_i,
  /// A burst waits, or is on its way or on the bus.
  output logic                  valid_o,
  /// The two beats that are on the bus in the next tCK, the first at the bottom; else 0.
  output logic [1:0][WIDTH-1:0] pair_o,
  /// The beats that were last in pair_o are on the bus.
  output logic                  drives_o
);

  localparam int unsigned PLACE_BITS = $clog2(DEPTH);
  localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1);

  typedef logic [PLACE_BITS-1:0] place_t;
  typedef logic [COUNT_BITS-1:0] count_t;

  // Places in the memory of what enters next and of the oldest, and how many wait.
  place_t enters_d, enters_q, oldest_d, oldest_q;
  count_t count_d, count_q;
  logic   reads;

  assign reads = busy_i && index_i == '0;

  function automatic place_t after(place_t place);
    return place == place_t'(DEPTH - 1) ? '0 : place + place_t'(1);
  endfunction

  assign enters_d = push_i ? after(enters_q) : enters_q;
  assign oldest_d = reads ? after(oldest_q) : oldest_q;
  assign count_d  = count_q + count_t'(push_i) - count_t'(reads);

  // A burst is read whole in the tCK in which its first beats are asked for.
  logic [3:0][1:0][WIDTH-1:0] pairs;

  ram_1r1w #(.WIDTH(8 * WIDTH), .DEPTH(DEPTH)) u_bursts (
    .clk_i,
    .write_i         (push_i),
    .write_address_i (enters_q),
    .data_i          (beats_i),
    .read_i          (reads),
    .read_address_i  (oldest_q),
    .data_o          (pairs)
  );

  logic       busy_d, busy_q, drives_d, drives_q;
  logic [1:0] index_d, index_q;

  assign busy_d   = busy_i;
  assign index_d  = index_i;
  assign drives_d = busy_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enters_q <= '0;
      oldest_q <= '0;
      count_q  <= '0;
      busy_q   <= 1'b0;
      drives_q <= 1'b0;
    end else begin
      enters_q <= enters_d;
      oldest_q <= oldest_d;
      count_q  <= count_d;
      busy_q   <= busy_d;
      drives_q <= drives_d;
    end
  end

  always_ff @(posedge clk_i) begin
    index_q <= index_d;
  end

  assign valid_o  = count_q != '0 || busy_q || drives_q;
  assign pair_o   = busy_q ? pairs[index_q] : '0;
  assign drives_o = drives_q;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2) $fatal(1, "DEPTH = %0d: expected 2 or more", DEPTH);

endmodule
