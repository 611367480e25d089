/* SPDX-License-Identifier: MIT */
/*
 * The matrix unit: decode, start checks, and C (+)= A . B in the array's order of additions.
 *
 * The array adds DIM products of a K tile in order and then adds the tile's sum to the accumulator. Columns
 * do not interact, so the loops run over columns in the host's vector lanes, and the order along K stays as
 * it is. Work goes in blocks of BLOCK_M x BLOCK_N results, small enough that a K tile of both operands
 * (widened to f32, padded with +0) and the block of C stay in the first-level cache.
 *
 * int8 uses the same loop: a product of two int8 has at most 15 bits, so a sum of INT8_DEPTH of them is exact
 * in f32, in any order; only the sums are then added in 32-bit integers, which wrap.
 */
#include "compute.h"

#include <string.h>

#include "num_kernels.h"

#define BLOCK_M     64
#define BLOCK_N     64
#define INT8_DEPTH  32
#define MAX_DEPTH   32
#define COLUMN_STEP 16 /* columns are computed in groups of this many */

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static uint32_t ceil_div(uint32_t a, uint32_t b) {
  return a / b + (a % b != 0);
}

static uint32_t element_bytes(const struct tpu_mxu_command *command) {
  return command->dtype == TPU_MXU_DTYPE_BF16 ? 2 : 1;
}

/* M = 0 or N = 0, or nothing to accumulate: the command only completes. */
static bool has_work(const struct tpu_mxu_command *command) {
  return command->m != 0 && command->n != 0 && (command->k != 0 || !command->accumulate);
}

#define FIELD(words, reg, field) (((words)[((reg)-TPU_QUEUE_ARGS) / 4] & field##_MASK) >> field##_SHIFT)
#define WORD(words, reg)         ((words)[((reg)-TPU_QUEUE_ARGS) / 4])

struct tpu_mxu_command tpu_mxu_decode(const uint32_t *words) {
  return (struct tpu_mxu_command){
      .dtype = FIELD(words, TPU_MXU_MODE, TPU_MXU_MODE_DTYPE) ? TPU_MXU_DTYPE_BF16 : TPU_MXU_DTYPE_INT8,
      .accumulate = FIELD(words, TPU_MXU_MODE, TPU_MXU_MODE_ACCUMULATE) != 0,
      .transpose_b = FIELD(words, TPU_MXU_MODE, TPU_MXU_MODE_TRANSPOSE_B) != 0,
      .m = FIELD(words, TPU_MXU_M, TPU_MXU_M_COUNT),
      .n = FIELD(words, TPU_MXU_N, TPU_MXU_N_COUNT),
      .k = FIELD(words, TPU_MXU_K, TPU_MXU_K_COUNT),
      .a = WORD(words, TPU_MXU_A),
      .a_pitch = WORD(words, TPU_MXU_A_PITCH),
      .b = WORD(words, TPU_MXU_B),
      .b_pitch = WORD(words, TPU_MXU_B_PITCH),
      .c = WORD(words, TPU_MXU_C),
      .c_pitch = WORD(words, TPU_MXU_C_PITCH),
  };
}

/* ---- start checks ------------------------------------------------------------------------------------- */

static bool fail(struct tpu_fault *fault, enum tpu_error code, uint32_t detail0, uint32_t detail1) {
  *fault = (struct tpu_fault){.code = code, .detail0 = detail0, .detail1 = detail1};
  return false;
}

static bool check_range(uint32_t operand, enum tpu_space space, uint64_t end, uint64_t size,
                        struct tpu_fault *fault) {
  if (end <= size)
    return true;
  return fail(fault, TPU_ERROR_RANGE, operand | (uint32_t)space << 8, (uint32_t)end);
}

/* Exclusive end of `rows` rows of `columns` elements in VMEM. */
static uint64_t vmem_end(uint32_t base, uint32_t pitch, uint32_t rows, uint32_t columns, uint32_t element) {
  return base + (uint64_t)(rows - 1) * pitch + (uint64_t)columns * element;
}

static bool check_operands(const struct tpu_config *config, const struct tpu_mxu_command *command,
                           struct tpu_fault *fault) {
  uint32_t element = element_bytes(command);
  const struct {
    uint32_t reg, value;
  } aligned[] = {{TPU_MXU_A, command->a},
                 {TPU_MXU_A_PITCH, command->a_pitch},
                 {TPU_MXU_B, command->b},
                 {TPU_MXU_B_PITCH, command->b_pitch}};
  for (unsigned i = 0; i < sizeof aligned / sizeof aligned[0]; i++)
    if (aligned[i].value % (config->dim * element) != 0)
      return fail(fault, TPU_ERROR_ALIGN, aligned[i].reg, aligned[i].value);
  return true;
}

bool tpu_mxu_check(const struct tpu_config *config, const struct tpu_mxu_command *command,
                   struct tpu_fault *fault) {
  *fault = (struct tpu_fault){.code = TPU_ERROR_NONE};
  if (!has_work(command))
    return true;
  if (command->k != 0 && !check_operands(config, command, fault))
    return false;
  if (command->n > config->dim && command->c_pitch < command->m)
    return fail(fault, TPU_ERROR_BAD_FIELD, TPU_MXU_C_PITCH, command->c_pitch);
  if (command->k != 0) {
    uint32_t element = element_bytes(command);
    uint32_t b_rows = command->transpose_b ? command->n : command->k;
    uint32_t b_columns = command->transpose_b ? command->k : command->n;
    uint64_t a_end = vmem_end(command->a, command->a_pitch, command->m, command->k, element);
    uint64_t b_end = vmem_end(command->b, command->b_pitch, b_rows, b_columns, element);
    if (!check_range(0, TPU_SPACE_VMEM, a_end, config->vmem_bytes, fault) ||
        !check_range(1, TPU_SPACE_VMEM, b_end, config->vmem_bytes, fault))
      return false;
  }
  uint64_t tiles = ceil_div(command->n, config->dim);
  uint64_t c_end = command->c + (tiles - 1) * command->c_pitch + command->m;
  return check_range(2, TPU_SPACE_ACC, c_end, config->acc_rows, fault);
}

void tpu_mxu_accesses(const struct tpu_config *config, const struct tpu_mxu_command *command,
                      tpu_access_fn *access, void *opaque) {
  if (!has_work(command))
    return;
  uint32_t element = element_bytes(command);
  if (command->k != 0) {
    struct tpu_access a = {.space = TPU_SPACE_VMEM,
                           .base = command->a,
                           .row_bytes = command->k * element,
                           .rows = command->m,
                           .pitch = (int32_t)command->a_pitch};
    struct tpu_access b = {.space = TPU_SPACE_VMEM,
                           .base = command->b,
                           .row_bytes = (command->transpose_b ? command->k : command->n) * element,
                           .rows = command->transpose_b ? command->n : command->k,
                           .pitch = (int32_t)command->b_pitch};
    access(opaque, &a);
    access(opaque, &b);
  }
  uint32_t acc_row_bytes = 4 * config->dim;
  for (uint32_t n = 0, row = command->c; n < command->n; n += config->dim, row += command->c_pitch) {
    struct tpu_access c = {.space = TPU_SPACE_ACC,
                           .base = row * acc_row_bytes,
                           .row_bytes = 4 * min_u32(config->dim, command->n - n),
                           .rows = command->m,
                           .pitch = (int32_t)acc_row_bytes};
    if (command->accumulate)
      access(opaque, &c);
    c.write = true;
    access(opaque, &c);
  }
}

uint64_t tpu_mxu_stream_cycles(const struct tpu_config *config, const struct tpu_mxu_command *command) {
  if (command->m == 0 || command->n == 0 || command->k == 0)
    return 0;
  uint64_t tiles = (uint64_t)ceil_div(command->n, config->dim) * ceil_div(command->k, config->dim);
  uint32_t rows = command->m > config->dim ? command->m : config->dim + 1;
  return tiles * rows;
}

/* ---- one block ---------------------------------------------------------------------------------------- */

/* Operands of one K tile, widened to f32 and padded with +0, and the block's part of C. */
struct block {
  float a[BLOCK_M][MAX_DEPTH];
  float b[MAX_DEPTH][BLOCK_N];
  union {
    float f32[BLOCK_M][BLOCK_N];
    int32_t i32[BLOCK_M][BLOCK_N];
    uint32_t u32[BLOCK_M][BLOCK_N];
  } c;
};

/* depth and replace are constants in each copy of this function: straight-line code in the loop over n. */
static inline __attribute__((always_inline)) void multiply_bf16(struct block *block, uint32_t rows,
                                                                uint32_t columns, const bool replace,
                                                                const uint32_t depth) {
  for (uint32_t m = 0; m < rows; m++) {
    const float *a = block->a[m];
    float *c = block->c.f32[m];
#pragma GCC ivdep
    for (uint32_t n = 0; n < columns; n++) {
      float sum = num_chain_mul_bf16(a[0], block->b[0][n]);
#pragma GCC unroll 16
      for (uint32_t k = 1; k < depth; k++)
        sum = num_chain_add(sum, num_chain_mul_bf16(a[k], block->b[k][n]));
      c[n] = replace ? sum : num_chain_add(num_chain_flush(c[n]), sum);
    }
  }
}

/* `columns` is a multiple of COLUMN_STEP. With `replace` C is overwritten by the tile's sums. */
NUM_CLONES
void tpu_mxu_block_bf16(struct block *block, uint32_t rows, uint32_t columns, bool replace, uint32_t depth) {
  if (depth == 16 && replace)
    multiply_bf16(block, rows, columns, true, 16);
  else if (depth == 16)
    multiply_bf16(block, rows, columns, false, 16);
  else if (depth == 8 && replace)
    multiply_bf16(block, rows, columns, true, 8);
  else if (depth == 8)
    multiply_bf16(block, rows, columns, false, 8);
  else if (replace)
    multiply_bf16(block, rows, columns, true, 4);
  else
    multiply_bf16(block, rows, columns, false, 4);
}

/* Always INT8_DEPTH products, always added to C. */
NUM_CLONES
void tpu_mxu_block_int8(struct block *block, uint32_t rows, uint32_t columns) {
  for (uint32_t m = 0; m < rows; m++) {
    const float *a = block->a[m];
    int32_t *c = block->c.i32[m];
#pragma GCC ivdep
    for (uint32_t n = 0; n < columns; n++) {
      float sum = 0;
#pragma GCC unroll 32
      for (uint32_t k = 0; k < INT8_DEPTH; k++)
        sum += a[k] * block->b[k][n];
      c[n] = (int32_t)((uint32_t)c[n] + (uint32_t)(int32_t)sum);
    }
  }
}

/* ---- packing ------------------------------------------------------------------------------------------ */

/* n elements of the operand's type to f32. */
static inline __attribute__((always_inline)) void widen(float *to, const uint8_t *from, uint32_t n,
                                                        bool bf16) {
  if (bf16) {
    uint16_t narrow[BLOCK_N];
    memcpy(narrow, from, 2 * n);
    for (uint32_t i = 0; i < n; i++)
      to[i] = num_in((uint32_t)narrow[i] << 16);
  } else {
    int8_t narrow[BLOCK_N];
    memcpy(narrow, from, n);
    for (uint32_t i = 0; i < n; i++)
      to[i] = narrow[i];
  }
}

/* A[m0 .. m0+rows)[k0 .. k0+valid), with zeros up to depth. */
static inline __attribute__((always_inline)) void pack_a(struct block *block, const uint8_t *vmem,
                                                         const struct tpu_mxu_command *command, uint32_t m0,
                                                         uint32_t rows, uint32_t k0, uint32_t valid,
                                                         uint32_t depth, bool bf16) {
  for (uint32_t m = 0; m < rows; m++) {
    const uint8_t *from = vmem + command->a + (uint64_t)(m0 + m) * command->a_pitch + (bf16 ? 2 : 1) * k0;
    if (valid == MAX_DEPTH)
      widen(block->a[m], from, MAX_DEPTH, bf16);
    else if (valid == 16)
      widen(block->a[m], from, 16, bf16);
    else
      widen(block->a[m], from, valid, bf16);
    for (uint32_t k = valid; k < depth; k++)
      block->a[m][k] = 0;
  }
}

/* B[k0 .. k0+valid)[n0 .. n0+columns), with zeros up to depth and to the next full column step. */
static inline __attribute__((always_inline)) void pack_b(struct block *block, const uint8_t *vmem,
                                                         const struct tpu_mxu_command *command, uint32_t n0,
                                                         uint32_t columns, uint32_t k0, uint32_t valid,
                                                         uint32_t depth, bool bf16) {
  uint32_t element = bf16 ? 2 : 1;
  if (valid < depth || columns < BLOCK_N)
    memset(block->b, 0, depth * sizeof block->b[0]);
  if (!command->transpose_b) {
    for (uint32_t k = 0; k < valid; k++) {
      const uint8_t *from = vmem + command->b + (uint64_t)(k0 + k) * command->b_pitch + element * n0;
      if (columns == BLOCK_N)
        widen(block->b[k], from, BLOCK_N, bf16);
      else
        widen(block->b[k], from, columns, bf16);
    }
    return;
  }
  for (uint32_t n = 0; n < columns; n++) {
    const uint8_t *from = vmem + command->b + (uint64_t)(n0 + n) * command->b_pitch + element * k0;
    float row[MAX_DEPTH];
    widen(row, from, valid, bf16);
    for (uint32_t k = 0; k < valid; k++)
      block->b[k][n] = row[k];
  }
}

NUM_CLONES
void tpu_mxu_pack_bf16(struct block *block, const uint8_t *vmem, const struct tpu_mxu_command *command,
                       const uint32_t origin[3], uint32_t rows, uint32_t columns, uint32_t valid,
                       uint32_t depth) {
  pack_a(block, vmem, command, origin[0], rows, origin[2], valid, depth, true);
  pack_b(block, vmem, command, origin[1], columns, origin[2], valid, depth, true);
}

NUM_CLONES
void tpu_mxu_pack_int8(struct block *block, const uint8_t *vmem, const struct tpu_mxu_command *command,
                       const uint32_t origin[3], uint32_t rows, uint32_t columns, uint32_t valid,
                       uint32_t depth) {
  pack_a(block, vmem, command, origin[0], rows, origin[2], valid, depth, false);
  pack_b(block, vmem, command, origin[1], columns, origin[2], valid, depth, false);
}

/* ---- C ------------------------------------------------------------------------------------------------ */

/* The ACC words of row m of column tile n / dim. */
static uint32_t *acc_row(const struct tpu_config *config, const struct tpu_memories *memories,
                         const struct tpu_mxu_command *command, uint32_t m, uint32_t n) {
  uint64_t row = command->c + (uint64_t)(n / config->dim) * command->c_pitch + m;
  return memories->acc + row * config->dim;
}

/* A row of a column tile; full tiles with `lanes` constant, so that they are straight-line code. */
static inline __attribute__((always_inline)) void move_c(uint32_t *to, const uint32_t *from, uint32_t lanes,
                                                         bool canonical) {
  for (uint32_t l = 0; l < lanes; l++)
    to[l] = canonical ? num_out(num_float(from[l])) : from[l];
}

NUM_CLONES
void tpu_mxu_load_c(const struct tpu_config *config, const struct tpu_memories *memories,
                    const struct tpu_mxu_command *command, struct block *block, const uint32_t origin[2],
                    uint32_t rows, uint32_t columns) {
  for (uint32_t n = 0; n < columns; n += config->dim)
    for (uint32_t m = 0; m < rows; m++) {
      const uint32_t *from = acc_row(config, memories, command, origin[0] + m, origin[1] + n);
      if (config->dim == 16)
        move_c(&block->c.u32[m][n], from, 16, false);
      else
        move_c(&block->c.u32[m][n], from, config->dim, false);
    }
}

/* Lanes at and past N keep their contents; f32 results get the canonical NaN. */
NUM_CLONES
void tpu_mxu_store_c(const struct tpu_config *config, const struct tpu_memories *memories,
                     const struct tpu_mxu_command *command, const struct block *block,
                     const uint32_t origin[2], uint32_t rows, uint32_t columns) {
  const bool bf16 = command->dtype == TPU_MXU_DTYPE_BF16 && command->k != 0;
  for (uint32_t n = 0; n < columns; n += config->dim) {
    const uint32_t lanes = min_u32(config->dim, columns - n);
    for (uint32_t m = 0; m < rows; m++) {
      uint32_t *to = acc_row(config, memories, command, origin[0] + m, origin[1] + n);
      if (lanes == 16 && bf16)
        move_c(to, &block->c.u32[m][n], 16, true);
      else
        move_c(to, &block->c.u32[m][n], lanes, bf16);
    }
  }
}

/* ---- the command -------------------------------------------------------------------------------------- */

static void execute_block(const struct tpu_config *config, const struct tpu_memories *memories,
                          const struct tpu_mxu_command *command, struct block *block, uint32_t m0,
                          uint32_t rows, uint32_t n0, uint32_t columns) {
  bool bf16 = command->dtype == TPU_MXU_DTYPE_BF16;
  uint32_t depth = bf16 ? config->dim : INT8_DEPTH;
  uint32_t padded = ceil_div(columns, COLUMN_STEP) * COLUMN_STEP;
  memset(&block->c, 0, rows * sizeof block->c.i32[0]);
  if (command->accumulate)
    tpu_mxu_load_c(config, memories, command, block, (const uint32_t[]){m0, n0}, rows, columns);
  for (uint32_t k0 = 0; k0 < command->k; k0 += depth) {
    uint32_t valid = min_u32(depth, command->k - k0);
    const uint32_t origin[3] = {m0, n0, k0};
    if (bf16) {
      tpu_mxu_pack_bf16(block, memories->vmem, command, origin, rows, columns, valid, depth);
      tpu_mxu_block_bf16(block, rows, padded, !command->accumulate && k0 == 0, depth);
    } else {
      tpu_mxu_pack_int8(block, memories->vmem, command, origin, rows, columns, valid, depth);
      tpu_mxu_block_int8(block, rows, padded);
    }
  }
  tpu_mxu_store_c(config, memories, command, block, (const uint32_t[]){m0, n0}, rows, columns);
}

void tpu_mxu_execute(const struct tpu_config *config, const struct tpu_memories *memories,
                     const struct tpu_mxu_command *command) {
  if (!has_work(command))
    return;
  struct block block;
  num_env env = num_env_enter();
  for (uint32_t n0 = 0; n0 < command->n; n0 += BLOCK_N) {
    uint32_t columns = min_u32(BLOCK_N, command->n - n0);
    for (uint32_t m0 = 0; m0 < command->m; m0 += BLOCK_M)
      execute_block(config, memories, command, &block, m0, min_u32(BLOCK_M, command->m - m0), n0, columns);
  }
  num_env_leave(env);
}
