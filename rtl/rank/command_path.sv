// SPDX-License-Identifier: MIT
// Owner of the command pins: rank controller and refresh manager, or the host. Contract: command_path.md.

module command_path import pimlico_pkg::*; (
  /// Clock: tCK.
  input  logic           clk_i,
  /// Clock of the refresh manager: the core's, in memory mode as well.
  input  logic           clk_core_i,
  /// Clock of the controller: the core's, but not in memory mode.
  input  logic           clk_pim_i,
  /// Asynchronous reset, active low.
  input  logic           rst_ni,
  /// First tCK of a cycle of the core.
  input  logic           first_i,
  /// Timings of the DRAM, in cycles of the core.
  input  timing_t        timing_i,
  /// Options of the rank: refresh.
  input  options_t       options_i,
  /// The rank stands still: the tCK does not exist for it.
  input  logic           hold_i,
  /// Memory mode: the host uses the chips as its memory.
  input  logic           memory_i,
  /// Memory mode: the host's command.
  input  pins_t          host_pins_i,
  /// There is a request for the banks.
  input  logic           array_valid_i,
  /// The request for the banks.
  input  array_request_t array_i,
  /// There is a request for the data bus.
  input  logic           bus_valid_i,
  /// The request for the data bus.
  input  bus_request_t   bus_i,
  /// A head ends: REFs that were postponed are issued now.
  input  logic           head_end_i,
  /// The request for the banks is accepted.
  output logic           array_taken_o,
  /// The request for the data bus is accepted.
  output logic           bus_taken_o,
  /// The command pins: a command of the controller in the first tCK of a cycle of the core.
  output pins_t          pins_o,
  /// The controller's command, for a whole cycle of the core.
  output pins_t          command_o,
  /// What the bank PUs do with the controller's RD_ALL, else 0.
  output mac_t           mac_o,
  /// The request that the controller's RD_RESULT or WR_SHARED belongs to, else 0.
  output bus_request_t   transfer_o,
  /// A read could not be chosen for its row.
  output logic           lost_row_switch_o,
  /// A read could not be chosen for a refresh.
  output logic           lost_refresh_o,
  /// Nothing is queued.
  output logic           idle_o,
  /// Nothing is queued, no REF is due and no bank is open.
  output logic           settled_o
);

  logic       array_ready, bus_ready, refresh_issued, unused_issued;
  logic [1:0] issued;
  pins_t      pins, unused_pins;
  logic       refresh, refresh_now, refresh_q, refresh_now_q, quiet_q;
  logic [3:0] owed;

  rank_controller u_controller (
    .clk_i            (clk_pim_i),
    .rst_ni,
    .timing_i,
    .array_valid_i,
    .array_i,
    .bus_valid_i,
    .bus_i,
    .refresh_i        (refresh_q),
    .force_i          (refresh_now_q),
    .array_ready_o    (array_ready),
    .bus_ready_o      (bus_ready),
    .pins_o           (pins),
    .bus_pins_o       (unused_pins),
    .mac_o,
    .transfer_o,
    .array_issued_o   (issued[0]),
    .bus_issued_o     (issued[1]),
    .refresh_issued_o (refresh_issued),
    .lost_row_switch_o,
    .lost_refresh_o,
    .idle_o
  );

  // A REF of the host may be on the pins in any tCK of a cycle of the core.
  logic refreshed_d, refreshed_q;

  always_comb begin
    refreshed_d = refresh_issued;
    if (memory_i) refreshed_d = host_pins_i.command == PinRef || (refreshed_q && !first_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) refreshed_q <= 1'b0;
    else         refreshed_q <= refreshed_d;
  end

  refresh_manager u_refresh (
    .clk_i      (clk_core_i),
    .rst_ni,
    .enable_i   (options_i.refresh),
    .refi_i     (timing_i.refi),
    .head_end_i (head_end_i && !memory_i),
    .idle_i     (idle_o || memory_i),
    .done_i     (refreshed_d),
    .refresh_o  (refresh),
    .force_o    (refresh_now),
    .owed_o     (owed)
  );

  always_ff @(posedge clk_core_i or negedge rst_ni) begin
    if (!rst_ni) begin
      refresh_q     <= 1'b0;
      refresh_now_q <= 1'b0;
      quiet_q       <= 1'b0;
    end else begin
      refresh_q     <= refresh;
      refresh_now_q <= refresh_now;
      quiet_q       <= idle_o && owed == '0;
    end
  end

  assign unused_issued = &{1'b0, issued};
  assign array_taken_o = array_valid_i && array_ready && !memory_i && !hold_i;
  assign bus_taken_o   = bus_valid_i && bus_ready && !memory_i && !hold_i;

  always_comb begin
    command_o = memory_i || hold_i ? '0 : pins;
    pins_o    = memory_i ? host_pins_i : pins;
    if (hold_i || (!memory_i && !first_i)) pins_o = '0;
  end

  // The banks that are open.
  logic [BANKS-1:0] opens, open_d, open_q;

  // All, or the half that an ACT_ALL names.
  assign opens = timing_i.faw_banks[4] ? '1 : pins_o.bank[3] ? 16'hFF00 : 16'h00FF;

  always_comb begin
    open_d = open_q;
    case (pins_o.command)
      PinAct:    open_d[pins_o.bank] = 1'b1;
      PinActAll: open_d |= opens;
      PinPre:    open_d[pins_o.bank] = 1'b0;
      PinPreAll: open_d = '0;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) open_q <= '0;
    else         open_q <= open_d;
  end

  assign settled_o = quiet_q && open_q == '0;

endmodule
