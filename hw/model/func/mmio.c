/* SPDX-License-Identifier: MIT */
/*
 * The scalar core's window: registers, staging, program memory, and the windows on SMEM and VMEM.
 *
 * An access of cycle t sees the state that the cycles before t left and takes effect in the run of t.
 * Everything that the contract's section 1 forbids ends in reject(): the sticky error is set, nothing is
 * stored, a read returns 0.
 */
#include "model.h"

#include <string.h>

/* What a register access needs beside the offset. */
struct access {
  uint32_t offset;
  bool write;
  uint32_t value; /* written, or to be returned */
  uint32_t cycles;
};

/* Sets the error of an access and answers false, for `return reject(...)`. */
static bool reject(struct tpu_model *m, uint32_t code, uint32_t detail0, uint32_t detail1) {
  func_error(m, code, TPU_QUEUE_SCALAR, 0, detail0, detail1);
  return false;
}

static bool bad_access(struct tpu_model *m, const struct access *a) {
  return reject(m, TPU_ERROR_BAD_ACCESS, a->offset, a->write ? a->value : 0);
}

static bool absent(struct tpu_model *m, const struct access *a) {
  return reject(m, TPU_ERROR_UNIT_ABSENT, a->offset, a->value);
}

/* ---- control registers ------------------------------------------------------------------------------------
 */

uint32_t func_status(const struct tpu_model *m) {
  const struct state *s = &m->state;
  uint32_t v = 0;
  if (func_idle(m))
    v |= TPU_REG_STATUS_IDLE_MASK;
  if (func_blocked(m))
    v |= TPU_REG_STATUS_BLOCKED_MASK;
  if (s->aborting)
    v |= TPU_REG_STATUS_ABORTING_MASK;
  if (s->error.valid)
    v |= TPU_REG_STATUS_ERROR_MASK;
  for (uint32_t i = 0; i < QUEUES; i++) {
    const struct queue *q = &s->queue[i];
    v |= (uint32_t)(q->count > 0 || q->fly_count > 0) << (TPU_REG_STATUS_BUSY_SHIFT + i);
    v |= (uint32_t)q->waiting << (TPU_REG_STATUS_WAITING_SHIFT + i);
    v |= (uint32_t)q->halted << (TPU_REG_STATUS_HALTED_SHIFT + i);
  }
  return v;
}

uint32_t func_intr_state(const struct tpu_model *m) {
  uint32_t v = m->state.intr_state;
  for (uint32_t i = 0; i < QUEUES; i++) {
    uint32_t threshold = m->state.intr_space >> (4 * i) & 0xf;
    if (threshold != 0 && func_free_slots(m, i) >= threshold)
      v |= TPU_REG_INTR_STATE_SPACE_MASK;
  }
  return v;
}

static uint32_t features(const struct tpu_config *c) {
  return c->mxu_int8 << TPU_REG_FEATURES_MXU_INT8_SHIFT | c->mxu_bf16 << TPU_REG_FEATURES_MXU_BF16_SHIFT |
         c->vpu_present << TPU_REG_FEATURES_VPU_SHIFT |
         (uint32_t)(c->eup_lanes > 0) << TPU_REG_FEATURES_EUP_SHIFT;
}

void func_reset_registers(struct tpu_model *m) {
  struct state *s = &m->state;
  memset(s->stage, 0, sizeof s->stage);
  s->intr_state = s->intr_enable = s->intr_space = 0;
  s->trace_mark = s->scratch = s->cycle_high = 0;
  s->hbm_latency = m->reset_latency;
  s->program_low = 0;
  s->sem_ticket = 0;
  memset(s->counter, 0, sizeof s->counter);
  memset(s->latched, 0, sizeof s->latched);
  s->counted = s->cycle;
  tpu_hang_soft_reset(&s->hang);
}

static bool control_read(struct tpu_model *m, struct access *a) {
  struct state *s = &m->state;
  const struct error_state *e = &s->error;
  switch (a->offset) {
  case TPU_REG_ID:
    a->value = 0x4c504550;
    return true;
  case TPU_REG_VERSION:
    a->value = 1 << TPU_REG_VERSION_MAJOR_SHIFT | 1 << TPU_REG_VERSION_MINOR_SHIFT;
    return true;
  case TPU_REG_ABI_HASH:
    a->value = TPU_ABI_HASH;
    return true;
  case TPU_REG_FEATURES:
    a->value = features(m->config);
    return true;
  case TPU_REG_CTRL: /* "reads 0" */
    a->value = 0;
    return true;
  case TPU_REG_STATUS:
    func_late_any(m);
    a->value = func_status(m);
    return true;
  case TPU_REG_INTR_STATE:
    func_late_any(m);
    a->value = func_intr_state(m);
    return true;
  case TPU_REG_INTR_ENABLE:
    a->value = s->intr_enable;
    return true;
  case TPU_REG_INTR_SPACE:
    a->value = s->intr_space;
    return true;
  case TPU_REG_CYCLE_LO:
    s->cycle_high = (uint32_t)(s->cycle >> 32);
    a->value = (uint32_t)s->cycle;
    return true;
  case TPU_REG_CYCLE_HI:
    a->value = s->cycle_high;
    return true;
  case TPU_REG_ERROR:
    if (e->valid)
      a->value = e->code << TPU_REG_ERROR_CODE_SHIFT | e->queue << TPU_REG_ERROR_QUEUE_SHIFT |
                 TPU_REG_ERROR_VALID_MASK;
    return true;
  case TPU_REG_ERROR_TAG:
    a->value = e->tag;
    return true;
  case TPU_REG_ERROR_DETAIL0:
    a->value = e->detail0;
    return true;
  case TPU_REG_ERROR_DETAIL1:
    a->value = e->detail1;
    return true;
  case TPU_REG_TRACE_MARK:
    a->value = s->trace_mark;
    return true;
  case TPU_REG_SCRATCH:
    a->value = s->scratch;
    return true;
  case TPU_REG_HBM_LATENCY:
    a->value = s->hbm_latency;
    return true;
  default:
    return bad_access(m, a);
  }
}

#define INTR_LATCHED                                                                                         \
  (TPU_REG_INTR_STATE_DONE_MASK | TPU_REG_INTR_STATE_ERROR_MASK | TPU_REG_INTR_STATE_BLOCKED_MASK)
#define INTR_ALL (INTR_LATCHED | TPU_REG_INTR_STATE_SPACE_MASK)

static void control(struct tpu_model *m, uint32_t value) {
  struct state *s = &m->state;
  func_count(m);
  if (value & TPU_REG_CTRL_LATCH_COUNTERS_MASK)
    memcpy(s->latched, s->counter, sizeof s->latched);
  if (value & TPU_REG_CTRL_CLEAR_COUNTERS_MASK)
    memset(s->counter, 0, sizeof s->counter);
  if (value & (TPU_REG_CTRL_ABORT_MASK | TPU_REG_CTRL_SOFT_RESET_MASK))
    func_abort(m, value & TPU_REG_CTRL_SOFT_RESET_MASK);
}

static bool control_write(struct tpu_model *m, struct access *a) {
  struct state *s = &m->state;
  switch (a->offset) {
  case TPU_REG_CTRL:
    control(m, a->value);
    return true;
  case TPU_REG_INTR_STATE: /* write one to clear */
    s->intr_state &= ~(a->value & INTR_LATCHED);
    return true;
  case TPU_REG_INTR_ENABLE:
    s->intr_enable = a->value & INTR_ALL;
    return true;
  case TPU_REG_INTR_TEST:
    s->intr_state |= a->value & INTR_LATCHED;
    return true;
  case TPU_REG_INTR_SPACE:
    s->intr_space = a->value & 0x0fffffff;
    return true;
  case TPU_REG_TRACE_MARK:
    s->trace_mark = a->value;
    func_event(m, TPU_EVENT_MARK, TPU_QUEUE_SCALAR, a->value, 0);
    return true;
  case TPU_REG_SCRATCH:
    s->scratch = a->value;
    return true;
  case TPU_REG_HBM_LATENCY:
    s->hbm_latency = a->value & TPU_REG_HBM_LATENCY_CYCLES_MASK;
    return true;
  default:
    return bad_access(m, a);
  }
}

/* ---- parameter ROM and counters ---------------------------------------------------------------------------
 */

static uint32_t parameter(const struct tpu_config *c, uint32_t entry, bool value) {
#define ENTRY(member, id) {id, c->member},
  const struct { uint32_t id, value; } rom[] = {TPU_CONFIG_PARAMS(ENTRY)};
#undef ENTRY
  if (entry >= sizeof rom / sizeof rom[0])
    return 0;
  return value ? rom[entry].value : rom[entry].id;
}

static uint32_t counter_word(const struct tpu_model *m, uint32_t offset) {
  uint32_t queue = offset / 64, word = offset % 64 / 4;
  if (word / 2 >= COUNTERS)
    return 0; /* reserved */
  return (uint32_t)(m->state.latched[queue][word / 2] >> (32 * (word % 2)));
}

/* ---- semaphores -------------------------------------------------------------------------------------------
 */

#define SEM_END (TPU_REG_SEM_MODE(0) + 4u * TPU_REG_SEM_MODE_COUNT)

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
  return true;
}

static bool sem_access(struct tpu_model *m, struct access *a) {
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
    a->value = there ? m->state.sem[sem] : 0;
    return true;
  }
  bool lacking = !there && a->value != 0;
  if (array == TPU_REG_SEM_VALUE(0)) {
    if (!sem_writable(m, a, lacking))
      return false;
    if (there)
      m->state.sem[sem] = a->value;
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

static bool stage_access(struct tpu_model *m, struct access *a) {
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

/* ---- vector program ---------------------------------------------------------------------------------------
 */

static bool program_access(struct tpu_model *m, struct access *a) {
  uint32_t word = (a->offset - TPU_REG_VPROG(0)) / 4;
  if (word / 2 >= m->config->vpu_program || !m->config->vpu_present)
    return bad_access(m, a);
  uint64_t *instruction = &m->program[word / 2];
  if (!a->write) {
    a->value = (uint32_t)(*instruction >> (32 * (word % 2)));
    a->cycles = TIME_READ_MEMORY;
  } else if (word % 2 == 0) {
    m->state.program_low = a->value;
  } else {
    *instruction = (uint64_t)a->value << 32 | m->state.program_low;
  }
  return true;
}

/* ---- decode -----------------------------------------------------------------------------------------------
 */

static bool register_access(struct tpu_model *m, struct access *a, unsigned size) {
  uint32_t o = a->offset;
  if (size != 4 || o % 4 != 0)
    return bad_access(m, a);
  if (o >= TPU_REG_VPROG(0))
    return o < TPU_REG_VPROG(TPU_REG_VPROG_COUNT) ? program_access(m, a) : bad_access(m, a);
  if (o >= TPU_QUEUE_BASE(0))
    return stage_access(m, a);
  if (o >= TPU_REG_SEM_VALUE(0))
    return o < SEM_END ? sem_access(m, a) : bad_access(m, a);
  if (o >= TPU_REG_PARAM_ID(0)) {
    bool parameters = o < TPU_REG_PARAM_ID(TPU_REG_PARAM_COUNT);
    bool counters = o >= TPU_REG_COUNTER(0, 0, 0) && o < TPU_REG_COUNTER(QUEUES, 0, 0);
    if (a->write || !(parameters || counters))
      return bad_access(m, a);
    uint32_t entry = (o - TPU_REG_PARAM_ID(0)) / 8;
    a->value =
        parameters ? parameter(m->config, entry, o % 8 != 0) : counter_word(m, o - TPU_REG_COUNTER(0, 0, 0));
    return true;
  }
  return a->write ? control_write(m, a) : control_read(m, a);
}

static bool memory_access(struct tpu_model *m, struct access *a, unsigned size) {
  bool vmem = a->offset >= TPU_WINDOW_VMEM;
  uint32_t address = a->offset - (vmem ? TPU_WINDOW_VMEM : TPU_WINDOW_SMEM);
  uint32_t bytes = vmem ? m->config->vmem_bytes : m->config->smem_bytes;
  uint8_t *memory = vmem ? m->memory.vmem : m->memory.smem;
  uint32_t space = vmem ? TPU_SPACE_VMEM : TPU_SPACE_SMEM;
  if (a->offset % size != 0)
    return bad_access(m, a);
  if (address >= bytes)
    return reject(m, TPU_ERROR_RANGE, space << 8, address);
  a->cycles = a->write ? TIME_WRITE : TIME_READ_MEMORY;
  for (unsigned i = 0; i < size; i++) { /* little-endian on any host */
    if (a->write)
      memory[address + i] = (uint8_t)(a->value >> (8 * i));
    else
      a->value |= (uint32_t)memory[address + i] << (8 * i);
  }
  return true;
}

static tpu_status mmio(struct tpu_model *m, struct access *a, unsigned size) {
  bool ok;
  if ((size != 1 && size != 2 && size != 4) || a->offset >= TPU_WINDOW_SIZE)
    return TPU_EINVAL;
  if (m->state.dead)
    return TPU_EFAULT;
  a->cycles = a->write ? TIME_WRITE : TIME_READ_REGISTER;
  if (!a->write)
    func_run_cycles(m, TIME_READ_BEFORE);
  if (a->offset < PEPLOS_TPU_SIZE) {
    ok = register_access(m, a, size);
    if (ok && a->write) /* its trace records leave when the cycle is run */
      tpu_hang_write(&m->state.hang, m->state.cycle, a->offset, a->value);
    else if (ok)
      tpu_hang_read(&m->state.hang, m->state.cycle, a->offset, a->value);
  } else {
    ok = a->offset >= TPU_WINDOW_SMEM ? memory_access(m, a, size) : bad_access(m, a);
  }
  if (!ok)
    a->value = 0;
  func_run_cycles(m, a->cycles);
  return m->state.dead ? TPU_EFAULT : TPU_OK;
}

tpu_status func_mmio_read(struct tpu_model *m, uint32_t offset, unsigned size, uint32_t *value) {
  struct access a = {.offset = offset};
  tpu_status status = mmio(m, &a, size);
  *value = a.value;
  return status;
}

tpu_status func_mmio_write(struct tpu_model *m, uint32_t offset, unsigned size, uint32_t value) {
  struct access a = {.offset = offset, .write = true, .value = value};
  if (size < 4)
    a.value &= (1u << (8 * size)) - 1;
  return mmio(m, &a, size);
}
