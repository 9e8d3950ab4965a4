// SPDX-License-Identifier: MIT
// 2^f - 1 for a fraction f in [0, 1): two tables and two subtractions. Contract: exp2_fraction.md.

module exp2_fraction #(
  /// Width of the trailing significand field: 10 or 7, for which there are tables.
  parameter  int unsigned MAN_BITS = 10,
  localparam int unsigned F        = MAN_BITS + 2
) (
  /// f, in units of 2^-F.
  input  logic [F-1:0] fraction_i,
  /// 2^f - 1, truncated to units of 2^-(F-1).
  output logic [F-2:0] fraction_o
);

  logic [F-1:0] base;
  logic [3:0]   step;
  logic         unused_last;

  // A row of STEP is a number in hexadecimal: digit m, from the right, is STEP[j][m] in two's
  // complement.
  if (MAN_BITS == 10) begin : gen_binary16
    localparam logic [8:0] BASE [128] = '{
      9'd5, 9'd15, 9'd24, 9'd34, 9'd43, 9'd52, 9'd61, 9'd70,
      9'd79, 9'd88, 9'd96, 9'd105, 9'd113, 9'd121, 9'd129, 9'd137,
      9'd145, 9'd153, 9'd160, 9'd168, 9'd175, 9'd182, 9'd189, 9'd196,
      9'd203, 9'd209, 9'd216, 9'd222, 9'd228, 9'd235, 9'd240, 9'd246,
      9'd252, 9'd257, 9'd263, 9'd268, 9'd273, 9'd278, 9'd283, 9'd287,
      9'd292, 9'd296, 9'd300, 9'd304, 9'd308, 9'd312, 9'd315, 9'd319,
      9'd322, 9'd325, 9'd328, 9'd331, 9'd333, 9'd336, 9'd338, 9'd340,
      9'd342, 9'd344, 9'd345, 9'd347, 9'd348, 9'd349, 9'd350, 9'd351,
      9'd352, 9'd352, 9'd352, 9'd353, 9'd352, 9'd352, 9'd352, 9'd351,
      9'd351, 9'd350, 9'd348, 9'd347, 9'd346, 9'd344, 9'd342, 9'd340,
      9'd338, 9'd336, 9'd333, 9'd330, 9'd327, 9'd324, 9'd321, 9'd317,
      9'd314, 9'd310, 9'd306, 9'd301, 9'd297, 9'd292, 9'd287, 9'd282,
      9'd277, 9'd271, 9'd265, 9'd260, 9'd253, 9'd247, 9'd241, 9'd234,
      9'd227, 9'd220, 9'd212, 9'd205, 9'd197, 9'd189, 9'd181, 9'd172,
      9'd164, 9'd155, 9'd146, 9'd136, 9'd127, 9'd117, 9'd107, 9'd97,
      9'd86, 9'd75, 9'd64, 9'd53, 9'd42, 9'd30, 9'd18, 9'd6
    };
    localparam logic [31:0] STEP [16] = '{
      32'h4332_2100, 32'h3322_1100, 32'h3222_1100, 32'h2221_1000,
      32'h2211_1000, 32'h1111_0000, 32'h1100_0000, 32'h0000_0000,
      32'hffff_ffff, 32'hffff_ffff, 32'heeef_ffff, 32'hdeee_ffff,
      32'hddde_efff, 32'hccdd_eeff, 32'hbccd_deff, 32'habcc_deef
    };

    logic [31:0] row;
    logic        upper;
    logic [2:0]  m;
    logic [3:0]  digit;

    assign base  = F'(BASE[fraction_i[F-1-:7]]);
    assign row   = STEP[fraction_i[F-1-:4]];
    assign upper = fraction_i[F-8];
    assign m     = upper ? fraction_i[F-9-:3] : ~fraction_i[F-9-:3];
    assign digit = row[{m, 2'b00}+:4];
    assign step  = upper ? digit : ~digit;
  end else if (MAN_BITS == 7) begin : gen_bfloat16
    localparam logic [5:0] BASE [32] = '{
      6'd2, 6'd7, 6'd12, 6'd16, 6'd20, 6'd23, 6'd27, 6'd30,
      6'd32, 6'd35, 6'd37, 6'd39, 6'd41, 6'd42, 6'd43, 6'd44,
      6'd44, 6'd44, 6'd44, 6'd43, 6'd42, 6'd40, 6'd38, 6'd36,
      6'd34, 6'd30, 6'd27, 6'd23, 6'd19, 6'd14, 6'd9, 6'd3
    };
    localparam logic [7:0] STEP [4] = '{
      8'h10, 8'h00, 8'hff, 8'hef
    };

    logic [7:0] row;
    logic       upper, m;
    logic [3:0] digit;

    assign base  = F'(BASE[fraction_i[F-1-:5]]);
    assign row   = STEP[fraction_i[F-1-:2]];
    assign upper = fraction_i[F-6];
    assign m     = upper ? fraction_i[F-7] : !fraction_i[F-7];
    assign digit = row[{m, 2'b00}+:4];
    assign step  = upper ? digit : ~digit;
  end else begin : gen_unknown
    $fatal(1, "MAN_BITS = %0d: expected 10 or 7", MAN_BITS);
  end

  assign {fraction_o, unused_last} = fraction_i - base - {{(F - 4){step[3]}}, step};

endmodule
