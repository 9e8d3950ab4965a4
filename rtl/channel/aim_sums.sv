// SPDX-License-Identifier: MIT
// Sums of an AiM's channel on their way: when their results may be requested, and whether another has room.
// Contract: aim_channel.md.
//
//   cycle         0    1    2    3    4  ...  25   26
//   ended_i       1                                     a column that ends a sum is on the pins
//   sums_o        1    1    1    1    1       1    1    counted since the column was requested
//   aged                         1    1       1    0
//   due_o         0    0    0    0    0       1    0    AimResults is in the queue
//   requested_i                               1

module aim_sums #(
  /// Cycles from a column that ends a sum on the pins to the first in which its results may be requested.
  parameter int unsigned LATENCY = 25
) (
  /// Clock: one edge per cycle.
  input  logic       clk_i,
  /// Asynchronous reset, active low.
  input  logic       rst_ni,
  /// An AimResults enters the queue. Only where ready_o is set.
  input  logic       push_i,
  /// A column that ends a sum is first requested.
  input  logic       ends_i,
  /// A column that ends a sum is on the pins.
  input  logic       ended_i,
  /// Results are first requested.
  input  logic       requested_i,
  /// An RD_RESULT is on the pins.
  input  logic       left_i,
  /// RD_RESULTs on their way to the pins that no word is before.
  input  logic [2:0] front_i,
  /// A word can come before the next RD_RESULT.
  input  logic       words_i,
  /// The queue has room.
  output logic       ready_o,
  /// There is no AimResults.
  output logic       empty_o,
  /// Sums whose results have not left.
  output logic [5:0] sums_o,
  /// There are two sides: the results of another sum have room.
  output logic       room_o,
  /// Results may be requested.
  output logic       due_o
);

  // A column may rely on an RD_RESULT whose sum has been on the pins for so long.
  localparam int unsigned AGE = 3;

  // A count shows what the line has had before: the column of the last cycle is at the bottom.
  logic [LATENCY-2:0] line_d, line_q;
  logic [4:0]         asked_d, asked_q;
  logic [5:0]         sums_d, sums_q, aged_d, aged_q, made_d, made_q;

  assign line_d  = {line_q[LATENCY-3:0], ended_i};
  assign asked_d = asked_q + 5'(push_i) - 5'(requested_i);
  assign sums_d  = sums_q + 6'(ends_i) - 6'(left_i);
  assign aged_d  = aged_q + 6'(line_q[AGE-2]) - 6'(requested_i);
  assign made_d  = made_q + 6'(line_q[LATENCY-2]) - 6'(requested_i);

  // A side is free, or will be when RD_RESULTs on their way are on the pins, or that of a sum that will be
  // ready soon.
  logic [5:0] taken, nth;

  assign taken  = 6'd2 + 6'(front_i);
  assign nth    = sums_q - taken;
  assign room_o = sums_q < taken || (!words_i && nth < aged_q && nth < 6'(asked_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      line_q  <= '0;
      asked_q <= '0;
      sums_q  <= '0;
      aged_q  <= '0;
      made_q  <= '0;
    end else begin
      line_q  <= line_d;
      asked_q <= asked_d;
      sums_q  <= sums_d;
      aged_q  <= aged_d;
      made_q  <= made_d;
    end
  end

  assign ready_o = asked_q != '1;
  assign empty_o = asked_q == '0;
  assign sums_o  = sums_q;
  assign due_o   = made_q != '0 && asked_q != '0;

  if (LATENCY < AGE + 1) $fatal(1, "LATENCY = %0d: expected %0d or more", LATENCY, AGE + 1);

endmodule
