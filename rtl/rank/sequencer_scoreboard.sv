// SPDX-License-Identifier: MIT
// Scoreboard of the sequencer: which MACs and which writes to the shared buffers have a word in common, and
// whether those that come first are done. Contract: sequencer.md, Scoreboard.
//
//   cycle             0     1     2     3     4
//   input_word_i      A     B
//   moves_i           1     1                         the table is read
//   steps_i                 1     1                   the table's word is looked at
//   entry_word_i                  A     B
//   need_o                        A     B             what it needs
//   mac_i, write_i                1     1             it enters

module sequencer_scoreboard import pimlico_pkg::*; (
  /// Clock.
  input  logic       clk_i,
  /// Asynchronous reset, active low.
  input  logic       rst_ni,
  /// A run starts: the tables are cleared.
  input  logic       start_i,
  /// Word of the command that has come.
  input  word_t      input_word_i,
  /// It is a MAC.
  input  logic       input_is_mac_i,
  /// It is a write.
  input  logic       input_is_write_i,
  /// It moves to the stage in which the tables' words are looked at. Only where cleared_o is set, or it is
  /// neither MAC nor write.
  input  logic       moves_i,
  /// There is a command in that stage.
  input  logic       look_valid_i,
  /// It is a MAC.
  input  logic       look_is_mac_i,
  /// It is a write.
  input  logic       look_is_write_i,
  /// Its word.
  input  word_t      look_word_i,
  /// It moves to the stage from which commands enter the queues.
  input  logic       steps_i,
  /// Word of the command there.
  input  word_t      entry_word_i,
  /// It is a MAC.
  input  logic       entry_is_mac_i,
  /// It is a write.
  input  logic       entry_is_write_i,
  /// It enters, and is a MAC.
  input  logic       mac_i,
  /// It enters, and is a write.
  input  logic       write_i,
  /// It enters, of whatever sort, or is dropped.
  input  logic       enters_i,
  /// The oldest MAC that has entered is on the pins.
  input  logic       read_i,
  /// The oldest write that has entered is done.
  input  logic       written_i,
  /// There is a MAC that is the next to be requested.
  input  logic       next_mac_valid_i,
  /// What it needs.
  input  logic [8:0] next_mac_need_i,
  /// There is a write that is the next to be requested.
  input  logic       next_write_valid_i,
  /// What it needs.
  input  logic [8:0] next_write_need_i,
  /// The word of the command that has come is cleared.
  output logic       cleared_o,
  /// What the command needs that may enter.
  output logic [8:0] need_o,
  /// What the next MAC needs is done, in this cycle at the latest.
  output logic       mac_may_o,
  /// What the next write needs is done, in this cycle at the latest.
  output logic       write_may_o,
  /// So many writes have entered since the one that the next MAC needs that no more may.
  output logic       write_far_o,
  /// So many MACs have entered since the one that the next write needs that no more may.
  output logic       mac_far_o
);

  // Number of a MAC, or of a write to the shared buffers, in the order in which they enter.
  typedef logic [15:0] order_t;
  // Its lower bits, which an entry carries.
  typedef logic [8:0]  need_t;

  // Whether the counter has come to a number, where it is late by less than half of all numbers; with an event
  // it counts one more.
  function automatic logic has_come(need_t late, logic counts);
    return !late[8] || counts && late == '1;
  endfunction

  // Whether the command that has come is of this word, and needs a command of that sort.
  function automatic logic is_need(word_t word, logic is_mac, logic is_write);
    return input_word_i == word && (input_is_mac_i && is_write || input_is_write_i && is_mac);
  endfunction

  // The tables have for each word the last write and the last MAC that have entered. A word is cleared before
  // it is looked at in a run.
  logic [8:0] cleared_d, cleared_q;                      // words that are cleared in this run
  order_t     writes_d, writes_q, written_d, written_q;  // writes that have entered, that are done
  order_t     macs_d, macs_q, read_d, read_q;            // MACs that have entered, that are on the pins
  order_t     next_write, next_mac;                      // numbers of those that enter
  order_t     last_write, last_mac, last_use, entered, done, age;
  logic [6:0] under_way;
  need_t      need_d, need_q, next_number;
  logic       clears;
  logic       enters_now, unused;
  // It needs the command that enters as it moves; it needs the command before it, if that enters.
  logic       forwards, forwarded_d, forwarded_q, follows, followed_d, followed_q;

  assign cleared_o = cleared_q[8] || input_word_i < cleared_q[7:0];
  assign clears    = !cleared_q[8] && !enters_i;
  assign forwards  = is_need(entry_word_i, mac_i, write_i);
  assign follows   = look_valid_i ? is_need(look_word_i, look_is_mac_i, look_is_write_i)
                                  : is_need(entry_word_i, entry_is_mac_i, entry_is_write_i);

  assign next_write = writes_q + 16'd1;
  assign next_mac   = macs_q + 16'd1;

  ram_1r1w #(.WIDTH($bits(order_t)), .DEPTH(256)) u_last_writes (
    .clk_i,
    .write_i         (clears || write_i),
    .write_address_i (enters_i ? entry_word_i : cleared_q[7:0]),
    .data_i          (enters_i ? next_write : '0),
    .read_i          (moves_i && input_is_mac_i && !forwards),
    .read_address_i  (input_word_i),
    .data_o          (last_write)
  );

  ram_1r1w #(.WIDTH($bits(order_t)), .DEPTH(256)) u_last_macs (
    .clk_i,
    .write_i         (clears || mac_i),
    .write_address_i (enters_i ? entry_word_i : cleared_q[7:0]),
    .data_i          (enters_i ? next_mac : '0),
    .read_i          (moves_i && input_is_write_i && !forwards),
    .read_address_i  (input_word_i),
    .data_o          (last_mac)
  );

  // A MAC needs the last write to its word, a write the last MAC of its word: done, or under way.
  assign last_use    = look_is_mac_i ? last_write : last_mac;
  assign entered     = look_is_mac_i ? writes_q : macs_q;
  assign done        = look_is_mac_i ? written_q : read_q;
  assign next_number = look_is_mac_i ? next_write[8:0] : next_mac[8:0];
  assign enters_now  = look_is_mac_i ? write_i : mac_i;
  assign age         = entered - last_use;
  assign under_way   = entered[6:0] - done[6:0];

  always_comb begin
    need_d = need_q;
    if (steps_i) begin
      need_d = age < order_t'(under_way) ? last_use[8:0] : done[8:0];
      if (forwarded_q) need_d = entered[8:0];
      if (followed_q && enters_now) need_d = next_number;
    end
  end

  assign need_o = need_q;

  assign forwarded_d = moves_i ? forwards : forwarded_q;
  assign followed_d  = moves_i ? follows : followed_q;

  assign writes_d  = write_i ? next_write : writes_q;
  assign written_d = written_q + order_t'(written_i);
  assign macs_d    = mac_i ? next_mac : macs_q;
  assign read_d    = read_q + order_t'(read_i);

  always_comb begin
    cleared_d = cleared_q + 9'(clears);
    if (start_i) cleared_d = '0;
  end

  // What the next entries need.
  need_t write_late, mac_late, writes_since, macs_since;
  logic  write_far_d, write_far_q, mac_far_d, mac_far_q;

  assign write_late   = written_q[8:0] - next_mac_need_i;
  assign mac_late     = read_q[8:0] - next_write_need_i;
  assign mac_may_o    = has_come(write_late, written_i);
  assign write_may_o  = has_come(mac_late, read_i);
  assign writes_since = writes_q[8:0] - next_mac_need_i;
  assign macs_since   = macs_q[8:0] - next_write_need_i;
  assign write_far_d  = next_mac_valid_i && writes_since[8:7] != '0;
  assign mac_far_d    = next_write_valid_i && macs_since[8:7] != '0;
  assign write_far_o  = write_far_q;
  assign mac_far_o    = mac_far_q;
  assign unused       = &{1'b0, writes_since, macs_since, done[15:9]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cleared_q   <= '0;
      writes_q    <= '0;
      written_q   <= '0;
      macs_q      <= '0;
      read_q      <= '0;
      write_far_q <= 1'b0;
      mac_far_q   <= 1'b0;
    end else begin
      cleared_q   <= cleared_d;
      writes_q    <= writes_d;
      written_q   <= written_d;
      macs_q      <= macs_d;
      read_q      <= read_d;
      write_far_q <= write_far_d;
      mac_far_q   <= mac_far_d;
    end
  end

  // Of the commands that are there.
  always_ff @(posedge clk_i) begin
    forwarded_q <= forwarded_d;
    followed_q  <= followed_d;
    need_q      <= need_d;
  end

endmodule
