/* SPDX-License-Identifier: MIT */
/*
 * Peplos' kernel runtime: the Pallas programming model for C firmware.
 *
 * A kernel is a body, a grid, block specs and scratch. pl_call() runs the body once a grid step, in
 * order, and keeps the blocks it works on moving between HBM and on-chip memory. What pl. and pltpu.
 * mean in JAX is what pl_ means here.
 *
 * Program order. Operations in a body return once they are queued; each takes effect as if it had run
 * to its end before the next began. The runtime makes that true with waits and signals that the
 * commands carry; the scalar core itself waits only where it needs a value (pl_get), where it must not
 * run ahead (pl_put, pl_semaphore_wait) or where a queue is full.
 *
 * Errors. A function that can fail returns pl_status or, inside a body, makes the first error sticky:
 * later operations of the call do nothing and pl_call() returns it. pl_error_message() has the text.
 */
#ifndef PALLAS_H
#define PALLAS_H

#include "tpu_counters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits; passing one is an error that names it. */
enum {
  PL_MAX_OPERANDS = 16,         /* inputs and outputs together */
  PL_MAX_PREFETCH = 8,          /* scalar prefetch arguments */
  PL_MAX_SCRATCH = 16,          /* scratch items of a kernel */
  PL_MAX_GRID = 6,              /* grid dimensions */
  PL_MAX_STEPS = (1 << 24) - 1, /* steps of a call */
  PL_MAX_RANK = 5,              /* dimensions of an array or a block */
  PL_MAX_BUFFERS = 32,          /* buffers of an operand */
  PL_MAX_VIEWS = 24,            /* refs made by pl_at() and its like that can be used at a time */
  PL_MAX_SCOPED = 12,           /* pieces of memory that pl_run_scoped() has given at a time */
  PL_MAX_ALLOCATIONS = 24,      /* live pl_alloc() arrays */
  PL_MAX_REVISIT_BLOCKS =
      16384, /* output blocks, or element windows, remembered one by one; above: see pl_call() */
  PL_MAX_REVISIT_STEPS = 384, /* steps whose blocks are remembered if there are more of them */
};

typedef enum pl_status {
  PL_OK = 0,
  PL_ERROR_ARGUMENT,    /* a call that makes no sense: NULL, a count, a shape of zero */
  PL_ERROR_SPEC,        /* grid, block spec or map do not fit the arrays */
  PL_ERROR_BUDGET,      /* does not fit into on-chip memory; the message has the table */
  PL_ERROR_BLOCK_INDEX, /* a map returned a block outside the array */
  PL_ERROR_REVISIT,     /* an output block was come back to after it had been written back */
  PL_ERROR_REF,         /* a ref used outside its step, or in a way its memory does not allow */
  PL_ERROR_SHAPE,       /* shapes or dtypes of an operation do not fit */
  PL_ERROR_UNSUPPORTED, /* this configuration or this version lacks it */
  PL_ERROR_LIMIT,       /* one of the PL_MAX_ constants */
  PL_ERROR_SEMAPHORE,   /* at the end of a kernel a semaphore is not zero or a copy not waited for */
  PL_ERROR_DEADLOCK,    /* nothing can go on: commands wait for signals nobody can send */
  PL_ERROR_DEVICE,      /* the device reported an error, or is not the expected one */
  PL_ERROR_DATA,        /* a data file is missing or damaged, or an array in it is not as expected */
  PL_ERROR_CHECK,       /* pl_debug_check() found its condition false */
} pl_status;

/* The name of a status, without PL_. */
const char *pl_status_name(pl_status status);
/* The text of the last error: kernel, operand, step, what is wrong, what would be right. */
const char *pl_error_message(void);
/*
 * For kernels: makes this the error of the call they are part of, with kernel and step in front if one
 * runs, and returns it. In a body the first error stays; outside it replaces the one of an earlier call.
 */
pl_status pl_error(pl_status status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Element types; the numbers are those of data files (docs/data-format.md). */
typedef enum pl_dtype { PL_F32 = 0, PL_BF16 = 1, PL_INT32 = 2, PL_INT8 = 3, PL_UINT8 = 4 } pl_dtype;

uint32_t pl_dtype_bytes(pl_dtype dtype);
const char *pl_dtype_name(pl_dtype dtype);
/* Whether it is f32 or bf16. */
static inline bool pl_is_float(unsigned dtype) {
  return dtype == PL_F32 || dtype == PL_BF16;
}

/* Memory spaces. */
typedef enum pl_space {
  PL_DEFAULT = 0, /* of a block spec: VMEM, or where the array is if that is on the chip */
  PL_HBM,
  PL_VMEM,
  PL_SMEM,
  PL_ACC, /* accumulators: written by pl_dot, read and written by vector operations; rank <= 2 */
  PL_SEMAPHORE,
} pl_space;
#define PL_ANY PL_HBM

/* ---- arrays ---- */

/*
 * An array in HBM, VMEM, SMEM or ACC; row-major. address: bytes from the start of the space, in ACC a
 * row. pitch: bytes between rows of the last dimension (packed in HBM and SMEM, a multiple of
 * LANES elements in VMEM); in ACC the rows between column tiles.
 */
typedef struct pl_array {
  uint32_t address;
  uint32_t pitch;
  int32_t shape[PL_MAX_RANK];
  uint8_t rank;
  uint8_t dtype; /* pl_dtype */
  uint8_t space; /* pl_space */
  uint8_t zero;  /* no padding: plans are found by comparing words */
} pl_array;

/* The extents of an array or a block; up to PL_MAX_RANK. */
typedef struct pl_shape {
  int32_t extent[PL_MAX_RANK];
  uint8_t rank;
  uint8_t zero[3];
} pl_shape;

#define PL_COUNT(...) (sizeof((int32_t[]){0, ##__VA_ARGS__}) / sizeof(int32_t) - 1)
#define PL_SHAPE(...) ((pl_shape){.extent = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__)})

/* An array at a byte offset of HBM, packed. */
pl_array pl_hbm_array(uint32_t offset, pl_dtype dtype, pl_shape shape);
/* Bytes of an array's elements, without padding. */
uint32_t pl_array_bytes(const pl_array *array);
/* Where the scalar core sees an HBM array's first element. */
void *pl_hbm_pointer(const pl_array *array);

/*
 * Memory that lives until pl_free(): a kernel that gets the array uses it in place, without a copy,
 * and plans count it out of their budget. PL_HBM takes from the part of HBM behind the data file.
 */
pl_status pl_alloc(pl_space space, pl_dtype dtype, pl_shape shape, pl_array *array);
pl_status pl_free(const pl_array *array);

/* Opens the data file at the start of HBM (docs/data-format.md): checks all of it but the arrays' CRCs. */
pl_status pl_data_open(void);
/* Whether the open data file has an array of this name, damaged or not. */
bool pl_data_has(const char *name);
/* Finds an array by name and checks its CRC. */
pl_status pl_data_find(const char *name, pl_array *array);

/* ---- kernels ---- */

struct pl_view;
/*
 * A view of memory. The ref of a block is valid in its step only, that of a scratch in its call. One that
 * is all zero is no ref.
 */
typedef struct pl_ref {
  struct pl_view *view;
  uint32_t generation;
} pl_ref;

/* A position in the grid, for maps. user: the kernel's. */
typedef struct pl_grid {
  int32_t id[PL_MAX_GRID];
  int32_t extent[PL_MAX_GRID];
  uint32_t rank;
  void *user;
} pl_grid;

/* What a map says for one dimension. */
typedef struct pl_index {
  int32_t start; /* PL_BLOCKED: block index; other kinds: element */
  int32_t size;  /* PL_BOUNDED: elements from start on, 0 .. the block's extent */
  pl_ref list;   /* PL_INDIRECT: the indices, int32 in SMEM, as many as the block has or fewer */
} pl_index;

/*
 * Writes the index of every dimension: a function of the position and of what pl_prefetch(n) refers to,
 * evaluated once a step, ahead of it.
 */
typedef void (*pl_map)(const pl_grid *grid, pl_index *block);

/* How a dimension of an array is cut, and what the map returns for it. */
enum pl_dimension_kind {
  PL_BLOCKED = 0, /* into blocks of the extent `shape`; the map returns the number of a block */
  PL_SQUEEZED,    /* one element, and the ref lacks the dimension; shape 0 or 1 */
  PL_ELEMENT,     /* windows of the extent `shape` that may overlap; the map returns the first element */
  PL_BOUNDED,     /* the map returns the first element and how many, `shape` at most */
  PL_INDIRECT,    /* gathers and scatters: the map returns a list of indices, `shape` at most */
};

/*
 * PL_INDIRECT. An input's block is the rows (or what lies in that dimension) that the list names, gathered by
 * one copy; what the list is too short for is filled. An output's block is scattered: row i goes where entry
 * i says; what is behind the list is dropped, rows that no list names stay, and of equal indices the later
 * one stands, in a list and from step to step. The list is a scalar prefetch argument or a part of it
 * (b[0].list = pl_at(pl_prefetch(0), PL_DS(8 * g->id[0], 8))), or in pl_emit_pipeline() any such ref of the
 * body around it. It is read when the block is copied, by the DMA: of an output when the block is written
 * back, so that it must not change before. Every step of such an operand is a copy, unless the list is empty.
 * One dimension of an operand can be so, and no operand with inout, revisit_any or alias.
 */

/* What the part of an input block holds that lies behind the array's end (or the size of PL_BOUNDED). */
enum pl_fill_kind {
  PL_FILL_VALUE = 0,   /* pad_value, with every fetch */
  PL_FILL_UNSPECIFIED, /* nothing is written there: undefined */
};

/*
 * How an operand is cut into blocks. rank 0: the whole array. No map: index 0 in every dimension. Refs
 * have the whole block shape also at the edge: on input the rest is filled, on output it is dropped.
 */
typedef struct pl_block_spec {
  pl_map map;
  int32_t shape[PL_MAX_RANK];
  uint8_t rank;
  uint8_t space;                 /* pl_space; PL_HBM: the body gets a ref of the whole array in HBM */
  uint8_t buffer_count;          /* 0: 2 */
  uint8_t kind[PL_MAX_RANK];     /* enum pl_dimension_kind */
  uint32_t fill : 1;             /* enum pl_fill_kind */
  uint32_t lookahead : 1;        /* inputs: fetch the next blocks that change as soon as a buffer is free */
  uint32_t inout : 1;            /* outputs: every block is loaded before its first step */
  uint32_t revisit_any : 1;      /* outputs: a block that is come back to is loaded again */
  uint32_t alias : 6;            /* outputs: PL_ALIAS(n), its memory is that of input n */
  uint32_t prefetched : 6;       /* pl_emit_pipeline: buffers of `allocations` that the caller has filled */
  uint32_t zero : 16;            /* no padding: plans are found by comparing words */
  uint32_t pad_value;            /* for float dtypes the bits of an f32 */
  int32_t pad_high[PL_MAX_RANK]; /* of PL_ELEMENT: windows may end that far behind the array's end */
} pl_block_spec;

/* A spec by field: PL_SPEC(PL_DIMS(8, 128), .map = rows, .kind = {PL_ELEMENT}). */
#define PL_SPEC(...) (&(const pl_block_spec){__VA_ARGS__})
#define PL_DIMS(...) .shape = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__)
#define PL_ALIAS(n_) ((n_) + 1)
#define PL_BLOCK(map_, ...)                                                                                  \
  (&(const pl_block_spec){.map = (map_), .shape = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__)})
#define PL_BUFFERED(buffers_, map_, ...)                                                                     \
  (&(const pl_block_spec){                                                                                   \
      .map = (map_), .shape = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__), .buffer_count = (buffers_)})
/* Blocks in SMEM, for pl_get() and pl_put(). */
#define PL_SMEM_BLOCK(map_, ...)                                                                             \
  (&(const pl_block_spec){                                                                                   \
      .map = (map_), .shape = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__), .space = PL_SMEM})
#define PL_WHOLE  (&(const pl_block_spec){.rank = 0})
#define PL_IN_HBM (&(const pl_block_spec){.space = PL_HBM})
/* An output whose blocks are read, changed and written. */
#define PL_INOUT(map_, ...)                                                                                  \
  (&(const pl_block_spec){.map = (map_), .shape = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__), .inout = 1})

/* Scratch: memory of the kernel, not initialised, kept over all steps. */
typedef struct pl_scratch_spec {
  uint8_t space, dtype;
  uint8_t zero[2];
  pl_shape shape;
} pl_scratch_spec;

#define PL_SCRATCH_OF(space_, dtype_, ...)                                                                   \
  (&(const pl_scratch_spec){.space = (space_),                                                               \
                            .dtype = (dtype_),                                                               \
                            .shape = {.extent = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__)}})
#define PL_VMEM(dtype_, ...) PL_SCRATCH_OF(PL_VMEM, dtype_, __VA_ARGS__)
#define PL_SMEM(dtype_, ...) PL_SCRATCH_OF(PL_SMEM, dtype_, __VA_ARGS__)
#define PL_ACC(dtype_, ...)  PL_SCRATCH_OF(PL_ACC, dtype_, __VA_ARGS__)
/* An array of counting semaphores of any shape, for copies (bytes) or for pl_semaphore_signal (counts). */
#define PL_SEMAPHORES(...) PL_SCRATCH_OF(PL_SEMAPHORE, PL_INT32, __VA_ARGS__)

/*
 * ARBITRARY: in order, steps may carry state. PARALLEL: in any order, on any core, without. CORE_PARALLEL:
 * PARALLEL, and this is the dimension that cores share.
 */
enum pl_dimension { PL_ARBITRARY = 0, PL_PARALLEL, PL_CORE_PARALLEL };

typedef struct pl_grid_spec {
  int32_t extent[PL_MAX_GRID]; /* n, or pl_dyn(n) */
  uint8_t rank;
  uint8_t zero[3];
} pl_grid_spec;

/* What pl_dyn() makes are the least numbers of all, which nobody writes for an extent. */
enum { PL_DYN_FLAG = INT32_MIN, PL_DYN_MOST = PL_MAX_STEPS + 1 };
/* A run-time extent: 0 or less makes the call do nothing, where a static one would be an error. */
static inline int32_t pl_dyn(int32_t n) {
  return (n < 0 ? 0 : n < PL_DYN_MOST ? n : PL_DYN_MOST) | PL_DYN_FLAG; /* far too many stay too many */
}
#define PL_DYN(n_) pl_dyn(n_)
#define PL_GRID(...)                                                                                         \
  { .extent = {__VA_ARGS__}, .rank = PL_COUNT(__VA_ARGS__) }

/* Work of a whole call, for predictions only (pl_plan()); a run does not look at it. */
typedef struct pl_cost_estimate {
  int32_t dot[3];           /* M, N, K of the dot in every step */
  uint64_t macs;            /* multiply-accumulates of other dots; fewer rows than DIM + 1 count as DIM + 1 */
  uint64_t vector_elements; /* elements computed by vector operations, an operation at a time */
  uint64_t instructions;    /* of the scalar core in bodies, but for a dot and a vector operation */
  bool vector_steps;        /* vector operations are in every step, and not behind a block of output */
  bool chained; /* matrix and vector unit take turns: each needs what the other made, or its place */
} pl_cost_estimate;

typedef struct pl_kernel {
  const char *name;
  void (*body)(void);
  pl_grid_spec grid;                                               /* rank 0: one step */
  uint8_t dimension_semantics[PL_MAX_GRID + 2];                    /* enum pl_dimension; the last two are 0 */
  const pl_block_spec *in[PL_MAX_OPERANDS], *out[PL_MAX_OPERANDS]; /* NULL: whole array */
  const pl_scratch_spec *scratch[PL_MAX_SCRATCH];
  void *user; /* pl_user() and pl_grid.user */
  /*
   * The first arguments, which have no spec: copied whole to SMEM before anything else, for maps and body
   * (pl_prefetch). The copies are the call's own: the body may change them, and nothing goes back.
   */
  uint32_t num_scalar_prefetch;
  const char *grid_names[PL_MAX_GRID]; /* for pl_axis(); NULL: no name */
  void (*prologue)(void);              /* pl_emit_pipeline: runs when the first fetches are queued */
  pl_cost_estimate cost;
} pl_kernel;

typedef struct pl_arrays {
  const pl_array *array;
  uint32_t count;
} pl_arrays;
#define PL_ARRAYS(...)                                                                                       \
  ((pl_arrays){(const pl_array[]){__VA_ARGS__}, sizeof((const pl_array[]){__VA_ARGS__}) / sizeof(pl_array)})
#define PL_ARGS(...)    PL_ARRAYS(__VA_ARGS__)
#define PL_RESULTS(...) PL_ARRAYS(__VA_ARGS__)

/*
 * Runs a kernel and returns when all of it is complete. Blocks of an operand whose index does not
 * change from one step to the next stay where they are: an input costs as many copies as it has runs
 * of equal indices, an output as many write-backs. Coming back to an output block after it was written
 * back is an error; with more than PL_MAX_REVISIT_BLOCKS blocks (windows of ELEMENT and BOUNDED dimensions
 * are many) and PL_MAX_REVISIT_STEPS steps, so is any order but an ascending one. Plans are cached by kernel
 * contents, shapes and dtypes. args: the scalar prefetch arguments, then the inputs. Parallel dimensions come
 * before arbitrary ones.
 */
pl_status pl_call(const pl_kernel *kernel, pl_arrays args, pl_arrays results);

/*
 * Runs the body once over the arrays themselves, without grid and blocks: pl_arg(n) is array n, whole, where
 * it is, and may be written. The body allocates scratch, copies, and pipelines with pl_emit_pipeline().
 */
pl_status pl_kernel_call(const pl_kernel *kernel, pl_arrays arrays);

/* The part of a grid that one of several cores runs: ids offset .. offset + extent - 1 of one dimension. */
typedef struct pl_core_part {
  int32_t dimension; /* -1: all of the grid */
  int32_t offset, extent;
} pl_core_part;

/*
 * How a grid is divided between cores: the CORE_PARALLEL dimension if there is one; else the first static
 * PARALLEL dimension that the number of cores divides; else the only PARALLEL dimension, if it is a
 * run-time one; else the largest static PARALLEL dimension, the first of equals. Parts are contiguous, the
 * first cores get one step more. PL_ERROR_SPEC: no such dimension, several CORE_PARALLEL ones, or several
 * run-time candidates. With one core the part is all of the grid.
 */
pl_status pl_partition_grid(const pl_grid_spec *grid, const uint8_t *dimension_semantics, uint32_t cores,
                            uint32_t core, pl_core_part *part);

/*
 * Whether cores that share a grid in that way may all write output `number`: PL_ERROR_SPEC if more than one
 * core gets steps and the output's map gives the same block all along the shared dimension. Asks the map,
 * which must not need arguments of a call (pl_prefetch()), at every position until two blocks differ.
 */
pl_status pl_partition_output(const pl_grid_spec *grid, const uint8_t *dimension_semantics, uint32_t cores,
                              const pl_block_spec *output, uint32_t number);

/* What the last pl_call() did. */
typedef struct pl_stats {
  uint64_t cycles;                                  /* from entry to return */
  uint32_t instructions;                            /* of the scalar core, likewise */
  uint32_t setup_instructions, finish_instructions; /* entry to the first body, last body to return */
  uint32_t steps;
  uint32_t copies[PL_MAX_OPERANDS]; /* fetches of the inputs, then write-backs of the outputs */
  uint32_t
      reloads[PL_MAX_OPERANDS]; /* by output: fetches of blocks that are read, too (inout, revisit_any) */
  bool plan_was_cached;
  tpu_counter_set queue[7]; /* by enum tpu_queue */
} pl_stats;

void pl_get_stats(pl_stats *stats);
/* Of the last pl_emit_pipeline(): steps, copies and reloads; the rest is 0. */
void pl_get_pipeline_stats(pl_stats *stats);

/*
 * For a program that drove or reset the device by itself: the next call starts with a soft reset and
 * sets it up anew. Arrays of pl_alloc() stay.
 */
void pl_device_lost(void);

/* What pl_call() of a kernel would do, found without running it; see pl_predict(). */
enum pl_bottleneck {
  PL_BOUND_NONE = 0,
  PL_BOUND_DMA_IN,
  PL_BOUND_DMA_OUT,
  PL_BOUND_MXU,
  PL_BOUND_VPU,
  PL_BOUND_SCALAR
};
typedef struct pl_prediction {
  uint32_t steps;
  uint32_t copies[PL_MAX_OPERANDS]; /* as pl_stats.copies */
  uint64_t bytes_in, bytes_out;     /* moved by the pipeline: fill counts where it is written */
  uint32_t memory[4];               /* bytes of VMEM, of SMEM, rows of ACC, semaphores: what the plan takes */
  uint64_t dma_in, dma_out, mxu, vpu, scalar; /* cycles each would need alone */
  uint64_t cycles;                            /* of the whole call */
  uint64_t longest;                           /* pl_predict_calls(): of the call that has most of them */
  enum pl_bottleneck bottleneck;
} pl_prediction;

/*
 * Walks the maps over the grid: copies and bytes are exact for maps that read nothing the kernel writes.
 * Cycles are a model: bytes over the port's width in each direction, the work that kernel->cost declares,
 * and the scalar core's instructions a step. Fails as pl_call() would before its first step.
 */
pl_status pl_predict(const pl_kernel *kernel, pl_arrays args, pl_arrays results, pl_prediction *prediction);
/*
 * For kernels that are functions around pl_call(), as those of the library are: from here on every pl_call()
 * is predicted instead of run, and what it would do is added to *sum (bottleneck: of the longest). NULL:
 * calls run again.
 */
void pl_predict_calls(pl_prediction *sum);
/* Prints the plan and the prediction: tiles, buffers, copies, bytes, memory, cycles, what bounds them. */
pl_status pl_plan(const pl_kernel *kernel, pl_arrays args, pl_arrays results);

/* ---- inside a body ---- */

/* One dimension of pl_at(). */
typedef struct pl_slice {
  int32_t start, size, stride;
} pl_slice;
enum { PL_SIZE_REST = INT32_MIN, PL_SIZE_DROPPED = INT32_MIN + 1 }; /* sizes that nobody computes */
#define PL_ALL ((pl_slice){0, PL_SIZE_REST, 1})
/* Elements start .. start + size - 1; a size of 0 makes a view that only copies accept. */
#define PL_DS(start_, size_) ((pl_slice){(start_), (size_), 1})
/* Elements start, start + stride, ...; size of them. */
#define PL_DS_STRIDED(start_, size_, stride_) ((pl_slice){(start_), (size_), (stride_)})
/* Element i; the dimension is dropped. */
#define PL_INDEX(i_) ((pl_slice){(i_), PL_SIZE_DROPPED, 1})

/*
 * Views. Each is a ref like any other: of the same memory, valid in its step, until PL_MAX_VIEWS others
 * were made. They compose. A view whose rows do not begin at multiples of LANES elements in VMEM, or whose
 * elements are not neighbours, costs the vector and matrix units a copy to an aligned temporary (and back,
 * if it is written), which the runtime makes; DMA and scalar accesses take any view.
 */
/* A part of a ref: one slice a dimension, from the first on; missing ones are PL_ALL. */
pl_ref pl_at_slices(pl_ref ref, const pl_slice *slices, unsigned n);
#define pl_at(ref_, ...)                                                                                     \
  pl_at_slices((ref_), (const pl_slice[]){__VA_ARGS__},                                                      \
               sizeof((const pl_slice[]){__VA_ARGS__}) / sizeof(pl_slice))
/* The same elements, in row-major order, in another shape; an error if only a copy could do it. */
pl_ref pl_reshape(pl_ref ref, pl_shape shape);
/* The same bytes as elements of another type; the last dimension gets longer or shorter by the ratio. */
pl_ref pl_bitcast(pl_ref ref, pl_dtype dtype);
/* Without a dimension, whose extent must be 1. */
pl_ref pl_squeeze(pl_ref ref, unsigned dimension);

uint32_t pl_ref_rank(pl_ref ref);
pl_dtype pl_ref_dtype(pl_ref ref);
/* Extent of a ref's dimension. */
int32_t pl_ref_extent(pl_ref ref, unsigned dimension);

/* Values of the bits in the MXU's MODE register; the precision is for f32 operands. */
enum pl_dot_mode {
  PL_OVERWRITE = 0,
  PL_TRANSPOSED = 2,
  PL_ACCUMULATE = 4,
  PL_PRECISION_HIGH = 8,     /* f32 operands in two bf16 parts, three passes: 16 bits */
  PL_PRECISION_HIGHEST = 16, /* in three parts, six passes: 24 bits */
};
/*
 * acc[M,N] (+)= x[M,K] . y[K,N]; with PL_TRANSPOSED y is [N,K]. bf16 x bf16 gives f32, int8 x int8
 * gives int32; acc is in ACC, x and y in VMEM. f32 operands are rounded to bf16 or split as PL_PRECISION_
 * says, in scoped memory (bytes of the bf16 parts, and of a copy in f32 for HIGHEST, in the body's room). An
 * OVERWRITE of a whole scratch takes a fresh physical accumulator if there is one, so that the previous
 * result can be drained meanwhile.
 */
static inline void pl_dot(pl_ref acc, pl_ref x, pl_ref y, unsigned mode);

/*
 * o = cast(x). Between VMEM and ACC by the vector unit, with conversion; between any other spaces by
 * DMA, dtypes equal. Float to int rounds toward zero and saturates; int to a narrower int wraps.
 */
void pl_copy(pl_ref o, pl_ref x);
/*
 * o = a + b and so on; b may have one row or one column, or be one element, which is then used for all.
 * Floats are computed in f32, ints modulo 2^32 and narrowed as pl_copy does. max and min of floats: NaN
 * if either is NaN.
 */
void pl_add(pl_ref o, pl_ref a, pl_ref b);
void pl_sub(pl_ref o, pl_ref a, pl_ref b);
void pl_mul(pl_ref o, pl_ref a, pl_ref b);
void pl_max(pl_ref o, pl_ref a, pl_ref b);
void pl_min(pl_ref o, pl_ref a, pl_ref b);
/* o = a < b ? 1 : 0, and so on; o of any dtype. A comparison with NaN is 0, except of pl_not_equal. */
void pl_less(pl_ref o, pl_ref a, pl_ref b);
void pl_less_equal(pl_ref o, pl_ref a, pl_ref b);
void pl_equal(pl_ref o, pl_ref a, pl_ref b);
void pl_not_equal(pl_ref o, pl_ref a, pl_ref b);
/* o = mask != 0 ? a : b. a and b as in pl_add; mask int32, int8 or uint8 of o's shape, or one row or column.
 */
void pl_where(pl_ref o, pl_ref mask, pl_ref a, pl_ref b);
/* o = x where mask != 0; the rest of o stays. */
void pl_store_masked(pl_ref o, pl_ref x, pl_ref mask);
/* The first rows and columns of o = those of x, which has o's shape; the rest of o stays. */
void pl_store_bounded(pl_ref o, pl_ref x, int32_t rows, int32_t columns);
/* o = x, which has one row, one column or one element, everywhere; with a cast as pl_copy. */
void pl_broadcast(pl_ref o, pl_ref x);
/* o[..., i, ...] = i along a dimension: the last, or the last but one if those before have extent 1. */
void pl_iota(pl_ref o, unsigned dimension);
/* Over what a reduction goes: the elements of a column (result [1, columns]), of a row ([rows, 1]), all. */
enum pl_reduction { PL_OVER_ROWS = 0, PL_OVER_COLUMNS = 1, PL_OVER_ALL = 2 };
/* The order of a sum is fixed (docs/contract.md, vector reductions), so that both models agree. */
void pl_reduce_sum(pl_ref o, pl_ref x, enum pl_reduction over);
void pl_reduce_max(pl_ref o, pl_ref x, enum pl_reduction over);
void pl_reduce_min(pl_ref o, pl_ref x, enum pl_reduction over);
/*
 * o = x with elements moved `shift` places towards higher indices of a dimension, those past the end to its
 * start; any integer. o has x's shape and dtype, and shares no memory with it. Two copies by DMA.
 */
void pl_roll(pl_ref o, pl_ref x, int32_t shift, unsigned dimension);
/*
 * o[j, i] = x[i, j]: rank 2, any extents, equal dtypes, o in VMEM. bf16 as a narrowing store does: NaNs
 * become canonical, subnormals zero. Extents that are no multiples of LANES (of 8 with 4 lanes) cost a
 * temporary and a copy.
 */
void pl_transpose(pl_ref o, pl_ref x);
/*
 * o, int32, gets random bits: those of element (row + i, column + j) under the key are in o[i, j], so that
 * they depend neither on blocks nor on the model. Leading dimensions are folded into rows. Threefry-2x32-20:
 * with the key {0, seed} row 0 is jax.random.bits(jax.random.key(seed), (n,)).
 */
void pl_random_bits(pl_ref o, const uint32_t key[2], uint32_t row, uint32_t column);
/*
 * o, bf16, = x, f32, rounded up with the probability of the part that is cut off: x's bits plus the low 16 of
 * bits (int32, x's shape), then cut. Infinities and NaN as pl_copy.
 */
void pl_stochastic_round(pl_ref o, pl_ref x, pl_ref bits);
/* No ref, where one is optional. */
extern struct pl_view pl_nothing;
#define PL_NO_REF ((pl_ref){&pl_nothing, 1})
/* o = max(x + bias, 0); bias as b of pl_add, or PL_NO_REF. */
void pl_relu(pl_ref o, pl_ref x, pl_ref bias);
/* o[i] = index of the largest element of row i of x, the first one of equals or the first NaN; int32. */
void pl_argmax(pl_ref o, pl_ref x);
/* Every element of o gets the value; for float dtypes the bits of an f32. */
void pl_fill(pl_ref o, uint32_t value);

/*
 * Scalars in SMEM and VMEM. Waits for whoever writes there; pl_put also for queued readers. f32 and bf16 are
 * the bits of an f32, which pl_get_float and pl_put_float take as a float; bf16 is rounded to nearest even.
 */
int32_t pl_get_at(pl_ref ref, const int32_t *index, unsigned n);
void pl_put_at(pl_ref ref, int32_t value, const int32_t *index, unsigned n);
#define pl_get(ref_, ...) pl_get_at((ref_), (const int32_t[]){__VA_ARGS__}, PL_COUNT(__VA_ARGS__))
#define pl_put(ref_, value_, ...)                                                                            \
  pl_put_at((ref_), (value_), (const int32_t[]){__VA_ARGS__}, PL_COUNT(__VA_ARGS__))

/* Likewise for a float dtype, as the bits of C floats. */
static inline float pl_get_float_at(pl_ref ref, const int32_t *index, unsigned n) {
  union {
    int32_t bits;
    float value;
  } u = {.bits = pl_get_at(ref, index, n)};
  return u.value;
}
static inline void pl_put_float_at(pl_ref ref, float value, const int32_t *index, unsigned n) {
  union {
    float value;
    int32_t bits;
  } u = {.value = value};
  pl_put_at(ref, u.bits, index, n);
}
#define pl_get_float(ref_, ...) pl_get_float_at((ref_), (const int32_t[]){__VA_ARGS__}, PL_COUNT(__VA_ARGS__))
#define pl_put_float(ref_, value_, ...)                                                                      \
  pl_put_float_at((ref_), (value_), (const int32_t[]){__VA_ARGS__}, PL_COUNT(__VA_ARGS__))

/*
 * Memory for the time of one function: VMEM, SMEM, ACC or semaphores, as the macros of scratch say, out of
 * what the plan leaves free. body gets the refs in order; they end with it. Uninitialised; semaphores are
 * zero, and must be again at the end. Scopes may be nested.
 */
typedef void (*pl_scoped_body)(const pl_ref *refs, void *user);
void pl_run_scoped_specs(pl_scoped_body body, void *user, const pl_scratch_spec *const *specs, unsigned n);
#define pl_run_scoped(body_, user_, ...)                                                                     \
  pl_run_scoped_specs((body_), (user_), (const pl_scratch_spec *const[]){__VA_ARGS__},                       \
                      sizeof((const pl_scratch_spec *const[]){__VA_ARGS__}) /                                \
                          sizeof(const pl_scratch_spec *))

/*
 * A copy between any spaces but ACC; shapes and dtypes are equal, and the sides share no memory. From
 * pl_start() to pl_wait() neither side may be touched. The refs are good for starting in the step that made
 * them; waiting needs only the semaphore and the bytes, so that a handle may be kept, or made anew, to wait
 * in a later step.
 */
typedef struct pl_copy_handle {
  pl_ref src, dst;
  uint32_t bytes;
  uint32_t semaphore; /* number of the runtime's; 0: none */
  uint32_t use;       /* of the semaphore: the handle ends with its scope or call */
} pl_copy_handle;

pl_copy_handle pl_make_async_copy(pl_ref src, pl_ref dst, pl_ref semaphore);
void pl_start(const pl_copy_handle *copy);
/* A higher priority (0..3) goes first where channels compete; it changes no result. */
void pl_start_priority(const pl_copy_handle *copy, unsigned priority);
/*
 * Commands after it start when the semaphore has counted the copy's bytes, which are then taken out of
 * it. Does not stop the scalar core.
 */
void pl_wait(const pl_copy_handle *copy);
/* Make and start. */
pl_copy_handle pl_async_copy(pl_ref src, pl_ref dst, pl_ref semaphore);
/* Lists of copies, in order. */
void pl_start_all(const pl_copy_handle *copies, unsigned n);
void pl_wait_all(const pl_copy_handle *copies, unsigned n);
/* A copy in program order, like any other operation. */
void pl_sync_copy(pl_ref src, pl_ref dst);

/*
 * Rows by a list of indices: dst[i, ...] = src[list[i], ...] and dst[list[i], ...] = src[i, ...]. The list is
 * int32 of rank 1 in SMEM; indices may repeat, of two rows scattered to one place the later in the list
 * stands. dtypes are equal, and so are the extents behind the first; src and dst are in any space but ACC and
 * share no memory. One DMA command, which reads the list itself. An index that is no row: PL_ERROR_DEVICE,
 * with the entry and the index, and nothing of the copy has moved.
 */
void pl_gather(pl_ref dst, pl_ref src, pl_ref list);
void pl_scatter(pl_ref dst, pl_ref src, pl_ref list);
/* As pl_async_copy(): dst, src and list may not be touched until pl_wait(). The handle cannot be started
 * again. */
pl_copy_handle pl_async_gather(pl_ref dst, pl_ref src, pl_ref list, pl_ref semaphore);
pl_copy_handle pl_async_scatter(pl_ref dst, pl_ref src, pl_ref list, pl_ref semaphore);
/*
 * dst[list[i], ...] += src[i, ...], one after the other in the order of the list, whatever repeats; dtypes
 * and rounding as pl_add(). In scoped memory: VMEM for up to 64 rows twice, and SMEM. The scalar core reads
 * the list, so it waits for who writes it. An index that is no row: PL_ERROR_REF; entries of earlier parts of
 * 64 are added then.
 */
void pl_scatter_add(pl_ref dst, pl_ref src, pl_ref list);

/* Adds when everything queued before is done. */
void pl_semaphore_signal(pl_ref semaphore, uint32_t amount);
/* Stops the scalar core until the semaphore holds the amount, and takes it. */
void pl_semaphore_wait(pl_ref semaphore, uint32_t amount);
/* The value after the signals and waits queued so far; copies under way may add to it. */
uint32_t pl_semaphore_read(pl_ref semaphore);

/*
 * Cores. There is one now; the calls are those that several will need, and what would reach another core
 * fails with PL_ERROR_UNSUPPORTED.
 */
/*
 * Every core's commands before its n-th barrier are complete before any core goes on behind its n-th.
 * Barriers are counted over all calls and never reset, so that none is mistaken for the next. Returns n.
 */
uint32_t pl_core_barrier(void);
void pl_semaphore_signal_core(pl_ref semaphore, uint32_t amount, uint32_t core);
/* A push to dst's place on that core; the local semaphore counts what has left, the other what arrived. */
pl_copy_handle pl_make_async_remote_copy(pl_ref src, pl_ref dst, pl_ref send_semaphore,
                                         pl_ref receive_semaphore, uint32_t core);

/* ---- debugging ---- */

enum pl_debug_flags {
  PL_DEBUG_CHECKS = 1,  /* pl_debug_check() looks */
  PL_DEBUG_POISON = 2,  /* scratch, scoped memory and output slots begin as NaN or the least int */
  PL_DEBUG_PRINT = 4,   /* pl_debug_print() prints */
  PL_DEBUG_SHUFFLE = 8, /* steps of PL_PARALLEL dimensions come in another order, which the seed says */
};
/* Off but for PRINT, or, if the runtime was built with DEBUG=1, all on. Between calls. */
void pl_debug_set(unsigned flags);
unsigned pl_debug_get(void);
/* Another order for PL_DEBUG_SHUFFLE. Between calls. */
void pl_debug_seed(uint32_t seed);
/* Where what is printed goes; NULL: stdout. */
void pl_debug_output(void (*write)(const char *text));
/* printf with kernel, step and grid position in front and a newline behind. */
void pl_debug_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Label, dtype, shape and elements of a ref in VMEM, SMEM or HBM; waits for whoever writes it. */
void pl_debug_print_ref(const char *label, pl_ref ref);
/* An error of the call if the condition does not hold; evaluates nothing unless PL_DEBUG_CHECKS is set. */
#define pl_debug_check(condition_, ...)                                                                      \
  do {                                                                                                       \
    if ((pl_debug_get() & PL_DEBUG_CHECKS) && !(condition_))                                                 \
      pl_error(PL_ERROR_CHECK, "check failed: " __VA_ARGS__);                                                \
  } while (0)

/*
 * Scopes and values in the trace, at the scalar core's time. The name is known in the trace by the low 24
 * bits of its address: it must be a string constant, and the trace viewer reads it from the ELF.
 */
void pl_named_scope_begin(const char *name);
void pl_named_scope_end(const char *name);
/* PL_NAMED_SCOPE("load") { ... }: not to be left by break, goto or return. */
#define PL_NAMED_SCOPE(name_)                                                                                \
  for (int pl_scope_once_ = (pl_named_scope_begin(name_), 1); pl_scope_once_;                                \
       pl_scope_once_ = (pl_named_scope_end(name_), 0))
/* A label and a value of 32 bits. */
void pl_trace_value(const char *label, int32_t value);
/* ---- pipelines inside a body ---- */

typedef struct pl_refs {
  const pl_ref *ref;
  uint32_t count;
} pl_refs;
/* A function, so that the pair stays in registers. */
static inline pl_refs pl_refs_of(const pl_ref *ref, uint32_t count) {
  return (pl_refs){ref, count};
}
#define PL_REFS(...)                                                                                         \
  pl_refs_of((const pl_ref[]){__VA_ARGS__}, sizeof((const pl_ref[]){__VA_ARGS__}) / sizeof(pl_ref))

/*
 * Buffers that the caller owns and that live across pipelines: for each input or output no ref, or one in
 * VMEM or SMEM of the shape [buffer_count, block...]. The first spec.prefetched buffers of an input hold
 * the blocks of its first runs already. Buffers of two operands have no element in common, nor with an array
 * that is used in place; that is PL_ERROR_REF.
 */
typedef struct pl_allocations {
  pl_ref in[PL_MAX_OPERANDS], out[PL_MAX_OPERANDS];
} pl_allocations;

/*
 * Runs a pipeline over refs of the running kernel, which may be parts (pl_at) of arrays in HBM; one that is
 * on the chip is used in place. Inside it pl_input(), pl_program_id(), pl_user() and so on are the
 * pipeline's, and refs of the outer body stay valid. When it returns, what it wrote can be used by later
 * operations. Not for num_scalar_prefetch; dimensions may be PARALLEL in any order. Outputs in HBM have no
 * element in common (the columns of one array can be shared out); that is PL_ERROR_REF.
 */
void pl_emit_pipeline(const pl_kernel *pipeline, pl_refs in, pl_refs out);
void pl_emit_pipeline_with_allocations(const pl_kernel *pipeline, pl_refs in, pl_refs out,
                                       const pl_allocations *allocations);

/* Smallest integer >= a / b; b > 0. */
static inline int32_t pl_cdiv(int32_t a, int32_t b) {
  return (a + b - 1) / b;
}

/* ---- the running kernel: the part of its context that inline functions need ---- */

struct pl_view_head {
  uint32_t generation;
};

struct pl_context_head {
  pl_grid grid;
  uint32_t inputs, outputs, scratches, prefetches; /* 0 outside a body */
  struct pl_view *input[PL_MAX_OPERANDS], *output[PL_MAX_OPERANDS], *scratch[PL_MAX_SCRATCH];
  struct pl_view *prefetch[PL_MAX_PREFETCH];
};

#ifdef TPU_HOST
extern _Thread_local struct pl_context_head *pl_running;
#else
/* One context a hart. */
register struct pl_context_head *pl_running __asm__("tp");
#endif

/* Makes the error "there is no such operand" sticky. */
pl_ref pl_no_operand(const char *kind, int n, uint32_t count);
int32_t pl_no_axis(int axis);

static inline pl_ref pl_ref_of(struct pl_view *const *list, uint32_t count, int n, const char *kind) {
  if ((uint32_t)n >= count)
    return pl_no_operand(kind, n, count);
  return (pl_ref){list[n], ((const struct pl_view_head *)list[n])->generation};
}

static inline pl_ref pl_input(int n) {
  return pl_ref_of(pl_running->input, pl_running->inputs, n, "input");
}
static inline pl_ref pl_output(int n) {
  return pl_ref_of(pl_running->output, pl_running->outputs, n, "output");
}
static inline pl_ref pl_scratch(int n) {
  return pl_ref_of(pl_running->scratch, pl_running->scratches, n, "scratch");
}
/* Scalar prefetch argument n, in SMEM; in maps, too. */
static inline pl_ref pl_prefetch(int n) {
  return pl_ref_of(pl_running->prefetch, pl_running->prefetches, n, "prefetch");
}
/* Array n of pl_kernel_call(). */
static inline pl_ref pl_arg(int n) {
  return pl_ref_of(pl_running->output, pl_running->outputs, n, "arg");
}
/* The axis with this name (grid_names), for pl_program_id() and pl_grid.id; an unknown one is an error, 0. */
int pl_axis(const char *name);
/* Which core this is, and how many run the kernel. */
static inline int32_t pl_core_index(void) {
  return 0;
}
static inline int32_t pl_num_cores(void) {
  return 1;
}
static inline int32_t pl_program_id(int axis) {
  return (uint32_t)axis < pl_running->grid.rank ? pl_running->grid.id[axis] : pl_no_axis(axis);
}
static inline int32_t pl_num_programs(int axis) {
  return (uint32_t)axis < pl_running->grid.rank ? pl_running->grid.extent[axis] : pl_no_axis(axis);
}
/* pl_dot() with its refs taken apart, which stay in registers so. */
void pl_dot_refs(struct pl_view *acc, uint32_t acc_generation, struct pl_view *x, uint32_t x_generation,
                 struct pl_view *y, uint32_t y_generation, unsigned mode);
static inline void pl_dot(pl_ref acc, pl_ref x, pl_ref y, unsigned mode) {
  pl_dot_refs(acc.view, acc.generation, x.view, x.generation, y.view, y.generation, mode);
}

static inline void *pl_user(void) {
  return pl_running->grid.user;
}

#include "vector_fn.h"

#endif
