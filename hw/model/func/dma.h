/* SPDX-License-Identifier: MIT */
/* Between the walk of a DMA command (dma.c) and its way through the engine (dma_time.c). */
#ifndef TPU_FUNC_DMA_H
#define TPU_FUNC_DMA_H

#include "model.h"

/* The segment at the reader's place (all but owner, times and data). The job must not be walked. */
void func_dma_segment(const struct tpu_model *m, const struct dma_job *j, struct dma_segment *s);
/* The reader goes on by this many bytes. */
void func_dma_step(struct dma_job *j, uint32_t bytes);
/* Fetches a segment's data; sets s->error if the bus answers with an error. */
void func_dma_read(struct tpu_model *m, const struct dma_job *j, struct dma_segment *s);
/* Writes it; false: *fault is the bus error of reading or of writing it. */
bool func_dma_write(struct tpu_model *m, const struct dma_job *j, const struct dma_segment *s,
                    struct tpu_fault *fault);

#endif
