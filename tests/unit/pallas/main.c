/* SPDX-License-Identifier: MIT */
/*
 * The kernel runtime on the host, against a model library: one process a device.
 *
 *   test_pallas [library=PATH] [config=NAME] [timing=NAME] [seed=N] [access=N] [cases=N] [debug=N]
 * [only=SUITE] [told=PATH]
 *
 * told: the messages that calls were made to fail with and that were compared with words, for messages.py.
 */
#include "suite.h"

#include "internal.h"

#include "tpu_configs.h"

#include <math.h>
#include <string.h>

struct suite suite;

bool suite_check(bool ok, const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
#undef check
  return check(ok, "%s", text);
#define check suite_check
}

static uint32_t next_offset = 4096;

pl_array suite_array(pl_dtype dtype, pl_shape shape) {
  pl_array a = pl_hbm_array(next_offset, dtype, shape);
  /* A gap behind every array, so that a write past its end shows. */
  next_offset += (pl_array_bytes(&a) + 255) / 64 * 64;
  memset(pl_hbm_pointer(&a), 0xa5, pl_array_bytes(&a) + 64);
  return a;
}

void suite_release(void) {
  next_offset = 4096;
}

uint32_t suite_elements(const pl_array *array) {
  return pl_array_bytes(array) / pl_dtype_bytes(array->dtype);
}

double suite_get(const pl_array *array, uint32_t i) {
  const uint8_t *p = (const uint8_t *)pl_hbm_pointer(array) + (size_t)i * pl_dtype_bytes(array->dtype);
  uint32_t bits = 0;
  float f;
  memcpy(&bits, p, pl_dtype_bytes(array->dtype));
  switch (array->dtype) {
  case PL_BF16:
    bits <<= 16;
    /* fall through */
  case PL_F32:
    memcpy(&f, &bits, 4);
    return f;
  case PL_INT8:
    return (int8_t)bits;
  case PL_UINT8:
    return (uint8_t)bits;
  default:
    return (int32_t)bits;
  }
}

void suite_put(const pl_array *array, uint32_t i, double value) {
  uint8_t *p = (uint8_t *)pl_hbm_pointer(array) + (size_t)i * pl_dtype_bytes(array->dtype);
  float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if (array->dtype == PL_BF16)
    bits >>= 16; /* the tests put only what is exact */
  else if (array->dtype != PL_F32)
    bits = (uint32_t)(int32_t)value;
  memcpy(p, &bits, pl_dtype_bytes(array->dtype));
}

void suite_fill(const pl_array *array) {
  for (uint32_t i = 0, n = suite_elements(array); i < n; i++)
    suite_put(array, i,
              array->dtype == PL_UINT8 ? (double)check_random_below(&suite.random, 17)
                                       : (double)check_random_below(&suite.random, 17) - 8);
}

bool suite_ok(pl_status status, const char *format, ...) {
  char name[128];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  return check(status == PL_OK, "%s%s%s%s%s", name, status == PL_OK ? "" : ": ",
               status == PL_OK ? "" : pl_status_name(status), status == PL_OK ? "" : " ",
               status == PL_OK ? "" : pl_error_message());
}

static FILE *told;

/* A record of the file that messages.py reads: the format of the message, and what was looked for in it. */
static void tell(va_list words) {
  const char *word;
  if (told == NULL || pl_message_told == NULL)
    return;
  fputs(pl_message_told, told);
  while ((word = va_arg(words, const char *)) != NULL)
    if (*word != '\0')
      fprintf(told, "%c%s", 0, word);
  fprintf(told, "%c%c", 0, 0);
}

bool suite_fails(pl_status status, pl_status wanted, const char *name, ...) {
  va_list args, words;
  const char *missing = NULL, *word;
  va_start(args, name);
  va_copy(words, args);
  while ((word = va_arg(args, const char *)) != NULL)
    if (missing == NULL && strstr(pl_error_message(), word) == NULL)
      missing = word;
  va_end(args);
  if (status == wanted && status != PL_OK && missing == NULL)
    tell(words);
  va_end(words);
  if (status != wanted)
    return check(false, "%s: %s instead of %s: %s", name, pl_status_name(status), pl_status_name(wanted),
                 pl_error_message());
  return check(missing == NULL, "%s%s%s%s%s", name, missing ? ": no \"" : "", missing ? missing : "",
               missing ? "\" in: " : "", missing ? pl_error_message() : "");
}

static uint32_t number(const char *text) {
  return (uint32_t)strtoul(text, NULL, 0);
}

int main(int argc, char **argv) {
  static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};
  static const struct {
    const char *name;
    void (*run)(void);
  } suites[] = {{"copy", suite_copy},
                {"spec", suite_spec},
                {"alias", suite_alias},
                {"loaded", suite_loaded},
                {"prefetch", suite_prefetch},
                {"partition", suite_partition},
                {"random", suite_random},
                {"dot", suite_dot},
                {"dot_f32", suite_dot_f32},
                {"vector", suite_vector},
                {"async", suite_async},
                {"errors", suite_errors},
                {"resident", suite_resident},
                {"views", suite_views},
                {"scoped", suite_scoped},
                {"copies", suite_copies},
                {"debug", suite_debug},
                {"compute", suite_compute},
                {"plan", suite_plan},
                {"race", suite_race},
                {"nested", suite_nested},
                {"reuse", suite_reuse},
                {"rules", suite_rules},
                {"misuse", suite_misuse},
                {"shuffle", suite_shuffle},
                {"revisit", suite_revisit},
                {"lists", suite_lists},
                {"indirect", suite_indirect},
                {"overlap", suite_overlap},
                {"copies_random", suite_copies_random},
                {"levels", suite_levels},
                {"order", suite_order},
                {"strides", suite_strides},
                {"messages", suite_messages},
                {"broken", suite_broken},
                {"vector_messages", suite_vector_messages},
                {"vfn", suite_vfn}};
  struct host_options options = {.library = "build/lib/libtpu_func.so",
                                 .config = "sim16",
                                 .seed = 1,
                                 .access_cycles = 4,
                                 .trace_records = 1 << 16};
  const char *only = NULL;
  int debug = -1;

  suite.cases = 200;
  for (int i = 1; i < argc; i++) {
    const char *value = strchr(argv[i], '=');
    size_t n = value == NULL ? 0 : (size_t)(value++ - argv[i]);
    if (n == 7 && !strncmp(argv[i], "library", n))
      options.library = value;
    else if (n == 6 && !strncmp(argv[i], "config", n))
      options.config = value;
    else if (n == 6 && !strncmp(argv[i], "timing", n))
      options.timing = value;
    else if (n == 6 && !strncmp(argv[i], "stalls", n))
      options.stall_percent = number(value);
    else if (n == 4 && !strncmp(argv[i], "seed", n))
      options.seed = number(value);
    else if (n == 6 && !strncmp(argv[i], "access", n))
      options.access_cycles = number(value);
    else if (n == 5 && !strncmp(argv[i], "cases", n))
      suite.cases = number(value);
    else if (n == 5 && !strncmp(argv[i], "debug", n))
      debug = (int)number(value);
    else if (n == 4 && !strncmp(argv[i], "only", n))
      only = value;
    else if (n == 4 && !strncmp(argv[i], "told", n))
      told = fopen(value, "wb");
    else {
      fprintf(stderr, "bad argument %s\n", argv[i]);
      return 2;
    }
  }
  for (unsigned i = 0; i < sizeof configs / sizeof configs[0]; i++)
    if (strcmp(configs[i].name, options.config) == 0) {
      suite.dim = configs[i].dim;
      suite.bf16 = configs[i].mxu_bf16 != 0;
    }
  suite.cycle_timing =
      (options.timing == NULL || strcmp(options.timing, "cycle") == 0) && options.stall_percent == 0;
  suite.random.state = options.seed;
  host_open(&options);
  if (debug >= 0)
    pl_debug_set((unsigned)debug);
  for (unsigned i = 0; i < sizeof suites / sizeof suites[0]; i++)
    if (only == NULL || strcmp(only, suites[i].name) == 0) {
      suites[i].run();
      suite_release();
    }
  host_close();
  check(told == NULL || fclose(told) == 0, "the messages are written");
  char name[96];
  snprintf(name, sizeof name, "pallas %s %s seed %u access %u", options.config,
           options.timing ? options.timing : "cycle", options.seed, options.access_cycles);
  return check_result(name);
}
