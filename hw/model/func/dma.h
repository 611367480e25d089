/* SPDX-License-Identifier: MIT */
/* Between the walk of a DMA command (dma.c) and its way over the memory ports (dma_ports.c). */
#ifndef TPU_FUNC_DMA_H
#define TPU_FUNC_DMA_H

#include "model.h"

/* True if the reader's next byte comes from the pattern. */
bool func_dma_peek_fill(const struct dma_job *j);
/* The segment at the reader's place (all but times and data). The job must not be walked. */
void func_dma_segment(const struct dma_job *j, struct dma_segment *s);
/* The reader goes on by this many bytes. */
void func_dma_step(struct dma_job *j, uint32_t bytes);
/* Fetches a segment's data; sets s->error if the bus answers with an error. */
void func_dma_read(struct tpu_model *m, const struct dma_job *j, struct dma_segment *s);
/* Writes it; false on a bus error. */
bool func_dma_write(struct tpu_model *m, const struct dma_job *j, const struct dma_segment *s);
/* The error of a burst: its address is that of its first beat. */
struct tpu_fault func_dma_bus_fault(const struct tpu_model *m, bool write, uint32_t address);

#endif
