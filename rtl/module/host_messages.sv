// SPDX-License-Identifier: MIT
// What the burst at the head of the host's queue says: loads, a start, an operand. Contract: host_port.md.

module host_messages import pimlico_pkg::*; (
  /// Clock: one edge per cycle of the core.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// There is a burst at the head of the queue.
  input  logic        valid_i,
  /// The burst is an operand; else a message.
  input  logic        operand_i,
  /// The burst.
  input  burst_t      burst_i,
  /// A run is under way.
  input  logic        runs_i,
  /// A run may start.
  input  logic        ready_i,
  /// The operand is taken.
  input  logic        operand_taken_i,
  /// The burst leaves the queue with this cycle.
  output logic        pop_o,
  /// The dispatcher is written.
  output logic        load_valid_o,
  /// What is written, else 0.
  output load_t       load_o,
  /// A run starts.
  output logic        start_valid_o,
  /// The run that starts, else 0.
  output start_t      start_o,
  /// Factor of the scores in binary16, of the last START.
  output logic [15:0] scale_o,
  /// Operands that the run has not taken yet; 127 for more.
  output logic [6:0]  operands_o,
  /// The next operand is there.
  output logic        operand_valid_o,
  /// There was a message of an unknown kind.
  output logic        refused_o
);

  localparam logic [1:0] CODE_LOAD  = 2'd1;
  localparam logic [1:0] CODE_START = 2'd2;

  // Word 0 of a message.
  typedef struct packed {
    logic [15:0] scale;
    logic [1:0]  unused_start;
    logic [13:0] start;    // first word of the program
    logic [15:0] address;  // of the first data word; START: of its lower four bits the request
    logic [4:0]  unused_number;
    logic [2:0]  number;   // of data words
    logic        unused_kind;
    logic [2:0]  kind;
    logic [1:0]  unused_code;
    logic [1:0]  code;
  } message_t;

  message_t    message;
  logic        is_message, is_load, is_start, is_refused, takes, unused;
  logic [31:0] announced;

  assign message    = message_t'(burst_i[0]);
  assign announced  = burst_i[1][31:0];
  assign is_message = valid_i && !operand_i;
  assign is_load    = is_message && message.code == CODE_LOAD && !runs_i;
  assign is_start   = is_message && message.code == CODE_START && ready_i;
  assign is_refused = is_message && message.code != CODE_LOAD && message.code != CODE_START;
  assign unused     = &{1'b0, message};

  assign operand_valid_o = valid_i && operand_i && runs_i;
  assign takes           = operand_valid_o && operand_taken_i;

  // Data words that were written.
  logic [2:0] index_d, index_q, next;
  logic       ends;

  assign next    = index_q + 3'd1;
  assign ends    = message.number <= next;  // number 0 as well
  assign index_d = is_load && !ends ? next : '0;

  assign load_valid_o  = is_load && message.number != '0;
  assign start_valid_o = is_start;

  always_comb begin
    load_o  = '0;
    start_o = '0;
    if (load_valid_o) begin
      load_o = '{
        kind: load_kind_e'(message.kind), address: message.address + 16'(index_q), data: burst_i[next]
      };
    end
    if (is_start) start_o = '{request: message.address[3:0], address: message.start};
  end

  // An operand that no run asked for is dropped.
  assign pop_o = (is_load && ends) || is_start || is_refused || takes || (valid_i && operand_i && !runs_i);

  // Operands of the run. One less is worked out before it is known whether one is taken.
  logic        refused_d, refused_q;
  logic [15:0] scale_d, scale_q;
  logic [31:0] left_d, left_q, less;
  logic [6:0]  shown_d, shown_q;

  function automatic logic [6:0] up_to_127(logic [31:0] number);
    return number[31:7] == '0 ? number[6:0] : '1;
  endfunction

  // The same of one less, 0 at the least: of 128 and more 127, which needs no subtraction of 32 bits.
  function automatic logic [6:0] less_up_to_127(logic [31:0] number);
    if (number[31:7] != '0) return '1;
    return number[6:0] == '0 ? '0 : number[6:0] - 7'd1;
  endfunction

  assign less      = left_q == '0 ? '0 : left_q - 32'd1;
  assign refused_d = refused_q || is_refused;
  assign scale_d   = is_start ? message.scale : scale_q;

  always_comb begin
    left_d  = takes ? less : left_q;
    shown_d = takes ? less_up_to_127(left_q) : shown_q;
    if (is_start) begin
      left_d  = announced;
      shown_d = up_to_127(announced);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      index_q   <= '0;
      refused_q <= 1'b0;
      scale_q   <= '0;
      left_q    <= '0;
      shown_q   <= '0;
    end else begin
      index_q   <= index_d;
      refused_q <= refused_d;
      scale_q   <= scale_d;
      left_q    <= left_d;
      shown_q   <= shown_d;
    end
  end

  assign scale_o    = scale_q;
  assign operands_o = shown_q;
  assign refused_o  = refused_q;

endmodule
