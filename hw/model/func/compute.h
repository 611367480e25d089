/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic side of the functional model: matrix unit and vector unit.
 *
 * The core of the model (queues, semaphores, DMA, time) owns memories and commands; this side computes.
 * Everything here is a plain function of its arguments: no globals, no allocation, no output, so that several
 * devices can live in one process and in one QEMU. Results appear in the memories at once; the cycles that
 * the hardware would have taken are returned beside them, and the core decides when the effect becomes
 * visible.
 *
 * The host's floating-point environment is saved, set to what the contract's section "Numbers" needs and
 * restored by every function that computes; nothing leaks into the host program (num.h).
 *
 * Rules and error codes: docs/contract.md, sections 3, 5, 6, 7. Fields: hw/regs/gen/tpu_regs.h.
 */
#ifndef TPU_FUNC_COMPUTE_H
#define TPU_FUNC_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "tpu_configs.h"
#include "tpu_regs.h"

/* The memories of one TensorCore; their sizes are those of the configuration. */
struct tpu_memories {
  uint8_t *vmem;
  uint32_t *acc; /* acc_rows x dim words, row-major */
  uint8_t *smem;
};

/* An error as the error registers show it. Code TPU_ERROR_NONE: there is none. */
struct tpu_fault {
  enum tpu_error code;
  uint32_t detail0, detail1;
};

/*
 * One access of a command, for the race detector: `rows` pieces of `row_bytes` bytes, the first at byte
 * `base`, `pitch` bytes apart. In ACC a byte address is row x 4 x dim + 4 x lane, as for the model's peek().
 */
struct tpu_access {
  enum tpu_space space;
  bool write;
  uint32_t base;
  uint32_t row_bytes;
  uint32_t rows;
  int32_t pitch;
};
typedef void tpu_access_fn(void *opaque, const struct tpu_access *access);

/* ---- MXU ---------------------------------------------------------------------------------------------- */

/* C[M,N] (+)= A[M,K] . B[K,N]; with transpose_b B is stored as [N,K]. */
struct tpu_mxu_command {
  enum tpu_mxu_dtype dtype;
  bool accumulate;
  bool transpose_b;
  uint32_t m, n, k;
  uint32_t a, a_pitch; /* VMEM bytes */
  uint32_t b, b_pitch; /* VMEM bytes */
  uint32_t c, c_pitch; /* ACC rows */
};

/* From the staged words TPU_MXU_A .. TPU_MXU_MODE (TPU_MXU_ARG_WORDS of them). */
struct tpu_mxu_command tpu_mxu_decode(const uint32_t *words);

/* The start checks, in the contract's order. False: the command must not start, *fault says why. */
bool tpu_mxu_check(const struct tpu_config *config, const struct tpu_mxu_command *command,
                   struct tpu_fault *fault);

/*
 * Reports what a checked command touches: A and B read, C written (and read, if it accumulates), one report
 * for A, one for B and one a column tile of C. Nothing for a command without work.
 */
void tpu_mxu_accesses(const struct tpu_config *config, const struct tpu_mxu_command *command,
                      tpu_access_fn *access, void *opaque);

/* Executes a command that passed the start checks. */
void tpu_mxu_execute(const struct tpu_config *config, const struct tpu_memories *memories,
                     const struct tpu_mxu_command *command);

/* Cycles in which the array streams operands: tiles x max(M, DIM + 1); 0 for a command without work. */
uint64_t tpu_mxu_stream_cycles(const struct tpu_config *config, const struct tpu_mxu_command *command);

/* ---- VPU ---------------------------------------------------------------------------------------------- */

#define TPU_VPU_VREGS     32
#define TPU_VPU_SUBLANES  8
#define TPU_VPU_MAX_LANES 16
#define TPU_VPU_LEVELS    3

/* Lanes of a VREG lie together: element (sublane s, lane l) is word s x lanes + l. */
struct tpu_vreg {
  uint32_t word[TPU_VPU_SUBLANES * TPU_VPU_MAX_LANES];
};

/* Cycles of the first and the last sublane. */
struct tpu_vpu_span {
  uint64_t first, last;
};

struct tpu_vpu_time_store {
  struct tpu_vpu_span done; /* a load can request what it wrote */
  bool acc;
  uint32_t address, pitch, mask, count;
};

#define TPU_VPU_PIPES 5
#define TPU_VPU_SLOTS 4

/* When stages, pipes and registers are free again; cycles since the start of the command. See vpu_time.h. */
struct tpu_vpu_scoreboard {
  uint64_t fetch;   /* next instruction can be decoded */
  uint64_t checked; /* last one left the check of its addresses */
  uint64_t issued;  /* last one issued */
  uint64_t issue;   /* the instructions so far were executed before this cycle; moves with every one */
  uint64_t end;     /* after the last effect so far */
  struct {
    uint64_t next; /* the next instruction can start */
    uint64_t slot_free[TPU_VPU_SLOTS];
    uint32_t slot;
  } pipe[TPU_VPU_PIPES];
  struct {
    struct tpu_vpu_span written; /* can be read */
    struct tpu_vpu_span read[4]; /* has been read by ALU, reduction, EUP, store */
    uint32_t writer;
  } vreg[TPU_VPU_VREGS];
  struct tpu_vpu_span load_room; /* writes of the last load */
  uint64_t load_requested;       /* after the last request of a load */
  struct tpu_vpu_time_store store[TPU_VPU_SLOTS];
  uint32_t reduce_op;
  uint64_t reduce_empty, reduce_room[2];
  uint64_t eup_passed, eup_room[2];
  /* Recent uses of the register banks: cycles in which sublane 0 is accessed. */
  uint64_t bank_read[8], bank_write[8];
  uint32_t bank_reads, bank_writes;
};

enum tpu_vpu_status { TPU_VPU_RUNNING, TPU_VPU_DONE, TPU_VPU_FAULT };

/*
 * A vector command in execution. Programs may run for very long (three nested 32-bit counts), so that the
 * core runs them in slices. Plain data: it may be copied, saved and restored.
 */
struct tpu_vpu {
  enum tpu_vpu_status status;
  struct tpu_fault fault; /* with TPU_VPU_FAULT */
  uint64_t cycles;        /* from start to the last effect of the instructions so far */
  uint64_t instructions;  /* issued so far, HALT, LOOP and END included: the counter WORK */
  uint64_t bytes;         /* loaded and stored so far: the counter BYTES. An accessed sublane counts its
                             whole row (LANES elements), or one element if it is a column access */
  uint32_t pc;
  struct {
    bool active;
    uint32_t start, iteration;
  } level[TPU_VPU_LEVELS];
  uint32_t count[TPU_VPU_LEVELS];
  uint32_t row_level, col_level, row_step, col_step;
  uint32_t valid_rows, valid_cols;
  uint32_t scalar[TPU_VPU_SCALAR_COUNT];
  uint32_t addr[TPU_VPU_ADDR_COUNT];
  uint32_t pitch[TPU_VPU_PITCH_COUNT];
  uint32_t stride[TPU_VPU_STRIDE_COUNT];
  struct tpu_vpu_scoreboard scoreboard;
  struct tpu_vreg vreg[TPU_VPU_VREGS];
};

/*
 * Starts a command from the staged words TPU_VPU_ENTRY .. TPU_VPU_STRIDE(23) (TPU_VPU_ARG_WORDS of them):
 * reads the scalars. VREGs are undefined at command start; here they keep what the last command left.
 * `access` may be NULL. Afterwards vpu->status is RUNNING or FAULT.
 */
void tpu_vpu_start(struct tpu_vpu *vpu, const struct tpu_config *config, const struct tpu_memories *memories,
                   const uint32_t *words, tpu_access_fn *access, void *opaque);

/*
 * Executes instructions until the program ends, fails, or `budget` instructions were issued in this call.
 * `program` holds vpu_program instructions of 64 bits. Returns vpu->status.
 */
enum tpu_vpu_status tpu_vpu_run(struct tpu_vpu *vpu, const struct tpu_config *config,
                                const struct tpu_memories *memories, const uint64_t *program, uint64_t budget,
                                tpu_access_fn *access, void *opaque);

#endif
