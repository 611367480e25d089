/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic side of the functional model: matrix unit and vector unit.
 *
 * The core of the model (queues, semaphores, DMA, time) owns memories and commands; this side
 * computes. Everything here is a plain function of its arguments: no globals, no allocation, no
 * output, so that several devices can live in one process and in one QEMU. A command is checked
 * and executed in one instant; the cycles it would have taken are returned beside the result, and
 * the core decides when the effect becomes visible.
 *
 * The host's floating-point environment is saved, set to what architecture section "Numbers"
 * needs (round to nearest even, flush to zero, denormals are zero, all exceptions masked) and
 * restored by every function that computes; nothing leaks into the host program.
 */
#ifndef TPU_FUNC_COMPUTE_H
#define TPU_FUNC_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

/* What of the configuration matters to arithmetic. */
struct tpu_compute_config {
    uint32_t dim;   /* rows and columns of the MXU: 4, 8 or 16 */
    uint32_t lanes; /* lanes of a VREG and of an ACC row: 4, 8 or 16 */
    bool bf16;      /* the MXU multiplies bf16 (int8 is always there) */
    bool eup;       /* the transcendental pipe is there */
};

/* The memories of one TensorCore. ACC is acc_rows x lanes 32-bit words, row-major. */
struct tpu_memories {
    uint8_t *vmem;
    uint32_t vmem_bytes;
    uint32_t *acc;
    uint32_t acc_rows;
    uint8_t *smem;
    uint32_t smem_bytes;
};

/* An error as the error registers show it; code 0 means none. */
struct tpu_fault {
    uint32_t code;
    uint32_t detail0;
    uint32_t detail1;
};

enum tpu_space { TPU_SPACE_VMEM, TPU_SPACE_ACC, TPU_SPACE_SMEM };

/*
 * Called for every memory access of a command, for the race detector: `rows` pieces of
 * `row_bytes` bytes, the first at byte address `base`, `pitch` bytes apart. ACC addresses are
 * bytes too (row x lanes x 4).
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

/* ---- MXU ------------------------------------------------------------------------------ */

enum tpu_mxu_type { TPU_MXU_INT8, TPU_MXU_BF16 };

/* C[M,N] (+)= A[M,K] . B[K,N]; with transpose_b B is stored as [N,K]. */
struct tpu_mxu_command {
    enum tpu_mxu_type type;
    bool accumulate;
    bool transpose_b;
    uint32_t m, n, k;
    uint32_t a_base, a_pitch; /* VMEM bytes */
    uint32_t b_base, b_pitch; /* VMEM bytes */
    uint32_t c_base, c_pitch; /* ACC rows */
};

/* Start checks. Fills `fault` and returns false if the command must not start. */
bool tpu_mxu_check(const struct tpu_compute_config *config, const struct tpu_memories *mem,
                   const struct tpu_mxu_command *cmd, struct tpu_fault *fault);

/* Reports the (at most three, or one per column tile for C) accesses of a checked command. */
void tpu_mxu_accesses(const struct tpu_compute_config *config, const struct tpu_mxu_command *cmd,
                      tpu_access_fn *access, void *opaque);

/* Executes a command that passed tpu_mxu_check(). */
void tpu_mxu_execute(const struct tpu_compute_config *config, const struct tpu_memories *mem,
                     const struct tpu_mxu_command *cmd);

/* Array cycles of a command when it streams without a stall: tiles x max(M, DIM + 1). */
uint64_t tpu_mxu_cycles(const struct tpu_compute_config *config,
                        const struct tpu_mxu_command *cmd);

/* ---- VPU ------------------------------------------------------------------------------ */

/* Staging words of a VPU command, decoded by tpu_vpu_execute() with the generated fields. */
struct tpu_vpu_result {
    struct tpu_fault fault;    /* code 0: the program ran to its end */
    uint64_t cycles;           /* from start to the last write */
    uint64_t instructions;     /* issued */
};

#endif
