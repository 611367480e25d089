// SPDX-License-Identifier: MIT
//
// Floating point of the matrix and vector units: bf16 multiply, f32 add, f32 multiply.
//
// The numbers are those of the architecture: round to nearest, ties to even; subnormal operands
// read as signed zero; a result that is tiny after rounding becomes signed zero; every NaN result
// is the canonical 7fc00000. There are no flags and no other rounding modes.
//
// Style. One source has to be fast in Verilator and small on an FPGA, so every value is a 32-bit
// word and every decision is a mask (all ones or all zeros) that selects with AND and OR. Then gcc
// turns a loop over lanes that calls one of these functions into vector code; one `?:` or `if` and
// it does not (a factor of five). For synthesis a mask is a multiplexer like any other. Variable
// shifts take exactly five bits, and normalisation is five halving steps, not a leading-zero count.
//
// Traded: the adder aligns with three extra bits (guard, round, sticky), which is the least that
// is exact; the multiplier is made of four 12 x 12 products, because 64-bit lanes halve the
// simulation speed and a DSP of 18 bits needs the same four.

package tpu_fp_pkg;

  localparam logic [31:0] F32Inf  = 32'h7f80_0000;
  localparam logic [31:0] F32Nan  = 32'h7fc0_0000;
  localparam logic [31:0] F32Sign = 32'h8000_0000;
  localparam logic [31:0] F32Man  = 32'h007f_ffff;
  localparam logic [31:0] F32Hid  = 32'h0080_0000;

  // Mask from a condition.
  function automatic logic [31:0] msk(input logic cond);
    return {32{cond}};
  endfunction

  // v where the mask is set, else r.
  function automatic logic [31:0] sel(input logic [31:0] k, input logic [31:0] v,
                                      input logic [31:0] r);
    return (r & ~k) | (v & k);
  endfunction

  // Subnormals become zero of the same sign.
  function automatic logic [31:0] f32_daz(input logic [31:0] a);
    return a & (msk((a & F32Inf) != 32'd0) | F32Sign);
  endfunction

  // bf16 x bf16 -> f32. Operands in the low 16 bits, the rest must be zero. The product of two
  // 8-bit significands is exact in f32, so nothing is rounded: only the exponent range acts.
  function automatic logic [31:0] bf16_mul(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] ea, eb, e, p, hi, r, zero, spec, nan;
    ea   = (a >> 7) & 32'hff;
    eb   = (b >> 7) & 32'hff;
    p    = ((a & 32'h7f) | 32'h80) * ((b & 32'h7f) | 32'h80);
    hi   = (p >> 15) & 32'd1;
    e    = ea + eb + hi;  // biased twice: 127 or less underflows, 382 or more overflows
    r    = ((e - 32'd128) << 23) + ((p << 9) >> hi[4:0]);
    zero = msk(ea == 32'd0) | msk(eb == 32'd0);
    spec = msk(ea == 32'hff) | msk(eb == 32'hff);
    r    = r & ~(zero | msk(e <= 32'd127));
    r    = sel(spec | (msk(e >= 32'd382) & ~zero), F32Inf, r);
    r    = r | (((a ^ b) & 32'h8000) << 16);
    nan  = msk((a & 32'h7fff) > 32'h7f80) | msk((b & 32'h7fff) > 32'h7f80) | (spec & zero);
    return sel(nan, F32Nan, r);
  endfunction

  // The common end of add and multiply. t: significand, leading one at bit 27, bit 0 sticky;
  // e: biased exponent of bit 27, a signed number of -200 .. 255. The sign is the caller's.
  function automatic logic [31:0] f32_round(input logic [31:0] t, input logic [31:0] e);
    logic [31:0] m, r, q;
    m = t >> 4;
    m = m + (((t & 32'hf) + (m & 32'd1) + 32'd7) >> 4);
    // m carries its leading one, and a rounding carry, into the exponent field. So r is right
    // wherever it is a normal number, and one subtraction puts what is not above all that is:
    // first the overflows, then the tiny ones, which wrapped.
    r = ((e - 32'd1) << 23) + m;
    q = r - F32Hid;
    r = sel(msk(q >= F32Inf - F32Hid), F32Inf, r);
    return r & msk(q <= F32Inf);
  endfunction

  // f32 + f32 for operands that are no subnormals, as results of this package never are.
  function automatic logic [31:0] f32_add_nosub(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] swap, x, y, ex, ey, mx, my, d, al, sub, s, t, e, g, r, k;
    // x is the operand of larger magnitude.
    swap = (a ^ b) & msk((a & ~F32Sign) < (b & ~F32Sign));
    x    = a ^ swap;
    y    = b ^ swap;
    sub  = msk(((x ^ y) & F32Sign) != 32'd0);
    ex   = (x >> 23) & 32'hff;
    ey   = (y >> 23) & 32'hff;
    mx   = ((x & F32Man) | F32Hid) << 3;
    my   = (((y & F32Man) | F32Hid) << 3) & msk(ey != 32'd0);
    // Align y; everything shifted out is or-ed into the last bit. Beyond 31 the shift is 31.
    d    = ex - ey;
    d    = d | msk(d > 32'd31);
    al   = my >> d[4:0];
    al   = al | (msk((al << d[4:0]) != my) & 32'd1);
    s    = mx + ((al ^ sub) - sub);
    // Bring the leading one to bit 27.
    e = ex + 32'd1;
    t = s;
    g = msk((t >> 12) == 32'd0) & 32'd16;
    t = t << g[4:0];
    e = e - g;
    g = msk((t >> 20) == 32'd0) & 32'd8;
    t = t << g[4:0];
    e = e - g;
    g = msk((t >> 24) == 32'd0) & 32'd4;
    t = t << g[4:0];
    e = e - g;
    g = msk((t >> 26) == 32'd0) & 32'd2;
    t = t << g[4:0];
    e = e - g;
    g = msk((t >> 27) == 32'd0) & 32'd1;
    t = t << g[4:0];
    e = e - g;
    r = f32_round(t, e) | (x & F32Sign);
    // An exact zero is +0 unless both operands are negative.
    k = msk(s == 32'd0) | msk(ex == 32'd0);
    r = sel(k, x & y & F32Sign, r);
    // Infinity and NaN: x is one if any operand is.
    k = msk(ex == 32'hff);
    r = sel(k, x, r);
    k = k & (msk((x & F32Man) != 32'd0) | (msk(ey == 32'hff) & sub));
    return sel(k, F32Nan, r);
  endfunction

  // f32 + f32.
  function automatic logic [31:0] f32_add(input logic [31:0] a, input logic [31:0] b);
    return f32_add_nosub(f32_daz(a), f32_daz(b));
  endfunction

  // f32 x f32.
  function automatic logic [31:0] f32_mul(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] ea, eb, ah, al, bh, bl, mid, lo, hi, t, e, g, r, zero, spec, nan;
    ea  = (a >> 23) & 32'hff;
    eb  = (b >> 23) & 32'hff;
    ah  = ((a >> 12) & 32'h7ff) | 32'h800;
    al  = a & 32'hfff;
    bh  = ((b >> 12) & 32'h7ff) | 32'h800;
    bl  = b & 32'hfff;
    mid = (ah * bl) + (al * bh);
    lo  = (al * bl) + ((mid & 32'hfff) << 12);
    hi  = (ah * bh) + (mid >> 12) + (lo >> 24);
    // The 48-bit product is hi (24 bits, leading one at bit 23 or 22) and 24 bits of lo.
    t   = (hi << 4) | ((lo >> 20) & 32'hf) | (msk((lo & 32'hf_ffff) != 32'd0) & 32'd1);
    g   = msk((t >> 27) == 32'd0) & 32'd1;
    t   = t << g[4:0];
    e   = (ea + eb) - (32'd126 + g);
    r   = f32_round(t, e);
    r   = sel(msk($signed(e) > 32'sd254), F32Inf, r);
    zero = msk(ea == 32'd0) | msk(eb == 32'd0);
    spec = msk(ea == 32'hff) | msk(eb == 32'hff);
    r    = r & ~zero;
    r    = sel(spec, F32Inf, r);
    r    = r | ((a ^ b) & F32Sign);
    nan  = msk((a & ~F32Sign) > F32Inf) | msk((b & ~F32Sign) > F32Inf) | (spec & zero);
    return sel(nan, F32Nan, r);
  endfunction

endpackage
