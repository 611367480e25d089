/* SPDX-License-Identifier: MIT */
/* Between the decode of the window (mmio.c) and the registers of semaphores and queues (mmio_queues.c). */
#ifndef TPU_FUNC_MMIO_H
#define TPU_FUNC_MMIO_H

#include "model.h"

/* What a register access needs beside the offset. */
struct access {
  uint32_t offset;
  bool write;
  uint32_t value; /* written, or to be returned */
  uint32_t cycles;
};

/* Sets the error of an access and answers false, for `return reject(...)`. */
static inline bool reject(struct tpu_model *m, uint32_t code, uint32_t detail0, uint32_t detail1) {
  func_error(m, code, TPU_QUEUE_SCALAR, 0, detail0, detail1);
  return false;
}

static inline bool bad_access(struct tpu_model *m, const struct access *a) {
  return reject(m, TPU_ERROR_BAD_ACCESS, a->offset, a->write ? a->value : 0);
}

static inline bool absent(struct tpu_model *m, const struct access *a) {
  return reject(m, TPU_ERROR_UNIT_ABSENT, a->offset, a->value);
}

/* Accesses in the ranges of semaphores and of queue blocks; false: rejected. */
bool func_sem_access(struct tpu_model *m, struct access *a);
bool func_stage_access(struct tpu_model *m, struct access *a);

#endif
