// SPDX-License-Identifier: MIT
//
// Arithmetic of one lane, in the mask style of tpu_fp_pkg (read its head first): add in two halves,
// compare and min/max for floats and integers in one comparator, argmax, shifts, conversions.
//
// Steps of a normalisation are selections between t and t shifted by a constant: synthesis tries to
// share shifters, one pair after the other, and a step that looks like one costs it minutes.
//
// The rules are those of docs/contract.md, section 7. Selectors that choose between the operations
// of one function are masks too; they are the same for all lanes, so they cost nothing per lane in
// simulation and one multiplexer input in hardware.

package tpu_vpu_fp_pkg;
  import tpu_fp_pkg::*;

  localparam logic [31:0] IntMax = 32'h7fff_ffff;

  // -----------------------------------------------------------------------------------------------
  // f32 add in two halves, for a pipeline that cuts the adder in the middle.

  // First half: align and add. sum: 28 bits, the exponent's bit at 26. flags: [7:0] exponent of the
  // larger operand, [8] its sign, [9] sign of an exact zero, [10] the result is NaN.
  function automatic void add_align(input logic [31:0] a, input logic [31:0] b,
                                    output logic [31:0] sum, output logic [31:0] flags);
    logic [31:0] az, bz, swap, x, y, ex, ey, mx, my, d, al, sub, nan;
    az    = f32_daz(a);
    bz    = f32_daz(b);
    swap  = (az ^ bz) & msk((az & ~F32Sign) < (bz & ~F32Sign));
    x     = az ^ swap;
    y     = bz ^ swap;
    sub   = msk(((x ^ y) & F32Sign) != 32'd0);
    ex    = (x >> 23) & 32'hff;
    ey    = (y >> 23) & 32'hff;
    mx    = ((x & F32Man) | F32Hid) << 3;
    my    = (((y & F32Man) | F32Hid) << 3) & msk(ey != 32'd0);
    // What is shifted out is or-ed into the last bit. Beyond 31 the shift is 31.
    d     = ex - ey;
    d     = d | msk(d > 32'd31);
    al    = my >> d[4:0];
    al    = al | (msk((al << d[4:0]) != my) & 32'd1);
    sum   = mx + ((al ^ sub) - sub);
    nan   = msk(ex == 32'hff) & (msk((x & F32Man) != 32'd0) | (msk(ey == 32'hff) & sub));
    flags = ex | ((x >> 23) & 32'h100) | (((x & y) >> 22) & 32'h200) | (nan & 32'h400);
  endfunction

  // Second half: normalise and round.
  function automatic logic [31:0] add_round(input logic [31:0] sum, input logic [31:0] flags);
    logic [31:0] ex, e, t, g, r;
    ex = flags & 32'hff;
    e  = ex + 32'd1;
    t  = sum;
    g  = msk((t >> 12) == 32'd0);
    t  = sel(g, t << 16, t);
    e  = e - (g & 32'd16);
    g  = msk((t >> 20) == 32'd0);
    t  = sel(g, t << 8, t);
    e  = e - (g & 32'd8);
    g  = msk((t >> 24) == 32'd0);
    t  = sel(g, t << 4, t);
    e  = e - (g & 32'd4);
    g  = msk((t >> 26) == 32'd0);
    t  = sel(g, t << 2, t);
    e  = e - (g & 32'd2);
    g  = msk((t >> 27) == 32'd0);
    t  = sel(g, t << 1, t);
    e  = e - (g & 32'd1);
    r  = f32_round(t, e);
    r  = sel(msk(ex == 32'hff), F32Inf, r) | ((flags << 23) & F32Sign);
    r  = sel(msk(sum == 32'd0) | msk(ex == 32'd0), (flags << 22) & F32Sign, r);
    return sel(msk((flags & 32'h400) != 32'd0), F32Nan, r);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Multiply: f32 (mask k_int clear) or the low 32 bits of an integer product (set), on the same
  // four multipliers of at most 16 x 16 bits.

  function automatic logic [31:0] mul(input logic [31:0] k_int, input logic [31:0] a,
                                      input logic [31:0] b);
    logic [31:0] ea, eb, a1, a0, b1, b0, mid, lo, hi, t, e, g, r, zero, spec, nan, p00, p01, p10, p11;
    ea   = (a >> 23) & 32'hff;
    eb   = (b >> 23) & 32'hff;
    a1   = sel(k_int, a >> 16, ((a >> 12) & 32'h7ff) | 32'h800);
    b1   = sel(k_int, b >> 16, ((b >> 12) & 32'h7ff) | 32'h800);
    a0   = a & (32'hfff | (k_int & 32'hffff));
    b0   = b & (32'hfff | (k_int & 32'hffff));
    p00  = a0 * b0;
    p01  = a0 * b1;
    p10  = a1 * b0;
    p11  = a1 * b1;
    mid  = p01 + p10;
    // The 48-bit product is hi (24 bits, leading one at bit 23 or 22) and 24 bits of lo.
    lo   = p00 + ((mid & 32'hfff) << 12);
    hi   = p11 + (mid >> 12) + (lo >> 24);
    t    = (hi << 4) | ((lo >> 20) & 32'hf) | (msk((lo & 32'hf_ffff) != 32'd0) & 32'd1);
    g    = msk((t >> 27) == 32'd0);
    t    = sel(g, t << 1, t);
    e    = (ea + eb) - (32'd126 + (g & 32'd1));
    r    = f32_round(t, e);
    r    = sel(msk($signed(e) > 32'sd254), F32Inf, r);
    zero = msk(ea == 32'd0) | msk(eb == 32'd0);
    spec = msk(ea == 32'hff) | msk(eb == 32'hff);
    r    = r & ~zero;
    r    = sel(spec, F32Inf, r);
    r    = r | ((a ^ b) & F32Sign);
    nan  = msk((a & ~F32Sign) > F32Inf) | msk((b & ~F32Sign) > F32Inf) | (spec & zero);
    r    = sel(nan, F32Nan, r);
    return sel(k_int, p00 + (mid << 16), r);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Compare, min, max.

  // An f32 without subnormals as a signed integer of the same order; -0 is -1, +0 is 0.
  function automatic logic [31:0] order(input logic [31:0] a);
    return a ^ (msk(a[31]) & ~F32Sign);
  endfunction

  function automatic logic [31:0] is_nan(input logic [31:0] a);
    return msk((a & ~F32Sign) > F32Inf);
  endfunction

  // What compare does; every field is a mask.
  typedef struct packed {
    logic [31:0] fp;      // f32, else int32
    logic [31:0] uns;     // integers are unsigned
    logic [31:0] minmax;  // the result is an operand, else all ones or zeros
    logic [31:0] lt;      // a < b makes it true (minmax: the result is a if a < b, else b)
    logic [31:0] eq;      // a = b makes it true
    logic [31:0] inv;     // invert (minmax: the result is b if a < b, else a)
  } cmp_t;

  function automatic logic [31:0] compare(input cmp_t k, input logic [31:0] a,
                                          input logic [31:0] b);
    logic [31:0] az, bz, x, y, lt, eq, nan, c, m;
    az  = sel(k.fp, f32_daz(a), a);
    bz  = sel(k.fp, f32_daz(b), b);
    x   = sel(k.fp, order(az), az ^ (k.uns & F32Sign));
    y   = sel(k.fp, order(bz), bz ^ (k.uns & F32Sign));
    // -0 equals +0, but is less for min and max.
    x   = x & ~(msk(x == 32'hffff_ffff) & k.fp & ~k.minmax);
    y   = y & ~(msk(y == 32'hffff_ffff) & k.fp & ~k.minmax);
    lt  = msk($signed(x) < $signed(y));
    eq  = msk(x == y);
    nan = k.fp & (is_nan(a) | is_nan(b));
    c   = (((lt & k.lt) | (eq & k.eq)) & ~nan) ^ k.inv;
    m   = sel(lt ^ k.inv, az, bz);
    m   = sel(nan, F32Nan, m);
    return sel(k.minmax, m, c);
  endfunction

  // Does (b, ib) replace (a, ia) as the maximum? The greater value; of two equal ones, or two NaN,
  // the lower index; a NaN before every number.
  function automatic logic [31:0] arg_wins(input logic [31:0] k_float, input logic [31:0] a,
                                           input logic [31:0] ia, input logic [31:0] b,
                                           input logic [31:0] ib);
    logic [31:0] x, y, na, nb, gt, eq;
    x  = sel(k_float, order(f32_daz(a)), a);
    y  = sel(k_float, order(f32_daz(b)), b);
    na = k_float & is_nan(a);
    nb = k_float & is_nan(b);
    gt = msk($signed(y) > $signed(x)) & ~na & ~nb;
    eq = (msk(x == y) & ~na & ~nb) | (na & nb);
    return gt | (nb & ~na) | (eq & msk(ib < ia));
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Integers and bits.

  // a << n, a >> n, arithmetic a >> n; n modulo 32.
  /* verilator lint_off UNUSEDSIGNAL */  // upper bits of n
  function automatic logic [31:0] shift(input logic [31:0] k_left, input logic [31:0] k_arith,
                                        input logic [31:0] a, input logic [31:0] n);
    logic [31:0] s, l, r;
    s = msk(a[31]) & k_arith;
    l = a << n[4:0];
    r = ((a ^ s) >> n[4:0]) ^ s;
    return sel(k_left, l, r);
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // -----------------------------------------------------------------------------------------------
  // Conversions.

  // int32 to f32, nearest even.
  function automatic logic [31:0] i32_to_f32(input logic [31:0] a);
    logic [31:0] s, t, e, g;
    s = msk(a[31]);
    t = (a ^ s) - s;
    e = 32'd158;
    g  = msk((t >> 16) == 32'd0);
    t  = sel(g, t << 16, t);
    e  = e - (g & 32'd16);
    g  = msk((t >> 24) == 32'd0);
    t  = sel(g, t << 8, t);
    e  = e - (g & 32'd8);
    g  = msk((t >> 28) == 32'd0);
    t  = sel(g, t << 4, t);
    e  = e - (g & 32'd4);
    g  = msk((t >> 30) == 32'd0);
    t  = sel(g, t << 2, t);
    e  = e - (g & 32'd2);
    g  = msk((t >> 31) == 32'd0);
    t  = sel(g, t << 1, t);
    e  = e - (g & 32'd1);
    t = (t >> 4) | (msk((t & 32'hf) != 32'd0) & 32'd1);
    return (f32_round(t, e) | (s & F32Sign)) & msk(a != 32'd0);
  endfunction

  // A signed number of at most 9 bits to f32; always exact.
  function automatic logic [31:0] i9_to_f32(input logic [31:0] a);
    logic [31:0] s, t, e, g;
    s = msk(a[31]);
    t = (a ^ s) - s;
    e = 32'd134;
    g  = msk((t >> 4) == 32'd0);
    t  = sel(g, t << 4, t);
    e  = e - (g & 32'd4);
    g  = msk((t >> 6) == 32'd0);
    t  = sel(g, t << 2, t);
    e  = e - (g & 32'd2);
    g  = msk((t >> 7) == 32'd0);
    t  = sel(g, t << 1, t);
    e  = e - (g & 32'd1);
    return ((e << 23) | ((t & 32'h7f) << 16) | (s & F32Sign)) & msk(a != 32'd0);
  endfunction

  // f32 to int32: nearest even, or toward zero (mask k_rtz). Saturates; NaN gives 0.
  function automatic logic [31:0] f32_to_i32(input logic [31:0] k_rtz, input logic [31:0] a);
    logic [31:0] s, e, m, d, q, r, big;
    s   = msk(a[31]);
    e   = (a >> 23) & 32'hff;
    m   = ((a & F32Man) | F32Hid) << 8;
    // q: the integer part and, in bit 0, the first bit after the point. e < 126 is less than 1/2.
    d   = 32'd157 - e;
    d   = d & ~msk(e > 32'd157);
    q   = (m >> d[4:0]) & msk(d < 32'd32);
    r   = q >> 1;
    r   = r + (q & ((r & 32'd1) | (msk((q << d[4:0]) != m) & 32'd1)) & 32'd1 & ~k_rtz);
    r   = (r ^ s) - s;
    big = msk(e > 32'd157);
    r   = sel(big, IntMax ^ s, r);
    return r & ~is_nan(a);
  endfunction

  // f32 rounded to bf16, kept as f32.
  function automatic logic [31:0] f32_to_bf16(input logic [31:0] a);
    logic [31:0] r;
    r = f32_daz(a);
    r = (r + 32'h7fff + ((r >> 16) & 32'd1)) & 32'hffff_0000;
    return sel(is_nan(a), F32Nan, r);
  endfunction

  // int32 to 8 bits, saturating: 0 .. 255 (mask k_uns) or -128 .. 127.
  function automatic logic [31:0] clamp8(input logic [31:0] k_uns, input logic [31:0] a);
    logic [31:0] hi, lo, r;
    hi = 32'd127 | (k_uns & 32'd255);
    lo = ~32'd127 & ~k_uns;
    r  = sel(msk($signed(a) > $signed(hi)), hi, a);
    r  = sel(msk($signed(r) < $signed(lo)), lo, r);
    return r & 32'hff;
  endfunction

endpackage
