// SPDX-License-Identifier: MIT
// Dispatcher: expands programs of direct PIM access (DPA) into commands. Contract: dispatcher.md.

module dispatcher import pimlico_pkg::*, dispatcher_pkg::*; #(
  /// Requests in the configuration, 1 to 16.
  parameter int unsigned REQUESTS = 16,
  /// Words of the command buffer, up to 16380.
  parameter int unsigned COMMANDS = 12288,
  /// Entries of the Va2Pa table, up to 65535.
  parameter int unsigned ENTRIES  = 49152
) (
  /// Clock: one edge per cycle.
  input  logic             clk_i,
  /// Asynchronous reset, active low.
  input  logic             rst_ni,
  /// The host writes.
  input  logic             load_valid_i,
  /// The host's write.
  input  load_t            load_i,
  /// A run is to start.
  input  logic             start_valid_i,
  /// The run that is to start.
  input  start_t           start_i,
  /// The run is to stop.
  input  logic             stop_i,
  /// Words from the last fetch_address_o on, the first at the bottom.
  input  logic [1:0][63:0] fetch_data_i,
  /// Entry of the Va2Pa table at the last table_address_o.
  input  logic [15:0]      table_data_i,
  /// The target accepts the command, if there is one.
  input  logic             dispatch_ready_i,
  /// The command buffer stores the host's data.
  output logic             command_write_o,
  /// The Va2Pa table stores the host's data.
  output logic             table_write_o,
  /// The host has written what does not fit.
  output logic             overflow_o,
  /// A start is accepted, if there is one.
  output logic             start_ready_o,
  /// The command buffer is read.
  output logic             fetch_read_o,
  /// Address of the first of the two words that are read.
  output logic [13:0]      fetch_address_o,
  /// The Va2Pa table is read.
  output logic             table_read_o,
  /// Address of the entry that is read; 0 if none is.
  output logic [15:0]      table_address_o,
  /// There is a command.
  output logic             dispatch_valid_o,
  /// The command; 0 if there is none.
  output dispatch_t        dispatch_o,
  /// The run ends.
  output logic             end_valid_o,
  /// How and where the run ends; 0 if it does not.
  output run_end_t         end_o,
  /// Status of each request.
  output status_e [15:0]   status_o
);

  // Entry of the Va2Pa table that gives no row.
  localparam logic [15:0] NO_ROW = 16'hFFFF;

  // The stages behind the sequencing, each with its register. What is in one waits until the next is free.
  turn_t  turn, multiply_d, multiply_q;
  stage_t checked, added, looked_up, found;
  stage_t add_d, add_q, translate_d, translate_q, wait_d, wait_q, dispatch_d, dispatch_q;
  logic   multiply_valid_d, multiply_valid_q, add_valid_d, add_valid_q, translate_valid_d, translate_valid_q;
  logic   wait_valid_d, wait_valid_q, dispatch_valid_d, dispatch_valid_q;
  logic   multiply_free, add_free, translate_free, wait_free, dispatch_free;

  // ---------------------------------------------------------------------------------------------
  // Host: the program's length, and what does not fit
  // ---------------------------------------------------------------------------------------------

  address_t length_d, length_q;
  logic     overflow_d, overflow_q;
  logic     fits;

  // Whether there is such an address, and room for the data.
  always_comb begin
    unique case (load_i.kind)
      LoadCommand: fits = load_i.address < 16'(COMMANDS);
      LoadEntry:   fits = load_i.address < 16'(ENTRIES) && load_i.data[63:16] == '0;
      LoadTokens:  fits = load_i.address < 16'(REQUESTS) && load_i.data[63:20] == '0;
      LoadSegment,
      LoadLayers:  fits = load_i.address < 16'(REQUESTS) && load_i.data[63:32] == '0;
      default:     fits = 1'b1;
    endcase
  end

  assign command_write_o = load_valid_i && load_i.kind == LoadCommand && fits;
  assign table_write_o   = load_valid_i && load_i.kind == LoadEntry && fits;
  assign overflow_o      = overflow_q;

  always_comb begin : program_length
    length_d   = length_q;
    overflow_d = overflow_q;
    if (load_valid_i && !fits) overflow_d = 1'b1;
    if (command_write_o && load_i.address[13:0] >= length_q) begin
      length_d = load_i.address[13:0] + 14'd1;
    end
    if (load_valid_i && load_i.kind == LoadClear) begin
      length_d   = '0;
      overflow_d = 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Configuration
  // ---------------------------------------------------------------------------------------------

  logic [3:0]  request_d, request_q;  // that runs, or has just ended
  logic        steps_d, steps_q;      // its layer ends
  logic [3:0]  tokens_request;
  tokens_t     tokens;
  logic [15:0] run_layer;
  // Of the command whose fields are added up: virtual rows of its request, and the first entry of its layer.
  logic [15:0] add_rows, translate_rows_d, translate_rows_q;
  logic [16:0] add_base, translate_base_d, translate_base_q;

  dispatcher_requests #(.REQUESTS(REQUESTS)) u_requests (
    .clk_i,
    .rst_ni,
    .tokens_valid_i    (load_valid_i && fits && load_i.kind == LoadTokens),
    .segment_valid_i   (load_valid_i && fits && load_i.kind == LoadSegment),
    .layers_valid_i    (load_valid_i && fits && load_i.kind == LoadLayers),
    .write_request_i   (load_i.address[3:0]),
    .data_i            (load_i.data[31:0]),
    .run_request_i     (request_q),
    .steps_i           (steps_q),
    .tokens_request_i  (tokens_request),
    .segment_request_i (add_q.command.request),
    .tokens_o          (tokens),
    .rows_o            (add_rows),
    .base_o            (add_base),
    .layer_o           (run_layer)
  );

  // ---------------------------------------------------------------------------------------------
  // Sequencing: the words of a turn, and where the next begins
  // ---------------------------------------------------------------------------------------------

  logic                   busy_d, busy_q;        // a run is not over
  logic                   running_d, running_q;  // words of it are sequenced
  address_t               pc_d, pc_q;            // of the first word at fetch_data_i
  logic                   started, sequence_steps, sequence_moves, goes_on, pair, begins;
  address_t               next_pc;
  logic [DEPTH-1:0]       there, firsts, lasts;
  logic [1:0]             top;
  address_t               final_word;
  tokens_t                part;
  logic [SLOTS-1:0][1:0]  levels;
  logic [SLOTS-1:0][15:0] numbers;
  level_t                 loop_level;
  logic                   loop_waits;  // a Dyn-Loop is in the next stage: the loops are not yet known
  logic                   loop_begins;

  assign start_ready_o  = !busy_q;
  assign started        = start_valid_i && start_ready_o;
  assign sequence_steps = running_q && multiply_free && !loop_waits;
  assign sequence_moves = sequence_steps && goes_on;

  assign fetch_read_o    = started || sequence_moves;
  assign fetch_address_o = started ? start_i.address : sequence_moves ? next_pc : '0;

  dispatcher_sequence #(.REQUESTS(REQUESTS)) u_sequence (
    .fetch_data_i     (fetch_data_i),
    .at_i             (pc_q),
    .length_i         (length_q),
    .overflow_i       (overflow_q),
    .stop_i           (stop_i),
    .request_i        (request_q),
    .tokens_i         (tokens),
    .there_i          (there),
    .top_i            (top),
    .final_word_i     (final_word),
    .part_i           (part),
    .numbers_i        (numbers),
    .firsts_i         (firsts),
    .lasts_i          (lasts),
    .tokens_request_o (tokens_request),
    .levels_o         (levels),
    .pair_o           (pair),
    .begins_o         (begins),
    .goes_on_o        (goes_on),
    .turn_o           (turn)
  );

  dispatcher_nest u_nest (
    .clk_i,
    .clear_i      (started),
    .at_i         (pc_q),
    .pair_i       (pair),
    .begins_i     (begins),
    .moves_i      (sequence_moves),
    .waits_i      (loop_waits),
    .pushes_i     (loop_begins),
    .level_i      (loop_level),
    .slots_i      (levels),
    .tokens_i     (tokens),
    .there_o      (there),
    .top_o        (top),
    .final_word_o (final_word),
    .part_o       (part),
    .numbers_o    (numbers),
    .firsts_o     (firsts),
    .lasts_o      (lasts),
    .next_o       (next_pc)
  );

  // ---------------------------------------------------------------------------------------------
  // Checks, products and sums
  // ---------------------------------------------------------------------------------------------

  logic                   is_single;  // a command
  logic [SLOTS-1:0][18:0] product, product_d, product_q;
  target_e [SLOTS-1:0]    target, target_d, target_q;

  assign loop_waits  = multiply_valid_q && multiply_q.begins;
  assign loop_begins = loop_waits && add_free && !checked.ends;

  dispatcher_check #(.REQUESTS(REQUESTS)) u_check (
    .turn_i       (multiply_q),
    .request_i    (request_q),
    .length_i     (length_q),
    .there_i      (there),
    .final_word_i (final_word),
    .level_o      (loop_level),
    .is_command_o (is_single),
    .checked_o    (checked)
  );

  dispatcher_multiply u_multiply (
    .terms_i   (multiply_q.terms),
    .numbers_i (multiply_q.numbers),
    .product_o (product)
  );

  for (genvar s = 0; s < SLOTS; s++) begin : gen_target
    assign target[s] = multiply_q.terms[s].target;
  end

  dispatcher_add u_add (
    .stage_i   (add_q),
    .target_i  (target_q),
    .product_i (product_q),
    .added_o   (added)
  );

  // ---------------------------------------------------------------------------------------------
  // Look-up
  // ---------------------------------------------------------------------------------------------

  logic        looks_up, beyond;
  logic [15:0] virtual_row;
  logic [16:0] entry;

  assign virtual_row = translate_q.command.place[15:0];
  assign looks_up    = !translate_q.ends && has_row(translate_q.command.kind);
  assign entry       = {1'b0, translate_base_q[15:0]} + {1'b0, virtual_row};
  assign beyond      = virtual_row >= translate_rows_q || translate_base_q[16] || entry >= 17'(ENTRIES);

  assign table_read_o    = translate_valid_q && looks_up && !beyond && wait_free;
  assign table_address_o = table_read_o ? entry[15:0] : '0;

  always_comb begin
    looked_up = translate_q;
    if (looks_up && beyond) begin
      looked_up.ends          = 1'b1;
      looked_up.ending.status = StatusVa2PaMiss;
    end
  end

  // The table's entry.
  always_comb begin
    found = wait_q;
    if (!wait_q.ends && has_row(wait_q.command.kind)) begin
      found.command.place = {2'd0, table_data_i};
      if (table_data_i == NO_ROW) begin
        found.ends          = 1'b1;
        found.ending.status = StatusVa2PaMiss;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Dispatch
  // ---------------------------------------------------------------------------------------------

  assign dispatch_valid_o = dispatch_valid_q && !dispatch_q.ends;
  assign end_valid_o      = dispatch_valid_q && dispatch_q.ends;
  assign steps_d          = end_valid_o && dispatch_q.ending.status == StatusDone && dispatch_q.ending.next_layer;

  always_comb begin
    end_o = '0;
    if (end_valid_o) begin
      end_o = '{
        status: dispatch_q.ending.status, address: dispatch_q.ending.address, layer: run_layer
      };
    end
  end

  always_comb begin
    dispatch_o = '0;
    if (dispatch_valid_o) begin
      dispatch_o = dispatch_q.command;
      if (has_row(dispatch_q.command.kind)) begin
        dispatch_o.row   = dispatch_q.command.place[15:0];
        dispatch_o.place = '0;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Movement: the end of a run takes with it all that is behind
  // ---------------------------------------------------------------------------------------------

  assign dispatch_free  = !dispatch_valid_q || dispatch_ready_i;
  assign wait_free      = !wait_valid_q || dispatch_free;
  assign translate_free = !translate_valid_q || wait_free;
  assign add_free       = !add_valid_q || translate_free;
  assign multiply_free  = !multiply_valid_q || add_free;

  always_comb begin : move
    multiply_valid_d  = multiply_free ? sequence_steps : multiply_valid_q;
    add_valid_d       = add_free ? multiply_valid_q && (checked.ends || is_single) : add_valid_q;
    translate_valid_d = translate_free ? add_valid_q : translate_valid_q;
    wait_valid_d      = wait_free ? translate_valid_q : wait_valid_q;
    dispatch_valid_d  = dispatch_free ? wait_valid_q : dispatch_valid_q;
    if (end_valid_o) begin
      multiply_valid_d  = 1'b0;
      add_valid_d       = 1'b0;
      translate_valid_d = 1'b0;
      wait_valid_d      = 1'b0;
      dispatch_valid_d  = 1'b0;
    end
  end

  always_comb begin : load
    multiply_d       = multiply_free ? turn : multiply_q;
    add_d            = add_free ? checked : add_q;
    product_d        = add_free ? product : product_q;
    target_d         = add_free ? target : target_q;
    translate_d      = translate_free ? added : translate_q;
    translate_rows_d = translate_free ? add_rows : translate_rows_q;
    translate_base_d = translate_free ? add_base : translate_base_q;
    wait_d           = wait_free ? looked_up : wait_q;
    dispatch_d       = dispatch_free ? found : dispatch_q;
  end

  always_comb begin : run
    busy_d    = busy_q;
    running_d = running_q;
    if (sequence_steps && !sequence_moves) running_d = 1'b0;
    if (end_valid_o) begin
      busy_d    = 1'b0;
      running_d = 1'b0;
    end
    if (started) begin
      busy_d    = 1'b1;
      running_d = 1'b1;
    end
  end

  assign pc_d      = fetch_read_o ? fetch_address_o : pc_q;
  assign request_d = started ? start_i.request : request_q;

  dispatcher_status #(.REQUESTS(REQUESTS)) u_status (
    .clk_i,
    .rst_ni,
    .starts_i        (started),
    .start_request_i (start_i.request),
    .ends_i          (end_valid_o),
    .end_request_i   (request_q),
    .ending_i        (dispatch_q.ending.status),
    .status_o        (status_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q            <= 1'b0;
      running_q         <= 1'b0;
      steps_q           <= 1'b0;
      multiply_valid_q  <= 1'b0;
      add_valid_q       <= 1'b0;
      translate_valid_q <= 1'b0;
      wait_valid_q      <= 1'b0;
      dispatch_valid_q  <= 1'b0;
      length_q          <= '0;
      overflow_q        <= 1'b0;
    end else begin
      busy_q            <= busy_d;
      running_q         <= running_d;
      steps_q           <= steps_d;
      multiply_valid_q  <= multiply_valid_d;
      add_valid_q       <= add_valid_d;
      translate_valid_q <= translate_valid_d;
      wait_valid_q      <= wait_valid_d;
      dispatch_valid_q  <= dispatch_valid_d;
      length_q          <= length_d;
      overflow_q        <= overflow_d;
    end
  end

  always_ff @(posedge clk_i) begin
    request_q        <= request_d;
    pc_q             <= pc_d;
    multiply_q       <= multiply_d;
    add_q            <= add_d;
    product_q        <= product_d;
    target_q         <= target_d;
    translate_q      <= translate_d;
    translate_rows_q <= translate_rows_d;
    translate_base_q <= translate_base_d;
    wait_q           <= wait_d;
    dispatch_q       <= dispatch_d;
  end

  if (REQUESTS == 0 || REQUESTS > 16 || COMMANDS == 0 || COMMANDS > 16380)
    $fatal(1, "REQUESTS = %0d, COMMANDS = %0d: expected 1 to 16, and 1 to 16380", REQUESTS, COMMANDS);
  if (ENTRIES == 0 || ENTRIES > 65535) $fatal(1, "ENTRIES = %0d: expected 1 to 65535", ENTRIES);

endmodule
