// SPDX-License-Identifier: MIT
// Types and encodings that the parts of dispatcher share. Contract: dispatcher.md.

package dispatcher_pkg;

  import pimlico_pkg::*;

  // Loops around each other, and fields that a Dyn-Modi changes.
  localparam int unsigned DEPTH = 4;
  localparam int unsigned SLOTS = 4;

  typedef logic [13:0] address_t;
  typedef logic [19:0] tokens_t;

  // A loop that runs.
  typedef struct packed {
    address_t    body;         // its first word
    address_t    final_word;   // its last word
    logic [15:0] number;       // of the repetition
    logic        is_last;      // repetition
    tokens_t     rest;         // tokens or repetitions: of the last repetition, else behind this one
    tokens_t     step;         // of every other repetition
    logic        over_tokens;
  } level_t;

  // A request's segment of the Va2Pa table.
  typedef struct packed {
    logic [15:0] rows;
    logic [15:0] base;
  } segment_t;

  // A request's layers: how many, of which 0 is one, and entries from one to the next.
  typedef struct packed {
    logic [15:0] number;
    logic [15:0] stride;
  } layers_t;

  // The layer that a request is at, and its first entry; bit 16 stays set once that is beyond the table.
  typedef struct packed {
    logic [15:0] number;
    logic [16:0] base;
  } layer_t;

  // How a run ends, and where. With next_layer the request goes on to its next layer, if the run is done.
  typedef struct packed {
    status_e  status;
    address_t address;
    logic     next_layer;
  } ending_t;

  // A coefficient whose product with a number is added to a field.
  typedef struct packed {
    target_e    target;
    logic [9:0] coefficient;
  } term_t;

  // The words of a turn, with what the loops around them are at.
  typedef struct packed {
    status_e                fault;        // of the run, whatever the word is
    address_t               at;           // of the first word
    logic                   modified;     // a command behind a Dyn-Modi
    logic                   misfit;       // a Dyn-Modi with a wrong slot, or without a command
    logic                   begins;       // a Dyn-Loop
    logic                   over_tokens;  // of a Dyn-Loop
    logic [63:0]            word;         // command, NOP, END or Dyn-Loop
    term_t [SLOTS-1:0]      terms;
    logic [SLOTS-1:0][15:0] numbers;      // of the repetitions, for each term
    logic [DEPTH-1:0]       firsts;       // loops in their first repetition, the innermost first
    logic [DEPTH-1:0]       lasts;        // and in their last; of one that is not there both hold
    tokens_t                part;         // tokens that a loop over a part goes over
    tokens_t                left;         // tokens or repetitions that a Dyn-Loop goes over
  } turn_t;

  // A command in the pipeline, or the end of its run. The place of a MAC is its virtual row, and its row
  // once that is known; row is 0.
  typedef struct packed {
    logic      ends;
    ending_t   ending;
    dispatch_t command;
  } stage_t;

  function automatic logic is_unknown(logic [3:0] request, logic [4:0] requests);
    return {1'b0, request} >= requests;
  endfunction

  function automatic logic [3:0] chosen(request_choice_t choice, logic [3:0] running);
    return choice.fixed ? choice.request : running;
  endfunction

  // Whether a bit is set that must be 0.
  function automatic logic is_wrong(request_choice_t choice);
    return !choice.fixed && choice.request != '0;
  endfunction

  function automatic logic is_command(opcode_e opcode);
    return opcode != OpNone && opcode <= OpCloseAll;
  endfunction

  function automatic logic has_row(opcode_e kind);
    return kind == OpMacScore || kind == OpMacContext;
  endfunction

endpackage
