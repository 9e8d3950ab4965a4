// SPDX-License-Identifier: MIT
// Sums of a Dyn-Modi: fields of a command with the products of their terms. Contract: dispatcher.md.

module dispatcher_add import pimlico_pkg::*, dispatcher_pkg::*; (
  /// The command, or the end of the run.
  input  stage_t                 stage_i,
  /// Fields that products are added to.
  input  target_e [SLOTS-1:0]    target_i,
  /// The products.
  input  logic [SLOTS-1:0][18:0] product_i,
  /// The command with the sums. It ends the run if a field overflows.
  output stage_t                 added_o
);

  always_comb begin : add
    logic [20:0] place;
    logic [10:0] column, index;
    logic [5:0]  head;
    logic        wraps, place_over, column_over, index_over, head_over;

    place       = 21'(stage_i.command.place);
    column      = 11'(stage_i.command.column);
    index       = 11'(stage_i.command.word);
    head        = 6'(stage_i.command.head);
    place_over  = 1'b0;
    column_over = 1'b0;
    index_over  = 1'b0;
    head_over   = 1'b0;
    wraps       = 1'b0;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      logic        is_place, is_place64, is_column, is_index, is_head;
      logic [17:0] to_place;
      logic [7:0]  to_column, to_index;
      logic [2:0]  to_head;

      is_place   = target_i[s] == TargetPlace;
      is_place64 = target_i[s] == TargetPlace64;
      is_column  = target_i[s] == TargetColumn;
      is_index   = target_i[s] == TargetWord || target_i[s] == TargetWordWraps;
      is_head    = target_i[s] == TargetHead;
      to_place   = is_place ? product_i[s][17:0] : is_place64 ? {product_i[s][11:0], 6'd0} : '0;
      to_column  = is_column ? product_i[s][7:0] : '0;
      to_index   = is_index ? product_i[s][7:0] : '0;
      to_head    = is_head ? product_i[s][2:0] : '0;
      place      = place + 21'(to_place);
      column     = column + 11'(to_column);
      index      = index + 11'(to_index);
      head       = head + 6'(to_head);
      if (is_place && product_i[s][18] || is_place64 && product_i[s][12]) place_over = 1'b1;
      if (is_column && product_i[s][9:8] != '0) column_over = 1'b1;
      if (is_index && product_i[s][9:8] != '0)  index_over = 1'b1;
      if (is_head && product_i[s][9:3] != '0)   head_over = 1'b1;
      if (target_i[s] == TargetWordWraps)       wraps = 1'b1;
    end
    if (place[20:18] != '0 || has_row(stage_i.command.kind) && place[17:16] != '0) place_over = 1'b1;
    if (column[10:8] != '0) column_over = 1'b1;
    if (index[10:8] != '0)  index_over = 1'b1;
    if (head[5:3] != '0)    head_over = 1'b1;

    added_o                = stage_i;
    added_o.command.place  = place[17:0];
    added_o.command.column = column[7:0];
    added_o.command.word   = index[7:0];
    added_o.command.head   = head[2:0];
    if (!stage_i.ends && (place_over || column_over || index_over && !wraps || head_over)) begin
      added_o.ends          = 1'b1;
      added_o.ending.status = StatusFieldOverflow;
    end
  end

endmodule
