// SPDX-License-Identifier: MIT
// Ping-pong buffer between the data bus and the dot products. Contract: pingpong_buffer.md.

module pingpong_buffer #(
  /// Width of a word.
  parameter int unsigned WIDTH        = 64,
  /// Words of a side: 1 to 2^ADDRESS_BITS. A chip's shared buffer has 256.
  parameter int unsigned DEPTH        = 16,
  /// Width of a read address. A command has 8 bits for it, whatever the depth.
  parameter int unsigned ADDRESS_BITS = 8,
  /// 1: two sides; 0: one.
  parameter int unsigned PING_PONG    = 1
) (
  /// Clock.
  input  logic                    clk_i,
  /// Asynchronous reset, active low: no side holds anything.
  input  logic                    rst_ni,
  /// A word is offered to the write port.
  input  logic                    write_valid_i,
  /// Word to write.
  input  logic [WIDTH-1:0]        write_data_i,
  /// The word to write is the last of its filling.
  input  logic                    write_last_i,
  /// A word of the filling is read.
  input  logic                    read_valid_i,
  /// Address in the filling of the word to read.
  input  logic [ADDRESS_BITS-1:0] read_address_i,
  /// The side that is read is released, after this cycle's read.
  input  logic                    release_i,
  /// There is a side to fill: a word that is offered is accepted.
  output logic                    write_ready_o,
  /// There is a filling to read: read_valid_i and release_i have an effect.
  output logic                    read_ready_o,
  /// Words of the filling that can be read; 0 if there is none.
  output logic [ADDRESS_BITS:0]   read_words_o,
  /// data_o is the word that was read in the last cycle.
  output logic                    data_valid_o,
  /// Word that was read in the last cycle, or zero.
  output logic [WIDTH-1:0]        data_o
);

  localparam int unsigned SIDES      = PING_PONG != 0 ? 2 : 1;
  localparam int unsigned PLACE_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;

  typedef logic [ADDRESS_BITS:0] count_t;

  // The ping-pong bits; which sides hold a whole filling; how many words are in each.
  logic               write_side_d, write_side_q, read_side_d, read_side_q;
  logic   [SIDES-1:0] full_d, full_q;
  count_t [SIDES-1:0] words_d, words_q;
  // The side from which the word comes that was read, if there is such a word.
  logic   [SIDES-1:0] select_d, select_q;
  logic               data_valid_d, data_valid_q;

  // The sides that the ports mean, and those where something happens.
  logic   [SIDES-1:0] write_select, read_select, write, read, releases;
  count_t             filled;
  logic               ends;

  assign write_select  = SIDES'(1) << write_side_q;
  assign read_select   = SIDES'(1) << read_side_q;
  assign write_ready_o = |(write_select & ~full_q);
  assign read_ready_o  = |(read_select & full_q);
  assign write         = write_valid_i && write_ready_o ? write_select : '0;
  assign read          = read_valid_i && read_ready_o ? read_select : '0;
  assign releases      = release_i && read_ready_o ? read_select : '0;

  // Words of the side that is filled, and of the one that is read.
  always_comb begin
    filled       = '0;
    read_words_o = '0;
    for (int unsigned side = 0; side < SIDES; side++) begin
      if (write_select[side])                filled       |= words_q[side];
      if (read_select[side] && full_q[side]) read_words_o |= words_q[side];
    end
  end

  assign ends = write_last_i || filled == count_t'(DEPTH - 1);

  always_comb begin
    full_d       = full_q;
    words_d      = words_q;
    write_side_d = write_side_q;
    read_side_d  = read_side_q;
    for (int unsigned side = 0; side < SIDES; side++) begin
      if (write[side]) begin
        full_d[side]  = ends;
        words_d[side] = filled + count_t'(1);
      end
      if (releases[side]) begin
        full_d[side]  = 1'b0;
        words_d[side] = '0;
      end
    end
    if (PING_PONG != 0) begin
      write_side_d = write_side_q ^ (|write && ends);
      read_side_d  = read_side_q ^ |releases;
    end
  end

  assign data_valid_d = |read;
  assign select_d     = count_t'(read_address_i) < read_words_o ? read : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_side_q <= 1'b0;
      read_side_q  <= 1'b0;
      full_q       <= '0;
      words_q      <= '0;
      select_q     <= '0;
      data_valid_q <= 1'b0;
    end else begin
      write_side_q <= write_side_d;
      read_side_q  <= read_side_d;
      full_q       <= full_d;
      words_q      <= words_d;
      select_q     <= select_d;
      data_valid_q <= data_valid_d;
    end
  end

  // The words.
  logic [SIDES-1:0][WIDTH-1:0] data;

  for (genvar side = 0; side < SIDES; side++) begin : gen_side
    if (DEPTH == 1) begin : gen_register
      logic [WIDTH-1:0] word_q;

      always_ff @(posedge clk_i) begin
        if (write[side]) word_q <= write_data_i;
      end

      assign data[side] = word_q;
    end else begin : gen_ram
      ram_1p #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_ram (
        .clk_i,
        .write_i   (write[side]),
        .read_i    (select_d[side]),
        .address_i (write[side] ? PLACE_BITS'(filled) : PLACE_BITS'(read_address_i)),
        .data_i    (write_data_i),
        .data_o    (data[side])
      );
    end
  end

  always_comb begin
    data_o = '0;
    for (int unsigned side = 0; side < SIDES; side++) begin
      if (select_q[side]) data_o |= data[side];
    end
  end

  assign data_valid_o = data_valid_q;

  if (WIDTH == 0 || PING_PONG > 1)
    $fatal(1, "WIDTH = %0d, PING_PONG = %0d: expected 1 or more, and 0 or 1", WIDTH, PING_PONG);
  if (ADDRESS_BITS > 16 || DEPTH == 0 || DEPTH > 1 << ADDRESS_BITS)
    $fatal(1, "DEPTH, ADDRESS_BITS = %0d, %0d: expected 1 to 2^ADDRESS_BITS words", DEPTH, ADDRESS_BITS);

endmodule
