// SPDX-License-Identifier: MIT
// A queue whose users know that there is room: takes and gives one entry in every clock.
//
//   clock     0    1    2
//   push_i    a    b    0
//   valid_o   0    1    1
//   data_o         a    b
//   pop_i          1
//
// The entries are not reset. The oldest entry is read in the clock before: more than sixteen are a memory
// with a synchronous read.

module fifo #(
  /// Width of an entry.
  parameter int unsigned WIDTH = 8,
  /// Entries, a power of two, 2 or more.
  parameter int unsigned DEPTH = 16
) (
  /// Clock.
  input  logic             clk_i,
  /// Asynchronous reset, active low: empty.
  input  logic             rst_ni,
  /// data_i enters. Only where there is room.
  input  logic             push_i,
  /// The entry.
  input  logic [WIDTH-1:0] data_i,
  /// The oldest entry leaves. Only where valid_o is set.
  input  logic             pop_i,
  /// There is an entry.
  output logic             valid_o,
  /// The oldest entry.
  output logic [WIDTH-1:0] data_o
);

  localparam int unsigned INDEX_BITS = $clog2(DEPTH);

  typedef logic [INDEX_BITS-1:0] index_t;

  // One bit more than an index, to tell full from empty.
  logic [INDEX_BITS:0] head_d, head_q, tail_d, tail_q, second;
  logic                valid_d, valid_q;

  assign second  = head_q + (INDEX_BITS + 1)'(1);
  assign head_d  = pop_i ? second : head_q;
  assign tail_d  = tail_q + (INDEX_BITS + 1)'(push_i);
  assign valid_d = head_d != tail_d;

  // The oldest entry of the next clock. Where no other waits, it is the one that enters.
  logic alone, passes;

  assign alone  = !valid_q || (pop_i && second == tail_q);
  assign passes = push_i && alone;

  if (DEPTH > 16) begin : gen_memory
    // A memory, which reads into a register of its own. An entry that is written in the clock in which it
    // would be read passes it by.
    logic [WIDTH-1:0] entries_q [DEPTH];
    logic [WIDTH-1:0] read_q, passed_q;
    logic             passes_q;

    always_ff @(posedge clk_i) begin
      if (push_i) entries_q[index_t'(tail_q)] <= data_i;
      read_q   <= entries_q[index_t'(head_d)];
      passed_q <= data_i;
      passes_q <= passes;
    end

    assign data_o = passes_q ? passed_q : read_q;
  end else begin : gen_registers
    logic [DEPTH-1:0][WIDTH-1:0] entries;
    logic [WIDTH-1:0]            oldest_d, oldest_q;

    for (genvar i = 0; i < DEPTH; i++) begin : gen_entry
      logic [WIDTH-1:0] entry_d, entry_q;

      assign entry_d = push_i && index_t'(tail_q) == index_t'(i) ? data_i : entry_q;

      always_ff @(posedge clk_i) begin
        entry_q <= entry_d;
      end

      assign entries[i] = entry_q;
    end

    assign oldest_d = passes ? data_i : entries[index_t'(head_d)];

    always_ff @(posedge clk_i) begin
      oldest_q <= oldest_d;
    end

    assign data_o = oldest_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q  <= '0;
      tail_q  <= '0;
      valid_q <= 1'b0;
    end else begin
      head_q  <= head_d;
      tail_q  <= tail_d;
      valid_q <= valid_d;
    end
  end

  assign valid_o = valid_q;

  if (WIDTH == 0) $fatal(1, "WIDTH = %0d: expected 1 or more", WIDTH);
  if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH))
    $fatal(1, "DEPTH = %0d: expected a power of two, 2 or more", DEPTH);

endmodule
