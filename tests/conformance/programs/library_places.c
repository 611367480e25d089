/* SPDX-License-Identifier: MIT */
/* The kernel library: kernels that move and choose. Twins: twins/library_places.py. */
#include "argmax.h"
#include "case.h"
#include "elementwise.h"
#include "embedding.h"
#include "paged.h"
#include "pool.h"
#include "rotary.h"
#include "topk.h"

static void library_topk(void) {
  const pl_array x = case_input("x"), y = case_input("y");
  const pl_array values = case_output("values", NULL), indices = case_output("indices", NULL),
                 int_values = case_output("int_values", NULL), int_indices = case_output("int_indices", NULL);

  case_done(kernel_topk(x, values, indices, 16));
  case_done(kernel_topk(y, int_values, int_indices, 0));
}

static void library_rotary(void) {
  const pl_array x = case_input("x"), cosine = case_input("cosine"), sine = case_input("sine"),
                 o = case_output("o", NULL), p = case_output("p", NULL);

  case_done(kernel_rotary(x, cosine, sine, o, 16));
  case_done(kernel_rotary(x, cosine, sine, p, 0));
}

static void library_pool(void) {
  const struct pool most = {POOL_MAX, {3, 3}, {2, 2}, {1, 1}, 3},
                    average = {POOL_AVERAGE, {2, 4}, {2, 3}, {0, 1}, 2};
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL),
                 p = case_output("p", NULL), q = case_output("q", NULL);

  case_done(kernel_pool(x, o, &most));
  case_done(kernel_pool(x, p, &average));
  case_done(kernel_pool(y, q, &most));
}

static void library_paged(void) {
  const pl_array q = case_input("q"), k = case_input("k"), v = case_input("v"), table = case_input("table"),
                 lengths = case_input("lengths"), o = case_output("o", NULL);

  case_done(kernel_paged_attention(q, k, v, table, lengths, o, 0.25f));
}

/* A list of two calls; rows whose columns are cut. */
static void library_embedding(void) {
  const pl_array many = case_input("many"), narrow = case_input("narrow"), few = case_input("few"),
                 wide = case_input("wide"), o = case_output("o", NULL), p = case_output("p", NULL);

  case_done(kernel_embedding(many, narrow, o));
  case_done(kernel_embedding(few, wide, p));
}

/* Each row is named again and again, and each addition rounds. */
static void library_embedding_grad(void) {
  const pl_array ids = case_input("ids"), grad = case_input("grad"), halves = case_input("halves"),
                 o = case_output("o", "table"), p = case_output("p", "half_table");

  case_done(kernel_embedding_grad(ids, grad, o));
  case_done(kernel_embedding_grad(ids, halves, p));
}

static void library_argmax(void) {
  const pl_array x = case_input("x"), y = case_input("y"), indices = case_output("indices", NULL),
                 int_indices = case_output("int_indices", NULL);

  case_done(kernel_argmax(x, indices, 16));
  case_done(kernel_argmax(y, int_indices, 0));
}

static void library_elementwise(void) {
  const pl_array x = case_input("x"), y = case_input("y"), p = case_input("p"), q = case_input("q"),
                 o = case_output("o", NULL), sum = case_output("sum", NULL), rows = case_output("rows", NULL),
                 columns = case_output("columns", NULL);

  case_done(kernel_add(x, y, o, 16));
  case_done(kernel_add(p, q, sum, 0));
  case_done(kernel_iota(rows, 0, 16));
  case_done(kernel_iota(columns, 1, 0));
}

const struct conformance_case conformance_cases[] = {
    CASE(library_topk),      CASE(library_argmax),         CASE(library_elementwise),
    CASE(library_rotary),    CASE(library_pool),           CASE(library_paged),
    CASE(library_embedding), CASE(library_embedding_grad), CASE_END,
};
