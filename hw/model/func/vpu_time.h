/* SPDX-License-Identifier: MIT */
/*
 * Annotated time of the vector unit: which cycle an instruction would run in. Nothing here changes results.
 *
 * It follows the RTL (rtl/vpu): instructions are fetched one a cycle, LOOP and END are done there and cost
 * nothing else; the rest issues in order, one a cycle, into the four slots of a pipe. The pipes (load, ALU,
 * reduction, EUP, store) work independently, each in order and one sublane a cycle (the EUP a sublane a beat,
 * or two for operations of two trips); a sublane waits until the
 * older instructions that wrote its sources, and those that read or wrote its destination in another pipe,
 * are past it. Times of the eight sublanes are kept as the first and the last, and taken as evenly spaced
 * between.
 *
 * A register bank has one read and one write port. As pipes walk through the banks at one pace, two of them
 * meet in the same bank if they are at sublane 0 in the same cycle; the one of lower priority is then a cycle
 * behind.
 *
 * Not modelled: conflicts in the banks of memories.
 */
#ifndef TPU_FUNC_VPU_TIME_H
#define TPU_FUNC_VPU_TIME_H

#include "compute.h"

/* From the cycle in which a pipe starts a sublane to the one in which a dependent pipe can start it. */
#define TIME_VPU_ALU_RESULT           7
#define TIME_VPU_REDUCE_LANES(levels) (4 + 2 * (levels))
#define TIME_VPU_REDUCE_SUBLANES      18
#define TIME_VPU_LOAD_RESULT          5
#define TIME_VPU_LOAD_FILL            3 /* no sublane accessed */
/* From a store's read to the cycle in which a load can request what it wrote. */
#define TIME_VPU_STORE_DONE 4
/* From the start of a sublane to the cycle in which another pipe can overwrite the source. */
#define TIME_VPU_ALU_READ 3
#define TIME_VPU_READ     1
/*
 * EUP: a sublane takes `beats` = LANES / EUP_LANES cycles. A second trip begins this long after the first, at
 * a distance that never meets another first trip of sublanes that start every 2 beats.
 */
#define TIME_VPU_EUP_RESULT(beats) (8 + (beats))
#define TIME_VPU_EUP_TRIP(beats)                                                                             \
  (TIME_VPU_EUP_STAGES + ((beats) + 2 * TIME_VPU_EUP_STAGES * (beats)-TIME_VPU_EUP_STAGES) % (2 * (beats)))
#define TIME_VPU_EUP_STAGES 5
/* A reduction with another operation than the one before waits until the operators are empty. */
#define TIME_VPU_REDUCE_LANES_EMPTY(levels) (10 + 2 * (levels))
#define TIME_VPU_REDUCE_SUBLANES_EMPTY      24
/* Moves across lanes. Of a tile all rows are read before the first is written. */
#define TIME_VPU_MOVE             5
#define TIME_VPU_MOVE_EMPTY       11
#define TIME_VPU_TILE             6 /* after the last read */
#define TIME_VPU_TILE_EMPTY(rows) (2 * (rows) + 3)
#define TIME_VPU_RANDOM           8
#define TIME_VPU_RANDOM_ROW       5
#define TIME_VPU_RANDOM_EMPTY     42

#define TPU_VPU_NO_VREG UINT32_MAX

/* The sublanes that a load or store accesses. */
struct tpu_vpu_time_access {
  bool acc;
  uint32_t address; /* of sublane 0 */
  uint32_t pitch;
  uint32_t mask; /* bytes of a sublane's access - 1; 0 in ACC, whose addresses are rows */
  uint32_t count;
};

void tpu_vpu_time_start(struct tpu_vpu_scoreboard *board);
void tpu_vpu_time_loop(struct tpu_vpu_scoreboard *board);
void tpu_vpu_time_halt(struct tpu_vpu_scoreboard *board);
/* Sources that are scalars, or not there, are TPU_VPU_NO_VREG. */
void tpu_vpu_time_alu(struct tpu_vpu_scoreboard *board, uint32_t vd, const uint32_t sources[3]);
void tpu_vpu_time_reduce(struct tpu_vpu_scoreboard *board, uint32_t op, uint32_t lanes, uint32_t vd,
                         uint32_t source);
void tpu_vpu_time_transcendental(struct tpu_vpu_scoreboard *board, uint32_t op, uint64_t beats, uint32_t vd,
                                 uint32_t source);
/* ROT_*, BC_*, TRANSPOSE (of pairs of VREGs with 16 lanes), RAND. */
void tpu_vpu_time_cross(struct tpu_vpu_scoreboard *board, uint32_t op, uint32_t lanes, uint32_t vd,
                        uint32_t source);
void tpu_vpu_time_load(struct tpu_vpu_scoreboard *board, uint32_t vd,
                       const struct tpu_vpu_time_access *access);
void tpu_vpu_time_store(struct tpu_vpu_scoreboard *board, uint32_t source,
                        const struct tpu_vpu_time_access *access);

#endif
