// SPDX-License-Identifier: MIT
// A queue of two entries between a port and the controller: takes and gives one in every clock,
// with ready_o from registers alone.
//
//   clock     0    1    2
//   push_i    a    0    0
//   next_o    a
//   valid_o   0    1    0
//   data_o         a
//   pop_i          1

module skid_buffer #(
  /// Width of an entry.
  parameter int unsigned WIDTH = 8
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// data_i enters. Only where ready_o is set.
  input  logic             push_i,
  /// The entry.
  input  logic [WIDTH-1:0] data_i,
  /// There is room.
  output logic             ready_o,
  /// The oldest entry leaves. Only where valid_o is set.
  input  logic             pop_i,
  /// There is an entry.
  output logic             valid_o,
  /// The oldest entry.
  output logic [WIDTH-1:0] data_o,
  /// There is an entry behind the oldest, or one enters.
  output logic             next_valid_o,
  /// This entry: the oldest in the next clock, where the oldest leaves or there is none.
  output logic [WIDTH-1:0] next_o
);

  // Where there is no room, second_q is the entry behind the oldest.
  logic             ready_d, ready_q, valid_d, valid_q, advance;
  logic [WIDTH-1:0] oldest_d, oldest_q, second_q;

  assign next_o       = ready_q ? data_i : second_q;
  assign next_valid_o = !ready_q || push_i;
  assign advance      = pop_i || !valid_q;

  assign valid_d  = next_valid_o || !advance;
  assign ready_d  = !next_valid_o || advance;
  assign oldest_d = advance ? next_o : oldest_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      ready_q <= 1'b1;
    end else begin
      valid_q <= valid_d;
      ready_q <= ready_d;
    end
  end

  always_ff @(posedge clk_i) begin
    oldest_q <= oldest_d;
    second_q <= next_o;
  end

  assign ready_o = ready_q;
  assign valid_o = valid_q;
  assign data_o  = oldest_q;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);

endmodule
