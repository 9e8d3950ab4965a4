// SPDX-License-Identifier: MIT
// The sources of the RTL, each file after those that it uses. Paths are relative to the folder above rtl/:
//
//   verilator --lint-only -Wall -f rtl/pimlico.f --top-module pim_dimm
//
// With SYNTHESIS defined, the checkers at the end are empty.
//
// pimlico.core (FuseSoC) and Bender.yml list the same files in the same order.

// types of the ports
rtl/pimlico_pkg.sv

// cells every room uses
rtl/prim/clock_gate.sv
rtl/prim/falling_gate.sv
rtl/prim/fifo.sv
rtl/prim/counted_fifo.sv
rtl/prim/ddr_in.sv
rtl/prim/ddr_out.sv
rtl/prim/pipe.sv
rtl/prim/ram.sv
rtl/prim/ram_1p.sv
rtl/prim/ram_1r1w.sv
rtl/prim/skid_buffer.sv
rtl/prim/late_timer.sv
rtl/prim/timer.sv
rtl/prim/word_registers.sv

// floating-point arithmetic
rtl/arith/fp_pkg.sv
rtl/arith/full_adder.sv
rtl/arith/carry_select_adder.sv
rtl/arith/ripple_adder.sv
rtl/arith/significand_mul.sv
rtl/arith/leading_zeros.sv
rtl/arith/fp_unpack.sv
rtl/arith/fp_pack.sv
rtl/arith/fp_round.sv
rtl/arith/exp2_fraction.sv
rtl/arith/fp_add.sv
rtl/arith/fp_mul.sv
rtl/arith/fp_max.sv
rtl/arith/fp_exp.sv
rtl/arith/fp_recip.sv
rtl/arith/fp_widen.sv
rtl/arith/fp_narrow.sv

// at a bank
rtl/bank/bank_pu.sv
rtl/bank/tree_pu.sv
rtl/bank/pingpong_buffer.sv
rtl/bank/dual_row_buffer.sv
rtl/bank/pim_block.sv
rtl/bank/pim_mode.sv

// in a rank
rtl/rank/adder_unit.sv
rtl/rank/softmax_norm.sv
rtl/rank/softmax_recip.sv
rtl/rank/softmax_sum.sv
rtl/rank/softmax_unit.sv
rtl/rank/relayout_unit.sv
rtl/rank/burst_timer.sv
rtl/rank/slot_timer.sv
rtl/rank/burst_source.sv
rtl/rank/operand_path.sv
rtl/rank/result_path.sv
rtl/rank/context_queue.sv
rtl/rank/weight_path.sv
rtl/rank/refresh_manager.sv
rtl/rank/rank_controller.sv
rtl/rank/pin_decoder.sv
rtl/rank/pin_encoder.sv
rtl/rank/pim_key.sv
rtl/rank/command_path.sv
rtl/rank/core_timing.sv
rtl/rank/softmax_path.sv
rtl/rank/shared_buffer.sv
rtl/rank/pim_chip.sv
rtl/rank/pim_rank.sv
rtl/rank/request_queue.sv
rtl/rank/sequencer_decode.sv
rtl/rank/sequencer_sum.sv
rtl/rank/sequencer_scoreboard.sv
rtl/rank/sequencer_array.sv
rtl/rank/sequencer_results.sv
rtl/rank/sequencer_softmax.sv
rtl/rank/sequencer.sv

// in a channel of an AiM, or of NeuPIMs
rtl/channel/activation_window.sv
rtl/channel/bank_state.sv
rtl/channel/gemv_sequencer.sv
rtl/channel/latency_estimator.sv
rtl/channel/mem_queue.sv
rtl/channel/mem_scheduler.sv
rtl/channel/pim_queue.sv
rtl/channel/channel_pkg.sv
rtl/channel/channel_refresh.sv
rtl/channel/channel_banks.sv
rtl/channel/channel_gates.sv
rtl/channel/channel_pim.sv
rtl/channel/channel_mem.sv
rtl/channel/channel_controller.sv
rtl/channel/global_buffer.sv
rtl/channel/pim_bank.sv
rtl/channel/pim_channel.sv
rtl/channel/aim_modes.sv
rtl/channel/aim_sums.sv
rtl/channel/aim_array_port.sv
rtl/channel/aim_bus_port.sv
rtl/channel/aim_pus.sv
rtl/channel/aim_channel.sv
rtl/npu/systolic_cell.sv
rtl/npu/systolic_array.sv
rtl/npu/vector_lane.sv
rtl/npu/vector_unit.sv

// in a module
rtl/module/dispatcher_pkg.sv
rtl/module/dispatcher_requests.sv
rtl/module/dispatcher_sequence.sv
rtl/module/dispatcher_nest.sv
rtl/module/dispatcher_check.sv
rtl/module/dispatcher_multiply.sv
rtl/module/dispatcher_add.sv
rtl/module/dispatcher_status.sv
rtl/module/dispatcher.sv
rtl/module/host_decoder.sv
rtl/module/host_modes.sv
rtl/module/host_windows.sv
rtl/module/host_queue.sv
rtl/module/host_messages.sv
rtl/module/host_owner.sv
rtl/module/host_results.sv
rtl/module/host_status.sv
rtl/module/host_reader.sv
rtl/module/host_port.sv
rtl/module/pim_module.sv
rtl/module/pim_dimm.sv
rtl/module/aim_decode.sv
rtl/module/aim_feeder.sv
rtl/module/aim_adders.sv
rtl/module/aim_softmax.sv
rtl/module/aim_hub.sv

// Simulation: checkers, bound to the modules that they are named after. The others do without.
+incdir+rtl
rtl/prim/handshake_checks.sv
rtl/prim/fifo_checks.sv
rtl/prim/ram_1p_checks.sv
rtl/prim/ram_1r1w_checks.sv
rtl/prim/skid_buffer_checks.sv
rtl/prim/late_timer_checks.sv
rtl/prim/timer_checks.sv
rtl/bank/bank_pu_checks.sv
rtl/bank/tree_pu_checks.sv
rtl/bank/pingpong_buffer_checks.sv
rtl/bank/dual_row_buffer_checks.sv
rtl/bank/pim_block_checks.sv
rtl/bank/pim_mode_checks.sv
rtl/rank/adder_unit_checks.sv
rtl/rank/softmax_recip_checks.sv
rtl/rank/softmax_unit_checks.sv
rtl/rank/relayout_unit_checks.sv
rtl/rank/burst_timer_checks.sv
rtl/rank/slot_timer_checks.sv
rtl/rank/operand_path_checks.sv
rtl/rank/result_path_checks.sv
rtl/rank/context_queue_checks.sv
rtl/rank/weight_path_checks.sv
rtl/rank/refresh_manager_checks.sv
rtl/rank/rank_controller_checks.sv
rtl/rank/command_path_checks.sv
rtl/rank/pim_chip_checks.sv
rtl/rank/pim_rank_checks.sv
rtl/rank/request_queue_checks.sv
rtl/rank/sequencer_scoreboard_checks.sv
rtl/rank/sequencer_array_checks.sv
rtl/rank/sequencer_results_checks.sv
rtl/rank/sequencer_softmax_checks.sv
rtl/rank/sequencer_checks.sv
rtl/channel/activation_window_checks.sv
rtl/channel/bank_state_checks.sv
rtl/channel/channel_controller_checks.sv
rtl/channel/gemv_sequencer_checks.sv
rtl/channel/latency_estimator_checks.sv
rtl/channel/mem_scheduler_checks.sv
rtl/channel/pim_queue_checks.sv
rtl/channel/pim_channel_checks.sv
rtl/channel/aim_channel_checks.sv
rtl/npu/systolic_array_checks.sv
rtl/npu/vector_unit_checks.sv
rtl/module/dispatcher_checks.sv
rtl/module/host_port_checks.sv
rtl/module/aim_hub_checks.sv
