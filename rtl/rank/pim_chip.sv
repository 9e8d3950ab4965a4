// SPDX-License-Identifier: MIT
// Chip of the rank: PUs at its banks, shared buffer and data lines. Contract: pim_chip.md.

module pim_chip import pimlico_pkg::*; #(
  /// Width of a sum's exponent field: 5, or 8 for sums of 32 bits.
  parameter int unsigned SUM_EXP_BITS = 5,
  /// Width of a sum's trailing significand field: 10, or 23 for sums of 32 bits.
  parameter int unsigned SUM_MAN_BITS = 10,
  /// Bursts between a command and its data, a power of two, 2 or more.
  parameter int unsigned DEPTH        = 16,
  /// The longest RL_MAC, in tCK.
  parameter int unsigned LONGEST      = 12
) (
  /// Clock: one edge per beat, half a tCK.
  input  logic              clk_i,
  /// Clock: one edge per tCK, in memory mode as well.
  input  logic              clk_tck_i,
  /// Clock of the PUs.
  input  logic              clk_pu_i,
  /// Asynchronous reset, active low.
  input  logic              rst_ni,
  /// The second of the two beats of a tCK.
  input  logic              second_i,
  /// CL, 4 to 48.
  input  logic [7:0]        cl_i,
  /// CWL, 4 to 48.
  input  logic [7:0]        cwl_i,
  /// RL_MAC, 0 to LONGEST: from an RD_ALL to its columns at the PUs.
  input  logic [7:0]        rl_mac_i,
  /// The command pins.
  input  dram_pins_t        pins_i,
  /// The column, from each bank's row buffer: of an RD in its tCK, of an RD_ALL RL_MAC later.
  input  logic [15:0][63:0] cells_i,
  /// The data lines.
  input  logic [7:0]        dq_i,
  /// What the chip drives on the data lines; 0 if nothing, from the first tCK after reset on.
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
  /// The chip obeys the commands of processing in memory; the cell arrays obey ACT_ALL with it alone.
  output logic              unlocked_o,
  /// No data are in flight as this tCK begins.
  output logic              idle_o
);

  localparam int unsigned SUM_WIDTH = 1 + SUM_EXP_BITS + SUM_MAN_BITS;
  localparam bit          WIDE      = SUM_WIDTH == 32;
  localparam int unsigned LINE_BITS = $clog2(LONGEST + 1);

  // The command. What it is about is taken from the pins beside its decoding: it counts with it alone.
  logic            rd, wr, rd_result, wr_shared, read_all, set_word, reads, writes, of_bank;
  logic [3:0]      shown, obeyed;  // commands of processing in memory
  bank_t           bank;
  column_t         column;
  word_t           word_here;   // of a command of no bank
  result_address_t address;
  read_all_t       what;

  pin_decoder u_decoder (
    .pins_i,
    .rd_o        (rd),
    .wr_o        (wr),
    .rd_all_o    (shown[3]),
    .rd_result_o (shown[2]),
    .wr_shared_o (shown[1]),
    .set_word_o  (shown[0])
  );

  pim_key u_key (.clk_i(clk_tck_i), .rst_ni, .pins_i, .unlocked_o);

  assign obeyed                                     = unlocked_o ? shown : '0;
  assign {read_all, rd_result, wr_shared, set_word} = obeyed;

  assign reads     = rd || rd_result;
  assign writes    = wr || wr_shared;
  assign bank      = {pins_i.bg, pins_i.ba};
  assign column    = {1'b0, pins_i.a[9:3]};
  assign word_here = {pins_i.ba[0], pins_i.a[9:3]};
  assign address   = result_address_t'(word_here);
  assign what      = read_all_t'(bank);
  // RD has A13 low and WR A11; RD_RESULT and WR_SHARED have them high.
  assign of_bank   = pins_i.we_n ? !pins_i.a[13] : !pins_i.a[11];

  // The word of the shared buffer that an RD_ALL reads: the one that was set, or the one behind the last.
  word_t set_d, set_q, next_d, next_q, read_word, behind;

  assign read_word = what.back ? set_q : next_q;
  assign behind    = what.back ? set_q + 8'd1 : next_q + 8'd1;
  assign set_d     = set_word ? pins_i.a[7:0] : set_q;

  always_comb begin
    next_d = next_q;
    if (set_word) next_d = pins_i.a[7:0];
    if (read_all) next_d = behind;
  end

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) {set_q, next_q} <= '0;
    else         {set_q, next_q} <= {set_d, next_d};
  end

  // Words on their way in, and where they go.
  typedef struct packed {
    logic    shared;
    bank_t   bank;
    column_t column;  // or word of the shared buffer
  } target_t;

  logic        writes_d, writes_q, taking, taken, take_ahead, takes, target_valid;
  logic [1:0]  take_index;
  target_t     target_d, target_q, target;
  logic [47:0] beats_d, beats_q;
  logic [15:0] pair;
  logic [63:0] word;

  assign writes_d = writes;
  assign target_d = '{shared: !of_bank, bank: bank, column: of_bank ? column : word_here};

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) writes_q <= 1'b0;
    else         writes_q <= writes_d;
  end

  always_ff @(posedge clk_tck_i) begin
    target_q <= target_d;
  end

  burst_timer u_take (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (writes_q),
    .latency_i (cwl_i - 8'd1),
    .ahead_o   (take_ahead),
    .busy_o    (taking),
    .index_o   (take_index),
    .last_o    (taken)
  );

  fifo #(.WIDTH($bits(target_t)), .DEPTH(DEPTH)) u_targets (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (writes_q),
    .data_i  (target_q),
    .pop_i   (takes),
    .valid_o (target_valid),
    .data_o  (target)
  );

  // The burst is assembled tCK by tCK: the last six beats, and the two that are taken at its end.
  ddr_in #(.WIDTH(8)) u_beats (.clk_i, .data_i(dq_i), .pair_o(pair));

  assign beats_d = {pair, beats_q[47:16]};
  assign word    = {pair, beats_q};
  assign takes   = taking && taken;

  always_ff @(posedge clk_tck_i) begin
    beats_q <= beats_d;
  end

  assign written_o            = takes && target.shared;
  assign cells_write_o        = takes && !target.shared;
  assign cells_write_bank_o   = cells_write_o ? target.bank : '0;
  assign cells_write_column_o = cells_write_o ? target.column : '0;
  assign cells_write_data_o   = cells_write_o ? word : '0;

  // RD_ALLs whose columns are on their way: what they have said, and their words, as it was with the command.
  typedef struct packed {
    logic  accumulate;
    logic  first;
    logic  last;
    word_t word;
  } asked_t;

  logic [LONGEST:0] line;    // bit n: an RD_ALL n tCK ago
  logic [LONGEST:1] line_q;
  logic             delays, arrives, pending, unused_latency;
  asked_t           asked, oldest, arriving;

  assign line           = {line_q, read_all};
  assign delays         = rl_mac_i != '0;
  assign arrives        = line[rl_mac_i[LINE_BITS-1:0]];
  assign unused_latency = &{1'b0, rl_mac_i};
  assign asked          = '{accumulate: what.accumulate, first: what.first, last: what.last, word: read_word};
  assign arriving       = delays ? oldest : asked;

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) line_q <= '0;
    else         line_q <= line[LONGEST-1:0];
  end

  // They are a burst apart or more.
  fifo #(.WIDTH($bits(asked_t)), .DEPTH(1 << $clog2(LONGEST / 4 + 1))) u_pending (
    .clk_i   (clk_tck_i),
    .rst_ni,
    .push_i  (read_all && delays),
    .data_i  (asked),
    .pop_i   (arrives && delays),
    .valid_o (pending),
    .data_o  (oldest)
  );

  // The column for the PUs, what they do with it, and the word of the shared buffer: all of it is taken at the
  // end of the tCK in which the column arrives, and by the PUs with the next edge of theirs.
  logic                  clk_row, valid_d, valid_q, accumulate_d, accumulate_q;
  logic                  first_d, first_q, last_d, last_q;
  logic [15:0][63:0]     row_d, row_q;
  logic [3:0][3:0][15:0] factors;

  clock_gate u_clk_row (.clk_i, .rst_ni, .enable_i(second_i && arrives), .clk_o(clk_row));

  assign valid_d      = arrives;
  assign accumulate_d = arriving.accumulate;
  assign first_d      = arriving.first;
  assign last_d       = arriving.last;
  assign row_d        = cells_i;

  always_ff @(posedge clk_pu_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else         valid_q <= valid_d;
  end

  always_ff @(posedge clk_row) begin
    accumulate_q <= accumulate_d;
    first_q      <= first_d;
    last_q       <= last_d;
    row_q        <= row_d;
  end

  shared_buffer u_shared (
    .clk_i           (clk_tck_i),
    .write_i         (written_o),
    .write_address_i (target.column),
    .data_i          (word),
    .read_i          (arrives),
    .read_address_i  (arriving.word),
    .accumulate_i    (accumulate_q),
    .factors_o       (factors)
  );

  logic [BANKS-1:0]                     result_valid;
  logic [BANKS-1:0][3:0][SUM_WIDTH-1:0] result;

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
  logic [63:0]      context_sums, read_data_d, read_data_q;
  logic             reads_d, reads_q, drive_ahead, drive_asks, drive_last, drive_valid;
  logic [1:0]       drive_index;
  logic [1:0][7:0]  drive_pair;

  // The scores of bank groups 1 to 3, from the RD_RESULT of those of group 0 on.
  logic              keeps, clk_kept;
  logic [15:4][15:0] kept_d, kept_q;
  logic [15:0][15:0] bank_score;

  assign keeps = rd_result && !address.context_sums && address.lane == '0;

  clock_gate u_clk_kept (.clk_i, .rst_ni, .enable_i(second_i && keeps), .clk_o(clk_kept));

  for (genvar b = 0; b < BANKS; b++) begin : gen_score
    if (b < 4) begin : gen_new
      assign bank_score[b] = result[b][0][15:0];
    end else begin : gen_kept
      assign kept_d[b]     = result[b][0][15:0];
      assign bank_score[b] = kept_q[b];
    end
  end

  always_ff @(posedge clk_kept) kept_q <= kept_d;

  for (genvar n = 0; n < 4; n++) begin : gen_group_score
    assign scores[n] = bank_score[{address.lane, 2'(n)}];
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
    if (of_bank)                   read_data_d = cells_i[bank];
    else if (address.context_sums) read_data_d = context_sums;
    else                           read_data_d = scores;
  end

  assign reads_d = reads;

  always_ff @(posedge clk_tck_i or negedge rst_ni) begin
    if (!rst_ni) reads_q <= 1'b0;
    else         reads_q <= reads_d;
  end

  always_ff @(posedge clk_tck_i) begin
    read_data_q <= read_data_d;
  end

  burst_timer u_drive (
    .clk_i     (clk_tck_i),
    .rst_ni,
    .command_i (reads_q),
    .latency_i (cl_i - 8'd3),
    .ahead_o   (drive_ahead),
    .busy_o    (drive_asks),
    .index_o   (drive_index),
    .last_o    (drive_last)
  );

  burst_source #(.WIDTH(8), .DEPTH(DEPTH)) u_results (
    .clk_i    (clk_tck_i),
    .rst_ni,
    .push_i   (reads_q),
    .beats_i  (read_data_q),
    .busy_i   (drive_asks),
    .index_i  (drive_index),
    .valid_o  (drive_valid),
    .pair_o   (drive_pair),
    .drives_o
  );

  ddr_out #(.WIDTH(8)) u_dq (
    .clk_i, .clk_tck_i, .second_i, .pair_i(drive_pair), .data_o(dq_o)
  );

  assign idle_o = !pending && !writes_q && !target_valid && !reads_q && !drive_valid;

  logic unused;

  assign unused = &{1'b0, address.unused, take_ahead, take_index, drive_ahead,
                    drive_last, result_valid};

  if (!fp_pkg::is_sum_format(5, 10, SUM_EXP_BITS, SUM_MAN_BITS))
    $fatal(1, "SUM_EXP_BITS, SUM_MAN_BITS = %0d, %0d: expected 5, 10 or 8, 23", SUM_EXP_BITS, SUM_MAN_BITS);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);
  if (LONGEST < 4 || LONGEST > 255) $fatal(1, "LONGEST = %0d: expected 4 to 255", LONGEST);

endmodule
