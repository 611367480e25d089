/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the machine as loops over arrays, for the models' vector and matrix units.
 *
 * num_ref.h defines every operation one value at a time. Here the host's floating point does the
 * work, because it gives the same bits once three things are arranged:
 *  - On x86 the control register MXCSR can flush: with FTZ and DAZ set, subnormal operands read as
 *    zero and a result that is tiny after rounding becomes zero, which is exactly our rule.
 *    num_env_enter() sets it, num_env_leave() puts the host's value back; the library lives in
 *    processes (QEMU) that must not notice. All num_vec functions, and the MXU and VPU kernels,
 *    must run between the two.
 *  - On other hosts, or with NUM_PORTABLE defined, the same loops flush by hand; host arithmetic
 *    then has to be plain IEEE (round to nearest, subnormals on), which is the default everywhere.
 *    ARM's flush mode is of no use: it decides before rounding.
 *  - Host NaNs carry signs and payloads; every result is made canonical.
 *
 * The compiler must not fuse a multiply and an add (-ffp-contract=off) and the loops rely on its
 * vectoriser: hw/model/func/kernels.mk has the flags. Each function exists in several
 * versions, chosen when the library is loaded, for plain x86-64, AVX2 and AVX-512.
 *
 * Arrays: `n` elements. A destination may be one of the sources; other overlaps are not allowed.
 */
#ifndef TPU_FUNC_NUM_H
#define TPU_FUNC_NUM_H

#include <stdint.h>

#include "num_ref.h"

#if defined(__SSE2__) && !defined(NUM_PORTABLE)
#define NUM_HOST_FLUSHES 1
#include <xmmintrin.h>
#else
#define NUM_HOST_FLUSHES 0
#endif

/* Several versions of one function, by instruction set; see kernels.mk. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(NUM_NO_CLONES)
#define NUM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define NUM_CLONES
#endif

typedef struct {
  uint32_t saved;
} num_env;

/* All exceptions masked, round to nearest even, FTZ and DAZ. */
#define NUM_MXCSR UINT32_C(0x9fc0)

static inline num_env num_env_enter(void) {
  num_env env = {0};
#if NUM_HOST_FLUSHES
  env.saved = _mm_getcsr();
  _mm_setcsr(NUM_MXCSR);
#endif
  return env;
}

static inline void num_env_leave(num_env env) {
#if NUM_HOST_FLUSHES
  _mm_setcsr(env.saved);
#else
  (void)env;
#endif
}

/* d[i] = a[i] op b[i], all f32 bit patterns. */
void num_vec_add(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);
void num_vec_sub(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);
void num_vec_mul(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);
void num_vec_min(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);
void num_vec_max(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);
/* d[i] = a[i] x b[i] + c[i], rounded twice. */
void num_vec_mul_add(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t n);

/* d[i] = all ones if the comparison holds, else 0. */
void num_vec_eq(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);
void num_vec_lt(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);
void num_vec_le(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n);

/* f32 <-> int32. */
void num_vec_to_i32_rne(uint32_t *d, const uint32_t *a, uint32_t n);
void num_vec_to_i32_rtz(uint32_t *d, const uint32_t *a, uint32_t n);
void num_vec_from_i32_rne(uint32_t *d, const uint32_t *a, uint32_t n);

/* Narrow types. */
void num_vec_from_bf16(uint32_t *d, const uint16_t *a, uint32_t n);
void num_vec_to_bf16_rne(uint16_t *d, const uint32_t *a, uint32_t n);
void num_vec_to_bf16_rtz(uint16_t *d, const uint32_t *a, uint32_t n);
void num_vec_to_i8(int8_t *d, const uint32_t *a, uint32_t n);
void num_vec_to_u8(uint8_t *d, const uint32_t *a, uint32_t n);

#endif
