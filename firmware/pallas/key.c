/* SPDX-License-Identifier: MIT */
/*
 * By what a plan is found again: the contents of the kernel's descriptor and the arrays' shapes, and not
 * the descriptor's address, which may be on a stack. On the hot way of every call: the structs have no
 * padding and are compared word by word.
 */
#include "internal.h"

enum {
  GRID_WORDS = sizeof(pl_grid_spec) / 4,
  SPEC_WORDS = (offsetof(pl_block_spec, pad_high) + sizeof(int32_t) * PL_MAX_RANK) / 4,
  COMMON_WORDS = offsetof(pl_block_spec, pad_high) / 4, /* what follows is of PL_ELEMENT only */
  KIND_WORD = offsetof(pl_block_spec, kind) / 4,
  ARRAY_WORDS = sizeof(pl_array) / 4 - 1, /* without its address */
  SCRATCH_WORDS = sizeof(pl_scratch_spec) / 4,
  BODY_WORDS = sizeof(void (*)(void)) / 4,
  SEMANTICS_WORDS = 2,
};
_Static_assert(offsetof(pl_array, address) == 0, "the address comes first, and is no part of a key");
_Static_assert(offsetof(pl_block_spec, kind) % 4 == 3 && PL_MAX_RANK == 5, "kinds end with a word");
_Static_assert(sizeof(((pl_kernel *)0)->dimension_semantics) == SEMANTICS_WORDS * 4, "whole words");

static const pl_block_spec whole; /* what no spec means */

/* All kinds are PL_BLOCKED, in the two words that have them. */
static inline bool all_blocked(const uint32_t *spec) {
  return ((spec[KIND_WORD] & 0xff000000u) | spec[KIND_WORD + 1]) == 0;
}

/* n is a constant where it matters: the loop is then unrolled. */
static inline __attribute__((always_inline)) bool same(const uint32_t *key, const void *what, uint32_t n) {
  const uint32_t *words = what;
#pragma GCC unroll 16
  for (uint32_t i = 0; i < n; i++)
    if (key[i] != words[i])
      return false;
  return true;
}

static bool same_operands(const uint32_t **at, const pl_block_spec *const *specs, pl_arrays arrays) {
  const uint32_t *key = *at;

  for (uint32_t i = 0; i < arrays.count; i++, key += SPEC_WORDS + ARRAY_WORDS) {
    const pl_block_spec *spec = specs[i] != NULL ? specs[i] : &whole;
    if (!same(key, spec, COMMON_WORDS) ||
        (!all_blocked(key) && !same(key + COMMON_WORDS, spec->pad_high, PL_MAX_RANK)) ||
        !same(key + SPEC_WORDS, (const uint32_t *)&arrays.array[i] + 1, ARRAY_WORDS))
      return false;
  }
  *at = key;
  return true;
}

static uint32_t counts_of(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  return kernel->num_scalar_prefetch << 24 | args.count << 16 | results.count;
}

bool pl_key_matches(const uint32_t *key, const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  uint32_t scratches = 0;

  if (!same(key, &kernel->body, BODY_WORDS) || key[BODY_WORDS] != counts_of(kernel, args, results))
    return false;
  key += BODY_WORDS + 1;
  if (!same(key, &kernel->grid, GRID_WORDS) ||
      !same(key + GRID_WORDS, kernel->dimension_semantics, SEMANTICS_WORDS))
    return false;
  key += GRID_WORDS + SEMANTICS_WORDS;
  if (PL_UNLIKELY(kernel->num_scalar_prefetch != 0)) {
    for (uint32_t i = 0; i < kernel->num_scalar_prefetch; i++, key += ARRAY_WORDS)
      if (!same(key, (const uint32_t *)&args.array[i] + 1, ARRAY_WORDS))
        return false;
    args.array += kernel->num_scalar_prefetch;
    args.count -= kernel->num_scalar_prefetch;
  }
  if (!same_operands(&key, kernel->in, args) || !same_operands(&key, kernel->out, results))
    return false;
  const uint32_t expected = *key++;
  for (; scratches < PL_MAX_SCRATCH && kernel->scratch[scratches] != NULL; scratches++, key += SCRATCH_WORDS)
    if (scratches == expected || !same(key, kernel->scratch[scratches], SCRATCH_WORDS))
      return false;
  return scratches == expected;
}

/* Once a plan, so small. */
static PL_COLD uint32_t *put(uint32_t *key, uint32_t *count, const void *what, uint32_t n) {
  const uint32_t *words = what;
  for (uint32_t i = 0; i < n && key != NULL; i++)
    key[*count + i] = words[i];
  *count += n;
  return key;
}

static PL_COLD void put_operands(uint32_t *key, uint32_t *count, const pl_block_spec *const *specs,
                                 pl_arrays arrays) {
  for (uint32_t i = 0; i < arrays.count; i++) {
    put(key, count, specs[i] != NULL ? specs[i] : &whole, SPEC_WORDS);
    put(key, count, (const uint32_t *)&arrays.array[i] + 1, ARRAY_WORDS);
  }
}

PL_COLD uint32_t pl_key_write(uint32_t *key, const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  const uint32_t counts = counts_of(kernel, args, results), prefetches = kernel->num_scalar_prefetch;
  uint32_t count = 0, scratches = 0;

  put(key, &count, &kernel->body, BODY_WORDS);
  put(key, &count, &counts, 1);
  put(key, &count, &kernel->grid, GRID_WORDS);
  put(key, &count, kernel->dimension_semantics, SEMANTICS_WORDS);
  for (uint32_t i = 0; i < prefetches; i++)
    put(key, &count, (const uint32_t *)&args.array[i] + 1, ARRAY_WORDS);
  put_operands(key, &count, kernel->in, (pl_arrays){args.array + prefetches, args.count - prefetches});
  put_operands(key, &count, kernel->out, results);
  while (scratches < PL_MAX_SCRATCH && kernel->scratch[scratches] != NULL)
    scratches++;
  put(key, &count, &scratches, 1);
  for (uint32_t i = 0; i < scratches; i++)
    put(key, &count, kernel->scratch[i], SCRATCH_WORDS);
  return count;
}
