// SPDX-License-Identifier: MIT
// Types of the ports: commands, requests, results, instruction words, configuration and timings.
//
// Each is one port. Its twin in Rust has the same name in hw-models/dpa (src/types). The build stops where
// the two differ in a field, a width, an order or a code, and a test where they differ in these comments.

package pimlico_pkg;

  // -------------------------------------------------------------------------------------------------
  // Sizes
  // -------------------------------------------------------------------------------------------------

  /// Chips of a rank.
  localparam int unsigned CHIPS = 8;
  /// Banks of a chip.
  localparam int unsigned BANKS = 16;
  /// Gear: tCK in a cycle of the rank PU's core, where nothing else is said.
  /* verilator lint_off UNUSEDPARAM */
  localparam int unsigned DEFAULT_GEAR = 2;
  /* verilator lint_on UNUSEDPARAM */

  /// Bank of a chip: bank group in the upper two bits.
  typedef logic [3:0]  bank_t;
  /// Row of a bank.
  typedef logic [15:0] row_t;
  /// Column of a row, counted in bursts.
  typedef logic [7:0]  column_t;
  /// Word of the shared buffers.
  typedef logic [7:0]  word_t;
  /// Query head.
  typedef logic [2:0]  head_t;
  /// Place in the score buffer, or among the partial sums.
  typedef logic [16:0] place_t;
  /// A beat on the data bus: a byte of each chip.
  typedef logic [63:0] beat_t;
  /// A burst on the data bus: eight beats, the first at the bottom.
  typedef logic [7:0][63:0] burst_t;
  /// A column of a logic bank: 64 bits of each chip.
  typedef logic [CHIPS-1:0][63:0] cells_t;
  /// The same column of every bank.
  typedef cells_t [BANKS-1:0] columns_t;

  // -------------------------------------------------------------------------------------------------
  // The DRAM's pins
  // -------------------------------------------------------------------------------------------------

  /// Command on the pins.
  typedef enum logic [3:0] {
    /// No command.
    PinNone     = 4'd0,
    /// Opens a row of a bank.
    PinAct      = 4'd1,
    /// Opens a row of as many banks as may open in a tFAW.
    PinActAll   = 4'd2,
    /// Closes a bank.
    PinPre      = 4'd3,
    /// Closes all banks.
    PinPreAll   = 4'd4,
    /// Reads a column of a bank to the data bus.
    PinRd       = 4'd5,
    /// Writes a column of a bank from the data bus.
    PinWr       = 4'd6,
    /// Reads a column of all banks to the bank PUs.
    PinRdAll    = 4'd7,
    /// Reads result registers to the data bus.
    PinRdResult = 4'd8,
    /// Writes the shared buffers from the data bus.
    PinWrShared = 4'd9,
    /// Refreshes.
    PinRef      = 4'd10,
    /// Sets the word of the shared buffers that the next RD_ALL reads.
    PinSetWord  = 4'd11,
    /// Sets a mode register.
    PinMrs      = 4'd12
  } pin_command_e;

  /// A command for the chips. What a command has no use for is 0.
  typedef struct packed {
    /// Command on the pins.
    pin_command_e command;
    /// Bank of the command; RD_ALL: bits of what the PUs do; MRS: which mode register.
    bank_t        bank;
    /// Row of the command; MRS: the opcode.
    row_t         row;
    /// Column of the command; RD_RESULT: which results; WR_SHARED, SET_WORD: which word.
    column_t      column;
  } pins_t;

  /// What an RD_ALL says to the PUs, in place of a bank.
  typedef struct packed {
    /// Accumulator mode (context); else the adder tree (score, FC).
    logic accumulate;
    /// Begins a sum.
    logic first;
    /// Ends a sum.
    logic last;
    /// Reads the word that was set; else the one behind that of the last RD_ALL.
    logic back;
  } read_all_t;

  /// The command pins of a x8 DDR4 chip. What is on them stands in rank/pin_codes.md.
  typedef struct packed {
    /// CS_n: low where there is a command.
    logic        cs_n;
    /// ACT_n: low in an ACT.
    logic        act_n;
    /// RAS_n, in an ACT A16.
    logic        ras_n;
    /// CAS_n, in an ACT A15.
    logic        cas_n;
    /// WE_n, in an ACT A14.
    logic        we_n;
    /// BG1 and BG0: bank group.
    logic [1:0]  bg;
    /// BA1 and BA0: bank of the group.
    logic [1:0]  ba;
    /// A13 to A0; A12 is BC_n and A10 AP as well.
    logic [13:0] a;
  } dram_pins_t;

  // -------------------------------------------------------------------------------------------------
  // Configuration
  // -------------------------------------------------------------------------------------------------

  /// Timings of the DRAM, in tCK.
  typedef struct packed {
    /// tCCD_S.
    logic [7:0]  ccd_s;
    /// tCCD_L, and so the slot of the bank PUs.
    logic [7:0]  ccd_l;
    /// RD_RESULT or WR_SHARED to the next of either.
    logic [7:0]  ccd_result;
    /// tRRD_S.
    logic [7:0]  rrd_s;
    /// tRRD_L.
    logic [7:0]  rrd_l;
    /// tRCD of RD.
    logic [7:0]  rcd;
    /// tRCD of WR.
    logic [7:0]  rcd_wr;
    /// tRCD of RD_ALL.
    logic [7:0]  rcd_mac;
    /// RD_ALL to its columns at the bank PUs: RL_MAC.
    logic [7:0]  rl_mac;
    /// tRAS.
    logic [7:0]  ras;
    /// tRP.
    logic [7:0]  rp;
    /// tRC.
    logic [7:0]  rc;
    /// tRTP.
    logic [7:0]  rtp;
    /// tFAW.
    logic [7:0]  faw;
    /// Banks that may open in a tFAW: 16 or 8, by one ACT_ALL; 4, by ACTs.
    logic [4:0]  faw_banks;
    /// RD to WR: CL + BL + turnaround - CWL.
    logic [7:0]  rd_to_wr;
    /// WR to RD of another bank group: CWL + BL + tWTR_S.
    logic [7:0]  wr_to_rd_s;
    /// WR to RD of the same bank group: CWL + BL + tWTR_L.
    logic [7:0]  wr_to_rd_l;
    /// WR to PRE: CWL + BL + tWR.
    logic [7:0]  wr_to_pre;
    /// WR_SHARED to RD_ALL and RD_RESULT: CWL + BL + tWTR_SHARED; 0: they do not wait.
    logic [7:0]  shared_to_rd;
    /// CL.
    logic [7:0]  cl;
    /// CWL.
    logic [7:0]  cwl;
    /// tRFC.
    logic [15:0] rfc;
    /// tREFI.
    logic [19:0] refi;
  } timing_t;

  /// How the rank works.
  typedef struct packed {
    /// Refresh is on.
    logic refresh;
  } options_t;

  /// Size of a bank.
  typedef struct packed {
    /// Rows of a bank.
    logic [16:0] rows;
    /// Columns of a row.
    logic [8:0]  columns;
  } bank_size_t;

  // -------------------------------------------------------------------------------------------------
  // Requests to the rank
  // -------------------------------------------------------------------------------------------------

  /// What an array request asks for.
  typedef enum logic [1:0] {
    /// RD_ALL: a column of every bank to its PU.
    ArrayReadAll  = 2'd0,
    /// RD: a column of one bank to the data bus.
    ArrayRd       = 2'd1,
    /// WR: a column of one bank from the data bus.
    ArrayWr       = 2'd2,
    /// CLOSE_ALL: all banks are closed.
    ArrayCloseAll = 2'd3
  } array_kind_e;

  /// What the bank PUs do with the column of an all-bank read.
  typedef struct packed {
    /// Word of the shared buffers: the other operand.
    word_t word;
    /// Accumulator mode (context); else the adder tree (score, FC).
    logic  accumulate;
    /// Begins a sum.
    logic  first;
    /// Ends a sum.
    logic  last;
    /// First read of an operator, for statistics alone.
    logic  opens;
  } mac_t;

  /// A request for the banks.
  typedef struct packed {
    /// Kind of the request.
    array_kind_e kind;
    /// Bank of RD and WR.
    bank_t       bank;
    /// Row of RD_ALL, RD and WR.
    row_t        row;
    /// Column of RD_ALL, RD and WR.
    column_t     column;
    /// RD_ALL: what the bank PUs do with the column.
    mac_t        mac;
  } array_request_t;

  /// Which results an RD_RESULT reads, as its address bits say.
  typedef struct packed {
    /// One lane of one bank in each group; else the sums of the banks of a group.
    logic       context_sums;
    /// Context of 32-bit sums: bank groups 2 and 3; else 0 and 1.
    logic       upper;
    /// Always 0.
    logic [1:0] unused;
    /// Context: bank in its group.
    logic [1:0] bank;
    /// Context: lane of the result register; else the bank group.
    logic [1:0] lane;
  } result_address_t;

  /// What a burst of results is for.
  typedef enum logic [1:0] {
    /// Scores: added up over the chips, to the softmax unit.
    SumScores  = 2'd0,
    /// Outputs of a matrix: added up over the chips, to the host.
    SumOutputs = 2'd1,
    /// Context: the burst's elements added up for each chip.
    SumContext = 2'd2
  } sum_kind_e;

  /// What the adder unit does with a burst of results.
  typedef struct packed {
    /// What the results are for.
    sum_kind_e  kind;
    /// Scores, context: query head.
    head_t      head;
    /// Scores: in the first chunk of their head; context: begins a sum.
    logic       first;
    /// Context: ends a sum.
    logic       last;
    /// Scores: number of tokens, 0 to 4; the elements after them are masked.
    logic [2:0] tokens;
    /// Place of the first element in the score buffer; context: among the partial sums.
    place_t     place;
    /// Scores: they are kept in the score buffer.
    logic       keep;
    /// Outputs, context: the sums go on from partial sums.
    logic       goes_on;
    /// Outputs, context: the sums are complete; else they become partial sums.
    logic       complete;
  } sum_t;

  /// Whose the sums over the chips of a cycle are, one in each lane, as they come out of the adder unit.
  typedef struct packed {
    /// The sums are outputs of a matrix; else scores.
    logic       is_output;
    /// Scores: query head.
    head_t      head;
    /// Scores: in the first chunk of their head.
    logic       first;
    /// Scores, by lane: there is no such token. 0 in a lane that there is not.
    logic [3:0] masked;
    /// Scores: they are kept in the score buffer.
    logic       keep;
    /// Outputs: the sums are complete; else they become partial sums.
    logic       complete;
    /// Place of the first lane in the score buffer.
    place_t     place;
  } tree_sum_t;

  /// Whose the sums of the chips are, as they come out of the adder unit: of the context.
  typedef struct packed {
    /// Query head.
    head_t      head;
    /// The sums are complete; else they become partial sums.
    logic       complete;
    /// Place among the partial sums.
    logic [7:0] place;
  } lane_sums_t;

  /// A request for the data bus.
  typedef struct packed {
    /// WR_SHARED; else RD_RESULT.
    logic  write;
    /// WR_SHARED: word of the shared buffers; RD_RESULT: bits of a result address.
    word_t address;
    /// WR_SHARED: the host's next burst; else the next word of weights.
    logic  host;
    /// RD_RESULT: what the adder unit does with the results.
    sum_t  sum;
  } bus_request_t;

  /// A query head whose scores are complete.
  typedef struct packed {
    /// Query head whose scores are complete.
    head_t head;
  } finish_t;

  /// Scores in the buffer that become a word of weights.
  typedef struct packed {
    /// Place of the first score.
    place_t     place;
    /// Query head of the scores.
    head_t      head;
    /// Number of scores, 1 to 4.
    logic [2:0] count;
  } weigh_t;

  /// What happens in the rank in a cycle of its core, as the sequencer needs to know.
  typedef struct packed {
    /// The array request is accepted.
    logic       array_taken;
    /// The bus request is accepted.
    logic       bus_taken;
    /// The finish is accepted.
    logic       finish_taken;
    /// The weigh is accepted, with its last score.
    logic       weigh_taken;
    /// An RD_ALL is on the pins.
    logic       read;
    /// An RD_RESULT is on the pins.
    logic       results_taken;
    /// A word of the shared buffers is written.
    logic       written;
    /// The bank PUs have new results.
    logic       results;
    /// Scores that are scaled, and in the buffer if they are kept: 0 to 4.
    logic [2:0] scaled;
    /// A head can be weighed.
    logic       finished;
    /// A word of weights is complete.
    logic       word_made;
    /// Elements of the context that leave: 0 to 4.
    logic [2:0] context_made;
    /// Outputs of a matrix that leave: 0 to 4.
    logic [2:0] output_made;
  } rank_events_t;

  /// Why the rank has not read in a cycle of its core, and what is busy: for statistics alone.
  typedef struct packed {
    /// A read could not be chosen for its row.
    logic lost_row_switch;
    /// A read could not be chosen for a refresh.
    logic lost_refresh;
    /// The RD_ALL on the pins is the first of an operator.
    logic opens;
    /// The adder unit accepts elements from the data bus.
    logic adder;
    /// The softmax unit accepts a score, a weight or a sum.
    logic softmax;
    /// The controller has nothing queued.
    logic idle;
    /// Nothing is in flight in the rank, and all banks are closed.
    logic settled;
  } activity_t;

  // -------------------------------------------------------------------------------------------------
  // What the rank makes
  // -------------------------------------------------------------------------------------------------

  /// A score, before scaling.
  typedef struct packed {
    /// The score is masked: there is no such token.
    logic        masked;
    /// Query head of the score.
    head_t       head;
    /// The score in binary16.
    logic [15:0] bits;
  } score_t;

  /// A weight, or an element of the context, of a query head.
  typedef struct packed {
    /// Query head of the element.
    head_t       head;
    /// The element in binary16.
    logic [15:0] bits;
  } element_t;

  /// What the rank makes in a cycle of its core, by lane, the first at the bottom. What there is not is 0.
  typedef struct packed {
    /// There is a score.
    logic [3:0]       score_valid;
    /// The scores.
    score_t [3:0]     score;
    /// There is a weight.
    logic [3:0]       weight_valid;
    /// The weights.
    element_t [3:0]   weight;
    /// There is an element of the context.
    logic [3:0]       context_valid;
    /// The elements of the context, normalised.
    element_t [3:0]   context_element;
    /// There is an output of a matrix.
    logic [3:0]       output_valid;
    /// The outputs of a matrix, in binary16.
    logic [3:0][15:0] output_element;
  } rank_results_t;

  /// A column that is written to the cell arrays of a logic bank.
  typedef struct packed {
    /// Bank of the column.
    bank_t   bank;
    /// Column that is written.
    column_t column;
    /// Data of the column.
    cells_t  data;
  } cell_write_t;

  // -------------------------------------------------------------------------------------------------
  // Channels of an AiM
  // -------------------------------------------------------------------------------------------------

  /// What a command asks a channel of an AiM for.
  typedef enum logic [2:0] {
    /// RD_ALLs of columns that follow each other.
    AimMac     = 3'd0,
    /// A filling of the global buffer: WR_SHAREDs.
    AimFill    = 3'd1,
    /// The results of a sum: RD_RESULT.
    AimResults = 3'd2,
    /// WR: a column of one bank.
    AimWrite   = 3'd3,
    /// All banks are closed; a head ends.
    AimClose   = 3'd4
  } aim_kind_e;

  /// A command for a channel of an AiM.
  typedef struct packed {
    /// Kind of the command.
    aim_kind_e  kind;
    /// Bank of a WR.
    bank_t      bank;
    /// Row of a MAC or WR.
    row_t       row;
    /// First column of a MAC, or column of a WR.
    column_t    column;
    /// MAC: word of the global buffer for the first column.
    logic [5:0] word;
    /// Columns of a MAC, or words of a filling: 1 to 64.
    logic [6:0] count;
    /// MAC: the first column begins a sum.
    logic       first;
    /// MAC: the last column ends a sum.
    logic       last;
    /// MAC: the filling of the global buffer is given back with the last column.
    logic       frees;
  } aim_command_t;

  /// A column of one bank that the host writes, in every channel.
  typedef struct packed {
    /// Bank of the column.
    bank_t   bank;
    /// Row of the column.
    row_t    row;
    /// Column that is written.
    column_t column;
  } aim_write_t;

  /// What happens in a channel of an AiM in a cycle.
  typedef struct packed {
    /// An RD_ALL is on the pins.
    logic read;
    /// A word of the global buffer is written.
    logic written;
    /// The result registers are written.
    logic results;
    /// A read could not be chosen for its row.
    logic lost_row_switch;
    /// A read could not be chosen for a refresh.
    logic lost_refresh;
  } aim_events_t;

  // -------------------------------------------------------------------------------------------------
  // Programs (LoL-PIM section 5)
  // -------------------------------------------------------------------------------------------------

  /// Opcode of a word in the command buffer; commands, up to CLOSE_ALL, are dispatched.
  typedef enum logic [3:0] {
    /// No opcode: empty memory.
    OpNone       = 4'd0,
    /// A column of every bank to its PU: adder tree (score, FC).
    OpMacScore   = 4'd1,
    /// A column of every bank to its PU: four accumulators (context).
    OpMacContext = 4'd2,
    /// Results of the bank PUs to the adder unit.
    OpRdResult   = 4'd3,
    /// A word of the shared buffers from the host.
    OpWrShared   = 4'd4,
    /// A word of the shared buffers from the softmax unit.
    OpWrWeights  = 4'd5,
    /// The scores of a head are complete.
    OpFinish     = 4'd6,
    /// Up to four scores become a word of weights.
    OpWeigh      = 4'd7,
    /// All banks closed; a head ends.
    OpCloseAll   = 4'd8,
    /// Nothing is dispatched.
    OpNop        = 4'd9,
    /// The run ends.
    OpEnd        = 4'd10,
    /// The words behind it are repeated.
    OpDynLoop    = 4'd12,
    /// Fields of the command behind it change with the repetitions of loops.
    OpDynModi    = 4'd13
  } opcode_e;

  /// When a flag is set: never, or where each of some loops around the command is in its first (or
  /// last) repetition.
  typedef struct packed {
    /// The condition can hold.
    logic       enabled;
    /// Loops that must be in their first (or last) repetition, the innermost at the bottom.
    logic [3:0] loops;
  } condition_t;

  /// A request of the configuration, or the one that runs.
  typedef struct packed {
    /// The request is the one named in request; else the one that runs.
    logic       fixed;
    /// Request of the configuration; 0 unless fixed.
    logic [3:0] request;
  } request_choice_t;

  /// A command as it stands in the command buffer.
  typedef struct packed {
    /// Opcode of a command.
    opcode_e         opcode;
    /// Request that the virtual row belongs to.
    request_choice_t request;
    /// Always 0.
    logic [2:0]      zero;
    /// Begins a sum, or a head.
    condition_t      first;
    /// Ends a sum, or a head.
    condition_t      last;
    /// First command of an operator.
    condition_t      opens;
    /// Query head.
    head_t           head;
    /// MAC: virtual row; others: place in the score buffer, or among the partial sums.
    logic [17:0]     place;
    /// Column of a MAC.
    column_t         column;
    /// Word of the shared buffers; RD_RESULT: which results.
    logic [7:0]      word;
  } command_word_t;

  /// Source of a loop's bound.
  typedef enum logic [1:0] {
    /// The bound is the number of repetitions.
    SourceCount = 2'd0,
    /// The bound is the tokens of a repetition.
    SourcePart  = 2'd1,
    /// The bound is the tokens of a repetition; the loop goes over the T_cur of a request.
    SourceAll   = 2'd2
  } loop_source_e;

  /// Dyn-Loop.
  typedef struct packed {
    /// Opcode of a Dyn-Loop.
    opcode_e         opcode;
    /// Source All: request whose tokens are counted.
    request_choice_t request;
    /// Source of the loop's bound.
    loop_source_e    source;
    /// Always 0.
    logic [18:0]     zero;
    /// LE: words that are repeated.
    logic [13:0]     words;
    /// LB: repetitions, or tokens of a repetition.
    logic [19:0]     bound;
  } loop_word_t;

  /// What a Dyn-Modi changes.
  typedef enum logic [2:0] {
    /// Nothing.
    TargetNone      = 3'd0,
    /// Row or place.
    TargetPlace     = 3'd1,
    /// Row or place, by 64 times the coefficient.
    TargetPlace64   = 3'd2,
    /// Column.
    TargetColumn    = 3'd3,
    /// Word of the shared buffers, or which results.
    TargetWord      = 3'd4,
    /// Word of the shared buffers, or which results, modulo 256.
    TargetWordWraps = 3'd5,
    /// Query head.
    TargetHead      = 3'd6
  } target_e;

  /// A product that a Dyn-Modi adds to a field: a coefficient times the number of a loop's
  /// repetition.
  typedef struct packed {
    /// Field that changes.
    target_e    target;
    /// Loop whose repetitions change the field, 0 for the innermost.
    logic [1:0] level;
    /// Change in each repetition of the loop.
    logic [9:0] coefficient;
  } modification_t;

  /// Dyn-Modi.
  typedef struct packed {
    /// Opcode of a Dyn-Modi.
    opcode_e             opcode;
    /// Products that are added to fields of the next command.
    modification_t [3:0] slots;
  } modify_word_t;

  /// A command that is dispatched.
  typedef struct packed {
    /// Opcode of the command.
    opcode_e     kind;
    /// Request that the row belongs to.
    logic [3:0]  request;
    /// Query head.
    head_t       head;
    /// Row of a MAC, after the look-up; 0 for others.
    row_t        row;
    /// Place in the score buffer, or among the partial sums; 0 for a MAC.
    logic [17:0] place;
    /// Column of a MAC.
    column_t     column;
    /// Word of the shared buffers; RD_RESULT: which results.
    logic [7:0]  word;
    /// Begins a sum, or a head; WR_SHARED: waits for all MACs before it.
    logic        first;
    /// Ends a sum, or a head.
    logic        last;
    /// First command of an operator.
    logic        opens;
    /// Tokens of the current repetition of the innermost loop over tokens, or T_cur.
    logic [19:0] tokens;
  } dispatch_t;

  /// What the host writes to the module.
  typedef enum logic [2:0] {
    /// A word of the command buffer.
    LoadCommand = 3'd0,
    /// An entry of the Va2Pa table.
    LoadEntry   = 3'd1,
    /// T_cur of a request.
    LoadTokens  = 3'd2,
    /// A request's segment of the Va2Pa table.
    LoadSegment = 3'd3,
    /// Nothing; the program and the overflow are cleared.
    LoadClear   = 3'd4,
    /// A request's layers: how many, and entries of the table from one to the next.
    LoadLayers  = 3'd5
  } load_kind_e;

  /// A write of the host to the module.
  typedef struct packed {
    /// Kind of the write.
    load_kind_e  kind;
    /// Address of the word or entry, or number of the request.
    logic [15:0] address;
    /// Data that are written.
    logic [63:0] data;
  } load_t;

  /// A start of a run.
  typedef struct packed {
    /// Request that is to run.
    logic [3:0]  request;
    /// First word of the program.
    logic [13:0] address;
  } start_t;

  /// Status of a request: what the host reads.
  typedef enum logic [3:0] {
    /// The request has not been started.
    StatusNotStarted     = 4'd0,
    /// The request runs.
    StatusRunning        = 4'd1,
    /// The run reached an END.
    StatusDone           = 4'd2,
    /// The host stopped the run.
    StatusStopped        = 4'd3,
    /// The host had written data that do not fit the buffers.
    StatusBufferOverflow = 4'd4,
    /// The program ended without an END.
    StatusPastEnd        = 4'd5,
    /// No such opcode, or a bit that must not be set.
    StatusUnknownOpcode  = 4'd6,
    /// No such target, loop or source of a bound, or nothing to modify.
    StatusUnknownTarget  = 4'd7,
    /// A loop without words, without a repetition, or with too many.
    StatusLoopBound      = 4'd8,
    /// A loop extends beyond the end of the program or of the loop around it.
    StatusLoopEnd        = 4'd9,
    /// Loops are nested deeper than there are registers for.
    StatusTooDeep        = 4'd10,
    /// A field exceeds its largest value.
    StatusFieldOverflow  = 4'd11,
    /// The virtual row has no row.
    StatusVa2PaMiss      = 4'd12,
    /// There is no such request.
    StatusUnknownRequest = 4'd13
  } status_e;

  /// The end of a run.
  typedef struct packed {
    /// Status with which the run ended.
    status_e     status;
    /// Word at which the run ended.
    logic [13:0] address;
    /// Layer of the request that ran.
    logic [15:0] layer;
  } run_end_t;

  /// What is wrong with a run, as the sequencer finds it.
  typedef enum logic [3:0] {
    /// No fault.
    FaultNone           = 4'd0,
    /// There is no such command.
    FaultUnknownCommand = 4'd1,
    /// There is no such row.
    FaultNoRow          = 4'd2,
    /// There is no such column.
    FaultNoColumn       = 4'd3,
    /// There is no such place.
    FaultNoPlace        = 4'd4,
    /// A WEIGH has no tokens.
    FaultNoTokens       = 4'd5,
    /// The host has fewer bursts than the program writes.
    FaultNoOperand      = 4'd6,
    /// Results of a sum had not been read when those of the next came.
    FaultOverwritten    = 4'd7,
    /// WEIGHs and WR_WEIGHTS do not match.
    FaultUnpaired       = 4'd8
  } fault_e;

endpackage
