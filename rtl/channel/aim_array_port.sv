// SPDX-License-Identifier: MIT
// Commands of the arrays of an AiM's channel, spelled out into requests: columns, WRs, PREAs. Contract: aim_channel.md.
//
//   cycle           0    1    2    3    4    5
//   push_i          a    b                        a: two columns; b: one, which has to wait for room_i
//   array_valid_o        1    1    0    1    1
//   array_ready_i        1    1    1    0    1
//   starts               1    1         1         first requested

module aim_array_port import pimlico_pkg::*; #(
  /// 1: two sides in the result registers; 0: one, and columns that begin a sum wait for all results.
  parameter int unsigned PINGPONG = 1
) (
  /// Clock: one edge per cycle.
  input  logic           clk_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// A command enters the queue. Only where ready_o is set.
  input  logic           push_i,
  /// The command: MAC, WRITE or CLOSE.
  input  aim_command_t   command_i,
  /// The mode allows a column or a WR.
  input  logic           mode_i,
  /// The last word of a filling is on the pins.
  input  logic           filled_i,
  /// There is no sum whose results have not left.
  input  logic           no_sums_i,
  /// A column may end a sum.
  input  logic           room_i,
  /// The rank controller accepts the request, if there is one.
  input  logic           array_ready_i,
  /// The queue has room.
  output logic           ready_o,
  /// There is no command.
  output logic           empty_o,
  /// There is a request.
  output logic           array_valid_o,
  /// The request.
  output array_request_t array_o,
  /// A column that ends a sum is first requested.
  output logic           ends_o,
  /// A PREA is first requested.
  output logic           closes_o
);

  localparam int unsigned DEPTH      = 16;
  localparam int unsigned COUNT_BITS = $clog2(DEPTH) + 1;

  // Commands, and the column of the first that is next.
  aim_command_t          head;
  logic                  waiting, pops, taken;
  logic [COUNT_BITS-1:0] unused_count;
  logic [5:0]            column_d, column_q;
  logic                  is_first, is_last;

  counted_fifo #(.WIDTH($bits(aim_command_t)), .DEPTH(DEPTH)) u_queue (
    .clk_i, .rst_ni, .push_i,
    .data_i  (command_i),
    .pop_i   (pops),
    .ready_o (ready_o),
    .valid_o (waiting),
    .count_o (unused_count),
    .data_o  (head)
  );

  assign is_first = column_q == '0;
  assign is_last  = head.kind != AimMac || {1'b0, column_q} == head.count - 7'd1;
  assign pops     = taken && is_last;
  assign column_d = pops ? '0 : column_q + 6'(taken);

  // Whether the request may be made, and whether this is its first cycle.
  logic       may_mac, may, starts, held_d, held_q;
  logic [1:0] filled_d, filled_q;
  logic       begins_sum, ends_sum, frees;

  assign begins_sum = head.first && is_first;
  assign ends_sum   = head.last && is_last;
  assign frees      = head.kind == AimMac && head.frees && is_last;

  if (PINGPONG != 0) begin : gen_two
    logic unused_begins;

    assign may_mac       = !ends_sum || room_i;
    assign unused_begins = begins_sum;
  end else begin : gen_one
    logic unused_room;

    assign may_mac     = !begins_sum || no_sums_i;
    assign unused_room = room_i;
  end

  always_comb begin
    unique case (head.kind)
      AimMac:   may = mode_i && filled_q != '0 && may_mac;
      AimWrite: may = mode_i;
      AimClose: may = no_sums_i;
      default:  may = 1'b0;
    endcase
  end

  assign array_valid_o = waiting && (held_q || may);
  assign starts        = array_valid_o && !held_q;
  assign taken         = array_valid_o && array_ready_i;
  assign held_d        = array_valid_o && !array_ready_i;
  assign filled_d      = filled_q + 2'(filled_i) - 2'(starts && frees);

  // The request.
  array_kind_e kind;
  logic        is_mac;

  assign is_mac = head.kind == AimMac;

  always_comb begin
    unique case (head.kind)
      AimMac:   kind = ArrayReadAll;
      AimWrite: kind = ArrayWr;
      default:  kind = ArrayCloseAll;
    endcase
  end

  always_comb begin
    array_o      = '0;
    array_o.kind = kind;
    if (head.kind != AimClose) begin
      array_o.row    = head.row;
      array_o.column = head.column + (is_mac ? {2'd0, column_q} : '0);
    end
    if (head.kind == AimWrite) array_o.bank = head.bank;
    if (is_mac) begin
      array_o.mac = '{
        word: {2'd0, head.word + column_q}, accumulate: 1'b0, first: begins_sum, last: ends_sum, opens: frees
      };
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      column_q <= '0;
      held_q   <= 1'b0;
      filled_q <= '0;
    end else begin
      column_q <= column_d;
      held_q   <= held_d;
      filled_q <= filled_d;
    end
  end

  assign empty_o  = !waiting;
  assign ends_o   = starts && is_mac && ends_sum;
  assign closes_o = starts && head.kind == AimClose;

  if (PINGPONG > 1) $fatal(1, "PINGPONG = %0d: expected 0 or 1", PINGPONG);

endmodule
