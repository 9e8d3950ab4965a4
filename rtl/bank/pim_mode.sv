// SPDX-License-Identifier: MIT
// Mode of a channel of LPDDR5X-PIM, and what column commands mean to its PIM blocks. Contract: pim_mode.md.

module pim_mode #(
  /// Rows of a bank: a multiple of 16. The last four are reserved.
  parameter int unsigned ROWS = 65536
) (
  /// Clock: one edge per tCK.
  input  logic        clk_i,
  /// Asynchronous reset, active low: single-bank mode, all banks closed.
  input  logic        rst_ni,
  /// A row is activated.
  input  logic        activate_i,
  /// A bank is closed.
  input  logic        precharge_i,
  /// The precharge is of all banks.
  input  logic        all_i,
  /// A column is read.
  input  logic        read_i,
  /// A column is written.
  input  logic        write_i,
  /// Bank of the command: bank group in the upper two bits.
  input  logic [3:0]  bank_i,
  /// Row that is activated.
  input  logic [15:0] row_i,
  /// Column of the RD or WR.
  input  logic [5:0]  column_i,
  /// Low 16 bits of the data of a WR.
  input  logic [15:0] setup_i,
  /// Multi-bank mode.
  output logic        multi_o,
  /// Banks that obey the command of the last cycle.
  output logic [15:0] banks_o,
  /// These banks activate the row.
  output logic        activate_o,
  /// These banks are closed.
  output logic        precharge_o,
  /// The column is read to the data bus.
  output logic        read_o,
  /// The column is written from the data bus.
  output logic        write_o,
  /// The column is written from the output registers of the blocks.
  output logic        write_results_o,
  /// The command of the last cycle found a bank or a row in a wrong state.
  output logic        fault_o,
  /// The blocks make a step: for the column command three cycles before.
  output logic        step_o,
  /// The step is a WR_IN.
  output logic        block_write_o,
  /// The step is a MAC.
  output logic        block_mac_o,
  /// The step is an RD_OUT.
  output logic        block_read_o,
  /// WR_IN: input register; MAC and RD_OUT: output register; else 0.
  output logic [2:0]  register_o,
  /// MAC: element of the input registers; else 0.
  output logic [6:0]  element_o,
  /// The MAC begins its sum.
  output logic        first_o,
  /// The RD of the step was of a burst outside of the input tile.
  output logic        outside_o
);

  localparam logic [15:0] RESERVED = 16'(ROWS - 4);
  localparam int unsigned BANKS    = 16;

  // Reserved rows.
  typedef enum logic [1:0] {
    Enter   = 2'd0,
    Exit    = 2'd1,
    Results = 2'd2,
    Spare   = 2'd3
  } reserved_e;

  // What the data of a SETUP say of the input tile.
  typedef struct packed {
    logic       first;      // its first column is the matrix's
    logic [2:0] registers;  // output registers, less one
    logic [9:0] start;      // burst of its first MAC
  } setup_t;

  // State: mode; which banks are open, and which of them at the row that enters multi-bank mode; the row that was
  // activated in multi-bank mode.
  logic             multi_d, multi_q;
  logic [BANKS-1:0] open_d, open_q, enters_d, enters_q;
  logic             row_open_d, row_open_q, row_reserved_d, row_reserved_q;
  logic [3:0]       row_d, row_q;
  setup_t           setup_d, setup_q;

  // The command: of several the first of these.
  logic             activate, precharge, read, write, is_reserved;
  logic [BANKS-1:0] one, target;

  assign activate  = activate_i;
  assign precharge = precharge_i && !activate_i;
  assign read      = read_i && !precharge_i && !activate_i;
  assign write     = write_i && !read_i && !precharge_i && !activate_i;
  assign one       = BANKS'(1) << bank_i;
  assign target    = multi_q || (precharge && all_i) ? '1 : one;

  assign is_reserved = row_i[15:2] == RESERVED[15:2];

  // Column commands. In multi-bank mode one is possible in a row that was activated in it.
  reserved_e reserved;
  logic      column, single_read, single_write, enter, step, exit, takes_inputs, takes_setup, takes_results, macs;

  assign reserved      = reserved_e'(row_q[1:0]);
  assign column        = (read || write) && (multi_q ? row_open_q : open_q[bank_i]);
  assign single_read   = column && !multi_q && read;
  assign single_write  = column && !multi_q && write && !enters_q[bank_i];
  assign enter         = column && !multi_q && write && enters_q[bank_i];
  assign step          = column && multi_q;
  assign exit          = step && write && row_reserved_q && reserved == Exit;
  assign takes_results = step && write && row_reserved_q && reserved == Results && column_i < 6'd8;
  assign takes_inputs  = step && write && !row_reserved_q && column_i < 6'd8;
  assign takes_setup   = step && write && !row_reserved_q && column_i == 6'd8;
  assign macs          = step && read && !row_reserved_q;

  // A WR of multi-bank mode that has no meaning: of weights, of the spare row, of a result that there is not.
  logic nothing, fault_d, fault_q;

  assign nothing = step && write && !takes_inputs && !takes_setup && !takes_results && !exit &&
                   !(row_reserved_q && reserved == Enter);
  assign fault_d = (activate && |(open_q & target)) || ((read || write) && !column) || nothing;

  always_comb begin
    multi_d        = multi_q;
    open_d         = open_q;
    enters_d       = enters_q;
    row_open_d     = row_open_q;
    row_reserved_d = row_reserved_q;
    row_d          = row_q;
    setup_d        = setup_q;
    if (activate) begin
      open_d   = open_q | target;
      enters_d = (enters_q & ~target) | (is_reserved && row_i[1:0] == Enter ? target : '0);
      if (multi_q) begin
        row_open_d     = 1'b1;
        row_reserved_d = is_reserved;
        row_d          = row_i[3:0];
      end
    end
    if (precharge) begin
      open_d     = open_q & ~target;
      row_open_d = row_open_q && !multi_q;
    end
    if (takes_setup) setup_d = setup_t'(setup_i[13:0]);
    if (enter) begin
      multi_d    = 1'b1;
      row_open_d = 1'b0;
    end
    if (exit) multi_d = 1'b0;
  end

  logic unused_setup;

  assign unused_setup = &{1'b0, setup_i[15:14]};

  // A step on its way. The distance of its burst from the start of the tile, divided by the number of output registers, is
  // the element, and what is left is the register. Four bits of the element are found in one cycle, three in the next.
  typedef struct packed {
    logic       valid;
    logic       write;
    logic       read;
    logic       mac;
    logic [2:0] index;      // register of WR_IN and RD_OUT
    logic       first;
    logic [2:0] registers;
  } step_t;

  step_t      step_d, step_q, divided_q;
  logic [9:0] distance_d, distance_q;
  logic [3:0] high_d, high_q;
  logic [2:0] low;
  logic [2:0] rest_d, rest_q, rest;
  logic [2:0] left_q;
  logic       outside_d, outside_q;

  assign step_d = '{
    valid:     step,
    write:     takes_inputs,
    read:      takes_results,
    mac:       macs,
    index:     column_i[2:0],
    first:     setup_q.first,
    registers: setup_q.registers
  };

  assign distance_d = {row_q, column_i} - setup_q.start;
  assign outside_d  = step_q.mac && distance_q[9:7] > step_q.registers;

  // A bit of the element: the number of registers is taken from what is left, if it is there.
  function automatic logic [3:0] divide(logic [2:0] left, logic digit, logic [2:0] registers);
    logic [3:0] value;

    value = {left, digit};
    return value > {1'b0, registers} ? {1'b1, 3'(value - {1'b0, registers} - 4'd1)} : {1'b0, value[2:0]};
  endfunction

  always_comb begin
    rest_d = distance_q[9:7];
    high_d = '0;
    for (int b = 3; b >= 0; b--) {high_d[b], rest_d} = divide(rest_d, distance_q[3+b], step_q.registers);
  end

  always_comb begin
    rest = rest_q;
    low  = '0;
    for (int b = 2; b >= 0; b--) {low[b], rest} = divide(rest, left_q[b], divided_q.registers);
  end

  // What leaves.
  logic             activate_q, precharge_q, read_q, write_q, write_results_q;
  logic [BANKS-1:0] banks_d, banks_q;
  logic             mac, block_step_q, block_write_q, block_mac_q, block_read_q, block_first_q, block_outside_q;
  logic [2:0]       register_d, register_q;
  logic [6:0]       element_d, element_q;

  assign banks_d = activate || precharge || single_read || single_write || takes_results ? target : '0;
  assign mac     = divided_q.mac && !outside_q;

  always_comb begin
    register_d = '0;
    if (divided_q.write || divided_q.read) register_d = divided_q.index;
    if (mac)                               register_d = rest;
  end

  assign element_d = mac ? {high_q, low} : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      multi_q         <= 1'b0;
      open_q          <= '0;
      enters_q        <= '0;
      row_open_q      <= 1'b0;
      row_reserved_q  <= 1'b0;
      row_q           <= '0;
      setup_q         <= '0;
      fault_q         <= 1'b0;
      activate_q      <= 1'b0;
      precharge_q     <= 1'b0;
      read_q          <= 1'b0;
      write_q         <= 1'b0;
      write_results_q <= 1'b0;
      banks_q         <= '0;
      step_q          <= '0;
      divided_q       <= '0;
      outside_q       <= 1'b0;
      block_step_q    <= 1'b0;
      block_write_q   <= 1'b0;
      block_mac_q     <= 1'b0;
      block_read_q    <= 1'b0;
      block_first_q   <= 1'b0;
      block_outside_q <= 1'b0;
      register_q      <= '0;
      element_q       <= '0;
    end else begin
      multi_q         <= multi_d;
      open_q          <= open_d;
      enters_q        <= enters_d;
      row_open_q      <= row_open_d;
      row_reserved_q  <= row_reserved_d;
      row_q           <= row_d;
      setup_q         <= setup_d;
      fault_q         <= fault_d;
      activate_q      <= activate;
      precharge_q     <= precharge;
      read_q          <= single_read;
      write_q         <= single_write;
      write_results_q <= takes_results;
      banks_q         <= banks_d;
      step_q          <= step_d;
      divided_q       <= step_q;
      outside_q       <= outside_d;
      block_step_q    <= divided_q.valid;
      block_write_q   <= divided_q.write;
      block_mac_q     <= mac;
      block_read_q    <= divided_q.read;
      block_first_q   <= mac && divided_q.first && element_d == '0;
      block_outside_q <= outside_q;
      register_q      <= register_d;
      element_q       <= element_d;
    end
  end

  always_ff @(posedge clk_i) begin
    distance_q <= distance_d;
    high_q     <= high_d;
    rest_q     <= rest_d;
    left_q     <= distance_q[2:0];
  end

  assign multi_o         = multi_q;
  assign banks_o         = banks_q;
  assign activate_o      = activate_q;
  assign precharge_o     = precharge_q;
  assign read_o          = read_q;
  assign write_o         = write_q;
  assign write_results_o = write_results_q;
  assign fault_o         = fault_q;
  assign step_o          = block_step_q;
  assign block_write_o   = block_write_q;
  assign block_mac_o     = block_mac_q;
  assign block_read_o    = block_read_q;
  assign register_o      = register_q;
  assign element_o       = element_q;
  assign first_o         = block_first_q;
  assign outside_o       = block_outside_q;

  if (ROWS < 16 || ROWS > 65536 || ROWS % 16 != 0)
    $fatal(1, "ROWS = %0d: expected a multiple of 16, up to 65536", ROWS);

endmodule
