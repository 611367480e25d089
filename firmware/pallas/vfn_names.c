/* SPDX-License-Identifier: MIT */
/*
 * What the operations of vector functions are called, for messages: a recorded operation is known by its
 * codes of the vector unit, and a macro by the code for f32, or where it has none by that for int32.
 */
#include "vfn.h"

#include <string.h>

/* Codes, and the names behind pl_v. What is more than one instruction, or none, comes behind. */
#define OPERATIONS(X)                                                                                        \
  X(FADD, add)                                                                                               \
  X(FSUB, sub)                                                                                               \
  X(FMUL, mul)                                                                                               \
  X(FMIN, min)                                                                                               \
  X(FMAX, max)                                                                                               \
  X(FMA, fma)                                                                                                \
  X(FEQ, eq)                                                                                                 \
  X(FNE, ne)                                                                                                 \
  X(FLT, lt)                                                                                                 \
  X(FLE, le)                                                                                                 \
  X(ILTU, ltu)                                                                                               \
  X(SEL, select)                                                                                             \
  X(SELM, valid)                                                                                             \
  X(AND, and)                                                                                                \
  X(OR, or)                                                                                                  \
  X(XOR, xor)                                                                                                \
  X(SHL, shl)                                                                                                \
  X(SHR, shr)                                                                                                \
  X(SAR, sar)                                                                                                \
  X(I2F, float)                                                                                              \
  X(F2I_RNE, int_rne)                                                                                        \
  X(F2I_RTZ, int_rtz)                                                                                        \
  X(F2BF, bf16)                                                                                              \
  X(RL_FSUM, sum_lanes)                                                                                      \
  X(RL_FMIN, min_lanes)                                                                                      \
  X(RL_FMAX, max_lanes)                                                                                      \
  X(RL_FARGMAX, argmax_lanes)                                                                                \
  X(RS_FSUM, sum_rows)                                                                                       \
  X(RS_FMIN, min_rows)                                                                                       \
  X(RS_FMAX, max_rows)                                                                                       \
  X(RS_FARGMAX, argmax_rows)                                                                                 \
  X(EXP2, exp2)                                                                                              \
  X(LOG2, log2)                                                                                              \
  X(RCP, recip)                                                                                              \
  X(RSQRT, rsqrt)                                                                                            \
  X(TANH, tanh)                                                                                              \
  X(SIGMOID, sigmoid)                                                                                        \
  X(ROT_LANE, rotate_lanes)                                                                                  \
  X(ROT_SUB, rotate_rows)                                                                                    \
  X(BC_LANE, lane)                                                                                           \
  X(BC_SUB, row)

#define CODE(code_, name_) TPU_VOP_##code_,
#define NAME(code_, name_) #name_ "\0"
static const uint8_t codes[] = {
    OPERATIONS(CODE) TPU_VOP_ST, VFN_ALIAS + PL_V_FLOAT, VFN_ALIAS + PL_V_INT, VFN_NEG, VFN_FOR,
    VFN_FOR + PL_VAXIS_ROWS};
static const char names[] = OPERATIONS(NAME) "store\0bits_float\0bits_int\0neg\0PL_FOR_LANES\0PL_FOR_ROWS\0";

static const char *name_of(unsigned op, unsigned code) {
  const char *name = names;

  if (op & PL_VSWAPPED)
    return code == TPU_VOP_FLT ? "gt" : "ge";
  for (const uint8_t *at = codes; at < codes + sizeof codes && *at != code; at++)
    name += strlen(name) + 1;
  return name;
}

void vfn_add_operand(unsigned op, unsigned i) {
  const unsigned code = (op & 0xff) != 0 ? op & 0xff : op >> 8 & 0xff;
  char operand[2] = {(char)('a' + i), '\0'};

  if (op & PL_VSWAPPED)
    operand[0] = (char)('b' - i);
  else if (code == TPU_VOP_SEL && i == 2)
    operand[0] = 'm'; /* comes first in the program */
  else if (code == TPU_VOP_ST)
    operand[0] = 'v';
  pl_message_add("operand %s of %s%s has no value here: it was not set, or is of another recording", operand,
                 code < VFN_FOR ? "pl_v" : "", name_of(op, code));
}
