// SPDX-License-Identifier: MIT
// Decode of a command in the sequencer: whether the rank has what it asks for, and what of it is in the score
// buffer. Contract: sequencer.md.

module sequencer_decode import pimlico_pkg::*; #(
  /// Places of the score buffer, 4 to 131072.
  parameter int unsigned SCORES = 131072
) (
  /// Size of a bank.
  input  bank_size_t size_i,
  /// The command.
  input  dispatch_t  command_i,
  /// What is wrong with it.
  output fault_e     fault_o,
  /// Its place; 0 for scores that are not kept.
  output place_t     place_o,
  /// RD_RESULT of scores, WEIGH: tokens, at most four.
  output logic [2:0] count_o,
  /// RD_RESULT of scores: they are kept.
  output logic       keep_o
);

  localparam logic [17:0] SCORE_BUFFER = 18'(SCORES);
  localparam logic [17:0] PARTIAL_SUMS = 18'd256;

  // Tokens of a burst, or scores of a word: at most four.
  function automatic logic [2:0] at_most_four(logic [19:0] tokens);
    return tokens > 20'd4 ? 3'd4 : tokens[2:0];
  endfunction

  result_address_t results;
  logic            in_buffer;  // four elements from the command's place on are in the score buffer
  logic            of_scores, unused;
  logic [19:0]     earlier;    // tokens of the bank groups before

  assign results   = result_address_t'(command_i.word);
  assign in_buffer = command_i.place <= SCORE_BUFFER - 18'd4;
  assign earlier   = {16'd0, results.lane, 2'd0};
  assign of_scores = command_i.kind == OpRdResult && !results.context_sums && !results.upper;
  assign place_o   = of_scores && !in_buffer ? '0 : command_i.place[16:0];
  assign keep_o    = in_buffer;
  assign unused    = &{1'b0, command_i.request, command_i.head, command_i.first, command_i.last, command_i.opens,
                       results.unused, results.bank};

  always_comb begin
    count_o = at_most_four(command_i.tokens);
    if (of_scores) begin
      count_o = command_i.tokens > earlier ? at_most_four(command_i.tokens - earlier) : '0;
    end
  end

  always_comb begin
    fault_o = FaultNone;
    unique case (command_i.kind)
      OpMacScore, OpMacContext: begin
        if ({1'b0, command_i.row} >= size_i.rows) fault_o = FaultNoRow;
        else if ({1'b0, command_i.column} >= size_i.columns) fault_o = FaultNoColumn;
      end
      OpRdResult: begin
        if (results.context_sums ? command_i.place >= PARTIAL_SUMS : results.upper && !in_buffer) begin
          fault_o = FaultNoPlace;
        end
      end
      OpWeigh: begin
        if (command_i.tokens == '0) fault_o = FaultNoTokens;
        else if (19'(command_i.place) + 19'(at_most_four(command_i.tokens)) > 19'(SCORES)) begin
          fault_o = FaultNoPlace;
        end
      end
      OpWrShared, OpWrWeights, OpFinish, OpCloseAll: ;
      default: fault_o = FaultUnknownCommand;
    endcase
  end

  if (SCORES < 4 || SCORES > 131072) $fatal(1, "SCORES = %0d: expected 4 to 131072", SCORES);

endmodule
