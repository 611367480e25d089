/* SPDX-License-Identifier: MIT */
/* The vector unit written from the contract's text; see vpu_ref.h. */
#include "vpu_ref.h"

#include "eup.h"
#include "num_ref.h"

#define INSTRUCTION_FIELD(name) ((uint32_t)((i & TPU_VINSTR_##name##_MASK) >> TPU_VINSTR_##name##_SHIFT))

static uint32_t arg(const struct vpu_ref *r, uint32_t reg) {
  return r->args[(reg - TPU_QUEUE_ARGS) / 4];
}

static void error(struct vpu_ref *r, uint32_t code, uint32_t detail0, uint32_t detail1) {
  r->code = code;
  r->detail0 = detail0;
  r->detail1 = detail1;
}

/* ---- mask --------------------------------------------------------------------------------------------- */

static uint32_t loop_iteration(const struct vpu_ref *r, uint32_t level) {
  return level == 3 ? 0 : r->iteration[level];
}

static uint32_t row_number(const struct vpu_ref *r, uint64_t i, uint32_t s) {
  uint32_t edge = arg(r, TPU_VPU_EDGE);
  return 8 * (loop_iteration(r, edge & 3) * (edge >> 8 & 0xff) + INSTRUCTION_FIELD(RGRP)) + s;
}

static uint32_t column_number(const struct vpu_ref *r, uint64_t i, uint32_t l) {
  uint32_t edge = arg(r, TPU_VPU_EDGE);
  return r->config->lanes *
             (loop_iteration(r, edge >> 2 & 3) * (edge >> 16 & 0xff) + INSTRUCTION_FIELD(CGRP)) +
         l;
}

static bool in_mask(const struct vpu_ref *r, uint64_t i, uint32_t s, uint32_t l) {
  uint32_t rows = arg(r, TPU_VPU_VALID_ROWS);
  if (r->mistake == VPU_REF_MASK_OFF_BY_ONE)
    rows++;
  return row_number(r, i, s) < rows && column_number(r, i, l) < arg(r, TPU_VPU_VALID_COLS);
}

static bool lane_on(const struct vpu_ref *r, uint64_t i, uint32_t s, uint32_t l) {
  return !INSTRUCTION_FIELD(MASKED) || in_mask(r, i, s, l);
}

static bool sublane_on(const struct vpu_ref *r, uint64_t i, uint32_t s) {
  for (uint32_t l = 0; l < r->config->lanes; l++)
    if (lane_on(r, i, s, l))
      return true;
  return r->mistake == VPU_REF_CHECKS_MASKED;
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static uint32_t element_size(uint32_t dtype) {
  return dtype == TPU_VMEM_DTYPE_W32 ? 4 : dtype == TPU_VMEM_DTYPE_BF16 ? 2 : 1;
}

static uint32_t read_element(const struct vpu_ref *r, uint64_t i, uint32_t address, uint32_t l) {
  uint32_t dtype = INSTRUCTION_FIELD(DTYPE);
  bool to_i32 = INSTRUCTION_FIELD(ITYPE);
  if (INSTRUCTION_FIELD(ACC))
    return r->acc[address * r->config->dim + l];
  const uint8_t *p = r->vmem + address + l * element_size(dtype);
  int32_t value = 0;
  switch (dtype) {
  case TPU_VMEM_DTYPE_W32:
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  case TPU_VMEM_DTYPE_BF16:
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
  case TPU_VMEM_DTYPE_INT8:
    value = p[0] < 128 ? p[0] : p[0] - 256;
    break;
  default:
    value = p[0];
    break;
  }
  return to_i32 ? (uint32_t)value : num_ref_from_i32_rne(value);
}

static void write_element(const struct vpu_ref *r, uint64_t i, uint32_t address, uint32_t l, uint32_t value) {
  uint32_t dtype = INSTRUCTION_FIELD(DTYPE);
  bool toward_zero = r->mistake == VPU_REF_TRUNCATES;
  if (INSTRUCTION_FIELD(ACC)) {
    r->acc[address * r->config->dim + l] = value;
    return;
  }
  uint8_t *p = r->vmem + address + l * element_size(dtype);
  if (dtype == TPU_VMEM_DTYPE_W32) {
    for (int byte = 0; byte < 4; byte++)
      p[byte] = (uint8_t)(value >> 8 * byte);
    return;
  }
  if (dtype == TPU_VMEM_DTYPE_BF16) {
    uint16_t half = toward_zero ? num_ref_to_bf16_rtz(value) : num_ref_to_bf16_rne(value);
    p[0] = (uint8_t)half;
    p[1] = (uint8_t)(half >> 8);
    return;
  }
  int32_t integer = INSTRUCTION_FIELD(ITYPE) ? (int32_t)value
                    : toward_zero            ? num_ref_to_i32_rtz(value)
                                             : num_ref_to_i32_rne(value);
  p[0] = dtype == TPU_VMEM_DTYPE_INT8 ? (uint8_t)num_ref_to_i8(integer) : num_ref_to_u8(integer);
}

/* Checks sublane s; false after an error. */
static bool reach(struct vpu_ref *r, uint64_t i, uint32_t s, uint32_t *address) {
  uint32_t areg = INSTRUCTION_FIELD(AREG), offset = INSTRUCTION_FIELD(OFFSET);
  if (r->mistake != VPU_REF_UNSIGNED_OFFSET && offset >= 0x8000)
    offset -= 0x10000;
  *address = r->addr[areg] + offset + s * arg(r, TPU_VPU_PITCH(areg));
  uint32_t space = INSTRUCTION_FIELD(ACC) ? TPU_SPACE_ACC : TPU_SPACE_VMEM;
  uint32_t where = r->pc | s << 16 | space << 24;
  uint64_t length = element_size(INSTRUCTION_FIELD(DTYPE));
  if (!INSTRUCTION_FIELD(COL))
    length *= r->config->lanes;
  if (space == TPU_SPACE_ACC) {
    if (*address >= r->config->acc_rows)
      error(r, TPU_ERROR_RANGE, where, *address);
  } else if (*address % length != 0) {
    error(r, TPU_ERROR_ALIGN, where, *address);
  } else if (*address + length > r->config->vmem_bytes) {
    error(r, TPU_ERROR_RANGE, where, *address);
  }
  r->bytes += r->code == 0 ? length : 0;
  return r->code == 0;
}

static uint32_t load_fill(uint64_t i) {
  switch (INSTRUCTION_FIELD(FILL)) {
  case TPU_FILL_ZERO:
    return 0;
  case TPU_FILL_MAX:
    return INSTRUCTION_FIELD(ITYPE) ? 0x7fffffff : 0x7f800000;
  case TPU_FILL_MIN:
    return INSTRUCTION_FIELD(ITYPE) ? 0x80000000 : 0xff800000;
  default:
    return INSTRUCTION_FIELD(ITYPE) ? 1 : 0x3f800000;
  }
}

static uint32_t source_a(const struct vpu_ref *r, uint64_t i, uint32_t s, uint32_t l) {
  return INSTRUCTION_FIELD(ASEL) ? r->scalar[INSTRUCTION_FIELD(VA) & 7] : r->v[INSTRUCTION_FIELD(VA)][s][l];
}

static uint32_t source_b(const struct vpu_ref *r, uint64_t i, uint32_t s, uint32_t l) {
  return INSTRUCTION_FIELD(BSEL) ? r->scalar[INSTRUCTION_FIELD(VB) & 7] : r->v[INSTRUCTION_FIELD(VB)][s][l];
}

static uint32_t source_c(const struct vpu_ref *r, uint64_t i, uint32_t s, uint32_t l) {
  return INSTRUCTION_FIELD(CSEL) ? r->scalar[INSTRUCTION_FIELD(VC) & 7] : r->v[INSTRUCTION_FIELD(VC)][s][l];
}

static void load_or_store(struct vpu_ref *r, uint64_t i) {
  uint32_t dtype = INSTRUCTION_FIELD(DTYPE), column = INSTRUCTION_FIELD(COL);
  if ((INSTRUCTION_FIELD(ACC) && dtype != TPU_VMEM_DTYPE_W32) ||
      (dtype == TPU_VMEM_DTYPE_BF16 && INSTRUCTION_FIELD(ITYPE))) {
    error(r, TPU_ERROR_VPU_ILLEGAL, r->pc, (uint32_t)i);
    return;
  }
  for (uint32_t s = 0; s < 8; s++) {
    uint32_t address = 0;
    bool on = sublane_on(r, i, s);
    if (on && !reach(r, i, s, &address))
      return;
    for (uint32_t l = 0; l < r->config->lanes; l++) {
      if (INSTRUCTION_FIELD(OP) == TPU_VOP_LD)
        r->v[INSTRUCTION_FIELD(VD)][s][l] =
            on && lane_on(r, i, s, l) ? read_element(r, i, address, column ? 0 : l) : load_fill(i);
      else if (on && lane_on(r, i, s, l) && (!column || l == 0))
        write_element(r, i, address, l, source_a(r, i, s, l));
    }
  }
  r->pc++;
}

/* ---- loops -------------------------------------------------------------------------------------------- */

static void loop(struct vpu_ref *r, uint64_t i) {
  uint32_t level = INSTRUCTION_FIELD(AREG) % 4;
  if (level == 3 || r->active[level]) {
    error(r, TPU_ERROR_VPU_ILLEGAL, r->pc, (uint32_t)i);
  } else if (arg(r, TPU_VPU_LOOP(level)) == 0) {
    r->pc = INSTRUCTION_FIELD(OFFSET);
  } else {
    r->active[level] = 1;
    r->start[level] = r->pc + 1;
    r->iteration[level] = 0;
    r->pc++;
  }
}

static void end(struct vpu_ref *r, uint64_t i) {
  uint32_t level = INSTRUCTION_FIELD(AREG) % 4;
  if (level == 3 || !r->active[level]) {
    error(r, TPU_ERROR_VPU_ILLEGAL, r->pc, (uint32_t)i);
    return;
  }
  bool last = r->iteration[level] + 1 >= arg(r, TPU_VPU_LOOP(level));
  for (uint32_t k = 0; k < 8 && !(last && r->mistake == VPU_REF_NO_LAST_STRIDE); k++)
    r->addr[k] += arg(r, TPU_VPU_STRIDE(3 * k + level));
  r->iteration[level]++;
  r->active[level] = !last;
  r->pc = last ? r->pc + 1 : r->start[level];
}

/* ---- reductions --------------------------------------------------------------------------------------- */

struct carried {
  uint32_t value, index;
};

static uint32_t identity(const struct vpu_ref *r, uint32_t kind) {
  switch (kind) { /* FSUM, FMIN, FMAX, FARGMAX, ISUM, IMIN, IMAX, IARGMAX */
  case 0:
    return r->mistake == VPU_REF_POSITIVE_ZERO ? 0 : 0x80000000;
  case 1:
    return 0x7f800000;
  case 2:
  case 3:
    return 0xff800000;
  case 4:
    return 0;
  case 5:
    return 0x7fffffff;
  default:
    return 0x80000000;
  }
}

/* right > left in the order of max; both are no NaN. */
static bool above(uint32_t right, uint32_t left) {
  uint32_t r = num_ref_flush(right), l = num_ref_flush(left);
  if (num_ref_eq(r, l))
    return r == 0 && l == 0x80000000;
  return num_ref_lt(l, r);
}

static struct carried argmax(const struct vpu_ref *r, struct carried left, struct carried right, bool f32) {
  bool right_wins, equal;
  if (f32) {
    bool left_nan = num_ref_is_nan(left.value), right_nan = num_ref_is_nan(right.value);
    right_wins = !left_nan && (right_nan || above(right.value, left.value));
    equal = left_nan ? right_nan
                     : !right_nan && !above(right.value, left.value) && !above(left.value, right.value);
  } else {
    right_wins = (int32_t)right.value > (int32_t)left.value;
    equal = right.value == left.value;
  }
  if (equal && r->mistake == VPU_REF_ARGMAX_LAST)
    return left.index > right.index ? left : right;
  if (equal)
    return left.index < right.index ? left : right;
  return right_wins ? right : left;
}

static struct carried combine(const struct vpu_ref *r, uint32_t kind, struct carried x, struct carried y) {
  switch (kind) {
  case 0:
    return (struct carried){num_ref_add(x.value, y.value), 0};
  case 1:
    return (struct carried){num_ref_min(x.value, y.value), 0};
  case 2:
    return (struct carried){num_ref_max(x.value, y.value), 0};
  case 4:
    return (struct carried){x.value + y.value, 0};
  case 5:
    return (int32_t)x.value < (int32_t)y.value ? x : y;
  case 6:
    return (int32_t)x.value > (int32_t)y.value ? x : y;
  default:
    return argmax(r, x, y, kind == 3);
  }
}

static uint32_t reduce(const struct vpu_ref *r, uint32_t kind, struct carried *x, uint32_t count) {
  if (r->mistake == VPU_REF_SUMS_IN_ORDER) {
    for (uint32_t k = 1; k < count; k++)
      x[0] = combine(r, kind, x[0], x[k]);
  } else {
    for (uint32_t h = count / 2; h >= 1; h /= 2)
      for (uint32_t k = 0; k < h; k++)
        x[k] = combine(r, kind, x[k], x[k + h]);
  }
  return kind == 3 || kind == 7 ? x[0].index : x[0].value;
}

static void reduction(struct vpu_ref *r, uint64_t i) {
  uint32_t op = INSTRUCTION_FIELD(OP), kind = op % 8, result[8][16];
  uint32_t lanes = r->config->lanes;
  bool over_lanes = op < TPU_VOP_RS_FSUM;
  for (uint32_t s = 0; s < 8; s++)
    for (uint32_t l = 0; l < lanes; l++) {
      struct carried x[16];
      uint32_t count = over_lanes ? lanes : 8;
      for (uint32_t k = 0; k < count; k++) {
        uint32_t ks = over_lanes ? s : k, kl = over_lanes ? k : l;
        x[k].value = lane_on(r, i, ks, kl) ? source_a(r, i, ks, kl) : identity(r, kind);
        x[k].index = k;
      }
      result[s][l] = reduce(r, kind, x, count);
    }
  for (uint32_t s = 0; s < 8; s++)
    for (uint32_t l = 0; l < lanes; l++)
      r->v[INSTRUCTION_FIELD(VD)][s][l] = result[s][l];
  r->pc++;
}

/* ---- across lanes ------------------------------------------------------------------------------------- */

/* How many VREGs a transposition takes: 0 if the operation is none. */
static uint32_t tile_registers(const struct vpu_ref *r, uint64_t i) {
  return INSTRUCTION_FIELD(OP) != TPU_VOP_TRANSPOSE ? 0 : r->config->lanes == 16 ? 2 : 1;
}

/* Which element of the source becomes (s, l); rows count through the VREGs of a tile. */
static void moved_from(const struct vpu_ref *r, uint64_t i, uint32_t *s, uint32_t *l) {
  uint32_t lanes = r->config->lanes, row = *s, lane = *l;
  uint32_t n = INSTRUCTION_FIELD(BSEL) ? r->scalar[INSTRUCTION_FIELD(VB) & 7] : INSTRUCTION_FIELD(VB);
  if (r->mistake == VPU_REF_ROTATES_BACK)
    n = 0 - n;
  switch (INSTRUCTION_FIELD(OP)) {
  case TPU_VOP_ROT_LANE:
    *l = (lane + lanes - n % lanes) % lanes;
    break;
  case TPU_VOP_ROT_SUB:
    *s = (row + 8 - n % 8) % 8;
    break;
  case TPU_VOP_BC_LANE:
    *l = n % lanes;
    break;
  case TPU_VOP_BC_SUB:
    *s = n % 8;
    break;
  default:
    *s = row / lanes * lanes + lane;
    *l = row % lanes;
    break;
  }
}

static void across(struct vpu_ref *r, uint64_t i) {
  uint32_t registers = tile_registers(r, i), result[16][16];
  uint32_t vd = INSTRUCTION_FIELD(VD), va = INSTRUCTION_FIELD(VA);
  if (registers == 2 && (vd % 2 != 0 || (va % 2 != 0 && !INSTRUCTION_FIELD(ASEL)))) {
    error(r, TPU_ERROR_VPU_ILLEGAL, r->pc, (uint32_t)i);
    return;
  }
  uint32_t rows = registers == 2 ? 16 : 8;
  for (uint32_t row = 0; row < rows; row++)
    for (uint32_t lane = 0; lane < r->config->lanes; lane++) {
      uint32_t s = row, l = lane;
      moved_from(r, i, &s, &l);
      result[row][lane] = INSTRUCTION_FIELD(ASEL) ? r->scalar[va & 7] : r->v[va + s / 8][s % 8][l];
    }
  for (uint32_t row = 0; row < rows; row++)
    for (uint32_t lane = 0; lane < r->config->lanes; lane++)
      r->v[vd + row / 8][row % 8][lane] = result[row][lane];
  r->pc++;
}

/* Threefry-2x32-20 at one position. */
static uint32_t threefry(const uint32_t key[3], uint32_t x0, uint32_t x1) {
  static const uint32_t rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  x0 += key[0];
  x1 += key[1];
  for (uint32_t round = 1; round <= 20; round++) {
    uint32_t n = rotations[(round - 1) % 8];
    x0 += x1;
    x1 = x1 << n | x1 >> (32 - n);
    x1 ^= x0;
    if (round % 4 == 0) {
      x0 += key[round / 4 % 3];
      x1 += key[(round / 4 + 1) % 3] + round / 4;
    }
  }
  return x0 ^ x1;
}

static void random_bits(struct vpu_ref *r, uint64_t i) {
  if (!INSTRUCTION_FIELD(ASEL) || !INSTRUCTION_FIELD(BSEL)) {
    error(r, TPU_ERROR_VPU_ILLEGAL, r->pc, (uint32_t)i);
    return;
  }
  uint32_t key[3] = {r->scalar[INSTRUCTION_FIELD(VA) & 7], r->scalar[INSTRUCTION_FIELD(VB) & 7], 0};
  uint32_t c = INSTRUCTION_FIELD(VC), with = INSTRUCTION_FIELD(CSEL);
  key[2] = key[0] ^ key[1] ^ 0x1bd11bda;
  for (uint32_t s = 0; s < 8; s++)
    for (uint32_t l = 0; l < r->config->lanes; l++)
      r->v[INSTRUCTION_FIELD(VD)][s][l] =
          threefry(key, row_number(r, i, s) + (with ? r->scalar[c % 8] : 0),
                   column_number(r, i, l) + (with ? r->scalar[(c + 1) % 8] : 0));
  r->pc++;
}

/* ---- element by element ------------------------------------------------------------------------------- */

static uint32_t truth(bool condition) {
  return condition ? 0xffffffff : 0;
}

static uint32_t shift_right(uint32_t a, uint32_t n, bool sign) {
  uint32_t high = sign && (a & 0x80000000) && n > 0 ? ~(0xffffffffu >> n) : 0;
  return a >> n | high;
}

/* False for an operation that is no arithmetic of f32. */
static bool element_float(uint64_t i, uint32_t a, uint32_t b, uint32_t c, uint32_t *d) {
  switch (INSTRUCTION_FIELD(OP)) {
  case TPU_VOP_FADD:
    *d = num_ref_add(a, b);
    return true;
  case TPU_VOP_FSUB:
    *d = num_ref_add(a, b ^ 0x80000000);
    return true;
  case TPU_VOP_FMUL:
    *d = num_ref_mul(a, b);
    return true;
  case TPU_VOP_FMA:
    *d = num_ref_add(num_ref_mul(a, b), c);
    return true;
  case TPU_VOP_FMIN:
    *d = num_ref_min(a, b);
    return true;
  case TPU_VOP_FMAX:
    *d = num_ref_max(a, b);
    return true;
  case TPU_VOP_FEQ:
    *d = truth(num_ref_eq(a, b));
    return true;
  case TPU_VOP_FNE:
    *d = truth(!num_ref_eq(a, b));
    return true;
  case TPU_VOP_FLT:
    *d = truth(num_ref_lt(a, b));
    return true;
  case TPU_VOP_FLE:
    *d = truth(num_ref_le(a, b));
    return true;
  case TPU_VOP_I2F:
    *d = num_ref_from_i32_rne((int32_t)a);
    return true;
  case TPU_VOP_F2I_RNE:
    *d = (uint32_t)num_ref_to_i32_rne(a);
    return true;
  case TPU_VOP_F2I_RTZ:
    *d = (uint32_t)num_ref_to_i32_rtz(a);
    return true;
  case TPU_VOP_F2BF:
    *d = num_ref_from_bf16(num_ref_to_bf16_rne(a));
    return true;
  default:
    return false;
  }
}

/* False for an operation that is no arithmetic of int32. */
static bool element_integer(uint64_t i, uint32_t a, uint32_t b, uint32_t *d) {
  switch (INSTRUCTION_FIELD(OP)) {
  case TPU_VOP_IADD:
    *d = a + b;
    return true;
  case TPU_VOP_ISUB:
    *d = a - b;
    return true;
  case TPU_VOP_IMUL:
    *d = (uint32_t)((uint64_t)a * b);
    return true;
  case TPU_VOP_IMIN:
    *d = (int32_t)a < (int32_t)b ? a : b;
    return true;
  case TPU_VOP_IMAX:
    *d = (int32_t)a < (int32_t)b ? b : a;
    return true;
  case TPU_VOP_IEQ:
    *d = truth(a == b);
    return true;
  case TPU_VOP_INE:
    *d = truth(a != b);
    return true;
  case TPU_VOP_ILT:
    *d = truth((int32_t)a < (int32_t)b);
    return true;
  case TPU_VOP_ILE:
    *d = truth((int32_t)a <= (int32_t)b);
    return true;
  case TPU_VOP_ILTU:
    *d = truth(a < b);
    return true;
  case TPU_VOP_AND:
    *d = a & b;
    return true;
  case TPU_VOP_OR:
    *d = a | b;
    return true;
  case TPU_VOP_XOR:
    *d = a ^ b;
    return true;
  case TPU_VOP_SHL:
    *d = (uint32_t)((uint64_t)a << (b % 32));
    return true;
  case TPU_VOP_SHR:
    *d = shift_right(a, b % 32, false);
    return true;
  case TPU_VOP_SAR:
    *d = shift_right(a, b % 32, true);
    return true;
  default:
    return false;
  }
}

/* False for an operation that is no transcendental function. */
static bool element_transcendental(uint64_t i, uint32_t a, uint32_t *d) {
  switch (INSTRUCTION_FIELD(OP)) {
  case TPU_VOP_EXP2:
    *d = tpu_eup_step(TPU_EUP_STEP_EXP2, a);
    return true;
  case TPU_VOP_LOG2:
    *d = tpu_eup_step(TPU_EUP_STEP_LOG2, a);
    return true;
  case TPU_VOP_RCP:
    *d = tpu_eup_step(TPU_EUP_STEP_RCP, a);
    return true;
  case TPU_VOP_RSQRT:
    *d = tpu_eup_step(TPU_EUP_STEP_RSQRT, a);
    return true;
  case TPU_VOP_TANH:
    *d = tpu_eup_tanh(a);
    return true;
  case TPU_VOP_SIGMOID:
    *d = tpu_eup_sigmoid(a);
    return true;
  default:
    return false;
  }
}

/* False for an operation that does not exist. */
static bool element(const struct vpu_ref *r, uint64_t i, uint32_t s, uint32_t l, uint32_t *d) {
  uint32_t a = source_a(r, i, s, l), b = source_b(r, i, s, l), c = source_c(r, i, s, l);
  switch (INSTRUCTION_FIELD(OP)) {
  case TPU_VOP_CONST:
    *d = (uint32_t)(i >> 32);
    return true;
  case TPU_VOP_MOV:
    *d = a;
    return true;
  case TPU_VOP_IOTA_LANE:
    *d = column_number(r, i, l);
    return true;
  case TPU_VOP_IOTA_SUB:
    *d = row_number(r, i, s);
    return true;
  case TPU_VOP_SELM:
    *d = in_mask(r, i, s, l) ? a : b;
    return true;
  case TPU_VOP_SEL:
    *d = c != 0 ? a : b;
    return true;
  default:
    return element_float(i, a, b, c, d) || element_integer(i, a, b, d) || element_transcendental(i, a, d);
  }
}

static void elementwise(struct vpu_ref *r, uint64_t i) {
  uint32_t result[8][16];
  for (uint32_t s = 0; s < 8; s++)
    for (uint32_t l = 0; l < r->config->lanes; l++)
      if (!element(r, i, s, l, &result[s][l])) {
        error(r, TPU_ERROR_VPU_ILLEGAL, r->pc, (uint32_t)i);
        return;
      }
  for (uint32_t s = 0; s < 8; s++)
    for (uint32_t l = 0; l < r->config->lanes; l++)
      r->v[INSTRUCTION_FIELD(VD)][s][l] = result[s][l];
  r->pc++;
}

/* ---- the command -------------------------------------------------------------------------------------- */

static void read_scalars(struct vpu_ref *r) {
  for (uint32_t k = 0; k < 8; k++) {
    uint32_t value = arg(r, TPU_VPU_SCALAR(k));
    if (arg(r, TPU_VPU_SCALAR_MODE) >> k & 1) {
      uint32_t where = 0xffff | k << 16 | TPU_SPACE_SMEM << 24;
      if (value % 4 != 0) {
        error(r, TPU_ERROR_ALIGN, where, value);
        return;
      }
      if (value > r->config->smem_bytes - 4) {
        error(r, TPU_ERROR_RANGE, where, value);
        return;
      }
      const uint8_t *p = r->smem + value;
      value = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    }
    r->scalar[k] = value;
  }
}

static void step(struct vpu_ref *r) {
  if (r->pc >= r->config->vpu_program) {
    error(r, TPU_ERROR_VPU_PC, r->pc, 0);
    return;
  }
  uint64_t i = r->program[r->pc];
  uint32_t op = INSTRUCTION_FIELD(OP);
  if (op == TPU_VOP_HALT)
    r->halted = true;
  else if (op == TPU_VOP_LOOP)
    loop(r, i);
  else if (op == TPU_VOP_END)
    end(r, i);
  else if (op == TPU_VOP_LD || op == TPU_VOP_ST)
    load_or_store(r, i);
  else if (op >= TPU_VOP_RL_FSUM && op <= TPU_VOP_RS_IARGMAX)
    reduction(r, i);
  else if (op >= TPU_VOP_ROT_LANE && op <= TPU_VOP_TRANSPOSE)
    across(r, i);
  else if (op == TPU_VOP_RAND)
    random_bits(r, i);
  else
    elementwise(r, i);
  r->instructions += r->code == 0;
}

void vpu_ref_run(struct vpu_ref *r, const uint32_t *args, uint64_t limit) {
  r->args = args;
  r->code = r->detail0 = r->detail1 = 0;
  r->bytes = r->instructions = 0;
  r->halted = false;
  r->pc = arg(r, TPU_VPU_ENTRY) & 0xffff;
  for (uint32_t k = 0; k < 8; k++)
    r->addr[k] = arg(r, TPU_VPU_ADDR(k));
  for (uint32_t level = 0; level < 3; level++)
    r->active[level] = r->iteration[level] = 0;
  read_scalars(r);
  while (r->code == 0 && !r->halted && limit-- > 0)
    step(r);
}
