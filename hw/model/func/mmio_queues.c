/* SPDX-License-Identifier: MIT */
/* Registers of the semaphores and of the queues' staging blocks, with the checks of a write. */
#include "mmio.h"

/* ---- semaphores -------------------------------------------------------------------------------------------
 */

/* The checks of a write to SEM_VALUE or SEM_MODE. */
static bool sem_writable(struct tpu_model *m, struct access *a, bool lacking) {
  if (lacking)
    return absent(m, a);
  if (!func_idle(m))
    return reject(m, TPU_ERROR_SEM_BUSY, a->offset, a->value);
  return true;
}

static bool sem_mode_access(struct tpu_model *m, struct access *a, uint32_t half) {
  uint32_t sems = m->config->semaphores;
  uint32_t present = sems >= 32 * (half + 1) ? 0xffffffffu
                     : sems <= 32 * half     ? 0
                                             : (1u << (sems - 32 * half)) - 1;
  if (!a->write) {
    a->value = (uint32_t)(m->state.sem_ticket >> (32 * half));
    return true;
  }
  if (!sem_writable(m, a, a->value & ~present))
    return false;
  m->state.sem_ticket &= ~(UINT64_C(0xffffffff) << (32 * half));
  m->state.sem_ticket |= (uint64_t)a->value << (32 * half);
  for (uint32_t i = 0; m->race && i < 32; i++)
    func_race_sem_set(m, 32 * half + i, m->state.sem[32 * half + i]);
  return true;
}

bool func_sem_access(struct tpu_model *m, struct access *a) {
  uint32_t sem = a->offset % 0x100 / 4;
  uint32_t array = a->offset & ~0xffu;
  bool there = sem < m->config->semaphores;
  if (array == TPU_REG_SEM_MODE(0))
    return sem_mode_access(m, a, sem);
  if (!a->write && array != TPU_REG_SEM_VALUE(0))
    return bad_access(m, a);
  if (!a->write) {
    if (there)
      func_late_semaphore(m, sem);
    if (there && m->race)
      func_race_sem_read(m, sem);
    a->value = there ? m->state.sem[sem] : 0;
    return true;
  }
  bool lacking = !there && a->value != 0;
  if (array == TPU_REG_SEM_VALUE(0)) {
    if (!sem_writable(m, a, lacking))
      return false;
    if (there)
      m->state.sem[sem] = a->value;
    if (there && m->race)
      func_race_sem_set(m, sem, a->value);
    return true;
  }
  if (!there)
    return lacking ? absent(m, a) : true;
  if (array == TPU_REG_SEM_SIGNAL(0)) {
    func_sem_signal(m, sem, a->value, TPU_QUEUE_SCALAR, 0);
  } else if (func_is_ticket(m, sem)) { /* SEM_TAKE */
    return bad_access(m, a);
  } else {
    func_late_semaphore(m, sem);
    func_sem_take(m, sem, a->value);
  }
  return true;
}

/* ---- staging ----------------------------------------------------------------------------------------------
 */

/* Bits of a register in a queue's block; 0 = no such register. */
static uint32_t dma_bits(uint32_t offset) {
  switch (offset) {
  case TPU_DMA_MODE:
    return TPU_DMA_MODE_SRC_SPACE_MASK | TPU_DMA_MODE_DST_SPACE_MASK | TPU_DMA_MODE_FILL_MASK |
           TPU_DMA_MODE_GATHER_MASK;
  case TPU_DMA_COUNT2:
    return TPU_DMA_COUNT2_COUNT2_MASK;
  case TPU_DMA_VALID2:
    return TPU_DMA_VALID2_COUNT2_MASK;
  case TPU_DMA_BOUND:
    return TPU_DMA_BOUND_ROWS_MASK;
  default:
    return offset < TPU_QUEUE_ARGS + 4 * TPU_DMA_ARG_WORDS ? 0xffffffffu : 0;
  }
}

static uint32_t mxu_bits(uint32_t offset) {
  switch (offset) {
  case TPU_MXU_M:
  case TPU_MXU_N:
  case TPU_MXU_K:
    return TPU_MXU_M_COUNT_MASK;
  case TPU_MXU_MODE:
    return TPU_MXU_MODE_DTYPE_MASK | TPU_MXU_MODE_TRANSPOSE_B_MASK | TPU_MXU_MODE_ACCUMULATE_MASK;
  default:
    return offset < TPU_QUEUE_ARGS + 4 * TPU_MXU_ARG_WORDS ? 0xffffffffu : 0;
  }
}

static uint32_t vpu_bits(uint32_t offset) {
  switch (offset) {
  case TPU_VPU_ENTRY:
    return TPU_VPU_ENTRY_START_MASK;
  case TPU_VPU_EDGE:
    return TPU_VPU_EDGE_ROW_LEVEL_MASK | TPU_VPU_EDGE_COL_LEVEL_MASK | TPU_VPU_EDGE_ROW_STEP_MASK |
           TPU_VPU_EDGE_COL_STEP_MASK;
  case TPU_VPU_SCALAR_MODE:
    return TPU_VPU_SCALAR_MODE_SMEM_MASK;
  default:
    return offset < TPU_QUEUE_ARGS + 4 * TPU_VPU_ARG_WORDS ? 0xffffffffu : 0;
  }
}

#define SIGNALS_BITS                                                                                         \
  (TPU_Q_SIGNALS_SEM0_MASK | TPU_Q_SIGNALS_BYTES0_MASK | TPU_Q_SIGNALS_EN0_MASK | TPU_Q_SIGNALS_SEM1_MASK |  \
   TPU_Q_SIGNALS_BYTES1_MASK | TPU_Q_SIGNALS_EN1_MASK | TPU_Q_SIGNALS_IRQ_MASK |                             \
   TPU_Q_SIGNALS_PRIORITY_MASK)

static uint32_t stage_bits(uint32_t queue, uint32_t offset) {
  if (offset == TPU_Q_SIGNALS)
    return SIGNALS_BITS;
  if (offset == TPU_Q_GO || offset == TPU_Q_WAITS ||
      (offset >= TPU_Q_WAIT_AMOUNT(0) && offset < TPU_Q_WAIT_AMOUNT(WAITS)) ||
      (offset >= TPU_Q_SIGNAL_AMOUNT(0) && offset < TPU_Q_SIGNAL_AMOUNT(SIGNALS)))
    return 0xffffffffu;
  if (offset < TPU_QUEUE_ARGS || queue == TPU_QUEUE_SYNC)
    return 0;
  if (queue == TPU_QUEUE_MXU)
    return mxu_bits(offset);
  return queue == TPU_QUEUE_VPU ? vpu_bits(offset) : dma_bits(offset);
}

/* Does a value of a queue's register use what the configuration lacks? */
static bool uses_absent(const struct tpu_config *c, uint32_t queue, uint32_t offset, uint32_t value) {
  if (!func_unit_present(c, queue))
    return value != 0;
  if (offset >= TPU_Q_WAIT_AMOUNT(0) && offset < TPU_Q_WAIT_AMOUNT(WAITS))
    return (offset - TPU_Q_WAIT_AMOUNT(0)) / 4 >= c->waits && value != 0;
  if (offset == TPU_Q_WAITS || offset == TPU_Q_SIGNALS) {
    uint32_t limit = offset == TPU_Q_WAITS ? c->waits : c->signals;
    uint32_t fields = offset == TPU_Q_WAITS ? WAITS : SIGNALS;
    for (uint32_t i = 0; i < fields; i++) {
      uint32_t byte = value >> (8 * i) & 0xff;
      bool enabled = byte & TPU_Q_WAITS_EN0_MASK;
      if ((i >= limit && byte != 0) || (enabled && (byte & TPU_Q_WAITS_SEM0_MASK) >= c->semaphores))
        return true;
    }
  }
  if (queue == TPU_QUEUE_MXU && offset == TPU_MXU_MODE) {
    bool bf16 = value & TPU_MXU_MODE_DTYPE_MASK;
    return bf16 && !c->mxu_bf16;
  }
  return false;
}

bool func_stage_access(struct tpu_model *m, struct access *a) {
  uint32_t queue = (a->offset - TPU_QUEUE_BASE(0)) / TPU_QUEUE_STRIDE;
  uint32_t offset = a->offset % TPU_QUEUE_STRIDE;
  uint32_t bits = queue < QUEUES ? stage_bits(queue, offset) : 0;
  if (bits == 0)
    return bad_access(m, a);
  if (!a->write) {
    if (offset == TPU_Q_GO)
      func_late_queue(m, queue);
    a->value = offset == TPU_Q_GO ? func_free_slots(m, queue) : m->state.stage[queue][offset / 4];
    if (!func_unit_present(m->config, queue))
      a->value = 0;
    return true;
  }
  if (offset == TPU_Q_GO) {
    func_go(m, queue, a->value);
    return true;
  }
  if (a->value & ~bits)
    return reject(m, TPU_ERROR_BAD_FIELD, offset, a->value);
  if (uses_absent(m->config, queue, offset, a->value))
    return absent(m, a);
  if (func_unit_present(m->config, queue))
    m->state.stage[queue][offset / 4] = a->value;
  return true;
}
