/* SPDX-License-Identifier: MIT */
/*
 * Vector functions: several operations on the elements of refs, fused into one command.
 *
 *   PL_VECTOR_FN(scaled_relu, 2, 1) // two refs, one scalar
 *   {
 *     pl_v v = pl_vload(PL_REF(0));
 *     pl_vstore(PL_REF(1), pl_vmax(pl_vmul(v, pl_vscalar(0)), pl_vzero()));
 *   }
 *   ...
 *   pl_vrun(scaled_relu, PL_REFS(x, o), PL_SCALARS(pl_float(0.5f)));
 *
 * The body runs once, to record a vector program; a pl_v is a name for what the program will compute, not a
 * number. The program is kept by function, and by dtype, space, broadcast and row pitch of each ref; a launch
 * runs it over all elements, as one command in program order with everything else. Nothing that changes from
 * launch to launch can be read while recording: it comes in as a scalar. Any pl_ function but those below is
 * an error there.
 *
 * The shape of a launch is rows x columns of its largest ref (leading dimensions fold into rows). Every other
 * ref has that shape, or one row, one column or one element, which then counts for all.
 *
 * Without a loop the body says what happens to each element. With PL_FOR_LANES it says what happens to each
 * row: code inside the loop sees the elements of the row, code before and behind it has one value a row,
 * as refs with one column do; PL_FOR_ROWS is the same for columns. What a loop carries must be named:
 *
 *   pl_v sum = pl_vconst(0);
 *   PL_FOR_LANES(&sum) sum = pl_vadd(sum, pl_vload(PL_REF(0)));
 *   pl_vstore(PL_REF(1), pl_vsum_lanes(sum));     // (rows, 1)
 *
 * A carried value holds one partial result a lane, which a reduction behind the loop brings together. It
 * changes in lanes inside the shape only: it must start as the operation's neutral element, and then no edge
 * needs care.
 *
 * Types: a value is f32 or int32; a constant zero and scalars take the type of what they meet (f32 if that
 * is nothing). Operations on both types are the same function.
 */
#ifndef PALLAS_VECTOR_FN_H
#define PALLAS_VECTOR_FN_H

#include "tpu_regs.h"

enum {
  PL_MAX_VECTOR_REFS = 8,     /* refs of a vector function */
  PL_MAX_VECTOR_SCALARS = 8,  /* its scalars */
  PL_MAX_VECTOR_VALUES = 128, /* values, stores and loops that it records */
};

typedef struct pl_vector_fn {
  const char *name; /* as messages have it */
  void (*body)(void);
  uint8_t refs, scalars;
  uint8_t operation, narrow;     /* of whole-ref operations (vfn_whole.h) */
  struct vfn_record *last;       /* of the last launch, for the next one */
  const struct vfn_whole *whole; /* NULL: no whole-ref operation */
} pl_vector_fn;

#define PL_VECTOR_FN(name_, refs_, scalars_)                                                                 \
  static void name_##_record(void);                                                                          \
  static pl_vector_fn name_[1] = {                                                                           \
      {.name = "vector function " #name_, .body = name_##_record, .refs = (refs_), .scalars = (scalars_)}};  \
  static void name_##_record(void)

/* A value of the running recording. */
typedef struct pl_v {
  uint32_t id;
} pl_v;

/* A 32-bit scalar of a launch: a value, or one element of a ref in SMEM, read when the command starts. */
typedef struct pl_scalar {
  uint32_t value; /* with a ref: byte offset in it */
  pl_ref ref;
} pl_scalar;
typedef struct pl_scalars {
  const pl_scalar *scalar;
  uint32_t count;
} pl_scalars;
static inline pl_scalars pl_scalars_of(const pl_scalar *scalar, uint32_t count) {
  return (pl_scalars){scalar, count};
}
#define PL_SCALARS(...)                                                                                      \
  pl_scalars_of((const pl_scalar[]){__VA_ARGS__},                                                            \
                sizeof((const pl_scalar[]){__VA_ARGS__}) / sizeof(pl_scalar))
#define PL_NO_SCALARS pl_scalars_of(NULL, 0)
static inline pl_scalar pl_int(int32_t value) {
  return (pl_scalar){.value = (uint32_t)value};
}
static inline uint32_t pl_float_bits(float value) {
  union {
    float value;
    uint32_t bits;
  } u = {.value = value};
  return u.bits;
}
static inline pl_scalar pl_float(float value) {
  return (pl_scalar){.value = pl_float_bits(value)};
}
/* Element of an f32 or int32 ref in SMEM. */
pl_scalar pl_scalar_at(pl_ref ref, const int32_t *index, unsigned n);
#define PL_SCALAR_AT(ref_, ...) pl_scalar_at((ref_), (const int32_t[]){__VA_ARGS__}, PL_COUNT(__VA_ARGS__))

/*
 * Runs the function over its refs, in program order. Errors are sticky: a count of refs or scalars that is
 * not the function's, shapes that do not fit, a ref that is stored to and read only, and what recording
 * finds.
 */
static inline void pl_vrun(pl_vector_fn *fn, pl_refs refs, pl_scalars scalars);

/* Behind it, with its arguments taken apart, which stay in registers so. */
#define PL_VCOUNTS(refs_, scalars_) ((uint32_t)(refs_) | (uint32_t)(scalars_) << 16)
void pl_vrun_counted(pl_vector_fn *fn, const pl_ref *refs, const pl_scalar *scalars, uint32_t counts);
static inline void pl_vrun(pl_vector_fn *fn, pl_refs refs, pl_scalars scalars) {
  pl_vrun_counted(fn, refs.ref, scalars.scalar, PL_VCOUNTS(refs.count, scalars.count));
}
/*
 * In a body: gives up what was recorded, when what the function's body does has changed. It is recorded again
 * when it is launched next, and so is every other function, for all programs go together.
 */
void pl_vforget(pl_vector_fn *fn);

/* ---- for bodies of vector functions ---- */

/* Number n of the launch's refs. */
typedef struct pl_vref {
  uint32_t number;
} pl_vref;
#define PL_REF(n_) ((pl_vref){(n_)})

/* What pl_vload_fill() gives for elements outside the shape: 0, 1, the greatest, the least (infinities). */
enum pl_vfill {
  PL_VFILL_ZERO = TPU_FILL_ZERO,
  PL_VFILL_ONE = TPU_FILL_ONE,
  PL_VFILL_MAX = TPU_FILL_MAX,
  PL_VFILL_MIN = TPU_FILL_MIN
};

/* Behind the macros, which add the source line for messages. */
pl_v pl_vrecord_load(uint32_t ref, unsigned fill, bool as_float, uint32_t line);
void pl_vrecord_store(uint32_t ref, pl_v v, uint32_t line);
pl_v pl_vrecord_const(uint32_t bits, unsigned type, uint32_t line);
pl_v pl_vrecord_scalar(unsigned number, uint32_t line);
pl_v pl_vrecord_op(unsigned op, pl_v a, pl_v b, pl_v c, uint32_t line);
pl_v pl_vrecord_neg(pl_v a, uint32_t line);
pl_v pl_vrecord_move(unsigned op, pl_v a, unsigned n, uint32_t line);
pl_v pl_vrecord_random(unsigned key, int offset, uint32_t line);
typedef struct pl_vloop {
  uint32_t number;
  bool open;
} pl_vloop;
pl_vloop pl_vrecord_loop(unsigned axis, pl_v *const *carried, unsigned n, uint32_t line);
void pl_vrecord_end(pl_vloop *loop);

/*
 * Types of constants; operations: codes of the vector unit in bits 7:0, of int32 in 15:8, result in 23:16,
 * how many operands in 25:24, whether they come in the other order in 26.
 */
enum pl_vtype { PL_V_ANY = 0, PL_V_FLOAT = 1, PL_V_INT = 2 };
#define PL_VOP(float_, int_, result_)                                                                        \
  ((unsigned)TPU_VOP_##float_ | (unsigned)TPU_VOP_##int_ << 8 | (unsigned)(result_) << 16)
#define PL_VARITY(n_)          ((unsigned)(n_) << 24)
#define PL_VSWAPPED            (1u << 26)
#define PL_VNONE               ((pl_v){0})
#define PL_V0(op_)             pl_vrecord_op((op_), PL_VNONE, PL_VNONE, PL_VNONE, __LINE__)
#define PL_V1(op_, a_)         pl_vrecord_op((op_) | PL_VARITY(1), (a_), PL_VNONE, PL_VNONE, __LINE__)
#define PL_V2(op_, a_, b_)     pl_vrecord_op((op_) | PL_VARITY(2), (a_), (b_), PL_VNONE, __LINE__)
#define PL_V3(op_, a_, b_, c_) pl_vrecord_op((op_) | PL_VARITY(3), (a_), (b_), (c_), __LINE__)

/* f32 of f32 and bf16 refs, int32 of the int ones. */
#define pl_vload(ref_)             pl_vrecord_load((ref_).number, PL_VFILL_ZERO, false, __LINE__)
#define pl_vload_fill(ref_, fill_) pl_vrecord_load((ref_).number, (fill_), false, __LINE__)
/* f32 of int8 and uint8, too. */
#define pl_vload_float(ref_) pl_vrecord_load((ref_).number, PL_VFILL_ZERO, true, __LINE__)
/*
 * f32 to f32 and bf16 (nearest even), int32 to int32, and both to int8 and uint8, where f32 is rounded to
 * nearest even and everything saturates. Other pairs are an error: convert first.
 */
#define pl_vstore(ref_, v_)   pl_vrecord_store((ref_).number, (v_), __LINE__)
#define pl_vconst(value_)     pl_vrecord_const(pl_float_bits(value_), PL_V_FLOAT, __LINE__)
#define pl_vconst_int(value_) pl_vrecord_const((uint32_t)(value_), PL_V_INT, __LINE__)
#define pl_vzero()            pl_vrecord_const(0, PL_V_ANY, __LINE__)
#define pl_vscalar(n_)        pl_vrecord_scalar((n_), __LINE__)
#define PL_VOP_SAME           0 /* results of the operands' type */
#define pl_vadd(a_, b_)       PL_V2(PL_VOP(FADD, IADD, PL_VOP_SAME), a_, b_)
#define pl_vsub(a_, b_)       PL_V2(PL_VOP(FSUB, ISUB, PL_VOP_SAME), a_, b_)
#define pl_vmul(a_, b_)       PL_V2(PL_VOP(FMUL, IMUL, PL_VOP_SAME), a_, b_)
#define pl_vmin(a_, b_)       PL_V2(PL_VOP(FMIN, IMIN, PL_VOP_SAME), a_, b_)
#define pl_vmax(a_, b_)       PL_V2(PL_VOP(FMAX, IMAX, PL_VOP_SAME), a_, b_)
/* a x b + c, both rounded; f32. */
#define pl_vfma(a_, b_, c_) PL_V3(PL_VOP(FMA, HALT, PL_VOP_SAME), a_, b_, c_)
#define pl_vneg(a_)         pl_vrecord_neg((a_), __LINE__)
/* Comparisons give -1 (all bits) or 0, int32. */
#define pl_veq(a_, b_)  PL_V2(PL_VOP(FEQ, IEQ, PL_V_INT), a_, b_)
#define pl_vne(a_, b_)  PL_V2(PL_VOP(FNE, INE, PL_V_INT), a_, b_)
#define pl_vlt(a_, b_)  PL_V2(PL_VOP(FLT, ILT, PL_V_INT), a_, b_)
#define pl_vle(a_, b_)  PL_V2(PL_VOP(FLE, ILE, PL_V_INT), a_, b_)
#define pl_vgt(a_, b_)  PL_V2(PL_VOP(FLT, ILT, PL_V_INT) | PL_VSWAPPED, b_, a_)
#define pl_vge(a_, b_)  PL_V2(PL_VOP(FLE, ILE, PL_V_INT) | PL_VSWAPPED, b_, a_)
#define pl_vltu(a_, b_) PL_V2(PL_VOP(HALT, ILTU, PL_V_INT), a_, b_)
/* mask != 0 ? a : b; the mask is int32. */
#define pl_vselect(m_, a_, b_) PL_V3(PL_VOP(SEL, SEL, PL_VOP_SAME), a_, b_, m_)
/* Inside the shape a, outside it b. */
#define pl_vvalid(a_, b_) PL_V2(PL_VOP(SELM, SELM, PL_VOP_SAME), a_, b_)
/* Bits of int32. Shifts by the low five bits of b. */
#define pl_vand(a_, b_) PL_V2(PL_VOP(HALT, AND, PL_V_INT), a_, b_)
#define pl_vor(a_, b_)  PL_V2(PL_VOP(HALT, OR, PL_V_INT), a_, b_)
#define pl_vxor(a_, b_) PL_V2(PL_VOP(HALT, XOR, PL_V_INT), a_, b_)
#define pl_vshl(a_, b_) PL_V2(PL_VOP(HALT, SHL, PL_V_INT), a_, b_)
#define pl_vshr(a_, b_) PL_V2(PL_VOP(HALT, SHR, PL_V_INT), a_, b_)
#define pl_vsar(a_, b_) PL_V2(PL_VOP(HALT, SAR, PL_V_INT), a_, b_)
/* Conversions; to int32 nearest even or toward zero, saturating, NaN to 0. */
#define pl_vfloat(a_)   PL_V1(PL_VOP(HALT, I2F, PL_V_FLOAT), a_)
#define pl_vint_rne(a_) PL_V1(PL_VOP(F2I_RNE, HALT, PL_V_INT), a_)
#define pl_vint_rtz(a_) PL_V1(PL_VOP(F2I_RTZ, HALT, PL_V_INT), a_)
/* Rounded to bf16 precision, kept as f32. */
#define pl_vbf16(a_) PL_V1(PL_VOP(F2BF, HALT, PL_V_FLOAT), a_)
/* The same bits as the other type. */
pl_v pl_vbits(pl_v v, unsigned type, uint32_t line);
#define pl_vbits_float(a_) pl_vbits((a_), PL_V_FLOAT, __LINE__)
#define pl_vbits_int(a_)   pl_vbits((a_), PL_V_INT, __LINE__)
/* |a| and -a of f32; no other bit changes, NaN keeps its own. */
#define pl_vabs(a_) pl_vbits_float(pl_vand(pl_vbits_int(a_), pl_vconst_int(0x7fffffff)))
/* Numbers of the row and of the column, int32. */
#define pl_viota_rows()    PL_V0(PL_VOP(IOTA_SUB, IOTA_SUB, PL_V_INT))
#define pl_viota_columns() PL_V0(PL_VOP(IOTA_LANE, IOTA_LANE, PL_V_INT))

/*
 * Over the lanes of a row (behind PL_FOR_LANES: all lanes of a value; in it: those inside the shape), the
 * result in every lane; argmax: the number of the lane, int32. Likewise over the eight rows of a tile with
 * PL_FOR_ROWS. The order of sums is that of docs/contract.md, section 6.
 */
#define pl_vsum_lanes(a_)    PL_V1(PL_VOP(RL_FSUM, RL_ISUM, PL_VOP_SAME), a_)
#define pl_vmin_lanes(a_)    PL_V1(PL_VOP(RL_FMIN, RL_IMIN, PL_VOP_SAME), a_)
#define pl_vmax_lanes(a_)    PL_V1(PL_VOP(RL_FMAX, RL_IMAX, PL_VOP_SAME), a_)
#define pl_vargmax_lanes(a_) PL_V1(PL_VOP(RL_FARGMAX, RL_IARGMAX, PL_V_INT), a_)
#define pl_vsum_rows(a_)     PL_V1(PL_VOP(RS_FSUM, RS_ISUM, PL_VOP_SAME), a_)
#define pl_vmin_rows(a_)     PL_V1(PL_VOP(RS_FMIN, RS_IMIN, PL_VOP_SAME), a_)
#define pl_vmax_rows(a_)     PL_V1(PL_VOP(RS_FMAX, RS_IMAX, PL_VOP_SAME), a_)
#define pl_vargmax_rows(a_)  PL_V1(PL_VOP(RS_FARGMAX, RS_IARGMAX, PL_V_INT), a_)

/* Transcendental functions of f32, within the bounds of docs/contract.md. */
#define pl_vexp2(a_)    PL_V1(PL_VOP(EXP2, HALT, PL_V_FLOAT), a_)
#define pl_vlog2(a_)    PL_V1(PL_VOP(LOG2, HALT, PL_V_FLOAT), a_)
#define pl_vrecip(a_)   PL_V1(PL_VOP(RCP, HALT, PL_V_FLOAT), a_)
#define pl_vrsqrt(a_)   PL_V1(PL_VOP(RSQRT, HALT, PL_V_FLOAT), a_)
#define pl_vtanh(a_)    PL_V1(PL_VOP(TANH, HALT, PL_V_FLOAT), a_)
#define pl_vsigmoid(a_) PL_V1(PL_VOP(SIGMOID, HALT, PL_V_FLOAT), a_)
/* e^a, natural logarithm, a / b as a x (1 / b). */
#define pl_vexp(a_)     pl_vexp2(pl_vmul((a_), pl_vconst(1.44269504088896341f)))
#define pl_vlog(a_)     pl_vmul(pl_vlog2(a_), pl_vconst(0.693147180559945309f))
#define pl_vdiv(a_, b_) pl_vmul((a_), pl_vrecip(b_))

/*
 * Within a tile of 8 rows and LANES columns, whatever lies outside the shape: rotation by n towards higher
 * columns (rows); one column (row) in the place of all. n is a constant of the recording.
 */
#define pl_vrotate_lanes(a_, n_) pl_vrecord_move(TPU_VOP_ROT_LANE, (a_), (n_), __LINE__)
#define pl_vrotate_rows(a_, n_)  pl_vrecord_move(TPU_VOP_ROT_SUB, (a_), (n_), __LINE__)
#define pl_vlane(a_, n_)         pl_vrecord_move(TPU_VOP_BC_LANE, (a_), (n_), __LINE__)
#define pl_vrow(a_, n_)          pl_vrecord_move(TPU_VOP_BC_SUB, (a_), (n_), __LINE__)
/*
 * 32 random bits of each element's row and column number and the key in the scalars key and key + 1; with
 * offset >= 0 the scalars offset and offset + 1 are added to row and column, so that blocks of an array get
 * what the array as a whole would.
 */
#define pl_vrandom(key_, offset_) pl_vrecord_random((key_), (offset_), __LINE__)

enum pl_vaxis { PL_VAXIS_LANES = 0, PL_VAXIS_ROWS = 1 };
/*
 * PL_FOR_LANES(&a, &b) { ... }: the body stands for all columns (all rows) of the shape; a and b are carried
 * through it and hold the result behind it. Not to be left by break, goto or return. Several may follow one
 * another; a PL_FOR_ROWS may have PL_FOR_LANES inside it, and goes over the whole shape then.
 */
#define PL_VFOR(loop_, axis_, ...)                                                                           \
  for (pl_vloop loop_ =                                                                                      \
           pl_vrecord_loop((axis_), (pl_v *const[]){NULL, ##__VA_ARGS__},                                    \
                           sizeof((pl_v *const[]){NULL, ##__VA_ARGS__}) / sizeof(pl_v *), __LINE__);         \
       loop_.open; pl_vrecord_end(&loop_))
#define PL_FOR_LANES(...) PL_VFOR(pl_vloop_lanes_, PL_VAXIS_LANES, ##__VA_ARGS__)
#define PL_FOR_ROWS(...)  PL_VFOR(pl_vloop_rows_, PL_VAXIS_ROWS, ##__VA_ARGS__)

/*
 * Whole-ref operations that are vector functions: o = f(x), shapes alike; floats are computed in f32.
 * pl_exp() and pl_log() scale by log2 e and ln 2; square roots are x / sqrt(x).
 */
void pl_exp(pl_ref o, pl_ref x);
void pl_exp2(pl_ref o, pl_ref x);
void pl_log(pl_ref o, pl_ref x);
void pl_log2(pl_ref o, pl_ref x);
void pl_reciprocal(pl_ref o, pl_ref x);
void pl_rsqrt(pl_ref o, pl_ref x);
void pl_sqrt(pl_ref o, pl_ref x);
void pl_tanh(pl_ref o, pl_ref x);
void pl_logistic(pl_ref o, pl_ref x);
void pl_neg(pl_ref o, pl_ref x);
void pl_abs(pl_ref o, pl_ref x);

#endif
