/* SPDX-License-Identifier: MIT */
/*
 * The vector unit's operations on whole VREGs.
 *
 * Everything is a loop over contiguous words that the compiler vectorises. A reduction becomes one too: with
 * the elements to be reduced at distance `width`, a level of the tree x[i] op x[i + h] is one operation on h
 * x width words. Sublanes lie so already; lanes are brought there by a transposition.
 */
#include "vpu_ops.h"

#include <string.h>

#include "eup.h"
#include "num_kernels.h"

/* ---- element by element ------------------------------------------------------------------------------- */

static inline uint32_t shift_right_signed(uint32_t a, uint32_t b) {
  return (uint32_t)((int32_t)a >> (b & 31));
}

static inline uint32_t f2bf(uint32_t a) {
  return num_from_bf16_1(num_to_bf16_rne1(a));
}

/* One line an operation: longer than a function should be, but a table. */
#define CASE(name, expression)                                                                               \
  case TPU_VOP_##name:                                                                                       \
    _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) d[i] = (expression);                               \
    return true;
#define A         a[i]
#define B         b[i]
#define C         c[i]
#define SIGNED(x) ((int32_t)(x))

NUM_CLONES
bool tpu_vpu_elementwise(uint32_t op, uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                         uint32_t n) {
  switch (op) {
    CASE(MOV, A)
    CASE(SEL, num_pick(num_mask(C != 0), A, B))
    CASE(FADD, num_add1(A, B))
    CASE(FSUB, num_sub1(A, B))
    CASE(FMUL, num_mul1(A, B))
    CASE(FMA, num_add1(num_mul1(A, B), C))
    CASE(FMIN, num_min1(A, B))
    CASE(FMAX, num_max1(A, B))
    CASE(FEQ, num_eq1(A, B))
    CASE(FNE, ~num_eq1(A, B))
    CASE(FLT, num_lt1(A, B))
    CASE(FLE, num_le1(A, B))
    CASE(IADD, A + B)
    CASE(ISUB, A - B)
    CASE(IMUL, A * B)
    CASE(IMIN, SIGNED(A) < SIGNED(B) ? A : B)
    CASE(IMAX, SIGNED(A) > SIGNED(B) ? A : B)
    CASE(IEQ, num_mask(A == B))
    CASE(INE, num_mask(A != B))
    CASE(ILT, num_mask(SIGNED(A) < SIGNED(B)))
    CASE(ILE, num_mask(SIGNED(A) <= SIGNED(B)))
    CASE(ILTU, num_mask(A < B))
    CASE(AND, A & B)
    CASE(OR, A | B)
    CASE(XOR, A ^ B)
    CASE(SHL, A << (B & 31))
    CASE(SHR, A >> (B & 31))
    CASE(SAR, shift_right_signed(A, B))
    CASE(I2F, num_from_i32_rne1(A))
    CASE(F2I_RNE, num_to_i32_rne1(A))
    CASE(F2I_RTZ, num_to_i32_rtz1(A))
    CASE(F2BF, f2bf(A))
  default:
    return false;
  }
}

void tpu_vpu_transcendental(uint32_t op, uint32_t *d, const uint32_t *a, uint32_t n) {
#define EACH(name, expression)                                                                               \
  case TPU_VOP_##name:                                                                                       \
    for (uint32_t i = 0; i < n; i++)                                                                         \
      d[i] = (expression);                                                                                   \
    break;
  switch (op) {
    EACH(EXP2, tpu_eup_step(TPU_EUP_STEP_EXP2, A))
    EACH(LOG2, tpu_eup_step(TPU_EUP_STEP_LOG2, A))
    EACH(RCP, tpu_eup_step(TPU_EUP_STEP_RCP, A))
    EACH(RSQRT, tpu_eup_step(TPU_EUP_STEP_RSQRT, A))
    EACH(TANH, tpu_eup_tanh(A))
    EACH(SIGMOID, tpu_eup_sigmoid(A))
  }
#undef EACH
}

#undef A
#undef B
#undef C
#undef SIGNED

/* ---- reductions --------------------------------------------------------------------------------------- */

struct reduction {
  uint32_t op;       /* of a level of the tree; ARGMAX for the two that carry an index */
  uint32_t identity; /* value of masked lanes */
};
#define ARGMAX UINT32_MAX

static struct reduction reduction_of(uint32_t op) {
  switch (op) {
  case TPU_VOP_RL_FSUM:
  case TPU_VOP_RS_FSUM:
    return (struct reduction){TPU_VOP_FADD, 0x80000000};
  case TPU_VOP_RL_FMIN:
  case TPU_VOP_RS_FMIN:
    return (struct reduction){TPU_VOP_FMIN, NUM_INF_F32};
  case TPU_VOP_RL_FMAX:
  case TPU_VOP_RS_FMAX:
    return (struct reduction){TPU_VOP_FMAX, NUM_INF_F32 | 0x80000000};
  case TPU_VOP_RL_FARGMAX:
  case TPU_VOP_RS_FARGMAX:
    return (struct reduction){ARGMAX, NUM_INF_F32 | 0x80000000};
  case TPU_VOP_RL_ISUM:
  case TPU_VOP_RS_ISUM:
    return (struct reduction){TPU_VOP_IADD, 0};
  case TPU_VOP_RL_IMIN:
  case TPU_VOP_RS_IMIN:
    return (struct reduction){TPU_VOP_IMIN, 0x7fffffff};
  case TPU_VOP_RL_IMAX:
  case TPU_VOP_RS_IMAX:
    return (struct reduction){TPU_VOP_IMAX, 0x80000000};
  default:
    return (struct reduction){ARGMAX, 0x80000000};
  }
}

/* The level of a tree that carries (value, index); on equal values the lower index stays. */
static inline void argmax_level(uint32_t *value, uint32_t *index, uint32_t n) {
#pragma GCC ivdep
  for (uint32_t i = 0; i < n; i++) {
    int32_t left = (int32_t)value[i], right = (int32_t)value[i + n];
    uint32_t wins = num_mask(right > left) | (num_mask(right == left) & num_mask(index[i + n] < index[i]));
    value[i] = num_pick(wins, value[i + n], value[i]);
    index[i] = num_pick(wins, index[i + n], index[i]);
  }
}

/*
 * Reduces `count` groups of `width` words to the first group, with the index instead of the value. f32 values
 * become integers of the same order first: NaNs above everything and equal to each other.
 */
NUM_CLONES
void tpu_vpu_argmax(bool f32, uint32_t *x, uint32_t count, uint32_t width) {
  uint32_t index[TPU_VPU_SUBLANES * TPU_VPU_MAX_LANES];
  if (f32)
    for (uint32_t i = 0; i < count * width; i++)
      x[i] = num_nan1(x[i]) ? UINT32_C(0x7fffffff) : (uint32_t)num_order1(x[i]);
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t i = 0; i < width; i++)
      index[k * width + i] = k;
  for (uint32_t h = count / 2; h > 0; h /= 2)
    argmax_level(x, index, h * width);
  memcpy(x, index, width * sizeof *x);
}

/* Reduces `count` groups of `width` words to the first group. */
static void tree(uint32_t op, bool f32, uint32_t *x, uint32_t count, uint32_t width) {
  if (op == ARGMAX)
    tpu_vpu_argmax(f32, x, count, width);
  else
    for (uint32_t h = count / 2; h > 0; h /= 2)
      tpu_vpu_elementwise(op, x, x, x + h * width, x, h * width);
}

/* t[l x 8 + s] = x[s x lanes + l]; lanes is a constant in each copy. */
static inline __attribute__((always_inline)) void transpose(uint32_t *restrict t, const uint32_t *restrict x,
                                                            const uint32_t lanes) {
#pragma GCC unroll 16
  for (uint32_t l = 0; l < lanes; l++)
#pragma GCC unroll 8
    for (uint32_t s = 0; s < TPU_VPU_SUBLANES; s++)
      t[l * TPU_VPU_SUBLANES + s] = x[s * lanes + l];
}

static void transpose_any(uint32_t *restrict t, const uint32_t *restrict x, uint32_t lanes) {
  if (lanes == 16)
    transpose(t, x, 16);
  else if (lanes == 8)
    transpose(t, x, 8);
  else
    transpose(t, x, 4);
}

/* Lanes are a power of two: the position of word i of a VREG without a division or a short inner loop. */
static inline uint32_t lane_shift(uint32_t lanes) {
  return lanes == 16 ? 4 : lanes == 8 ? 3 : 2;
}

NUM_CLONES
void tpu_vpu_mask(uint32_t *d, const uint32_t *yes, const uint32_t *no, uint32_t lanes, uint32_t rows,
                  uint32_t columns) {
  uint32_t shift = lane_shift(lanes);
#pragma GCC ivdep
  for (uint32_t i = 0; i < TPU_VPU_SUBLANES * lanes; i++) {
    uint32_t inside = num_mask(i >> shift < rows) & num_mask((i & (lanes - 1)) < columns);
    d[i] = num_pick(inside, yes[i], no[i]);
  }
}

NUM_CLONES
void tpu_vpu_ramp(uint32_t *d, uint32_t lanes, uint32_t base, uint32_t row_step, uint32_t lane_step) {
  uint32_t shift = lane_shift(lanes);
  for (uint32_t i = 0; i < TPU_VPU_SUBLANES * lanes; i++)
    d[i] = base + (i >> shift) * row_step + (i & (lanes - 1)) * lane_step;
}

NUM_CLONES
void tpu_vpu_fill(uint32_t *d, uint32_t value, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    d[i] = value;
}

void tpu_vpu_broadcast(uint32_t *d, const uint32_t *column, uint32_t lanes) {
  for (uint32_t s = 0; s < TPU_VPU_SUBLANES; s++, d += lanes)
    for (uint32_t l = 0; l < lanes; l += 4)
      d[l] = d[l + 1] = d[l + 2] = d[l + 3] = column[s];
}

void tpu_vpu_reduce(uint32_t op, uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t rows,
                    uint32_t columns) {
  struct reduction reduction = reduction_of(op);
  bool f32 = (op & 7) < 4;
  struct tpu_vreg x, t;
  if (rows < TPU_VPU_SUBLANES || columns < lanes) {
    tpu_vpu_fill(t.word, reduction.identity, TPU_VPU_SUBLANES * lanes);
    tpu_vpu_mask(x.word, a, t.word, lanes, rows, columns);
  } else {
    memcpy(&x, a, TPU_VPU_SUBLANES * lanes * sizeof *a);
  }
  if (op >= TPU_VOP_RS_FSUM) {
    tree(reduction.op, f32, x.word, TPU_VPU_SUBLANES, lanes);
    for (uint32_t s = 0; s < TPU_VPU_SUBLANES; s++)
      memcpy(d + s * lanes, &x, lanes * sizeof *d);
    return;
  }
  transpose_any(t.word, x.word, lanes);
  tree(reduction.op, f32, t.word, lanes, TPU_VPU_SUBLANES);
  tpu_vpu_broadcast(d, t.word, lanes);
}

/* ---- narrow types ------------------------------------------------------------------------------------- */

#define EACH(expression)                                                                                     \
  for (uint32_t i = 0; i < n; i++)                                                                           \
    d[i] = (expression);                                                                                     \
  break

NUM_CLONES
void tpu_vpu_widen(uint32_t *d, const uint8_t *memory, enum tpu_vmem_dtype dtype, bool i32, uint32_t n) {
  uint16_t half[TPU_VPU_SUBLANES * TPU_VPU_MAX_LANES];
  const int8_t *i8 = (const int8_t *)memory;
  switch (dtype) {
  case TPU_VMEM_DTYPE_W32:
    memcpy(d, memory, 4 * n);
    break;
  case TPU_VMEM_DTYPE_BF16:
    memcpy(half, memory, 2 * n);
    EACH(num_from_bf16_1(half[i]));
  case TPU_VMEM_DTYPE_INT8:
    if (i32) {
      EACH((uint32_t)(int32_t)i8[i]);
    } else {
      EACH(num_bits((float)i8[i]));
    }
  case TPU_VMEM_DTYPE_UINT8:
    if (i32) {
      EACH(memory[i]);
    } else {
      EACH(num_bits((float)memory[i]));
    }
  }
}

#undef EACH
#define EACH(to, expression)                                                                                 \
  for (uint32_t i = 0; i < n; i++)                                                                           \
    to[i] = (expression);                                                                                    \
  break

NUM_CLONES
void tpu_vpu_narrow(uint8_t *memory, const uint32_t *a, enum tpu_vmem_dtype dtype, bool i32, uint32_t n) {
  uint16_t half[TPU_VPU_SUBLANES * TPU_VPU_MAX_LANES];
  switch (dtype) {
  case TPU_VMEM_DTYPE_W32:
    memcpy(memory, a, 4 * n);
    break;
  case TPU_VMEM_DTYPE_BF16:
    for (uint32_t i = 0; i < n; i++)
      half[i] = num_to_bf16_rne1(a[i]);
    memcpy(memory, half, 2 * n);
    break;
  case TPU_VMEM_DTYPE_INT8:
    if (i32) {
      EACH(memory, (uint8_t)num_clamp1(a[i], INT8_MIN, INT8_MAX));
    } else {
      EACH(memory, (uint8_t)num_clamp1(num_to_i32_rne1(a[i]), INT8_MIN, INT8_MAX));
    }
  case TPU_VMEM_DTYPE_UINT8:
    if (i32) {
      EACH(memory, (uint8_t)num_clamp1(a[i], 0, UINT8_MAX));
    } else {
      EACH(memory, (uint8_t)num_clamp1(num_to_i32_rne1(a[i]), 0, UINT8_MAX));
    }
  }
}
