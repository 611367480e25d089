// SPDX-License-Identifier: MIT
//
// The functions of tpu_fp_pkg, 16 lanes each, registered, so that a testbench can reach them. The
// loops are written as the units write them, so the vectorised code is what is tested.

module fp_lanes (
    input  logic               clk_i,
    input  logic [16*32-1:0]   a_i,
    input  logic [16*32-1:0]   b_i,
    output logic [16*32-1:0]   bf16_mul_o,
    output logic [16*32-1:0]   f32_add_o,
    output logic [16*32-1:0]   f32_mul_o
);

  typedef logic [31:0] vec_t[16];
  vec_t a, b, bm_q, fa_q, fm_q;

  for (genvar l = 0; l < 16; l++) begin : gen_lane
    assign a[l] = a_i[l*32+:32];
    assign b[l] = b_i[l*32+:32];
    assign bf16_mul_o[l*32+:32] = bm_q[l];
    assign f32_add_o[l*32+:32] = fa_q[l];
    assign f32_mul_o[l*32+:32] = fm_q[l];
  end

  function automatic vec_t bmul(input vec_t x, input vec_t y);
    vec_t o;
    for (int unsigned l = 0; l < 16; l++)
      o[l] = tpu_fp_pkg::bf16_mul(x[l] & 32'hffff, y[l] & 32'hffff);
    return o;
  endfunction

  function automatic vec_t fadd(input vec_t x, input vec_t y);
    vec_t o;
    for (int unsigned l = 0; l < 16; l++) o[l] = tpu_fp_pkg::f32_add(x[l], y[l]);
    return o;
  endfunction

  function automatic vec_t fmul(input vec_t x, input vec_t y);
    vec_t o;
    for (int unsigned l = 0; l < 16; l++) o[l] = tpu_fp_pkg::f32_mul(x[l], y[l]);
    return o;
  endfunction

  always_ff @(posedge clk_i) begin
    bm_q <= bmul(a, b);
    fa_q <= fadd(a, b);
    fm_q <= fmul(a, b);
  end

endmodule
