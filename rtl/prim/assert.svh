// SPDX-License-Identifier: MIT
// Assertions of the checkers (*_checks.sv), which are bound to the modules beside them.
//
//   `ASSERT(name, expression)    expression holds at every rising edge of clk_i outside reset
//
// The expression is without temporal operators: what a check has to remember is a register of the checker.
// So Verilator, other simulators and Yosys (scripts/prove-formal) take it alike. Where SYNTHESIS is defined
// there is no assertion.

`ifndef PIMLICO_ASSERT_SVH
`define PIMLICO_ASSERT_SVH

`ifdef SYNTHESIS
`define ASSERT(Name, Expression)
`else
`define ASSERT(Name, Expression) \
  Name : assert property (@(posedge clk_i) disable iff (!rst_ni) (Expression));
`endif

`endif
