/* SPDX-License-Identifier: MIT */
/*
 * Random vector functions: any operations, with and without loops, refs of all types and broadcasts in VMEM
 * and ACC, parts of larger refs, shapes with edges, scalars from SMEM, against an interpreter that knows
 * nothing of registers, groups and moved instructions. Functions stay for several launches with other shapes,
 * and there are more of them than the program memory holds. One that fails is made as short as it can be.
 */
#include "vfn_random.h"

enum { FUNCTIONS = 12, MAX_LAUNCHES = 3 };
static struct function functions[FUNCTIONS];

struct launch_case {
  struct function *f;
  int32_t rows, columns;
  unsigned launches;
  struct {
    int32_t row, column; /* where the ref begins in the array */
    bool part;
  } at[MAX_REFS];
  pl_array in[MAX_REFS + 1], out[MAX_REFS];
  uint32_t scalar[MAX_LAUNCHES][MAX_SCALARS], from_smem; /* bit i: scalar i comes from SMEM */
};

static int32_t rows_of(unsigned ref);
static int32_t columns_of(unsigned ref);

static void body(void) {
  struct launch_case *t = pl_user();
  struct function *f = t->f;
  pl_ref refs[MAX_REFS];
  int scratch = 0;

  for (unsigned r = 0; r < f->refs; r++) {
    const pl_ref whole = f->ref[r].acc ? pl_scratch(scratch++) : pl_output((int)r);
    if (f->ref[r].acc)
      pl_copy(whole, pl_input((int)r));
    else /* which keeps the bits of bf16 */
      pl_sync_copy(pl_input((int)r), whole);
    refs[r] = whole;
    if (t->at[r].part)
      refs[r] =
          pl_at(whole, PL_DS(t->at[r].row, f->ref[r].class == ROW || f->ref[r].class == ONE ? 1 : t->rows),
                PL_DS(t->at[r].column, f->ref[r].class == COLUMN || f->ref[r].class == ONE ? 1 : t->columns));
  }
  vfn_recorded = f;
  if (f->fresh)
    pl_vforget(f->fn);
  f->fresh = false;
  for (unsigned l = 0; l < t->launches; l++) {
    pl_scalar scalars[MAX_SCALARS];
    for (unsigned i = 0; i < f->scalars; i++)
      scalars[i] = t->from_smem >> i & 1 ? PL_SCALAR_AT(pl_prefetch(0), (int32_t)(l * MAX_SCALARS + i))
                                         : pl_int((int32_t)t->scalar[l][i]);
    pl_vrun(f->fn, (pl_refs){refs, f->refs}, (pl_scalars){scalars, f->scalars});
  }
  scratch = 0;
  for (unsigned r = 0; r < f->refs; r++)
    if (f->ref[r].acc)
      pl_copy(pl_output((int)r), pl_scratch(scratch++));
}

static uint32_t get(const pl_array *a, int32_t i) {
  uint32_t bits = 0;
  const uint32_t n = pl_dtype_bytes(a->dtype);
  memcpy(&bits, (const uint8_t *)pl_hbm_pointer(a) + (size_t)i * n, n);
  return bits;
}
static void fill_random(const pl_array *a) {
  const uint32_t n = pl_dtype_bytes(a->dtype);
  for (uint32_t i = 0; i < suite_elements(a); i++) {
    uint32_t bits = vfn_random_bits(dtype_real((pl_dtype)a->dtype));
    if (a->dtype == PL_BF16)
      bits >>= 16;
    memcpy((uint8_t *)pl_hbm_pointer(a) + (size_t)i * n, &bits, n);
  }
}

static unsigned refused, compared;
static struct launch_case job;
static pl_scratch_spec scratches[MAX_REFS];
static pl_kernel kernel;

static int32_t rows_of(unsigned ref) {
  return job.f->ref[ref].class == ROW || job.f->ref[ref].class == ONE ? 1 : job.rows;
}
static int32_t columns_of(unsigned ref) {
  return job.f->ref[ref].class == COLUMN || job.f->ref[ref].class == ONE ? 1 : job.columns;
}

/* Shapes, arrays and scalars of a case. */
static void prepare(struct function *f) {
  unsigned n = 0;
  kernel = (pl_kernel){.name = "vfn", .body = body, .user = &job, .num_scalar_prefetch = 1};
  job = (struct launch_case){.f = f,
                             .rows = below(3) ? 1 + (int32_t)below(75) : 1 + (int32_t)below(9),
                             .columns = below(3) ? 1 + (int32_t)below(70) : 1 + (int32_t)below(17),
                             .launches = 1 + below(MAX_LAUNCHES),
                             .from_smem = check_random32(&suite.random) & 0x3f};
  if (below(4) == 0)
    job.rows = (job.rows + 7) / 8 * 8;
  if (below(4) == 0)
    job.columns = (job.columns + (int32_t)suite.dim - 1) / (int32_t)suite.dim * (int32_t)suite.dim;
  job.in[0] = suite_array(PL_INT32, PL_SHAPE(MAX_LAUNCHES * MAX_SCALARS));
  for (unsigned l = 0; l < MAX_LAUNCHES; l++)
    for (unsigned i = 0; i < MAX_SCALARS; i++) {
      job.scalar[l][i] = vfn_random_bits(below(2));
      memcpy((uint32_t *)pl_hbm_pointer(&job.in[0]) + l * MAX_SCALARS + i, &job.scalar[l][i], 4);
    }
  for (unsigned r = 0; r < f->refs; r++) {
    pl_shape shape = PL_SHAPE(rows_of(r), columns_of(r));
    if (below(3) == 0) {
      const uint32_t rows = below(9), columns = below(40);
      job.at[r].part = true;
      job.at[r].row = (int32_t)below(rows + 1);
      job.at[r].column = (int32_t)below(columns + 1);
      if (f->ref[r].acc || below(2))
        job.at[r].column -= job.at[r].column % (int32_t)suite.dim;
      shape.extent[0] += (int32_t)rows;
      shape.extent[1] += (int32_t)columns;
    }
    job.in[1 + r] = suite_array(f->ref[r].dtype, shape);
    job.out[r] = suite_array(f->ref[r].dtype, shape);
    fill_random(&job.in[1 + r]);
    if (f->ref[r].acc) {
      scratches[n] = (pl_scratch_spec){.space = PL_ACC, .dtype = f->ref[r].dtype, .shape = shape};
      kernel.scratch[n] = &scratches[n];
      n++;
    }
  }
}

/* The device and the interpreter: the number of elements that differ. */
static pl_status run_both(unsigned *wrong, bool say) {
  static struct world w;
  static uint32_t dense[MAX_REFS][96 * 96];
  const struct function *f = job.f;
  const pl_status status = pl_call(&kernel, (pl_arrays){job.in, 1 + f->refs}, (pl_arrays){job.out, f->refs});

  *wrong = 0;
  if (status != PL_OK)
    return status;
  w.f = f;
  w.rows = job.rows;
  w.columns = job.columns;
  for (unsigned r = 0; r < f->refs; r++) {
    const int32_t rows = rows_of(r), columns = columns_of(r), pitch = job.in[1 + r].shape[1];
    w.ref[r] = (struct plane){rows, columns, dense[r]};
    for (int32_t i = 0; i < rows * columns; i++)
      dense[r][i] =
          get(&job.in[1 + r], (job.at[r].row + i / columns) * pitch + job.at[r].column + i % columns);
  }
  for (unsigned l = 0; l < job.launches; l++) {
    memcpy(w.scalar, job.scalar[l], sizeof job.scalar[l]);
    vfn_interpret(&w);
  }
  for (unsigned r = 0; r < f->refs; r++)
    for (uint32_t i = 0; i < suite_elements(&job.out[r]); i++) {
      const int32_t pitch = job.out[r].shape[1], row = (int32_t)i / pitch - job.at[r].row,
                    column = (int32_t)i % pitch - job.at[r].column;
      const bool in = row >= 0 && row < rows_of(r) && column >= 0 && column < columns_of(r);
      const uint32_t want = in ? dense[r][row * columns_of(r) + column] : get(&job.in[1 + r], (int32_t)i),
                     got = get(&job.out[r], (int32_t)i);
      if (want != got && (*wrong)++ == 0 && say)
        printf("%d x %d, %u launches, ref %u at %d, %d (part %d of column %d): 0x%x instead of 0x%x\n",
               (int)job.rows, (int)job.columns, job.launches, r, (int)row, (int)column, job.at[r].part,
               (int)job.at[r].column, got, want);
    }
  return PL_OK;
}

static bool is_used(const struct function *f, unsigned value) {
  for (unsigned i = 0; i < f->length; i++) {
    const struct instruction *n = &f->code[i];
    if (n->a == value || n->b == value || n->c == value)
      return true;
    for (unsigned k = 0; k < n->n && n->code >= LOOP_LANES; k++)
      if (n->carried[k] == value || (n->code == END && n->from[k] == value))
        return true;
  }
  return false;
}
static void erase(struct function *f, unsigned i) {
  memmove(&f->code[i], &f->code[i + 1], (--f->length - i) * sizeof f->code[0]);
}
static bool still_wrong(struct function *f) {
  unsigned wrong;
  f->fresh = true;
  return run_both(&wrong, false) == PL_OK && wrong != 0;
}
/* Makes a function that fails shorter as long as it does. */
static void shrink(struct function *f) {
  static struct function before;
  for (bool more = true; more;) {
    more = false;
    for (unsigned i = f->length; i-- > 0;) {
      struct instruction *n = &f->code[i];
      before = *f;
      if (n->code == END) {
        const unsigned k = n->n;
        unsigned begin = i;
        while (f->code[begin].code < LOOP_LANES || f->code[begin].code == END || vfn_end_of(f, begin) != i)
          begin--;
        if (k == 0 && begin == i - 1) {
          erase(f, i);
          erase(f, begin);
        } else if (k > 0) {
          n->n--;
          f->code[begin].n--;
        } else
          continue;
      } else if (n->code >= LOOP_LANES) {
        continue;
      } else if (n->code == STORE || !is_used(f, n->result)) {
        erase(f, i);
      } else if (f->value[n->result].type != ANY && n->code != CONST) {
        *n = (struct instruction){.code = CONST, .result = n->result, .value = 0x3f800000};
      } else
        continue;
      if (still_wrong(f))
        more = true;
      else
        *f = before;
    }
  }
}

static bool run_case(unsigned number) {
  struct function *f = &functions[below(FUNCTIONS)];
  unsigned wrong;

  if (f->refs == 0 || below(4) == 0)
    vfn_make(f);
  prepare(f);
  const pl_status status = run_both(&wrong, true);
  if (status == PL_ERROR_BUDGET) { /* of a small configuration */
    refused++;
    return true;
  }
  if ((status == PL_ERROR_UNSUPPORTED || status == PL_ERROR_LIMIT) &&
      (strstr(pl_error_message(), "registers") != NULL ||
       strstr(pl_error_message(), "PL_MAX_VECTOR_VALUES") ||
       strstr(pl_error_message(), "there is room for"))) {
    refused++;
    vfn_make(f);
    return true;
  }
  if (status != PL_OK) {
    vfn_print(f);
    suite_ok(status, "vfn case %u: %dx%d", number, (int)job.rows, (int)job.columns);
    vfn_make(f);
    return false;
  }
  compared++;
  if (wrong != 0) {
    if (still_wrong(f)) {
      shrink(f);
      f->fresh = true;
      run_both(&wrong, true);
    } else
      printf("not when it is vfn_recorded again\n");
    vfn_print(f);
    vfn_make(f);
  }
  return wrong == 0;
}

void suite_vfn(void) {
  unsigned wrong = 0;
  for (unsigned i = 0; i < 2 * suite.cases && wrong < 3; i++) {
    if (!run_case(i)) {
      wrong++;
      check(false, "vfn case %u%s%s", i, host_logged() ? ": " : "", host_log());
    }
    suite_release();
  }
  check(wrong == 0 && compared > refused, "vfn: %u launches of random functions, %u refused", compared,
        refused);
}
