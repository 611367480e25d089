// SPDX-License-Identifier: MIT
//
// Arithmetic of one lane, in the mask style of tpu_fp_pkg (read its head first): add in two halves,
// multiply, compare and min/max for floats and integers in one comparator, argmax, shifts,
// conversions. The rules are those of docs/contract.md, section 7.
//
// These functions are written for two readers. gcc wants 32-bit words and masks. Synthesis wants to
// see how many bits matter: a field is {24'd0, x[30:23]} and not (x >> 23) & 32'hff, whose upper zeros
// are only found after a 32-bit adder has been made of it; and a sum with a carry in is written as
// one sum, {a, 1} + {b, c}. Together that halves the area. Steps of a normalisation are selections
// between t and t shifted by a constant, because synthesis tries to share shifters, one pair after the
// other, for minutes.
//
// And gcc wants no single bits: a condition of a comparison is msk(x == y), a bit {32{x[7]}}, and they
// are combined as masks. (A bit in a variable makes it use vectors of bytes, at a third of the speed.)
//
// Selectors that choose between the operations of one function are masks too; they are the same for
// all lanes, so they cost nothing per lane in simulation and one multiplexer input in hardware.

package tpu_vpu_fp_pkg;
  import tpu_fp_pkg::F32Inf;
  import tpu_fp_pkg::F32Nan;
  import tpu_fp_pkg::F32Sign;
  import tpu_fp_pkg::msk;
  import tpu_fp_pkg::sel;

  localparam logic [31:0] IntMax = 32'h7fff_ffff;

  // Upper bits that the contract ignores (of a shift count), or that are zero (of a field).
  /* verilator lint_off UNUSEDSIGNAL */

  // -----------------------------------------------------------------------------------------------
  // Parts.

  function automatic logic [31:0] is_nan(input logic [31:0] a);
    return msk(a[30:23] == 8'hff) & msk(a[22:0] != 23'd0);
  endfunction

  // Subnormals to a zero of their sign.
  function automatic logic [31:0] daz(input logic [31:0] a);
    return a & (msk(a[30:23] != 8'd0) | F32Sign);
  endfunction

  // Moves the leading one of the 28 bits of t to bit 27, n places to the left.
  function automatic void norm28(input logic [31:0] t, output logic [31:0] x, output logic [31:0] n);
    logic [31:0] k16, k8, k4, k2, k1;
    x   = {4'd0, t[27:0]};
    k16 = msk(x[27:12] == 16'd0);
    x   = sel(k16, {4'd0, x[11:0], 16'd0}, x);
    k8  = msk(x[27:20] == 8'd0);
    x   = sel(k8, {4'd0, x[19:0], 8'd0}, x);
    k4  = msk(x[27:24] == 4'd0);
    x   = sel(k4, {4'd0, x[23:0], 4'd0}, x);
    k2  = msk(x[27:26] == 2'd0);
    x   = sel(k2, {4'd0, x[25:0], 2'd0}, x);
    k1  = ~{32{x[27]}};
    x   = sel(k1, {4'd0, x[26:0], 1'd0}, x);
    n   = {27'd0, k16[0], k8[0], k4[0], k2[0], k1[0]};
  endfunction

  // The same for all 32 bits.
  function automatic void norm32(input logic [31:0] t, output logic [31:0] x, output logic [31:0] n);
    logic [31:0] k16, k8, k4, k2, k1;
    x   = t;
    k16 = msk(x[31:16] == 16'd0);
    x   = sel(k16, {x[15:0], 16'd0}, x);
    k8  = msk(x[31:24] == 8'd0);
    x   = sel(k8, {x[23:0], 8'd0}, x);
    k4  = msk(x[31:28] == 4'd0);
    x   = sel(k4, {x[27:0], 4'd0}, x);
    k2  = msk(x[31:30] == 2'd0);
    x   = sel(k2, {x[29:0], 2'd0}, x);
    k1  = ~{32{x[31]}};
    x   = sel(k1, {x[30:0], 1'd0}, x);
    n   = {27'd0, k16[0], k8[0], k4[0], k2[0], k1[0]};
  endfunction

  // Round to nearest even. t: significand, leading one at bit 27, bit 0 sticky; e: biased exponent of
  // bit 27, 10 bits, signed. Overflow gives infinity, tiny results zero. No sign.
  function automatic logic [31:0] round(input logic [31:0] t, input logic [31:0] e);
    logic [31:0] m, x, up, over, tiny;
    up   = (msk(t[2:0] != 3'd0) | {32{t[4]}}) & {32{t[3]}};
    m    = {7'd0, {1'b0, t[27:4]} + {24'd0, up[0]}};
    // A carry leaves a significand of zeros below it.
    x    = {22'd0, e[9:0] + {9'd0, m[24]}};
    tiny = {32{x[9]}} | msk(x[9:0] == 10'd0);
    over = ~{32{x[9]}} & ({32{x[8]}} | msk(x[7:0] == 8'hff));
    return sel(over, F32Inf, {1'b0, x[7:0], m[22:0]} & ~tiny);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // f32 add in two halves, for a pipeline that cuts the adder in the middle.

  // First half: align and add. sum: 28 bits, the exponent's bit at 26. flags: [7:0] exponent of the
  // larger operand, [8] its sign, [9] sign of an exact zero, [10] the result is NaN.
  function automatic void add_align(input logic [31:0] a, input logic [31:0] b,
                                    output logic [31:0] sum, output logic [31:0] flags);
    logic [31:0] az, bz, swap, x, y, mx, my, ky, d, far, n, al, lost, sub, two, nan;
    az    = daz(a);
    bz    = daz(b);
    swap  = (az ^ bz) & msk(az[30:0] < bz[30:0]);
    x     = az ^ swap;
    y     = bz ^ swap;
    sub   = {32{x[31]}} ^ {32{y[31]}};
    mx    = {5'd0, 1'b1, x[22:0], 3'd0};
    ky    = msk(y[30:23] != 8'd0);
    my    = {5'd0, {1'b1, y[22:0], 3'd0} & ky[26:0]};
    // What is shifted out is or-ed into the last bit. Beyond 31 the shift is 31.
    d     = {24'd0, x[30:23] - y[30:23]};
    far   = msk(d[7:5] != 3'd0);
    n     = {27'd0, d[4:0] | far[4:0]};
    al    = {5'd0, my[26:0] >> n[4:0]};
    lost  = my & ~(32'hffff_ffff << n[4:0]);
    lost  = msk(lost[26:0] != 27'd0);
    al    = {5'd0, al[26:1], al[0] | lost[0]};
    // mx + al or mx - al: the last bit makes the carry.
    two   = {3'd0, {mx[27:0], 1'b1} + {al[27:0] ^ sub[27:0], sub[0]}};
    sum   = {4'd0, two[28:1]};
    nan   = msk(x[30:23] == 8'hff)
        & (msk(x[22:0] != 23'd0) | (msk(y[30:23] == 8'hff) & sub));
    flags = {21'd0, nan[0], x[31] & y[31], x[31], x[30:23]};
  endfunction

  // Second half: normalise and round.
  function automatic logic [31:0] add_round(input logic [31:0] sum, input logic [31:0] flags);
    logic [31:0] t, n, e, r, zero;
    norm28(sum, t, n);
    e    = {22'd0, ({2'd0, flags[7:0]} + 10'd1) - {5'd0, n[4:0]}};
    r    = round(t, e);
    r    = sel(msk(flags[7:0] == 8'hff), F32Inf, r);
    zero = msk(sum[27:0] == 28'd0) | msk(flags[7:0] == 8'd0);
    r    = (r & ~zero) | {(flags[9] & zero[0]) | (flags[8] & ~zero[0]), 31'd0};
    return sel({32{flags[10]}}, F32Nan, r);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Multiply: f32 (mask k_int clear) or the low 32 bits of an integer product (set), on the same
  // four multipliers of at most 16 x 16 bits.

  function automatic logic [31:0] mul(input logic [31:0] k_int, input logic [31:0] a,
                                      input logic [31:0] b);
    logic [31:0] a1, a0, b1, b0, p00, p01, p10, p11, mid, lo, hi, t, e, r, zero, spec, nan, half;
    logic [31:0] rest, low;
    // Halves: 16 bits each of an integer, 12 of a significand.
    a1   = sel(k_int, {16'd0, a[31:16]}, {20'd0, 1'b1, a[22:12]});
    b1   = sel(k_int, {16'd0, b[31:16]}, {20'd0, 1'b1, b[22:12]});
    a0   = {16'd0, a[15:12] & k_int[3:0], a[11:0]};
    b0   = {16'd0, b[15:12] & k_int[3:0], b[11:0]};
    p00  = {16'd0, a0[15:0]} * {16'd0, b0[15:0]};
    p01  = {16'd0, a0[15:0]} * {16'd0, b1[15:0]};
    p10  = {16'd0, a1[15:0]} * {16'd0, b0[15:0]};
    p11  = {20'd0, a1[11:0]} * {20'd0, b1[11:0]};
    mid  = p01 + p10;
    half = sel(k_int, {mid[15:0], 16'd0}, {8'd0, mid[11:0], 12'd0});
    lo   = p00 + half;
    // The 48-bit product is hi (24 bits, leading one at bit 23 or 22) and 24 bits of lo.
    hi   = {8'd0, p11[23:0] + {11'd0, mid[24:12]} + {23'd0, lo[24]}};
    rest = msk(lo[20:0] != 21'd0);
    t    = {4'd0, hi[23:0], lo[23:21], rest[0]};
    low  = ~{32{t[27]}};
    e    = {22'd0, ({2'd0, a[30:23]} + {2'd0, b[30:23]}) - {3'd0, 6'b11_1111, low[0]}};
    t    = sel(low, {4'd0, t[26:0], 1'b0}, t);
    r    = round(t, e);
    zero = msk(a[30:23] == 8'd0) | msk(b[30:23] == 8'd0);
    spec = msk(a[30:23] == 8'hff) | msk(b[30:23] == 8'hff);
    r    = sel(spec, F32Inf, r & ~zero);
    r    = r | ((a ^ b) & F32Sign);
    nan  = is_nan(a) | is_nan(b) | (spec & zero);
    r    = sel(nan, F32Nan, r);
    return sel(k_int, lo, r);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Compare, min, max.

  // An f32 without subnormals as a signed integer of the same order; -0 is -1, +0 is 0.
  function automatic logic [31:0] order(input logic [31:0] a);
    return a ^ {1'b0, {31{a[31]}}};
  endfunction

  // What compare does; every field is a mask.
  typedef struct packed {
    logic [31:0] fp;      // f32, else int32
    logic [31:0] uns;     // integers are unsigned
    logic [31:0] minmax;  // the result is an operand, else all ones or zeros
    logic [31:0] lt;      // a < b makes it true
    logic [31:0] eq;      // a = b makes it true
    logic [31:0] inv;     // invert (minmax: the result is the maximum, else the minimum)
  } cmp_t;

  function automatic logic [31:0] compare(input cmp_t k, input logic [31:0] a,
                                          input logic [31:0] b);
    logic [31:0] az, bz, x, y, lt, eq, nan, c, m, negz;
    az   = sel(k.fp, daz(a), a);
    bz   = sel(k.fp, daz(b), b);
    x    = sel(k.fp, order(az), az ^ (k.uns & F32Sign));
    y    = sel(k.fp, order(bz), bz ^ (k.uns & F32Sign));
    // -0 equals +0, but is less for min and max.
    negz = k.fp & ~k.minmax;
    x    = x & ~(negz & {32{a[31]}} & msk(a[30:23] == 8'd0));
    y    = y & ~(negz & {32{b[31]}} & msk(b[30:23] == 8'd0));
    lt   = msk($signed(x) < $signed(y));
    eq   = msk(x == y);
    nan  = k.fp & (is_nan(a) | is_nan(b));
    c    = (((lt & k.lt) | (eq & k.eq)) & ~nan) ^ k.inv;
    m    = sel(lt ^ k.inv, az, bz);
    m    = sel(nan, F32Nan, m);
    return sel(k.minmax, m, c);
  endfunction

  // Does (b, ib) replace (a, ia) as the maximum? The greater value; of two equal ones, or two NaN,
  // the lower index; a NaN before every number.
  function automatic logic [31:0] arg_wins(input logic [31:0] k_fp, input logic [31:0] a,
                                           input logic [31:0] ia, input logic [31:0] b,
                                           input logic [31:0] ib);
    logic [31:0] x, y, na, nb, gt, eq;
    x  = sel(k_fp, order(daz(a)), a);
    y  = sel(k_fp, order(daz(b)), b);
    na = k_fp & is_nan(a);
    nb = k_fp & is_nan(b);
    gt = msk($signed(y) > $signed(x)) & ~na & ~nb;
    eq = (msk(x == y) & ~na & ~nb) | (na & nb);
    return gt | (nb & ~na) | (eq & msk(ib[4:0] < ia[4:0]));
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Integers and bits.

  // a + b, or a - b with k_sub.
  function automatic logic [31:0] add_sub(input logic [31:0] k_sub, input logic [31:0] a,
                                          input logic [31:0] b);
    return a + (b ^ k_sub) + {31'd0, k_sub[0]};
  endfunction

  // a << n, a >> n, arithmetic a >> n; n modulo 32.
  function automatic logic [31:0] shift(input logic [31:0] k_left, input logic [31:0] k_arith,
                                        input logic [31:0] a, input logic [31:0] n);
    logic [31:0] s, l, r;
    s = {32{a[31]}} & k_arith;
    l = a << n[4:0];
    r = ((a ^ s) >> n[4:0]) ^ s;
    return sel(k_left, l, r);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Conversions.

  // int32 to f32, nearest even.
  function automatic logic [31:0] i32_to_f32(input logic [31:0] a);
    logic [31:0] s, x, n, low, r;
    s = {32{a[31]}};
    norm32((a ^ s) + {31'd0, s[0]}, x, n);
    low = msk(x[4:0] != 5'd0);
    r = round({4'd0, x[31:5], low[0]}, {22'd0, 10'd158 - {5'd0, n[4:0]}});
    return (r | (s & F32Sign)) & msk(a != 32'd0);
  endfunction

  // A number of -128 .. 255 to f32; always exact.
  function automatic logic [31:0] i9_to_f32(input logic [31:0] a);
    logic [31:0] s, x, k4, k2, k1;
    s  = {32{a[31]}};
    x  = {24'd0, (a[7:0] ^ s[7:0]) + {7'd0, s[0]}};
    k4 = msk(x[7:4] == 4'd0);
    x  = sel(k4, {24'd0, x[3:0], 4'd0}, x);
    k2 = msk(x[7:6] == 2'd0);
    x  = sel(k2, {24'd0, x[5:0], 2'd0}, x);
    k1 = ~{32{x[7]}};
    x  = sel(k1, {24'd0, x[6:0], 1'd0}, x);
    return {s[0], 8'd134 - {5'd0, k4[0], k2[0], k1[0]}, x[6:0], 16'd0} & msk(a[8:0] != 9'd0);
  endfunction

  // f32 to int32: nearest even, or toward zero (mask k_rtz). Saturates; NaN gives 0.
  function automatic logic [31:0] f32_to_i32(input logic [31:0] k_rtz, input logic [31:0] a);
    logic [31:0] s, m, d, q, r, lost, inc, big;
    s    = {32{a[31]}};
    big  = msk(a[30:23] > 8'd157);
    m    = {1'b1, a[22:0], 8'd0};
    // q: the integer part and, in bit 0, the first bit after the point. Shifted by 32: below 1/2.
    d    = {24'd0, 8'd157 - a[30:23]};
    q    = (m >> d[4:0]) & msk(d[7:5] == 3'd0);
    lost = msk((m & ~(32'hffff_ffff << d[4:0])) != 32'd0);
    inc  = {32{q[0]}} & ({32{q[1]}} | lost) & ~k_rtz;
    r    = {1'b0, q[31:1]};
    // r + inc or its negative, ~r + 1 - inc.
    r    = (r ^ s) + {31'd0, inc[0] ^ s[0]};
    r    = sel(big, IntMax ^ s, r);
    return r & ~is_nan(a);
  endfunction

  // f32 rounded to bf16, kept as f32.
  function automatic logic [31:0] f32_to_bf16(input logic [31:0] a);
    logic [31:0] r, up;
    r  = daz(a);
    up = {32{r[15]}} & ({32{r[16]}} | msk(r[14:0] != 15'd0));
    r  = {r[31:16] + {15'd0, up[0]}, 16'd0};
    return sel(is_nan(a), F32Nan, r);
  endfunction

  // int32 to 8 bits, saturating: 0 .. 255 (mask k_uns) or -128 .. 127.
  function automatic logic [31:0] clamp8(input logic [31:0] k_uns, input logic [31:0] a);
    logic [31:0] fits, most, neg;
    neg  = {32{a[31]}};
    fits = sel(k_uns, msk(a[31:8] == 24'd0), msk((a ^ neg) < 32'd128));
    most = sel(k_uns, ~neg, {24'd0, neg[0], ~neg[6:0]});
    return {24'd0, (a[7:0] & fits[7:0]) | (most[7:0] & ~fits[7:0])};
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
