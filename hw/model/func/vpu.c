/* SPDX-License-Identifier: MIT */
/*
 * The vector program machine: fetch, loops, masks, memory, errors. What operations compute is in vpu_ops.c;
 * the cycles it takes are in vpu_time.c.
 *
 * An instruction works on a whole VREG at a time. The mask M is always a rectangle from (0, 0): the first
 * `rows` sublanes and `columns` lanes, because row and column bases are multiples of a VREG's extents.
 */
#include "compute.h"

#include <string.h>

#include "num.h"
#include "vpu_ops.h"
#include "vpu_time.h"

_Static_assert(TPU_VPU_LEVELS == TPU_VPU_LOOP_COUNT, "loop levels of the command");

#define FIELD(i, name)  ((uint32_t)(((i)&TPU_VINSTR_##name##_MASK) >> TPU_VINSTR_##name##_SHIFT))
#define TPU_VPU_NO_VREG UINT32_MAX

/* Everything an instruction needs to look at. */
struct context {
  struct tpu_vpu *vpu;
  const struct tpu_config *config;
  const struct tpu_memories *memories;
  tpu_access_fn *access;
  void *opaque;
};

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static void fail(struct tpu_vpu *vpu, enum tpu_error code, uint32_t detail0, uint32_t detail1) {
  vpu->status = TPU_VPU_FAULT;
  vpu->fault = (struct tpu_fault){.code = code, .detail0 = detail0, .detail1 = detail1};
}

static void fail_access(struct tpu_vpu *vpu, enum tpu_error code, uint32_t pc, uint32_t sublane,
                        enum tpu_space space, uint32_t address) {
  fail(vpu, code, pc | sublane << 16 | (uint32_t)space << 24, address);
}

static void fail_illegal(struct tpu_vpu *vpu, uint64_t instruction) {
  fail(vpu, TPU_ERROR_VPU_ILLEGAL, vpu->pc, (uint32_t)instruction);
}

/* ---- start -------------------------------------------------------------------------------------------- */

/* Scalar i from SMEM. */
static void read_scalar(const struct context *x, uint32_t i) {
  struct tpu_vpu *vpu = x->vpu;
  uint32_t address = vpu->scalar[i];
  if (address % 4 != 0) {
    fail_access(vpu, TPU_ERROR_ALIGN, 0xffff, i, TPU_SPACE_SMEM, address);
  } else if ((uint64_t)address + 4 > x->config->smem_bytes) {
    fail_access(vpu, TPU_ERROR_RANGE, 0xffff, i, TPU_SPACE_SMEM, address);
  } else {
    memcpy(&vpu->scalar[i], x->memories->smem + address, 4);
    if (x->access != NULL)
      x->access(x->opaque, &(struct tpu_access){.space = TPU_SPACE_SMEM,
                                                .write = false,
                                                .base = address,
                                                .row_bytes = 4,
                                                .rows = 1,
                                                .pitch = 0});
  }
}

#define ARG(words, reg)              ((words)[((reg)-TPU_QUEUE_ARGS) / 4])
#define ARG_FIELD(words, reg, field) ((ARG(words, reg) & field##_MASK) >> field##_SHIFT)

void tpu_vpu_start(struct tpu_vpu *vpu, const struct tpu_config *config, const struct tpu_memories *memories,
                   const uint32_t *words, tpu_access_fn *access, void *opaque) {
  struct context x = {vpu, config, memories, access, opaque};
  vpu->status = TPU_VPU_RUNNING;
  vpu->fault = (struct tpu_fault){.code = TPU_ERROR_NONE};
  vpu->cycles = vpu->instructions = vpu->bytes = 0;
  tpu_vpu_time_start(&vpu->scoreboard);
  memset(vpu->level, 0, sizeof vpu->level);
  vpu->pc = ARG_FIELD(words, TPU_VPU_ENTRY, TPU_VPU_ENTRY_START);
  vpu->row_level = ARG_FIELD(words, TPU_VPU_EDGE, TPU_VPU_EDGE_ROW_LEVEL);
  vpu->col_level = ARG_FIELD(words, TPU_VPU_EDGE, TPU_VPU_EDGE_COL_LEVEL);
  vpu->row_step = ARG_FIELD(words, TPU_VPU_EDGE, TPU_VPU_EDGE_ROW_STEP);
  vpu->col_step = ARG_FIELD(words, TPU_VPU_EDGE, TPU_VPU_EDGE_COL_STEP);
  vpu->valid_rows = ARG(words, TPU_VPU_VALID_ROWS);
  vpu->valid_cols = ARG(words, TPU_VPU_VALID_COLS);
  memcpy(vpu->count, &ARG(words, TPU_VPU_LOOP(0)), sizeof vpu->count);
  memcpy(vpu->scalar, &ARG(words, TPU_VPU_SCALAR(0)), sizeof vpu->scalar);
  memcpy(vpu->addr, &ARG(words, TPU_VPU_ADDR(0)), sizeof vpu->addr);
  memcpy(vpu->pitch, &ARG(words, TPU_VPU_PITCH(0)), sizeof vpu->pitch);
  memcpy(vpu->stride, &ARG(words, TPU_VPU_STRIDE(0)), sizeof vpu->stride);
  uint32_t from_smem = ARG_FIELD(words, TPU_VPU_SCALAR_MODE, TPU_VPU_SCALAR_MODE_SMEM);
  for (uint32_t i = 0; i < TPU_VPU_SCALAR_COUNT && vpu->status == TPU_VPU_RUNNING; i++)
    if (from_smem >> i & 1)
      read_scalar(&x, i);
}

/* ---- loops and mask ----------------------------------------------------------------------------------- */

static void execute_loop(struct tpu_vpu *vpu, uint64_t instruction) {
  uint32_t level = FIELD(instruction, AREG) & 3;
  if (level >= TPU_VPU_LEVELS || vpu->level[level].active) {
    fail_illegal(vpu, instruction);
    return;
  }
  bool empty = vpu->count[level] == 0;
  if (empty) {
    vpu->pc = FIELD(instruction, OFFSET);
  } else {
    vpu->pc++;
    vpu->level[level].active = true;
    vpu->level[level].start = vpu->pc;
    vpu->level[level].iteration = 0;
  }
  tpu_vpu_time_loop(&vpu->scoreboard);
}

static void execute_end(struct tpu_vpu *vpu, uint64_t instruction) {
  uint32_t level = FIELD(instruction, AREG) & 3;
  if (level >= TPU_VPU_LEVELS || !vpu->level[level].active) {
    fail_illegal(vpu, instruction);
    return;
  }
  for (uint32_t r = 0; r < TPU_VPU_ADDR_COUNT; r++)
    vpu->addr[r] += vpu->stride[3 * r + level];
  vpu->level[level].iteration++;
  bool again = vpu->level[level].iteration < vpu->count[level];
  vpu->level[level].active = again;
  vpu->pc = again ? vpu->level[level].start : vpu->pc + 1;
  tpu_vpu_time_loop(&vpu->scoreboard);
}

/* Base of a row or column count: extent x (iteration x step + group). */
static uint32_t base_of(const struct tpu_vpu *vpu, uint32_t level, uint32_t step, uint32_t group,
                        uint32_t extent) {
  uint32_t iteration = level < TPU_VPU_LEVELS ? vpu->level[level].iteration : 0;
  return extent * (iteration * step + group);
}

static uint32_t row_base(const struct tpu_vpu *vpu, uint64_t instruction) {
  return base_of(vpu, vpu->row_level, vpu->row_step, FIELD(instruction, RGRP), TPU_VPU_SUBLANES);
}

static uint32_t column_base(const struct context *x, uint64_t instruction) {
  const struct tpu_vpu *vpu = x->vpu;
  return base_of(vpu, vpu->col_level, vpu->col_step, FIELD(instruction, CGRP), x->config->lanes);
}

struct mask {
  uint32_t rows, columns;
};

/* The mask M of an instruction's groups. */
static struct mask mask_of(const struct context *x, uint64_t instruction) {
  uint32_t row = row_base(x->vpu, instruction), column = column_base(x, instruction);
  return (struct mask){
      .rows = x->vpu->valid_rows > row ? min_u32(x->vpu->valid_rows - row, TPU_VPU_SUBLANES) : 0,
      .columns = x->vpu->valid_cols > column ? min_u32(x->vpu->valid_cols - column, x->config->lanes) : 0,
  };
}

/* M if the instruction has `masked`, else everything. */
static struct mask optional_mask(const struct context *x, uint64_t instruction) {
  if (FIELD(instruction, MASKED))
    return mask_of(x, instruction);
  return (struct mask){.rows = TPU_VPU_SUBLANES, .columns = x->config->lanes};
}

/* ---- operands ----------------------------------------------------------------------------------------- */

/* A source operand: the VREG, or `buffer` filled with a scalar. *number is the VREG for the scoreboard. */
static const uint32_t *source(const struct context *x, uint32_t number, bool scalar, uint32_t *vreg,
                              struct tpu_vreg *buffer) {
  *vreg = scalar ? TPU_VPU_NO_VREG : number;
  if (!scalar)
    return x->vpu->vreg[number].word;
  tpu_vpu_fill(buffer->word, x->vpu->scalar[number & 7], TPU_VPU_SUBLANES * x->config->lanes);
  return buffer->word;
}

/* ---- loads and stores --------------------------------------------------------------------------------- */

struct memory_operand {
  enum tpu_space space;
  enum tpu_vmem_dtype dtype;
  bool i32, column;
  uint32_t row_bytes; /* of an accessed sublane */
  uint32_t size;      /* of an element in memory */
  uint32_t address;   /* of sublane 0 */
  uint32_t pitch;
  struct mask mask;
};

static bool decode_memory(const struct context *x, uint64_t instruction, struct memory_operand *m) {
  static const uint8_t sizes[] = {4, 2, 1, 1};
  uint32_t areg = FIELD(instruction, AREG);
  m->space = FIELD(instruction, ACC) ? TPU_SPACE_ACC : TPU_SPACE_VMEM;
  m->dtype = (enum tpu_vmem_dtype)FIELD(instruction, DTYPE);
  m->i32 = FIELD(instruction, ITYPE) != 0;
  m->column = FIELD(instruction, COL) != 0;
  m->size = sizes[m->dtype];
  m->row_bytes = m->column ? m->size : m->size * x->config->lanes;
  m->address = x->vpu->addr[areg] + (uint32_t)(int32_t)(int16_t)FIELD(instruction, OFFSET);
  m->pitch = x->vpu->pitch[areg];
  m->mask = optional_mask(x, instruction);
  if (m->mask.columns == 0)
    m->mask.rows = 0;
  return !(m->space == TPU_SPACE_ACC && m->dtype != TPU_VMEM_DTYPE_W32) &&
         !(m->dtype == TPU_VMEM_DTYPE_BF16 && m->i32);
}

/* The bytes of an accessed sublane, or NULL after a fault. */
static uint8_t *sublane_bytes(const struct context *x, const struct memory_operand *m, uint32_t sublane) {
  uint32_t address = m->address + sublane * m->pitch;
  if (m->space == TPU_SPACE_ACC) {
    if (address < x->config->acc_rows)
      return (uint8_t *)(x->memories->acc + (size_t)address * x->config->lanes);
    fail_access(x->vpu, TPU_ERROR_RANGE, x->vpu->pc, sublane, m->space, address);
    return NULL;
  }
  if (address % m->row_bytes != 0) {
    fail_access(x->vpu, TPU_ERROR_ALIGN, x->vpu->pc, sublane, m->space, address);
    return NULL;
  }
  if ((uint64_t)address + m->row_bytes > x->config->vmem_bytes) {
    fail_access(x->vpu, TPU_ERROR_RANGE, x->vpu->pc, sublane, m->space, address);
    return NULL;
  }
  return x->memories->vmem + address;
}

/* Tells the race detector about the first `rows` sublanes. Masked lanes are not part of an access. */
static void report(const struct context *x, const struct memory_operand *m, uint32_t rows, bool write) {
  if (x->access == NULL || rows == 0)
    return;
  uint32_t scale = m->space == TPU_SPACE_ACC ? 4 * x->config->lanes : 1;
  x->access(x->opaque, &(struct tpu_access){.space = m->space,
                                            .write = write,
                                            .base = m->address * scale,
                                            .row_bytes = m->column ? m->size : m->size * m->mask.columns,
                                            .rows = rows,
                                            .pitch = (int32_t)(m->pitch * scale)});
}

static struct tpu_vpu_time_access time_access(const struct memory_operand *m) {
  return (struct tpu_vpu_time_access){.acc = m->space == TPU_SPACE_ACC,
                                      .address = m->address,
                                      .pitch = m->pitch,
                                      .mask = m->space == TPU_SPACE_ACC ? 0 : m->row_bytes - 1,
                                      .count = m->mask.rows};
}

static uint32_t fill_value(uint32_t fill, bool i32) {
  static const uint32_t f32_fill[] = {0, 0x7f800000, 0xff800000, 0x3f800000};
  static const uint32_t i32_fill[] = {0, 0x7fffffff, 0x80000000, 1};
  return i32 ? i32_fill[fill] : f32_fill[fill];
}

/* Sublanes side by side, as elements of the type in memory. */
struct packed {
  uint8_t bytes[TPU_VPU_SUBLANES * TPU_VPU_MAX_LANES * 4];
};

/* Rows are short and of few lengths: constant lengths spare the calls. */
static void copy_row(uint8_t *to, const uint8_t *from, uint32_t bytes) {
  switch (bytes) {
  case 64:
    memcpy(to, from, 64);
    break;
  case 32:
    memcpy(to, from, 32);
    break;
  case 16:
    memcpy(to, from, 16);
    break;
  default:
    memcpy(to, from, bytes);
    break;
  }
}

static void execute_load(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  struct memory_operand m;
  struct packed packed;
  struct tpu_vreg loaded;
  uint32_t lanes = x->config->lanes, vd = FIELD(instruction, VD), s;
  if (!decode_memory(x, instruction, &m)) {
    fail_illegal(vpu, instruction);
    return;
  }
  for (s = 0; s < m.mask.rows; s++) {
    const uint8_t *from = sublane_bytes(x, &m, s);
    if (from == NULL)
      break;
    copy_row(packed.bytes + s * m.row_bytes, from, m.row_bytes);
  }
  report(x, &m, s, false);
  if (vpu->status != TPU_VPU_RUNNING)
    return;
  memset(packed.bytes + s * m.row_bytes, 0, (TPU_VPU_SUBLANES - s) * m.row_bytes);
  uint32_t *d = vpu->vreg[vd].word;
  if (m.column) {
    tpu_vpu_widen(loaded.word, packed.bytes, m.dtype, m.i32, TPU_VPU_SUBLANES);
    tpu_vpu_broadcast(d, loaded.word, lanes);
  } else {
    tpu_vpu_widen(d, packed.bytes, m.dtype, m.i32, TPU_VPU_SUBLANES * lanes);
  }
  if (m.mask.rows < TPU_VPU_SUBLANES || m.mask.columns < lanes) {
    tpu_vpu_fill(loaded.word, fill_value(FIELD(instruction, FILL), m.i32), TPU_VPU_SUBLANES * lanes);
    tpu_vpu_mask(d, d, loaded.word, lanes, m.mask.rows, m.mask.columns);
  }
  vpu->bytes += (uint64_t)m.mask.rows * m.row_bytes;
  struct tpu_vpu_time_access access = time_access(&m);
  tpu_vpu_time_load(&vpu->scoreboard, vd, &access);
  vpu->pc++;
}

static void execute_store(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  struct memory_operand m;
  struct packed packed;
  struct tpu_vreg buffer;
  uint32_t vreg, s, lanes = x->config->lanes, column[TPU_VPU_SUBLANES];
  if (!decode_memory(x, instruction, &m)) {
    fail_illegal(vpu, instruction);
    return;
  }
  const uint32_t *a = source(x, FIELD(instruction, VA), FIELD(instruction, ASEL) != 0, &vreg, &buffer);
  if (m.column) {
    for (s = 0; s < TPU_VPU_SUBLANES; s++)
      column[s] = a[s * lanes];
    tpu_vpu_narrow(packed.bytes, column, m.dtype, m.i32, TPU_VPU_SUBLANES);
  } else {
    tpu_vpu_narrow(packed.bytes, a, m.dtype, m.i32, TPU_VPU_SUBLANES * lanes);
  }
  for (s = 0; s < m.mask.rows; s++) {
    uint8_t *to = sublane_bytes(x, &m, s);
    if (to == NULL)
      break;
    copy_row(to, packed.bytes + s * m.row_bytes, m.column ? m.size : m.size * m.mask.columns);
  }
  report(x, &m, s, true);
  if (vpu->status != TPU_VPU_RUNNING)
    return;
  vpu->bytes += (uint64_t)m.mask.rows * m.row_bytes;
  struct tpu_vpu_time_access access = time_access(&m);
  tpu_vpu_time_store(&vpu->scoreboard, vreg, &access);
  vpu->pc++;
}

/* ---- registers ---------------------------------------------------------------------------------------- */

static bool is_reduction(uint32_t op) {
  return op >= TPU_VOP_RL_FSUM && op <= TPU_VOP_RS_IARGMAX;
}

static void execute_reduction(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  struct tpu_vreg buffer;
  uint32_t op = FIELD(instruction, OP), vd = FIELD(instruction, VD), vreg;
  const uint32_t *a = source(x, FIELD(instruction, VA), FIELD(instruction, ASEL) != 0, &vreg, &buffer);
  struct mask mask = optional_mask(x, instruction);
  tpu_vpu_reduce(op, vpu->vreg[vd].word, a, x->config->lanes, mask.rows, mask.columns);
  tpu_vpu_time_reduce(&vpu->scoreboard, op, x->config->lanes, vd, vreg);
  vpu->pc++;
}

static bool is_transcendental(uint32_t op) {
  return op >= TPU_VOP_EXP2 && op <= TPU_VOP_SIGMOID;
}

static void execute_transcendental(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  struct tpu_vreg buffer;
  uint32_t op = FIELD(instruction, OP), vd = FIELD(instruction, VD), vreg;
  if (x->config->eup_lanes == 0) {
    fail_illegal(vpu, instruction);
    return;
  }
  const uint32_t *a = source(x, FIELD(instruction, VA), FIELD(instruction, ASEL) != 0, &vreg, &buffer);
  tpu_vpu_transcendental(op, vpu->vreg[vd].word, a, TPU_VPU_SUBLANES * x->config->lanes);
  tpu_vpu_time_transcendental(&vpu->scoreboard, op, x->config->lanes / x->config->eup_lanes, vd, vreg);
  vpu->pc++;
}

/* ROT_LANE, ROT_SUB, BC_LANE, BC_SUB. */
static void execute_move(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  struct tpu_vreg buffer;
  uint32_t op = FIELD(instruction, OP), vd = FIELD(instruction, VD), n = FIELD(instruction, VB), vreg;
  const uint32_t *a = source(x, FIELD(instruction, VA), FIELD(instruction, ASEL) != 0, &vreg, &buffer);
  if (FIELD(instruction, BSEL))
    n = vpu->scalar[n & 7];
  tpu_vpu_move(op, vpu->vreg[vd].word, a, x->config->lanes, n);
  tpu_vpu_time_cross(&vpu->scoreboard, op, x->config->lanes, vd, vreg);
  vpu->pc++;
}

/* TRANSPOSE: with 16 lanes source and destination are pairs of VREGs. */
static void execute_transpose(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  struct tpu_vreg buffer;
  uint32_t lanes = x->config->lanes, words = TPU_VPU_SUBLANES * lanes;
  uint32_t vd = FIELD(instruction, VD), va = FIELD(instruction, VA), vreg;
  uint32_t registers = lanes > TPU_VPU_SUBLANES ? lanes / TPU_VPU_SUBLANES : 1;
  bool scalar = FIELD(instruction, ASEL) != 0;
  uint32_t rows[TPU_VPU_MAX_LANES * TPU_VPU_MAX_LANES];
  if (vd % registers != 0 || (!scalar && va % registers != 0)) {
    fail_illegal(vpu, instruction);
    return;
  }
  for (uint32_t k = 0; k < registers; k++)
    memcpy(rows + k * words, source(x, va + (scalar ? 0 : k), scalar, &vreg, &buffer), words * sizeof *rows);
  tpu_vpu_transpose(rows, rows, lanes);
  for (uint32_t k = 0; k < registers; k++)
    memcpy(vpu->vreg[vd + k].word, rows + k * words, words * sizeof *rows);
  tpu_vpu_time_cross(&vpu->scoreboard, TPU_VOP_TRANSPOSE, lanes, vd, scalar ? TPU_VPU_NO_VREG : va);
  vpu->pc++;
}

static void execute_random(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  uint32_t vd = FIELD(instruction, VD), c = FIELD(instruction, VC);
  uint32_t row = row_base(vpu, instruction), column = column_base(x, instruction);
  if (!FIELD(instruction, ASEL) || !FIELD(instruction, BSEL)) {
    fail_illegal(vpu, instruction);
    return;
  }
  const uint32_t key[2] = {vpu->scalar[FIELD(instruction, VA) & 7], vpu->scalar[FIELD(instruction, VB) & 7]};
  if (FIELD(instruction, CSEL)) {
    row += vpu->scalar[c & 7];
    column += vpu->scalar[(c + 1) & 7];
  }
  tpu_vpu_random(vpu->vreg[vd].word, x->config->lanes, key, row, column);
  tpu_vpu_time_cross(&vpu->scoreboard, TPU_VOP_RAND, x->config->lanes, vd, TPU_VPU_NO_VREG);
  vpu->pc++;
}

/* CONST, IOTA_LANE, IOTA_SUB: nothing is read. */
static void execute_generate(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  uint32_t op = FIELD(instruction, OP), vd = FIELD(instruction, VD), lanes = x->config->lanes;
  uint32_t *d = vpu->vreg[vd].word;
  if (op == TPU_VOP_CONST)
    tpu_vpu_fill(d, (uint32_t)(instruction >> 32), TPU_VPU_SUBLANES * lanes);
  else if (op == TPU_VOP_IOTA_LANE)
    tpu_vpu_ramp(d, lanes, column_base(x, instruction), 0, 1);
  else
    tpu_vpu_ramp(d, lanes, row_base(vpu, instruction), 1, 0);
  tpu_vpu_time_alu(&vpu->scoreboard, vd,
                   (const uint32_t[3]){TPU_VPU_NO_VREG, TPU_VPU_NO_VREG, TPU_VPU_NO_VREG});
  vpu->pc++;
}

/* How many of its three sources an operation has. */
static uint32_t source_count(uint32_t op) {
  if (op == TPU_VOP_MOV || (op >= TPU_VOP_I2F && op <= TPU_VOP_F2BF))
    return 1;
  return op == TPU_VOP_SEL || op == TPU_VOP_FMA ? 3 : 2;
}

/* Everything else; also finds operations that do not exist. */
static void execute_elementwise(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  struct tpu_vreg buffer[3];
  uint32_t op = FIELD(instruction, OP), vd = FIELD(instruction, VD), lanes = x->config->lanes, vreg[3];
  uint32_t *d = vpu->vreg[vd].word;
  const uint32_t *a = source(x, FIELD(instruction, VA), FIELD(instruction, ASEL) != 0, &vreg[0], &buffer[0]);
  const uint32_t *b = source(x, FIELD(instruction, VB), FIELD(instruction, BSEL) != 0, &vreg[1], &buffer[1]);
  const uint32_t *c = source(x, FIELD(instruction, VC), FIELD(instruction, CSEL) != 0, &vreg[2], &buffer[2]);
  if (op == TPU_VOP_SELM) {
    struct mask mask = mask_of(x, instruction);
    tpu_vpu_mask(d, a, b, lanes, mask.rows, mask.columns);
  } else if (!tpu_vpu_elementwise(op, d, a, b, c, TPU_VPU_SUBLANES * lanes)) {
    fail_illegal(vpu, instruction);
    return;
  }
  for (uint32_t i = source_count(op); i < 3; i++)
    vreg[i] = TPU_VPU_NO_VREG;
  tpu_vpu_time_alu(&vpu->scoreboard, vd, vreg);
  vpu->pc++;
}

/* ---- the program -------------------------------------------------------------------------------------- */

static void step(const struct context *x, uint64_t instruction) {
  struct tpu_vpu *vpu = x->vpu;
  switch (FIELD(instruction, OP)) {
  case TPU_VOP_HALT:
    vpu->status = TPU_VPU_DONE;
    tpu_vpu_time_halt(&vpu->scoreboard);
    break;
  case TPU_VOP_LOOP:
    execute_loop(vpu, instruction);
    break;
  case TPU_VOP_END:
    execute_end(vpu, instruction);
    break;
  case TPU_VOP_LD:
    execute_load(x, instruction);
    break;
  case TPU_VOP_ST:
    execute_store(x, instruction);
    break;
  case TPU_VOP_CONST:
  case TPU_VOP_IOTA_LANE:
  case TPU_VOP_IOTA_SUB:
    execute_generate(x, instruction);
    break;
  case TPU_VOP_ROT_LANE:
  case TPU_VOP_ROT_SUB:
  case TPU_VOP_BC_LANE:
  case TPU_VOP_BC_SUB:
    execute_move(x, instruction);
    break;
  case TPU_VOP_TRANSPOSE:
    execute_transpose(x, instruction);
    break;
  case TPU_VOP_RAND:
    execute_random(x, instruction);
    break;
  default:
    if (is_reduction(FIELD(instruction, OP)))
      execute_reduction(x, instruction);
    else if (is_transcendental(FIELD(instruction, OP)))
      execute_transcendental(x, instruction);
    else
      execute_elementwise(x, instruction);
    break;
  }
}

enum tpu_vpu_status tpu_vpu_run(struct tpu_vpu *vpu, const struct tpu_config *config,
                                const struct tpu_memories *memories, const uint64_t *program, uint64_t budget,
                                tpu_access_fn *access, void *opaque) {
  struct context x = {vpu, config, memories, access, opaque};
  num_env env = num_env_enter();
  for (; budget > 0 && vpu->status == TPU_VPU_RUNNING; budget--) {
    if (vpu->pc >= config->vpu_program) {
      fail(vpu, TPU_ERROR_VPU_PC, vpu->pc, 0);
      break;
    }
    step(&x, program[vpu->pc]);
    vpu->instructions += vpu->status != TPU_VPU_FAULT;
  }
  num_env_leave(env);
  vpu->cycles = vpu->scoreboard.end;
  vpu->scoreboard.issue =
      vpu->scoreboard.fetch > vpu->scoreboard.issued ? vpu->scoreboard.fetch : vpu->scoreboard.issued;
  return vpu->status;
}
