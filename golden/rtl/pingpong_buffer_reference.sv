// SPDX-License-Identifier: MIT
// What a ping-pong buffer has to do, said without sides: a queue of fillings. New words join the one
// behind those that are complete; the oldest complete one is read, until it leaves the queue and the
// others move up. Ports and parameters are those of rtl/bank/pingpong_buffer.sv.

module pingpong_buffer_reference #(
  /// Width of a word.
  parameter int unsigned WIDTH        = 64,
  /// Words of a filling, at the most.
  parameter int unsigned DEPTH        = 16,
  /// Width of a read address.
  parameter int unsigned ADDRESS_BITS = 8,
  /// 1: room for two fillings; 0: for one.
  parameter int unsigned PING_PONG    = 1
) (
  /// Clock.
  input  logic                    clk_i,
  /// Asynchronous reset, active low.
  input  logic                    rst_ni,
  /// A word is offered.
  input  logic                    write_valid_i,
  /// The word.
  input  logic [WIDTH-1:0]        write_data_i,
  /// It is the last of its filling.
  input  logic                    write_last_i,
  /// A word is read.
  input  logic                    read_valid_i,
  /// Which word of the oldest filling.
  input  logic [ADDRESS_BITS-1:0] read_address_i,
  /// The oldest filling leaves.
  input  logic                    release_i,
  /// There is room.
  output logic                    write_ready_o,
  /// There is a complete filling.
  output logic                    read_ready_o,
  /// Its words.
  output logic [ADDRESS_BITS:0]   read_words_o,
  /// data_o was read in the last clock.
  output logic                    data_valid_o,
  /// The word.
  output logic [WIDTH-1:0]        data_o
);

  localparam int unsigned ROOM = PING_PONG != 0 ? 2 : 1;

  typedef logic [ADDRESS_BITS:0] count_t;

  // Fillings, the oldest first: their words, as many as are there, and how many fillings are complete.
  logic   [ROOM-1:0][DEPTH-1:0][WIDTH-1:0] words_d, words_q;
  count_t [ROOM-1:0]                       length_d, length_q;
  logic   [1:0]                            complete_d, complete_q;
  logic                                    read;
  logic   [WIDTH-1:0]                      data_d;

  assign write_ready_o = complete_q < 2'(ROOM);
  assign read_ready_o  = complete_q != 2'd0;
  assign read_words_o  = read_ready_o ? length_q[0] : '0;
  assign read          = read_valid_i && read_ready_o;

  always_comb begin
    words_d    = words_q;
    length_d   = length_q;
    complete_d = complete_q;
    for (int unsigned i = 0; i < ROOM; i++) begin
      if (write_valid_i && complete_q == 2'(i)) begin
        for (int unsigned word = 0; word < DEPTH; word++) begin
          if (length_q[i] == count_t'(word)) words_d[i][word] = write_data_i;
        end
        length_d[i] = length_q[i] + count_t'(1);
        if (write_last_i || length_d[i] == count_t'(DEPTH)) complete_d = complete_q + 2'd1;
      end
    end
    if (release_i && read_ready_o) begin
      words_d    = words_d >> (DEPTH * WIDTH);
      length_d   = length_d >> $bits(count_t);
      complete_d = complete_d - 2'd1;
    end
  end

  always_comb begin
    data_d = '0;
    for (int unsigned word = 0; word < DEPTH; word++) begin
      if (read && count_t'(read_address_i) == count_t'(word) && count_t'(word) < length_q[0]) begin
        data_d = words_q[0][word];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      words_q      <= '0;
      length_q     <= '0;
      complete_q   <= '0;
      data_valid_o <= 1'b0;
      data_o       <= '0;
    end else begin
      words_q      <= words_d;
      length_q     <= length_d;
      complete_q   <= complete_d;
      data_valid_o <= read;
      data_o       <= data_d;
    end
  end

endmodule
