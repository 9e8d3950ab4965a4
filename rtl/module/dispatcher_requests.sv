// SPDX-License-Identifier: MIT
// Configuration of the requests: T_cur, segment and layers of each, and the layer that it is at. Contract: dispatcher.md.
//
//   cycle             0     1     2
//   tokens_valid_i    1                 a write waits in a register for a cycle
//   write_tokens            1           and opens the gate of a clock
//   read_tokens_o                 new

module dispatcher_requests import pimlico_pkg::*, dispatcher_pkg::*; #(
  /// Requests in the configuration, 1 to 16.
  parameter int unsigned REQUESTS = 16
) (
  /// Clock: one edge per cycle.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// The host writes T_cur of a request.
  input  logic        tokens_valid_i,
  /// The host writes the segment of a request.
  input  logic        segment_valid_i,
  /// The host writes the layers of a request.
  input  logic        layers_valid_i,
  /// The request that is written.
  input  logic [3:0]  write_request_i,
  /// The host's data.
  input  logic [31:0] data_i,
  /// The request that runs, or has just ended.
  input  logic [3:0]  run_request_i,
  /// Its layer ends.
  input  logic        steps_i,
  /// The request whose T_cur is read.
  input  logic [3:0]  tokens_request_i,
  /// The request whose segment is read.
  input  logic [3:0]  segment_request_i,
  /// T_cur.
  output tokens_t     tokens_o,
  /// Virtual rows of the segment.
  output logic [15:0] rows_o,
  /// First entry of the layer that the request is at; bit 16: it is beyond the table.
  output logic [16:0] base_o,
  /// The layer that the request that runs is at.
  output logic [15:0] layer_o
);

  // What is written seldom, each word with a gated clock of its own. Each is written, and has been written.
  tokens_t [REQUESTS-1:0]  tokens;
  segment_t [REQUESTS-1:0] segment;
  layers_t [REQUESTS-1:0]  layers;
  layer_t [REQUESTS-1:0]   layer;
  logic [REQUESTS-1:0]     writes_tokens, writes_segment, writes_layers;
  logic [REQUESTS-1:0]     has_tokens_d, has_tokens_q, has_segment_d, has_segment_q, has_layers_d, has_layers_q;

  // A write waits for a cycle, so that what enables the gate of its clock comes from registers. It is there before a
  // word of the next run is sequenced.
  logic        config_tokens_d, config_tokens_q, config_segment_d, config_segment_q;
  logic        config_layers_d, config_layers_q;
  logic [3:0]  config_request_d, config_request_q;
  logic [31:0] config_data_d, config_data_q;

  assign config_tokens_d  = tokens_valid_i;
  assign config_segment_d = segment_valid_i;
  assign config_layers_d  = layers_valid_i;
  assign config_request_d = write_request_i;
  assign config_data_d    = data_i;

  // The layer that runs, and the one that follows it: see Layers.
  layers_t     run_layers;
  layer_t      run_layer, next_layer;
  logic [15:0] run_base;  // of its first layer

  for (genvar r = 0; r < REQUESTS; r++) begin : gen_request
    logic     clk_tokens, clk_segment, clk_layers, clk_layer;
    logic     moves;  // to another layer, or to the first
    tokens_t  tokens_q;
    segment_t segment_q;
    layers_t  layers_q;
    layer_t   layer_d, layer_q;

    assign writes_tokens[r]  = config_tokens_q && config_request_q == 4'(r);
    assign writes_segment[r] = config_segment_q && config_request_q == 4'(r);
    assign writes_layers[r]  = config_layers_q && config_request_q == 4'(r);
    assign moves             = steps_i && run_request_i == 4'(r) || writes_segment[r] || writes_layers[r];

    clock_gate u_tokens (.clk_i, .rst_ni, .enable_i(writes_tokens[r]), .clk_o(clk_tokens));
    clock_gate u_segment (.clk_i, .rst_ni, .enable_i(writes_segment[r]), .clk_o(clk_segment));
    clock_gate u_layers (.clk_i, .rst_ni, .enable_i(writes_layers[r]), .clk_o(clk_layers));
    clock_gate u_layer (.clk_i, .rst_ni, .enable_i(moves), .clk_o(clk_layer));

    // The host's write goes before the step of a run that has just ended.
    always_comb begin
      layer_d = next_layer;
      if (writes_layers[r])  layer_d = '{number: '0, base: {1'b0, segment_q.base}};
      if (writes_segment[r]) layer_d = '{number: '0, base: {1'b0, config_data_q[15:0]}};
    end

    always_ff @(posedge clk_tokens) tokens_q <= config_data_q[19:0];
    always_ff @(posedge clk_segment) segment_q <= config_data_q;
    always_ff @(posedge clk_layers) layers_q <= config_data_q;
    always_ff @(posedge clk_layer) layer_q <= layer_d;

    assign tokens[r]  = tokens_q;
    assign segment[r] = segment_q;
    assign layers[r]  = layers_q;
    assign layer[r]   = layer_q;
  end

  assign has_tokens_d  = has_tokens_q | writes_tokens;
  assign has_segment_d = has_segment_q | writes_segment;
  assign has_layers_d  = has_layers_q | writes_layers;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      config_tokens_q  <= 1'b0;
      config_segment_q <= 1'b0;
      config_layers_q  <= 1'b0;
      has_tokens_q     <= '0;
      has_segment_q    <= '0;
      has_layers_q     <= '0;
    end else begin
      config_tokens_q  <= config_tokens_d;
      config_segment_q <= config_segment_d;
      config_layers_q  <= config_layers_d;
      has_tokens_q     <= has_tokens_d;
      has_segment_q    <= has_segment_d;
      has_layers_q     <= has_layers_d;
    end
  end

  always_ff @(posedge clk_i) begin
    config_request_q <= config_request_d;
    config_data_q    <= config_data_d;
  end

  // In the cycle behind the end of a run its request goes on to the next layer, or back to the first.
  always_comb begin : read_layer
    run_layers = '0;
    run_layer  = '0;
    run_base   = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (run_request_i == 4'(r)) begin
        run_base = segment[r].base;
        if (has_layers_q[r]) begin
          run_layers = layers[r];
          run_layer  = layer[r];
        end
      end
    end
  end

  always_comb begin : step_layer
    logic carry;

    next_layer.number              = run_layer.number + 16'd1;
    {carry, next_layer.base[15:0]} = {1'b0, run_layer.base[15:0]} + {1'b0, run_layers.stride};
    next_layer.base[16]            = run_layer.base[16] || carry;
    if (run_layers.number == '0 || next_layer.number == run_layers.number) begin
      next_layer = '{number: '0, base: {1'b0, run_base}};
    end
  end

  always_comb begin : read_tokens
    tokens_o = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (tokens_request_i == 4'(r) && has_tokens_q[r]) tokens_o = tokens[r];
    end
  end

  always_comb begin : read_segment
    rows_o = '0;
    base_o = '0;
    for (int unsigned r = 0; r < REQUESTS; r++) begin
      if (segment_request_i == 4'(r) && has_segment_q[r]) begin
        rows_o = segment[r].rows;
        base_o = layer[r].base;
      end
    end
  end

  assign layer_o = run_layer.number;

  if (REQUESTS == 0 || REQUESTS > 16) $fatal(1, "REQUESTS = %0d: expected 1 to 16", REQUESTS);

endmodule
