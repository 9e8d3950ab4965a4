// SPDX-License-Identifier: MIT
// Timings of the DRAM in cycles of the core: no shorter, but for tREFI, which is no longer. They stand still, as
// the timings do.

module core_timing import pimlico_pkg::*; #(
  /// Gear: tCK in a cycle of the core, 1, 2 or 4.
  parameter int unsigned GEAR = DEFAULT_GEAR
) (
  /// Timings in tCK.
  input  timing_t tck_i,
  /// Timings in cycles.
  output timing_t cycles_o
);

  function automatic logic [7:0] in_cycles(input logic [7:0] tck);
    return 8'((9'(tck) + 9'(GEAR) - 9'd1) >> $clog2(GEAR));
  endfunction

  assign cycles_o = '{
    ccd_s: in_cycles(tck_i.ccd_s), ccd_l: in_cycles(tck_i.ccd_l),
    ccd_result: in_cycles(tck_i.ccd_result),
    rrd_s: in_cycles(tck_i.rrd_s), rrd_l: in_cycles(tck_i.rrd_l),
    rcd: in_cycles(tck_i.rcd), rcd_wr: in_cycles(tck_i.rcd_wr), rcd_mac: in_cycles(tck_i.rcd_mac),
    rl_mac: in_cycles(tck_i.rl_mac),
    ras: in_cycles(tck_i.ras), rp: in_cycles(tck_i.rp), rc: in_cycles(tck_i.rc),
    rtp: in_cycles(tck_i.rtp), faw: in_cycles(tck_i.faw), faw_banks: tck_i.faw_banks,
    rd_to_wr: in_cycles(tck_i.rd_to_wr),
    wr_to_rd_s: in_cycles(tck_i.wr_to_rd_s), wr_to_rd_l: in_cycles(tck_i.wr_to_rd_l),
    wr_to_pre: in_cycles(tck_i.wr_to_pre), shared_to_rd: in_cycles(tck_i.shared_to_rd), cl: in_cycles(tck_i.cl), cwl: in_cycles(tck_i.cwl),
    rfc: 16'((17'(tck_i.rfc) + 17'(GEAR) - 17'd1) >> $clog2(GEAR)), refi: tck_i.refi >> $clog2(GEAR)
  };

  if (!(GEAR inside {1, 2, 4})) $fatal(1, "GEAR = %0d: expected 1, 2 or 4", GEAR);

endmodule
