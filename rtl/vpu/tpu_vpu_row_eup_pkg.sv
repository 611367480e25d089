// SPDX-License-Identifier: MIT
//
// Arithmetic of the transcendental pipe, in the style of tpu_vpu_fp_pkg and tpu_vpu_row_pkg (read their
// heads first). hw/eup/README.md says how the functions work and hw/model/func/eup.h is the same in C;
// the parts here are those of the pipe's stages: to fixed point, interpolate, combine, round.
//
// A step is one trip through the pipe. Selectors are masks; they are the same for all lanes.

package tpu_vpu_row_eup_pkg;
  import tpu_config_pkg::*;
  import tpu_fp_pkg::F32Inf;
  import tpu_fp_pkg::F32Nan;
  import tpu_fp_pkg::F32Sign;
  import tpu_fp_pkg::msk;
  import tpu_fp_pkg::sel;
  import tpu_vpu_fp_pkg::norm32;

  localparam logic [31:0] One = 32'h3f80_0000;

  // The lanes that work at once.
  typedef logic [EupLanes*32-1:0] erow_t;

  typedef enum logic [2:0] {
    StepExp2     = 3'd0,
    StepLog2     = 3'd1,
    StepRcp      = 3'd2,
    StepRsqrt    = 3'd3,
    StepTanh1    = 3'd4,  // |a| < 1: tanh; else 1 + 2^(2|a| log2 e) with a's sign
    StepSigmoid1 = 3'd5,  // 1 + 2^(-a log2 e)
    StepTanh2    = 3'd6   // |a| < 1: a; else 1 - 2 / |a| with a's sign
  } step_e;

  // Bits that a shift count or a comparison does not need.
  /* verilator lint_off UNUSEDSIGNAL */

  // x >> n for any n >= 0.
  function automatic logic [31:0] shr(input logic [31:0] x, input logic [31:0] n);
    return (x >> n[4:0]) & msk(n[31:5] == 27'd0);
  endfunction

  // |a| < 1.
  function automatic logic [31:0] below_one(input logic [31:0] a);
    return msk(a[30:23] < 8'd127);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Stage 1: z, the place in the table (segment in [24:18]) and for powers the exponent above it; n, what
  // the interpolation is multiplied by (24 bits; above them, for LOG2, how far it was shifted).

  // |a| or, scaled, |a| log2(e), or 2|a| log2(e) for TANH; 25 bits after the point.
  function automatic logic [31:0] fixed(input logic [31:0] k_scaled, input logic [31:0] k_tanh,
                                        input logic [31:0] a);
    logic [31:0] k, x, d, y;
    logic [63:0] p;
    k = k_scaled & ~(k_tanh & below_one(a));
    p = {40'd0, 1'b1, a[22:0]} * {32'd0, tpu_eup_pkg::Log2E};
    x = sel(k, p[55:24], {1'b1, a[22:0], 8'd0});
    d = 32'd133 - {31'd0, k[0]} - {31'd0, k[0] & k_tanh[0]} - {24'd0, a[30:23]};
    y = shr(x, d);
    return sel({32{d[31]}}, {x[30:0], 1'b0}, y);
  endfunction

  // The powers: EXP2, SIGMOID1, TANH1.
  function automatic void row_power_place(input logic [31:0] k_sigmoid, input logic [31:0] k_tanh,
                                          input erow_t a, output erow_t r);
    /* verilator no_inline_task */
    logic [31:0] y, neg;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      y   = fixed(k_sigmoid | k_tanh, k_tanh, a[l*32+:32]);
      neg = ({32{a[l*32+31]}} ^ k_sigmoid) & ~k_tanh;
      r[l*32+:32] = (y ^ neg) + {31'd0, neg[0]};
    end
  endfunction

  // The others: the fraction.
  function automatic void row_place(input erow_t a, output erow_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < EupLanes; l++) r[l*32+:32] = {7'd0, a[l*32+:23], 2'd0};
  endfunction

  // LOG2: the exponent nearest to the result; m is then 0.75 .. 1.5.
  function automatic logic [31:0] log2_whole(input logic [31:0] a);
    return {24'd0, a[30:23]} - 32'd127 + {31'd0, a[22]};
  endfunction

  function automatic void row_log2_factor(input erow_t a, output erow_t r);
    /* verilator no_inline_task */
    logic [31:0] x, d, m, n, k;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      x = a[l*32+:32];
      d = sel({32{x[22]}}, {8'd0, 24'h80_0000 - {1'b0, x[22:0]}}, {8'd0, x[22:0], 1'b0});
      norm32({d[23:0], 8'd0}, m, n);
      k = msk(log2_whole(x) == 32'd0);
      r[l*32+:32] = sel(k, {3'd0, n[4:0], m[31:8]}, d);
    end
  endfunction

  function automatic void row_tanh_factor(input erow_t a, output erow_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < EupLanes; l++) r[l*32+:32] = {8'd0, 1'b1, a[l*32+:23]};
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Stage 2: rows of the table.

  function automatic logic [9:0] address(input step_e step, input logic [31:0] a,
                                         input logic [6:0] segment);
    logic [2:0] base;
    case (step)
      StepRcp, StepTanh2: base = tpu_eup_pkg::BaseRcp;
      StepRsqrt: base = a[23] ? tpu_eup_pkg::BaseRsqrt1 : tpu_eup_pkg::BaseRsqrt2;
      StepLog2: base = tpu_eup_pkg::BaseLog2;
      StepTanh1: base = (a[30:23] < 8'd127) ? tpu_eup_pkg::BaseTanh : tpu_eup_pkg::BaseExp2;
      default: base = tpu_eup_pkg::BaseExp2;
    endcase
    return {base, segment};
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Stage 3: the quadratic, 28 bits after the point. Powers rise, all others fall.

  function automatic void row_interpolate(input logic [31:0] k_power, input logic [31:0] k_tanh,
                                          input erow_t a, input erow_t z, input erow_t c0, input erow_t c1,
                                          input erow_t c2, output erow_t r);
    /* verilator no_inline_task */
    logic [31:0] d, q, s, line, fall;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      d    = {14'd0, z[l*32+:18]};
      q    = $signed(c2[l*32+:32]) * $signed({16'd0, d[17:2]});
      s    = {10'd0, c1[l*32+:22] + {{6{q[31]}}, q[31:16]}};
      line = {10'd0, s[21:0]} * {23'd0, d[17:9]} + (({10'd0, s[21:0]} * {23'd0, d[8:0]}) >> 9);
      line = {9'd0, line[31:9]};
      fall = ~k_power | (k_tanh & below_one(a[l*32+:32]));
      r[l*32+:32] = c0[l*32+:32] + (line ^ fall) + {31'd0, fall[0]};
    end
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Stage 4: t, 30 bits after the point, and e, its biased exponent.

  // Biased exponent of a power: the bits above the place, below 0 for negative arguments.
  function automatic logic [31:0] power_exponent(input logic [31:0] neg, input logic [31:0] z);
    return {25'd0, z[31:25]} + sel(neg & msk(z != 32'd0), 32'hffff_ffff, 32'd127);
  endfunction

  function automatic void row_power(input erow_t a, input erow_t z, input erow_t p, output erow_t t,
                                    output erow_t e);
    /* verilator no_inline_task */
    erow_t ts, es;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      ts[l*32+:32] = p[l*32+:32] << 2;
      es[l*32+:32] = power_exponent({32{a[l*32+31]}}, z[l*32+:32]);
    end
    t = ts;
    e = es;
  endfunction

  // 1 + 2^y. q: for TANH below 1 the product with the table, instead.
  function automatic void row_plus_one(input logic [31:0] k_sigmoid, input erow_t a, input erow_t z,
                                       input erow_t p, input erow_t q, output erow_t t, output erow_t e);
    /* verilator no_inline_task */
    erow_t ts, es;
    logic [31:0] x, d, b, less, low, k, y;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      x    = power_exponent(~{32{a[l*32+31]}} & k_sigmoid, z[l*32+:32]);
      d    = x - 32'd127;
      less = {32{d[31]}};
      d    = (d ^ less) + {31'd0, less[0]};
      y    = p[l*32+:32] << 2;
      b    = sel(less, 32'h4000_0000, y);
      low  = shr(sel(less, y, 32'h4000_0000), d);
      k    = below_one(a[l*32+:32]) & ~k_sigmoid;
      ts[l*32+:32] = sel(k, q[l*32+:32], b + low);
      es[l*32+:32] = sel(k, {24'd0, a[l*32+23+:8]}, sel(less, 32'd127, x));
    end
    t = ts;
    e = es;
  endfunction

  function automatic void row_rcp(input logic [31:0] k_rsqrt, input erow_t a, input erow_t p,
                                  output erow_t t, output erow_t e);
    /* verilator no_inline_task */
    erow_t ts, es;
    logic [31:0] x;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      ts[l*32+:32] = p[l*32+:32] << 2;
      x = sel(k_rsqrt, 32'd382, 32'd254) - {24'd0, a[l*32+23+:8]};
      es[l*32+:32] = sel(k_rsqrt, {x[31], x[31:1]}, x);
    end
    t = ts;
    e = es;
  endfunction

  // 1 - 2 / |a|.
  function automatic void row_tanh(input erow_t a, input erow_t p, output erow_t t, output erow_t e);
    /* verilator no_inline_task */
    erow_t ts, es;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      ts[l*32+:32] = 32'h4000_0000 - shr(p[l*32+:32] << 3, {24'd0, a[l*32+23+:8]} - 32'd127);
      es[l*32+:32] = 32'd127;
    end
    t = ts;
    e = es;
  endfunction

  // Factor x table, 31 bits after the point of the factor.
  function automatic void row_product(input erow_t n, input erow_t p, output erow_t r);
    /* verilator no_inline_task */
    logic [63:0] q;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      q = {40'd0, n[l*32+:24]} * {32'd0, p[l*32+:32]};
      r[l*32+:32] = q[52:21];
    end
  endfunction

  function automatic void row_log2(input erow_t a, input erow_t n, input erow_t q, output erow_t t,
                                   output erow_t e);
    /* verilator no_inline_task */
    erow_t ts, es;
    logic [31:0] w, neg, one, none, low, base, sub, x;
    for (int unsigned l = 0; l < EupLanes; l++) begin
      w    = log2_whole(a[l*32+:32]);
      none = msk(w == 32'd0);
      neg  = {32{w[31]}};
      w    = (w ^ neg) + {31'd0, neg[0]};
      one  = msk(w == 32'd1);
      low  = sel(one, {2'd0, q[l*32+2+:30]}, {6'd0, q[l*32+6+:26]});
      base = sel(one, 32'h2000_0000, {w[6:0], 25'd0});
      sub  = neg ^ {32{a[l*32+22]}};
      x    = base + (low ^ sub) + {31'd0, sub[0]};
      ts[l*32+:32] = sel(none, q[l*32+:32], x);
      es[l*32+:32] = sel(none, 32'd126 - {27'd0, n[l*32+24+:5]}, sel(one, 32'd128, 32'd132));
    end
    t = ts;
    e = es;
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Stage 5: to nearest, and what is no number in the table.

  // t x 2^-30 x 2^(e - 127) as f32 without a sign; ties up.
  function automatic logic [31:0] round30(input logic [31:0] t, input logic [31:0] e);
    logic [31:0] x, n, m, y, tiny, over;
    norm32(t, x, n);
    m    = {7'd0, {1'b0, x[31:8]} + {24'd0, x[7]}};
    y    = {22'd0, e[9:0] + 10'd1 - {5'd0, n[4:0]} + {9'd0, m[24]}};
    tiny = {32{y[9]}} | msk(y[9:0] == 10'd0) | ~{32{x[31]}};
    over = ~{32{y[9]}} & ({32{y[8]}} | msk(y[7:0] == 8'hff));
    return sel(over & ~tiny, F32Inf, {1'b0, y[7:0], m[22:0]} & ~tiny);
  endfunction

  typedef struct packed {
    logic [31:0] exp2;
    logic [31:0] log2;
    logic [31:0] rcp;      // or RSQRT
    logic [31:0] rsqrt;
    logic [31:0] sigmoid1;
    logic [31:0] tanh1;
    logic [31:0] tanh2;
  } steps_t;

  function automatic steps_t steps_of(input step_e step);
    steps_t k;
    k.exp2     = {32{step == StepExp2}};
    k.log2     = {32{step == StepLog2}};
    k.rcp      = {32{step == StepRcp || step == StepRsqrt}};
    k.rsqrt    = {32{step == StepRsqrt}};
    k.sigmoid1 = {32{step == StepSigmoid1}};
    k.tanh1    = {32{step == StepTanh1}};
    k.tanh2    = {32{step == StepTanh2}};
    return k;
  endfunction

  function automatic logic [31:0] finish(input steps_t k, input logic [31:0] a, input logic [31:0] t,
                                         input logic [31:0] e);
    logic [31:0] neg, zero, top, nan, w, sign, r, inf, far, one, none, same;
    neg  = {32{a[31]}};
    zero = msk(a[30:23] == 8'd0);
    top  = msk(a[30:23] == 8'hff);
    w    = log2_whole(a);
    // Past the table: 128 and more for powers, 16 for TANH.
    far  = (k.exp2 & msk(a[30:23] >= 8'd134))
        | (k.sigmoid1 & (msk(a[30:23] >= 8'd134)
            | (msk(a[30:23] == 8'd133) & msk({1'b1, a[22:0]} >= tpu_eup_pkg::SigmoidFull))))
        | (k.tanh1 & msk(a[30:23] >= 8'd131));
    nan  = (top & msk(a[22:0] != 23'd0)) | ((k.log2 | k.rsqrt) & neg & ~zero);
    inf  = (far & ((k.exp2 & ~neg) | (k.sigmoid1 & neg) | k.tanh1)) | (zero & (k.log2 | k.rcp)) | (top & k.log2);
    one  = (far & k.sigmoid1 & ~neg) | (top & k.tanh2);
    none = (far & k.exp2 & neg) | (zero & k.tanh1) | (top & k.rcp);
    same = k.tanh2 & below_one(a);
    sign = (neg & (k.rcp | k.tanh1 | k.tanh2)) | (k.log2 & ({32{w[31]}} | zero | (msk(w == 32'd0) & {32{a[22]}})));
    r    = round30(t, e);
    r    = sel(inf, F32Inf, sel(one, One, r & ~none));
    r    = r | (sign & F32Sign);
    return sel(nan, F32Nan, sel(same, a, r));
  endfunction

  function automatic void row_finish(input steps_t k, input erow_t a, input erow_t t, input erow_t e,
                                     output erow_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < EupLanes; l++) begin
      r[l*32+:32] = finish(k, a[l*32+:32], t[l*32+:32], e[l*32+:32]);
    end
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
