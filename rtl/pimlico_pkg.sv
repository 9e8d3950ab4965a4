// SPDX-License-Identifier: MIT
// Types of the ports: commands, requests, results, instruction words, configuration and timings.
//
// Each is one port. Its twin in Rust stands under the same name in hw-models/dpa (src/types), and the build
// refuses to go on where the two differ in a field, a width, an order or a code.

package pimlico_pkg;

  // -------------------------------------------------------------------------------------------------
  // Sizes
  // -------------------------------------------------------------------------------------------------

  /// Chips of a rank.
  localparam int unsigned CHIPS = 8;
  /// Banks of a chip.
  localparam int unsigned BANKS = 16;

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
    PinNone     = 4'd0,
    PinAct      = 4'd1,
    PinActAll   = 4'd2,
    PinPre      = 4'd3,
    PinPreAll   = 4'd4,
    PinRd       = 4'd5,
    PinWr       = 4'd6,
    PinRdAll    = 4'd7,
    PinRdResult = 4'd8,
    PinWrShared = 4'd9,
    PinRef      = 4'd10
  } pin_command_e;

  /// The command pins of a rank. What a command has no use for is 0.
  typedef struct packed {
    pin_command_e command;
    bank_t        bank;
    row_t         row;
    column_t      column;  // RD_RESULT: which results; WR_SHARED: the word
  } pins_t;

  // -------------------------------------------------------------------------------------------------
  // Configuration
  // -------------------------------------------------------------------------------------------------

  /// Timings of the DRAM, in tCK.
  typedef struct packed {
    logic [7:0]  ccd_s;       // tCCD_S
    logic [7:0]  ccd_l;       // tCCD_L, and so the slot of the bank PUs
    logic [7:0]  rrd_s;       // tRRD_S
    logic [7:0]  rrd_l;       // tRRD_L
    logic [7:0]  rcd;         // tRCD of RD
    logic [7:0]  rcd_wr;      // tRCD of WR
    logic [7:0]  rcd_mac;     // tRCD of RD_ALL
    logic [7:0]  ras;         // tRAS
    logic [7:0]  rp;          // tRP
    logic [7:0]  rc;          // tRC
    logic [7:0]  rtp;         // tRTP
    logic [7:0]  faw;         // tFAW
    logic [7:0]  rd_to_wr;    // RD to WR: CL + BL + turnaround - CWL
    logic [7:0]  wr_to_rd_s;  // WR to RD of another bank group: CWL + BL + tWTR_S
    logic [7:0]  wr_to_rd_l;  // WR to RD of the same bank group: CWL + BL + tWTR_L
    logic [7:0]  wr_to_pre;   // WR to PRE: CWL + BL + tWR
    logic [7:0]  cl;          // CL
    logic [7:0]  cwl;         // CWL
    logic [15:0] rfc;         // tRFC
    logic [19:0] refi;        // tREFI
  } timing_t;

  /// How the rank works.
  typedef struct packed {
    logic staggered;  // a row is opened by one ACT for each bank; else by one ACT_ALL
    logic refresh;    // refresh is on
  } options_t;

  /// Size of a bank.
  typedef struct packed {
    logic [16:0] rows;
    logic [8:0]  columns;
  } bank_size_t;

  // -------------------------------------------------------------------------------------------------
  // Requests to the rank
  // -------------------------------------------------------------------------------------------------

  /// What an array request asks for.
  typedef enum logic [1:0] {
    ArrayReadAll  = 2'd0,  // a column of every bank to its PU
    ArrayRd       = 2'd1,  // RD
    ArrayWr       = 2'd2,  // WR
    ArrayCloseAll = 2'd3   // all banks closed
  } array_kind_e;

  /// What the bank PUs do with the column of an all-bank read.
  typedef struct packed {
    word_t word;        // of the shared buffers: the other operand
    logic  accumulate;  // accumulator mode (context); else the adder tree (score, FC)
    logic  first;       // begins a sum
    logic  last;        // ends a sum
    logic  opens;       // the first of an operator: for statistics alone
  } mac_t;

  /// A request for the banks.
  typedef struct packed {
    array_kind_e kind;
    bank_t       bank;    // of RD and WR
    row_t        row;     // of all but a close
    column_t     column;  // of all but a close
    mac_t        mac;     // of an all-bank read
  } array_request_t;

  /// Which results an RD_RESULT reads, as its address bits say.
  typedef struct packed {
    logic       context_sums;  // one lane of one bank in each group; else the sums of the banks of a group
    logic       upper;         // context of 32-bit sums: bank groups 2 and 3; else 0 and 1
    logic [1:0] unused;        // 0
    logic [1:0] bank;          // context: bank in its group
    logic [1:0] lane;          // context: lane of the result register; else the bank group
  } result_address_t;

  /// What a burst of results is for.
  typedef enum logic [1:0] {
    SumScores  = 2'd0,  // scores: added up over the chips, to the softmax unit
    SumOutputs = 2'd1,  // outputs of a matrix: added up over the chips, to the host
    SumContext = 2'd2   // context: the burst's elements added up for each chip
  } sum_kind_e;

  /// What the adder unit does with a burst of results.
  typedef struct packed {
    sum_kind_e  kind;
    head_t      head;      // scores, context: query head
    logic       first;     // scores: in the first chunk of their head; context: begins a sum
    logic       last;      // context: ends a sum
    logic [2:0] tokens;    // scores: tokens that there are, 0 to 4; the elements behind them are masked
    place_t     place;     // of the first in the score buffer; context: among the partial sums
    logic       keep;      // scores: they are kept in the score buffer
    logic       goes_on;   // outputs, context: go on from a partial sum
    logic       complete;  // outputs, context: complete; else they become partial sums
  } sum_t;

  /// Whose a sum over the chips is, as it comes out of the adder unit.
  typedef struct packed {
    logic   is_output;  // an output of a matrix; else a score
    head_t  head;       // score: query head
    logic   first;      // score: in the first chunk of its head
    logic   masked;     // score: there is no such token
    logic   keep;       // score: it is kept in the score buffer
    logic   complete;   // output: complete; else it becomes a partial sum
    place_t place;      // in the score buffer
  } tree_sum_t;

  /// Whose the sums of the chips are, as they come out of the adder unit: of the context.
  typedef struct packed {
    head_t      head;
    logic       complete;  // else they become partial sums
    logic [7:0] place;     // among the partial sums
  } lane_sums_t;

  /// A request for the data bus.
  typedef struct packed {
    logic  write;    // WR_SHARED; else RD_RESULT
    word_t address;  // word of the shared buffers, or a result_address_t
    logic  host;     // WR_SHARED: the host's next burst; else the next word of weights
    sum_t  sum;      // RD_RESULT
  } bus_request_t;

  /// A query head whose scores are complete.
  typedef struct packed {
    head_t head;
  } finish_t;

  /// Scores in the buffer that become a word of weights.
  typedef struct packed {
    place_t     place;  // of the first
    head_t      head;
    logic [2:0] count;  // 1 to 4
  } weigh_t;

  /// What happens in the rank in a tCK, as the sequencer needs to know.
  typedef struct packed {
    logic array_taken;    // the array request is taken
    logic bus_taken;      // the bus request is taken
    logic finish_taken;   // the finish is taken
    logic weigh_taken;    // the weigh is taken: its last score goes into the softmax unit
    logic read;           // an RD_ALL is on the pins
    logic results_taken;  // an RD_RESULT is
    logic written;        // a word of the shared buffers is written
    logic results;        // the bank PUs have new results
    logic scaled;         // a score is scaled, and in the buffer if it is kept
    logic finished;       // a head can be weighed
    logic word_made;      // a word of weights is complete
    logic context_made;   // an element of the context leaves
    logic output_made;    // an output of a matrix leaves
  } rank_events_t;

  /// Why the rank has not read in a tCK, and what is busy: for statistics alone.
  typedef struct packed {
    logic lost_row_switch;  // a read could not be chosen for its row
    logic lost_refresh;     // a read could not be chosen for a refresh
    logic opens;            // the RD_ALL on the pins is the first of an operator
    logic adder;            // the adder unit takes elements from the data bus
    logic softmax;          // the softmax unit takes a score, a weight or a sum
    logic idle;             // the controller has nothing queued
    logic settled;          // nothing is on its way in the rank, and all banks are closed
  } activity_t;

  // -------------------------------------------------------------------------------------------------
  // What the rank makes
  // -------------------------------------------------------------------------------------------------

  /// A score, before scaling.
  typedef struct packed {
    logic        masked;  // there is no such token
    head_t       head;
    logic [15:0] bits;    // binary16
  } score_t;

  /// A weight, or an element of the context, of a query head.
  typedef struct packed {
    head_t       head;
    logic [15:0] bits;    // binary16
  } element_t;

  /// What the rank makes in a tCK. What there is not is 0.
  typedef struct packed {
    logic        score_valid;
    score_t      score;
    logic        weight_valid;
    element_t    weight;
    logic        context_valid;
    element_t    context_element;  // an element of the context, normalised
    logic        output_valid;
    logic [15:0] output_element;   // an output of a matrix, binary16
  } rank_results_t;

  /// A column that is written to the cell arrays of a logic bank.
  typedef struct packed {
    bank_t   bank;
    column_t column;
    cells_t  data;
  } cell_write_t;

  // -------------------------------------------------------------------------------------------------
  // Programs (LoL-PIM section 5)
  // -------------------------------------------------------------------------------------------------

  /// Opcode of a word in the command buffer; up to OpCloseAll it is dispatched.
  typedef enum logic [3:0] {
    OpNone       = 4'd0,
    OpMacScore   = 4'd1,
    OpMacContext = 4'd2,
    OpRdResult   = 4'd3,
    OpWrShared   = 4'd4,
    OpWrWeights  = 4'd5,
    OpFinish     = 4'd6,
    OpWeigh      = 4'd7,
    OpCloseAll   = 4'd8,
    OpNop        = 4'd9,
    OpEnd        = 4'd10,
    OpDynLoop    = 4'd12,
    OpDynModi    = 4'd13
  } opcode_e;

  /// When a flag is set: enabled, and each of these loops (innermost at the bottom) in its first or last
  /// repetition.
  typedef struct packed {
    logic       enabled;
    logic [3:0] loops;
  } condition_t;

  /// A request of the configuration, or the one that runs.
  typedef struct packed {
    logic       fixed;
    logic [3:0] request;  // 0 unless fixed
  } request_choice_t;

  /// A command as it stands in the command buffer.
  typedef struct packed {
    opcode_e         opcode;
    request_choice_t request;
    logic [2:0]      zero;
    condition_t      first;
    condition_t      last;
    condition_t      opens;
    head_t           head;
    logic [17:0]     place;  // of a MAC: the virtual row
    column_t         column;
    logic [7:0]      word;
  } command_word_t;

  /// Source of a loop's bound.
  typedef enum logic [1:0] {
    SourceCount = 2'd0,
    SourcePart  = 2'd1,
    SourceAll   = 2'd2
  } loop_source_e;

  /// Dyn-Loop.
  typedef struct packed {
    opcode_e         opcode;
    request_choice_t request;
    loop_source_e    source;
    logic [18:0]     zero;
    logic [13:0]     words;  // LE
    logic [19:0]     bound;  // LB
  } loop_word_t;

  /// What a Dyn-Modi changes.
  typedef enum logic [2:0] {
    TargetNone      = 3'd0,
    TargetPlace     = 3'd1,
    TargetPlace64   = 3'd2,
    TargetColumn    = 3'd3,
    TargetWord      = 3'd4,
    TargetWordWraps = 3'd5,
    TargetHead      = 3'd6
  } target_e;

  /// One of its products.
  typedef struct packed {
    target_e    target;
    logic [1:0] level;  // loop, 0 for the innermost
    logic [9:0] coefficient;
  } modification_t;

  /// Dyn-Modi.
  typedef struct packed {
    opcode_e             opcode;
    modification_t [3:0] slots;
  } modify_word_t;

  /// A command that is dispatched.
  typedef struct packed {
    opcode_e     kind;
    logic [3:0]  request;  // whose row it is
    head_t       head;
    row_t        row;      // of a MAC; 0 for others
    logic [17:0] place;    // 0 for a MAC
    column_t     column;
    logic [7:0]  word;     // of the shared buffers, or which results
    logic        first;    // begins a sum, or a head; WR_SHARED: behind all MACs before it
    logic        last;     // ends it
    logic        opens;    // the first of an operator
    logic [19:0] tokens;   // of the present repetition of the innermost loop over tokens, or T_cur
  } dispatch_t;

  /// What the host writes to the module.
  typedef enum logic [2:0] {
    LoadCommand = 3'd0,  // a word of the command buffer
    LoadEntry   = 3'd1,  // an entry of the Va2Pa table
    LoadTokens  = 3'd2,  // T_cur of a request
    LoadSegment = 3'd3,  // a request's segment of the table
    LoadClear   = 3'd4   // nothing: program and overflow are forgotten
  } load_kind_e;

  /// A write of the host to the module.
  typedef struct packed {
    load_kind_e  kind;
    logic [15:0] address;
    logic [63:0] data;
  } load_t;

  /// A start of a run.
  typedef struct packed {
    logic [3:0]  request;
    logic [13:0] address;  // its first word
  } start_t;

  /// Status of a request.
  typedef enum logic [3:0] {
    StatusNotStarted     = 4'd0,
    StatusRunning        = 4'd1,
    StatusDone           = 4'd2,
    StatusStopped        = 4'd3,
    StatusBufferOverflow = 4'd4,
    StatusPastEnd        = 4'd5,
    StatusUnknownOpcode  = 4'd6,
    StatusUnknownTarget  = 4'd7,
    StatusLoopBound      = 4'd8,
    StatusLoopEnd        = 4'd9,
    StatusTooDeep        = 4'd10,
    StatusFieldOverflow  = 4'd11,
    StatusVa2PaMiss      = 4'd12,
    StatusUnknownRequest = 4'd13
  } status_e;

  /// The end of a run.
  typedef struct packed {
    status_e     status;
    logic [13:0] address;  // of the word at which it ended
  } run_end_t;

  /// What is wrong with a run: see sequencer.
  typedef enum logic [3:0] {
    FaultNone           = 4'd0,
    FaultUnknownCommand = 4'd1,
    FaultNoRow          = 4'd2,
    FaultNoColumn       = 4'd3,
    FaultNoPlace        = 4'd4,
    FaultNoTokens       = 4'd5,
    FaultNoOperand      = 4'd6,
    FaultOverwritten    = 4'd7,
    FaultUnpaired       = 4'd8
  } fault_e;

endpackage
