// SPDX-License-Identifier: MIT
// Types inside channel_controller: commands, and why cycles are lost.

package channel_pkg;

  /// A command on the pins.
  typedef enum logic [3:0] {
    None          = 4'd0,
    Act           = 4'd1,
    Pre           = 4'd2,
    PreAll        = 4'd3,
    Rd            = 4'd4,
    Wr            = 4'd5,
    Ref           = 4'd6,
    PimActivation = 4'd7,
    PimPrecharge  = 4'd8,
    PimGwrite     = 4'd9,
    PimDotProduct = 4'd10,
    PimGemv       = 4'd11,
    PimReadResult = 4'd12
  } command_e;

  /// Why MEM moved no burst in a cycle.
  typedef enum logic [2:0] {
    MemNone       = 3'd0,
    MemRow        = 3'd1,
    MemWindow     = 3'd2,
    MemReserved   = 3'd3,
    MemCommandBus = 3'd4,
    MemRefresh    = 3'd5,
    MemResults    = 3'd6
  } mem_lost_e;

  /// Why PIM made no dot products in a cycle.
  typedef enum logic [3:0] {
    PimNone       = 4'd0,
    PimActivates  = 4'd1,
    PimWindow     = 4'd2,
    PimFills      = 4'd3,
    PimRefresh    = 4'd4,
    PimAdmission  = 4'd5,
    PimMemRow     = 4'd6,
    PimBus        = 4'd7,
    PimFeed       = 4'd8
  } pim_lost_e;

  /// A command with its operands, and whose request it is of.
  typedef struct packed {
    command_e    command;
    logic [4:0]  bank;
    logic        all;
    logic [14:0] row;
    logic [4:0]  column;
    logic [4:0]  count;
    logic        first;
    logic        last;
    logic        of_mem;
    logic [7:0]  tag;
    logic        of_pim;
  } pins_t;

  /// The lowest bank of a mask.
  function automatic logic [4:0] lowest(input logic [31:0] banks);
    lowest = '0;
    for (int bank = 31; bank >= 0; bank--) if (banks[bank]) lowest = 5'(bank);
  endfunction

endpackage
