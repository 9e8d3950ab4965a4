// SPDX-License-Identifier: MIT
// Chip of the rank: PUs at its banks, shared buffer and data lines. Contract: pim_chip.md.

module pim_chip import pimlico_pkg::*; #(
  /// Width of a sum's exponent field: 5, or 8 for sums of 32 bits.
  parameter int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field: 10, or 23 for sums of 32 bits.
  parameter int unsigned SUM_MAN_BITS = 10,
  /// Bursts between a command and its data, a power of two, 2 or more.
  parameter int unsigned DEPTH        = 16
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic              clk_i,
  /// Clock: one edge per tCK, in memory mode as well.
  input  logic              clk_tck_i,
  /// Clock of the PUs and of the columns' latches.
  input  logic              clk_pu_i,
  /// Asynchronous reset, active low.
  input  logic              rst_ni,
  /// The second of the two beats of a tCK.
  input  logic              second_i,
  /// CL, 1 to 48.
  input  logic [7:0]        cl_i,
  /// CWL, 1 to 48.
  input  logic [7:0]        cwl_i,
  /// The command pins.
  input  pins_t             pins_i,
  /// RD_ALL: what the PUs do with the column.
  input  mac_t              mac_i,
  /// RD_ALL, RD: the column, from each bank's row buffer.
  input  logic [15:0][63:0] cells_i,
  /// The data lines.
  input  logic [7:0]        dq_i,
  /// What the chip drives on the data lines; 0 if nothing.
  output logic [7:0]        dq_o,
  /// The chip drives the data lines.
  output logic              drives_o,
  /// A word of the shared buffer is written.
  output logic              written_o,
  /// A column of a bank is to be written: the burst of a WR is complete.
  output logic              cells_write_o,
  /// Bank of the column to be written; 0 if there is none.
  output bank_t             cells_write_bank_o,
  /// Column to be written; 0 if there is none.
  output column_t           cells_write_column_o,
  /// Data of the column to be written; 0 if there is none.
  output logic [63:0]       cells_write_data_o,
  /// The PUs' results are new; set for a slot.
  output logic              result_valid_o,
  /// No data are in flight as this tCK begins.
  output logic              idle_o
);

  localparam int unsigned SUM_WIDTH = 1 + SUM_EXP_BITS + SUM_MAN_BITS;
  localparam bit          WIDE      = SUM_WIDTH == 32;

  // The command.
  logic            read_all, reads, writes;
  result_address_t address;

  assign read_all = pins_i.command == PinRdAll;
  assign reads    = pins_i.command inside {PinRdResult, PinRd};
  assign writes   = pins_i.command inside {PinWrShared, PinWr};
  assign address  = result_address_t'(pins_i.column);

  // Words on their way in, and where they go.
  typedef struct packed {
    logic    shared;
    bank_t   bank;
    column_t column;  // or word of the shared buffer
  } target_t;

  logic        taking, taken, take_ahead, takes, target_valid;
  logic [1:0]  take_index;
  target_t     target;
  logic [55:0] beats_d, beats_q;
  logic [63:0] word;

  burst_timer u_take (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (writes),
    .latency_i (cwl_i),
    .ahead_o   (take_ahead),
    .busy_o    (taking),
    .index_o   (take_index),
    .last_o    (taken)
  );

  fifo #(.WIDTH($bits(target_t)), .DEPTH(DEPTH)) u_targets (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (writes),
    .data_i  ({pins_i.command == PinWrShared, pins_i.bank, pins_i.column}),
    .pop_i   (takes),
    .valid_o (target_valid),
    .data_o  (target)
  );

  assign beats_d = taking ? {dq_i, beats_q[55:8]} : beats_q;
  assign takes   = taking && taken;
  assign word    = {dq_i, beats_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beats_q <= '0;
    else         beats_q <= beats_d;
  end

  assign written_o            = takes && target.shared;
  assign cells_write_o        = takes && !target.shared;
  assign cells_write_bank_o   = cells_write_o ? target.bank : '0;
  assign cells_write_column_o = cells_write_o ? target.column : '0;
  assign cells_write_data_o   = cells_write_o ? word : '0;

  // The shared buffer.
  logic [63:0] shared;

  ram #(.WIDTH(64), .ELEMENTS(1), .DEPTH(256)) u_shared (
    .clk_i           (clk_tck_i),
    .write_i         (written_o),
    .write_address_i (target.column),
    .data_i          (word),
    .read_address_i  (mac_i.word),
    .data_o          (shared)
  );

  // The column of an RD_ALL for the PUs, and what they do with it.
  logic              valid_q, accumulate_q, first_q, last_q;
  logic [63:0]       shared_q;
  logic [15:0][63:0] row_q;

  always_ff @(posedge clk_pu_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q      <= 1'b0;
      accumulate_q <= 1'b0;
      first_q      <= 1'b0;
      last_q       <= 1'b0;
      shared_q     <= '0;
      row_q        <= '0;
    end else begin
      valid_q <= read_all;
      if (read_all) begin
        accumulate_q <= mac_i.accumulate;
        first_q      <= mac_i.first;
        last_q       <= mac_i.last;
        shared_q     <= shared;
        row_q        <= cells_i;
      end
    end
  end

  // The factors of a bank group: in accumulator mode the group has one element of the word for all lanes.
  logic [3:0][3:0][15:0]                factors;
  logic [BANKS-1:0]                     result_valid;
  logic [BANKS-1:0][3:0][SUM_WIDTH-1:0] result;

  for (genvar g = 0; g < 4; g++) begin : gen_factors
    assign factors[g] = accumulate_q ? {4{shared_q[16*g+:16]}} : shared_q;
  end

  for (genvar b = 0; b < BANKS; b++) begin : gen_bank
    bank_pu #(.SUM_EXP_BITS(SUM_EXP_BITS), .SUM_MAN_BITS(SUM_MAN_BITS)) u_pu (
      .clk_i          (clk_pu_i),
      .rst_ni,
      .valid_i        (valid_q),
      .accumulate_i   (accumulate_q),
      .first_i        (first_q),
      .last_i         (last_q),
      .row_i          (row_q[b]),
      .shared_i       (factors[b/4]),
      .result_valid_o (result_valid[b]),
      .result_o       (result[b])
    );
  end

  assign result_valid_o = result_valid[0];

  // Results and columns on their way out.
  logic [3:0][15:0] scores;
  logic [63:0]      context_sums, read_data;
  logic             drive_ahead, drive_last, drive_valid;
  logic [1:0]       drive_index;

  for (genvar n = 0; n < 4; n++) begin : gen_score
    assign scores[n] = result[{address.lane, 2'(n)}][0][15:0];
  end

  if (WIDE) begin : gen_wide
    assign context_sums = {result[{address.upper, 1'b1, address.bank}][address.lane],
                           result[{address.upper, 1'b0, address.bank}][address.lane]};
  end else begin : gen_narrow
    logic unused_upper;

    for (genvar n = 0; n < 4; n++) begin : gen_group
      assign context_sums[16*n+:16] = result[{2'(n), address.bank}][address.lane];
    end
    assign unused_upper = address.upper;
  end

  always_comb begin
    if (pins_i.command == PinRd)   read_data = cells_i[pins_i.bank];
    else if (address.context_sums) read_data = context_sums;
    else                           read_data = scores;
  end

  burst_timer u_drive (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (reads),
    .latency_i (cl_i),
    .ahead_o   (drive_ahead),
    .busy_o    (drives_o),
    .index_o   (drive_index),
    .last_o    (drive_last)
  );

  burst_source #(.WIDTH(8), .DEPTH(DEPTH)) u_results (
    .clk_i    (clk_tck_i),
    .rst_ni,
    .push_i   (reads),
    .beats_i  (read_data),
    .busy_i   (drives_o),
    .index_i  (drive_index),
    .second_i,
    .valid_o  (drive_valid),
    .data_o   (dq_o)
  );

  assign idle_o = !target_valid && !drive_valid;

  logic unused;

  assign unused = &{1'b0, pins_i.row, mac_i.opens, address.unused, take_ahead, take_index, drive_ahead,
                    drive_last, result_valid};

  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
