// SPDX-License-Identifier: MIT
// Time of a burst on the data bus, CL or CWL after its command. Contract: burst_timer.md.

module burst_timer #(
  /// The longest latency, in cycles.
  parameter  int unsigned LONGEST      = 48,
  /// Cycles of a burst: 1, 2 or 4.
  parameter  int unsigned LENGTH       = 4,
  localparam int unsigned LATENCY_BITS = $clog2(LONGEST + 1)
) (
  /// Clock: one edge per cycle, a tCK unless the rank's core has a gear.
  input  logic       clk_i,
  /// Asynchronous reset, active low.
  input  logic       rst_ni,
  /// The command is on the pins.
  input  logic       command_i,
  /// Latency from the command to its data, in cycles: 1 to LONGEST.
  input  logic [7:0] latency_i,
  /// The burst begins in the next cycle.
  output logic       ahead_o,
  /// The burst is on the bus.
  output logic       busy_o,
  /// Cycle of the burst on the bus, from 0 on.
  output logic [1:0] index_o,
  /// The burst is in its last cycle.
  output logic       last_o
);

  // Bit n: a command n cycles ago.
  logic [LONGEST-1:0]      line;
  logic [LONGEST-1:1]      line_q;
  logic [LATENCY_BITS-1:0] latency;
  logic                    busy_d, busy_q;
  logic [1:0]              index_d, index_q;
  logic                    unused_latency;

  assign line           = {line_q, command_i};
  assign latency        = latency_i[LATENCY_BITS-1:0] - LATENCY_BITS'(1);
  assign ahead_o        = line[latency];
  assign unused_latency = &{1'b0, latency_i};

  // The burst: what is on the bus comes from registers.
  assign busy_d  = ahead_o || (busy_q && !last_o);
  assign index_d = ahead_o || !busy_d ? '0 : index_q + 2'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      line_q  <= '0;
      busy_q  <= 1'b0;
      index_q <= '0;
    end else begin
      line_q  <= line[LONGEST-2:0];
      busy_q  <= busy_d;
      index_q <= index_d;
    end
  end

  assign busy_o  = busy_q;
  assign index_o = index_q;
  assign last_o  = busy_q && index_q == 2'(LENGTH - 1);

  if (LENGTH != 1 && LENGTH != 2 && LENGTH != 4) $fatal(1, "LENGTH = %0d: expected 1, 2 or 4", LENGTH);
  if (LONGEST < 2 || LONGEST > 255) $fatal(1, "LONGEST = %0d: expected 2 to 255", LONGEST);

endmodule
