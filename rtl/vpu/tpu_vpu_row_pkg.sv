// SPDX-License-Identifier: MIT
//
// Operations on a row (one sublane, all lanes): loops over the lane functions of tpu_vpu_fp_pkg.
//
// These loops are where the time of a simulation goes. Each is a function of whole packed rows with
// an unsigned loop variable and whole 32-bit selects, which Verilator leaves a loop and gcc turns
// into vector code. They are not inlined: Verilator clears the temporaries of inlined functions in
// every cycle, whether they are called or not. (Verilator 5.006 wants wide results of such functions
// as output arguments.)

package tpu_vpu_row_pkg;
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_vpu_fp_pkg::*;

  // In simulation an operation is computed only where it is needed. For synthesis all are computed
  // and gated (row_or): a multiplexer behind every operator would have the synthesiser look for pairs
  // of operators to share for an hour, and find none. So: if (Always || k) op, row_or.
`ifdef SYNTHESIS
  localparam bit Always = 1'b1;
`else
  localparam bit Always = 1'b0;
`endif

  // a | t if k, else a.
  function automatic void row_or(input logic k, input row_t t, input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = a[l*32+:32] | (t[l*32+:32] & {32{k}});
    end
  endfunction

  function automatic void row_splat(input logic [31:0] x, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = x;
  endfunction

  // Lanes below n from a, the others from b.
  function automatic void row_merge(input lanes_t n, input row_t a, input row_t b, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = tpu_fp_pkg::sel({32{l < 32'(n)}}, a[l*32+:32], b[l*32+:32]);
    end
  endfunction

  // Lanes where c is not 0 from a, the others from b.
  function automatic void row_select(input row_t c, input row_t a, input row_t b, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = tpu_fp_pkg::sel({32{c[l*32+:32] != 32'd0}}, a[l*32+:32], b[l*32+:32]);
    end
  endfunction

  function automatic void row_iota(input logic [31:0] base, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = base + l;
  endfunction

  // a ^ m in every lane.
  function automatic void row_flip(input row_t a, input logic [31:0] m, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = a[l*32+:32] ^ m;
  endfunction

  // f32 sum, first half: sums s and flags f. (Two outputs in the loop would alias for gcc.)
  function automatic void row_add_align(input row_t a, input row_t b, output row_t s,
                                        output row_t f);
    /* verilator no_inline_task */
    row_t sums, flags;
    logic [31:0] sum, flag;
    for (int unsigned l = 0; l < Lanes; l++) begin
      add_align(a[l*32+:32], b[l*32+:32], sum, flag);
      sums[l*32+:32]  = sum;
      flags[l*32+:32] = flag;
    end
    s = sums;
    f = flags;
  endfunction

  function automatic void row_add_round(input row_t s, input row_t f, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = add_round(s[l*32+:32], f[l*32+:32]);
  endfunction

  function automatic void row_mul(input logic [31:0] k_int, input row_t a, input row_t b,
                                  output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = mul(k_int, a[l*32+:32], b[l*32+:32]);
  endfunction

  function automatic void row_compare(input cmp_t k, input row_t a, input row_t b, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = compare(k, a[l*32+:32], b[l*32+:32]);
  endfunction

  function automatic void row_iadd(input logic [31:0] k_sub, input row_t a, input row_t b,
                                   output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = add_sub(k_sub, a[l*32+:32], b[l*32+:32]);
    end
  endfunction

  // (a & b) & k_and | (a ^ b) & k_xor: and, xor, and with both, or.
  function automatic void row_logic(input logic [31:0] k_and, input logic [31:0] k_xor,
                                    input row_t a, input row_t b, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = (a[l*32+:32] & b[l*32+:32] & k_and)
          | ((a[l*32+:32] ^ b[l*32+:32]) & k_xor);
    end
  endfunction

  function automatic void row_shift(input logic [31:0] k_left, input logic [31:0] k_arith,
                                    input row_t a, input row_t b, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = shift(k_left, k_arith, a[l*32+:32], b[l*32+:32]);
    end
  endfunction

  function automatic void row_i2f(input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = i32_to_f32(a[l*32+:32]);
  endfunction

  function automatic void row_f2i(input logic [31:0] k_rtz, input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = f32_to_i32(k_rtz, a[l*32+:32]);
  endfunction

  function automatic void row_f2bf(input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = f32_to_bf16(a[l*32+:32]);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Reductions. Argmax takes and gives indices; for those that win, all ones.

  function automatic void row_arg_wins(input logic [31:0] k_float, input row_t a, input row_t ia,
                                       input row_t b, input row_t ib, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = arg_wins(k_float, a[l*32+:32], ia[l*32+:32], b[l*32+:32], ib[l*32+:32]);
    end
  endfunction

  // b where the lane of k is all ones, else a.
  function automatic void row_pick(input row_t k, input row_t b, input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = tpu_fp_pkg::sel(k[l*32+:32], b[l*32+:32], a[l*32+:32]);
    end
  endfunction

  // The same for indices, which fit in five bits (said here, so that synthesis drops the others).
  function automatic void row_index(input row_t k, input row_t b, input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) begin
      r[l*32+:32] = tpu_fp_pkg::sel(k[l*32+:32], b[l*32+:32], a[l*32+:32]) & 32'h1f;
    end
  endfunction

  // The lane tree folded into one row. Level 1 (x[i] op x[i + Lanes/2]) sits in lanes
  // 0 .. Lanes/2 - 1, level 2 in the next Lanes/4 lanes, and so on; the result is in lane
  // Lanes - 2. Each level takes its operands from the level before, that is from y. tree_left and
  // tree_right are the operands of all levels at once.
  function automatic void tree_left(input row_t x, input row_t y, output row_t r);
    /* verilator no_inline_task */
    r = y;
    for (int unsigned l = 0; l < Lanes / 2; l++) r[l*32+:32] = x[l*32+:32];
    for (int unsigned h = Lanes / 4; h != 0; h = h >> 1) begin
      for (int unsigned l = 0; l < h; l++) begin
        r[(Lanes-2*h+l)*32+:32] = y[(Lanes-4*h+l)*32+:32];
      end
    end
  endfunction

  function automatic void tree_right(input row_t x, input row_t y, output row_t r);
    /* verilator no_inline_task */
    r = y;
    for (int unsigned l = 0; l < Lanes / 2; l++) r[l*32+:32] = x[(Lanes/2+l)*32+:32];
    for (int unsigned h = Lanes / 4; h != 0; h = h >> 1) begin
      for (int unsigned l = 0; l < h; l++) begin
        r[(Lanes-2*h+l)*32+:32] = y[(Lanes-3*h+l)*32+:32];
      end
    end
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Narrow types. A row of narrow elements starts at bit 0. The loops take a 32-bit word of them at a
  // time: selects of other widths are slow in simulation.

  function automatic void row_from_bf16(input logic [Lanes*16-1:0] d, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned w = 0; w < Lanes / 2; w++) begin
      r[w*64+:32]    = d[w*32+:32] << 16;
      r[w*64+32+:32] = d[w*32+:32] & 32'hffff_0000;
    end
  endfunction

  function automatic void row_from_8(input logic k_uns, input logic [Lanes*8-1:0] d,
                                     output row_t r);
    /* verilator no_inline_task */
    logic [31:0] x;
    for (int unsigned w = 0; w < Lanes / 4; w++) begin
      x = d[w*32+:32];
      for (int unsigned i = 0; i < 4; i++) begin
        r[w*128+i*32+:32] = {{24{x[i*8+7] & ~k_uns}}, x[i*8+:8]};
      end
    end
  endfunction

  function automatic void row_i9_to_f32(input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = i9_to_f32(a[l*32+:32]);
  endfunction

  function automatic void row_clamp8(input logic [31:0] k_uns, input row_t a, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = clamp8(k_uns, a[l*32+:32]);
  endfunction

  // The upper halves, or the low bytes, of all lanes side by side.
  function automatic void row_pack16(input row_t a, output logic [Lanes*16-1:0] r);
    /* verilator no_inline_task */
    for (int unsigned w = 0; w < Lanes / 2; w++) begin
      r[w*32+:32] = (a[w*64+:32] >> 16) | (a[w*64+32+:32] & 32'hffff_0000);
    end
  endfunction

  function automatic void row_pack8(input row_t a, output logic [Lanes*8-1:0] r);
    /* verilator no_inline_task */
    for (int unsigned w = 0; w < Lanes / 4; w++) begin
      r[w*32+:32] = (a[w*128+:32] & 32'hff) | ((a[w*128+32+:32] & 32'hff) << 8)
          | ((a[w*128+64+:32] & 32'hff) << 16) | (a[w*128+96+:32] << 24);
    end
  endfunction

endpackage
