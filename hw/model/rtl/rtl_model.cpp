// SPDX-License-Identifier: MIT
//
// The RTL behind the model ABI: all of rtl/, translated by Verilator, with the memory behind the HBM
// port, the trace buffer and the back door to the on-chip memories.
//
// One Verilated context an instance. Inputs change while the clock is low, are evaluated, sampled, and
// then the clock rises: a comb path from an input to an output is thus seen in the cycle it belongs to.
// $finish, $stop and assertion failures mark the instance as dead instead of ending the process.
#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vtpu.h"
#include "Vtpu___024root.h"
#include "hbm_port.h"
#include "hang_report.h"
#include "tpu_configs.h"
#include "tpu_memmap.h"
#include "tpu_model.h"
#include "tpu_regs.h"
#include "verilated.h"
#include "verilated_sym_props.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
#endif

#ifndef TPU_CONFIG_NAME
#error "TPU_CONFIG_NAME names the configuration the RTL was built for"
#endif

namespace peplos {

constexpr struct tpu_config kConfigs[] = {TPU_CONFIG_TABLE};
constexpr unsigned kSettleCycles = 4; // after a write, before idle or blocked is believed
constexpr unsigned kMaxAccessCycles = 64;
constexpr unsigned kResetCycles = 4;
constexpr unsigned kTraceBits = 80; // bits of a trace slot: {4'b0, queue, event, arg, tag}

const struct tpu_config *find_config(const char *name) {
  for (const auto &c : kConfigs) {
    if (std::strcmp(c.name, name) == 0)
      return &c;
  }
  return nullptr;
}

} // namespace peplos

using peplos::HbmPort;

struct tpu_model {
  tpu_model_config config{};
  tpu_model_host host{};
  const struct tpu_config *params = nullptr;
  std::string seed_arg, wave_path;

  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Vtpu> top;
#if VM_TRACE_FST
  std::unique_ptr<VerilatedFstC> wave;
#endif
  HbmPort hbm;
  tpu_hang_log hang{};
  bool error_pending = false; // the error registers follow the event by a cycle

  // Backing arrays of the on-chip memories, a bank each.
  static constexpr unsigned kMaxBanks = 64;
  uint8_t *smem = nullptr;
  uint8_t *vmem[kMaxBanks] = {};
  uint8_t *acc[2] = {};

  uint64_t now = 0;
  unsigned settle = 0;
  bool dead = false;

  std::vector<unsigned char> frozen; // the RTL's state while registers are peeked

  std::vector<tpu_trace_record> trace; // ring
  size_t trace_head = 0, trace_count = 0;
  bool tracing = false;

  void log(tpu_log_class cls, const char *format, ...) __attribute__((format(printf, 3, 4)));
  void build();
  void eval();
  void tick();
  void collect_trace();
  void clock();
  void peek_registers(const uint32_t *offset, uint32_t *value, unsigned count);
  bool quiescent() const {
    return settle == 0 && (top->rootp->idle_o || top->rootp->blocked_o);
  }
};

static void find_memories(tpu_model *m);

namespace {

// The instance whose code runs on this thread: Verilator's hooks below have no context argument.
thread_local tpu_model *current = nullptr;

struct Entered {
  explicit Entered(tpu_model *m) : before(current) {
    current = m;
    Verilated::threadContextp(m->context.get());
  }
  ~Entered() { current = before; }
  tpu_model *before;
};

void die(const char *what, const char *file, int line) {
  if (current == nullptr || current->dead)
    return;
  current->dead = true;
  current->log(TPU_LOG_MODEL_BUG, "%s at %s:%d, cycle %llu", what, file ? file : "?", line,
               static_cast<unsigned long long>(current->now));
}

} // namespace

// Verilator calls these (VL_USER_FINISH, VL_USER_STOP, VL_USER_FATAL).
void vl_finish(const char *file, int line, const char *) VL_MT_UNSAFE {
  die("$finish", file, line);
}
void vl_stop(const char *file, int line, const char *) VL_MT_UNSAFE {
  die("$stop or failed assertion", file, line);
}
void vl_fatal(const char *file, int line, const char *, const char *text) VL_MT_UNSAFE {
  die(text ? text : "fatal error", file, line);
}

void tpu_model::log(tpu_log_class cls, const char *format, ...) {
  if (host.log == nullptr)
    return;
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  host.log(host.opaque, cls, text);
}

void tpu_model::eval() {
  if (!dead)
    top->eval();
}

// Power on: a new Verilated instance, memories filled from the seed, some cycles of reset.
void tpu_model::build() {
  context = std::make_unique<VerilatedContext>();
  context->threads(1);
  context->randReset(2);
  context->randSeed(static_cast<int>(config.seed & 0x7fffffff) + 1);
  const char *argv[] = {"tpu", seed_arg.c_str()};
  context->commandArgs(2, argv);
#if VM_TRACE_FST
  context->traceEverOn(true);
#endif
  Entered in(this);
  top = std::make_unique<Vtpu>(context.get(), "TOP");
  frozen.resize(sizeof *top->rootp);
  find_memories(this);
#if VM_TRACE_FST
  if (!wave_path.empty()) {
    wave = std::make_unique<VerilatedFstC>();
    top->trace(wave.get(), 99);
    wave->open(wave_path.c_str());
    if (!wave->isOpen())
      throw std::runtime_error("cannot write waveforms to " + wave_path);
  }
#endif
  hbm.configure(host, params->hbm_port_bytes, params->hbm_shared_bus != 0, config.stall_percent,
                config.stall_seed);
  tpu_hang_init(&hang);
  error_pending = false;
  now = 0;
  trace_head = trace_count = 0;
  top->mmio_valid_i = 0;
  top->hbm_latency_reset_i = static_cast<uint16_t>(config.hbm_latency != 0 ? config.hbm_latency : 100);
  top->rst_ni = 0;
  for (unsigned i = 0; i < peplos::kResetCycles; ++i)
    tick();
  top->rst_ni = 1;
  now = 0;
  settle = peplos::kSettleCycles;
}

void tpu_model::tick() {
  auto *pins = top->rootp; // the pins themselves; Vtpu has references to them
  pins->cycle_i = now;
  hbm.drive(pins, now);
  pins->clk_i = 0;
  eval();
#if VM_TRACE_FST
  const bool dump = wave && pins->rst_ni && now >= config.wave_from && now < config.wave_to;
  if (dump)
    wave->dump(2 * now);
#endif
  if (pins->rst_ni) {
    hbm.sample(pins, now);
    if (pins->trace_any_o)
      collect_trace();
  }
  pins->clk_i = 1;
  eval();
#if VM_TRACE_FST
  if (dump)
    wave->dump(2 * now + 1);
#endif
  ++now;
  context->time(2 * now);
  if (settle != 0)
    --settle;
}

// Bits [low, low + 32) of the packed trace port.
static uint32_t trace_bits(const EData *words, unsigned low) {
  const unsigned w = low / 32, s = low % 32;
  uint64_t pair = words[w];
  if (s != 0)
    pair |= uint64_t(words[w + 1]) << 32;
  return static_cast<uint32_t>(pair >> s);
}

void tpu_model::collect_trace() {
  uint64_t valid = top->trace_valid_o;
  const EData *words = reinterpret_cast<const EData *>(&top->trace_data_o);
  while (valid != 0) {
    const unsigned slot = static_cast<unsigned>(__builtin_ctzll(valid));
    valid &= valid - 1;
    const unsigned low = slot * peplos::kTraceBits;
    const uint32_t tag = trace_bits(words, low), arg = trace_bits(words, low + 32);
    const unsigned event = trace_bits(words, low + 64 - 16) >> 16 & 0xff;
    const unsigned queue = trace_bits(words, low + 72 - 24) >> 24 & 0xf;
    const tpu_trace_record record = tpu_trace_make(now, event, queue, tag, arg);
    tpu_hang_event(&hang, &record);
    if (event == TPU_EVENT_ERROR)
      error_pending = true;
    if (tracing && trace_count < trace.size())
      trace[(trace_head + trace_count++) % trace.size()] = record;
  }
}

// One clock of the RTL alone: no memory, no trace, no time.
void tpu_model::clock() {
  top->clk_i = 0;
  eval();
  top->clk_i = 1;
  eval();
}

// Read registers without letting time pass: the whole state of the RTL is copied, the reads run on it,
// the copy goes back. All state is in the root object: Verilator inlines every module of this design
// (the build checks that there is no other class with state); it holds plain data and pointers that
// never change.
void tpu_model::peek_registers(const uint32_t *offset, uint32_t *value, unsigned count) {
  unsigned char *root = reinterpret_cast<unsigned char *>(top->rootp);
  std::memcpy(frozen.data(), root, frozen.size());
  top->hbm_ar_ready_i = top->hbm_aw_ready_i = top->hbm_w_ready_i = 0;
  top->hbm_r_valid_i = top->hbm_b_valid_i = 0;
  top->mmio_valid_i = 1;
  top->mmio_we_i = 0;
  top->mmio_be_i = 15;
  for (unsigned i = 0; i < count; ++i) {
    top->mmio_addr_i = offset[i];
    value[i] = 0;
    for (unsigned n = 0; n < peplos::kMaxAccessCycles && !dead; ++n) {
      top->clk_i = 0;
      eval();
      const bool done = top->mmio_ready_o;
      value[i] = top->mmio_rdata_o;
      clock();
      if (done)
        break;
    }
  }
  std::memcpy(root, frozen.data(), frozen.size());
}

// Log the first error once its registers are set.
static void flush_error_log(tpu_model *m) {
  m->error_pending = false;
  static constexpr uint32_t where[] = {TPU_REG_ERROR, TPU_REG_ERROR_TAG, TPU_REG_ERROR_DETAIL0,
                                       TPU_REG_ERROR_DETAIL1};
  uint32_t e[4];
  m->peek_registers(where, e, 4);
  char text[400];
  tpu_error_text((e[0] & TPU_REG_ERROR_CODE_MASK) >> TPU_REG_ERROR_CODE_SHIFT,
                 (e[0] & TPU_REG_ERROR_QUEUE_MASK) >> TPU_REG_ERROR_QUEUE_SHIFT, e[1], e[2], e[3], m->params,
                 text, sizeof text);
  m->log(TPU_LOG_GUEST_ERROR, "cycle %llu: %s", static_cast<unsigned long long>(m->now), text);
}

// ---- the ABI ----

static tpu_status check_config(const tpu_model_config *c, char *error, size_t size) {
  if (c->abi_hash != TPU_ABI_HASH) {
    std::snprintf(error, size,
                  "ABI hash mismatch: host 0x%08x, RTL model 0x%08x; rebuild both from one hw/regs",
                  c->abi_hash, TPU_ABI_HASH);
    return TPU_EINVAL;
  }
  if (c->config != nullptr && std::strcmp(c->config, TPU_CONFIG_NAME) != 0) {
    std::snprintf(error, size, "configuration %s asked for, this RTL model was built for %s", c->config,
                  TPU_CONFIG_NAME);
    return TPU_ENOTSUP;
  }
  if (c->timing != TPU_TIMING_CYCLE || c->detect_races) {
    std::snprintf(error, size, "%s belongs to the functional model",
                  c->detect_races ? "race detection" : "timing mode");
    return TPU_ENOTSUP;
  }
  if (c->hbm_latency > TPU_REG_HBM_LATENCY_CYCLES_MASK) {
    std::snprintf(error, size, "hbm_latency %u; at most %u", c->hbm_latency, TPU_REG_HBM_LATENCY_CYCLES_MASK);
    return TPU_EINVAL;
  }
  if (c->stall_percent > 90) {
    std::snprintf(error, size, "stall_percent is %u, at most 90", c->stall_percent);
    return TPU_EINVAL;
  }
#if VM_TRACE_FST
  if (c->wave_path != nullptr && c->wave_from >= c->wave_to) {
    std::snprintf(error, size, "waveforms from cycle %llu to %llu: the end must be behind the start",
                  static_cast<unsigned long long>(c->wave_from), static_cast<unsigned long long>(c->wave_to));
    return TPU_EINVAL;
  }
#else
  if (c->wave_path != nullptr) {
    std::snprintf(error, size, "waveforms need the waveform build of this library (libtpu_rtl_wave.so)");
    return TPU_ENOTSUP;
  }
#endif
  return TPU_OK;
}

// What is Verilator's of a model.
static void take_apart(tpu_model *m) {
  if (!m->top)
    return;
  Entered in(m);
#if VM_TRACE_FST
  if (m->wave)
    m->wave->close();
  m->wave.reset();
#endif
  m->top->final();
  m->top.reset();
  m->context.reset();
  m->dead = true;
}

// The models of this process. A host may destroy its models in exit handlers, when the static objects of
// this library are gone already, Verilator's too; what is Verilator's is taken apart before that. The
// object is made by the first model, after Verilator's, and so goes before them.
class Alive {
public:
  static void add(tpu_model *m) {
    const std::lock_guard<std::mutex> hold(lock);
    static Alive all;
    models = &all.list_;
    models->push_back(m);
  }
  static void remove(tpu_model *m) {
    const std::lock_guard<std::mutex> hold(lock);
    if (models != nullptr)
      models->erase(std::remove(models->begin(), models->end(), m), models->end());
  }

private:
  Alive() = default;
  ~Alive() {
    const std::lock_guard<std::mutex> hold(lock);
    models = nullptr;
    for (tpu_model *m : list_)
      take_apart(m);
  }
  std::vector<tpu_model *> list_;
  inline static std::mutex lock;
  inline static std::vector<tpu_model *> *models = nullptr;
};

static tpu_status model_create(const tpu_model_config *given, const tpu_model_host *host, tpu_model **out,
                               char *error, size_t size) {
  *out = nullptr;
  if (size != 0)
    error[0] = '\0';
  if (given == nullptr || given->struct_size < offsetof(tpu_model_config, timing)) {
    std::snprintf(error, size, "tpu_model_config.struct_size is %u, the least is %zu",
                  given ? given->struct_size : 0u, offsetof(tpu_model_config, timing));
    return TPU_EINVAL;
  }
  // Of an older host the fields that it does not know are 0; what a newer one has more is not used.
  tpu_model_config own{};
  std::memcpy(&own, given, std::min<size_t>(given->struct_size, sizeof own));
  const tpu_model_config *const c = &own;
  const tpu_status s = check_config(c, error, size);
  if (s != TPU_OK)
    return s;
  if (host == nullptr || host->mem_read == nullptr || host->mem_write == nullptr) {
    std::snprintf(error, size, "tpu_model_host: mem_read and mem_write must be given");
    return TPU_EINVAL;
  }
  try {
    auto m = std::make_unique<tpu_model>();
    m->config = *c;
    m->host = *host;
    m->params = peplos::find_config(TPU_CONFIG_NAME);
    m->seed_arg = "+tpu_seed=" + std::to_string(c->seed);
    if (c->wave_path != nullptr)
      m->wave_path = c->wave_path;
    m->trace.resize(c->trace_records);
    m->tracing = c->trace_records != 0;
    m->build();
    Alive::add(m.get());
    *out = m.release();
    return (*out)->dead ? TPU_EFAULT : TPU_OK;
  } catch (const std::bad_alloc &) {
    std::snprintf(error, size, "out of memory");
    return TPU_ENOMEM;
  } catch (const std::runtime_error &e) {
    std::snprintf(error, size, "%s", e.what());
    return TPU_EINVAL;
  } catch (...) {
    std::snprintf(error, size, "internal error while creating the RTL model");
    return TPU_EFAULT;
  }
}

static void model_destroy(tpu_model *m) {
  if (m == nullptr)
    return;
  Alive::remove(m);
  take_apart(m);
  delete m;
}

static tpu_status access(tpu_model *m, uint32_t offset, unsigned size, bool write, uint32_t *value) {
  if (m->dead)
    return TPU_EFAULT;
  if ((size != 1 && size != 2 && size != 4) || offset % size != 0 || offset >= TPU_WINDOW_SIZE)
    return TPU_EINVAL;
  Entered in(m);
  const unsigned lane = offset % 4;
  if (write && offset < TPU_WINDOW_SMEM) {
    tpu_hang_write(&m->hang, m->now, offset, *value);
    if (offset == TPU_REG_CTRL && (*value & TPU_REG_CTRL_SOFT_RESET_MASK))
      tpu_hang_soft_reset(&m->hang);
  }
  m->top->mmio_valid_i = 1;
  m->top->mmio_we_i = write;
  m->top->mmio_addr_i = offset & ~3u;
  m->top->mmio_be_i = ((1u << size) - 1) << lane;
  m->top->mmio_wdata_i = *value << (8 * lane);
  bool done = false;
  uint32_t data = 0;
  for (unsigned i = 0; i < peplos::kMaxAccessCycles && !done && !m->dead; ++i) {
    // The inputs settle in tick(); look at the answer before the edge takes it away.
    m->top->clk_i = 0;
    m->top->cycle_i = m->now;
    m->eval();
    done = m->top->mmio_ready_o;
    data = m->top->mmio_rdata_o;
    m->tick();
  }
  m->top->mmio_valid_i = 0;
  if (write)
    m->settle = peplos::kSettleCycles; // a read changes nothing: a hart that polls does not hide a hang
  if (!done) {
    die("an access was not answered", __FILE__, __LINE__);
    return TPU_EFAULT;
  }
  if (!write) {
    const uint32_t mask = size == 4 ? 0xffffffffu : (1u << (8 * size)) - 1;
    *value = data >> (8 * lane) & mask;
    if (offset < TPU_WINDOW_SMEM)
      tpu_hang_read(&m->hang, m->now, offset, *value);
  }
  if (m->error_pending)
    flush_error_log(m);
  return m->dead ? TPU_EFAULT : TPU_OK;
}

static tpu_status model_mmio_read(tpu_model *m, uint32_t offset, unsigned size, uint32_t *value) {
  *value = 0;
  return access(m, offset, size, false, value);
}

static tpu_status model_mmio_write(tpu_model *m, uint32_t offset, unsigned size, uint32_t value) {
  return access(m, offset, size, true, &value);
}

static tpu_status model_advance(tpu_model *m, uint64_t max_cycles, uint64_t *ran, tpu_stop *reason) {
  *ran = 0;
  *reason = TPU_STOP_FAULT;
  if (m->dead)
    return TPU_EFAULT;
  Entered in(m);
  const auto *pins = m->top->rootp;
  const bool irq = pins->irq_o;
  *reason = TPU_STOP_BUDGET;
  while (true) {
    if (m->quiescent()) {
      *reason = pins->idle_o ? TPU_STOP_IDLE : TPU_STOP_BLOCKED;
      break;
    }
    if (*ran == max_cycles)
      break;
    if (m->tracing && m->trace.size() - m->trace_count < 64) {
      *reason = TPU_STOP_TRACE;
      break;
    }
    m->tick();
    ++*ran;
    if (m->error_pending)
      flush_error_log(m);
    if (m->dead) {
      *reason = TPU_STOP_FAULT;
      return TPU_EFAULT;
    }
    if (pins->irq_o != irq) {
      *reason = TPU_STOP_IRQ;
      break;
    }
  }
  return TPU_OK;
}

static uint64_t model_cycle(const tpu_model *m) {
  return m->now;
}

static uint64_t model_next_event(const tpu_model *m) {
  return m->quiescent() ? UINT64_MAX : 1;
}

static bool model_quiescent(const tpu_model *m) {
  return m->quiescent();
}

static tpu_status model_skip(tpu_model *m, uint64_t n) {
  if (!m->quiescent())
    return TPU_EINVAL;
  if (n == 0)
    return TPU_OK;
  // The last cycle is run, so that the counters see how long it was.
  Entered in(m);
  m->now += n - 1;
  m->tick();
  return m->dead ? TPU_EFAULT : TPU_OK;
}

static bool model_irq(const tpu_model *m) {
  return m->top->irq_o;
}

static tpu_status model_reset(tpu_model *m, tpu_reset_kind kind) {
  if (kind == TPU_RESET_HARD) {
    try {
      take_apart(m);
      m->dead = false;
      m->build();
    } catch (...) {
      m->dead = true;
    }
    return m->dead ? TPU_EFAULT : TPU_OK;
  }
  tpu_status s = model_mmio_write(m, TPU_REG_CTRL, 4, TPU_REG_CTRL_SOFT_RESET_MASK);
  for (unsigned i = 0; s == TPU_OK && i < 100000; ++i) {
    Entered in(m);
    uint32_t status = 0;
    s = model_mmio_read(m, TPU_REG_STATUS, 4, &status);
    if ((status & TPU_REG_STATUS_ABORTING_MASK) == 0)
      return s;
  }
  return s == TPU_OK ? TPU_EFAULT : s;
}

static tpu_status model_save(const tpu_model *, void *, size_t *) {
  return TPU_ENOTSUP;
}
static tpu_status model_restore(tpu_model *, const void *, size_t) {
  return TPU_ENOTSUP;
}

static size_t model_describe(const tpu_model *model, char *text, size_t size) {
  tpu_model *m = const_cast<tpu_model *>(model); // peeking leaves the state as it was
  Entered in(m);
  constexpr unsigned kFixed = 9;
  uint32_t where[kFixed + TPU_HANG_SEMS] = {
      TPU_REG_STATUS,        TPU_REG_ERROR,         TPU_REG_ERROR_TAG,
      TPU_REG_ERROR_DETAIL0, TPU_REG_ERROR_DETAIL1, TPU_REG_INTR_STATE,
      TPU_REG_INTR_ENABLE,   TPU_REG_SEM_MODE(0),   TPU_REG_SEM_MODE(1)};
  uint32_t v[kFixed + TPU_HANG_SEMS] = {};
  const unsigned semaphores = m->params->semaphores;
  for (unsigned i = 0; i < semaphores; ++i)
    where[kFixed + i] = TPU_REG_SEM_VALUE(i);
  m->peek_registers(where, v, kFixed + semaphores);
  tpu_hang_snapshot shot{};
  shot.cycle = m->now;
  shot.status = v[0];
  shot.error = v[1];
  shot.error_tag = v[2];
  shot.error_detail0 = v[3];
  shot.error_detail1 = v[4];
  shot.intr_state = v[5];
  shot.intr_enable = v[6];
  shot.sem_mode[0] = v[7];
  shot.sem_mode[1] = v[8];
  std::memcpy(shot.sem_value, v + kFixed, semaphores * sizeof(uint32_t));
  return tpu_hang_report(&m->hang, &shot, m->params, text, size);
}

static size_t model_trace_read(tpu_model *m, tpu_trace_record *records, size_t count) {
  size_t n = 0;
  while (n < count && m->trace_count != 0) {
    records[n++] = m->trace[m->trace_head];
    m->trace_head = (m->trace_head + 1) % m->trace.size();
    --m->trace_count;
  }
  return n;
}

static void model_trace_enable(tpu_model *m, bool on) {
  m->tracing = on && !m->trace.empty();
}

// ---- back door ----

// Memory arrays are public in the RTL; their scopes are found by name, once an instance.
static uint8_t *memory_array(tpu_model *m, const std::string &scope) {
  const VerilatedScope *s = m->context->scopeFind(("TOP.tpu." + scope).c_str());
  if (s == nullptr)
    return nullptr;
  VerilatedVar *v = s->varFind("mem");
  return v == nullptr ? nullptr : static_cast<uint8_t *>(v->datap());
}

static void find_memories(tpu_model *m) {
  m->smem = memory_array(m, "u_smem");
  for (unsigned b = 0; b < m->params->vmem_banks; ++b)
    m->vmem[b] = memory_array(m, "u_vmem.gen_bank[" + std::to_string(b) + "]");
  for (unsigned b = 0; b < 2; ++b)
    m->acc[b] = memory_array(m, "u_acc.gen_bank[" + std::to_string(b) + "].u_bank");
}

static unsigned fold(unsigned word, unsigned banks) {
  unsigned x = 0;
  for (; word != 0; word /= banks)
    x ^= word % banks;
  return x;
}

// Host address of a byte of an on-chip memory, or NULL. Four aligned bytes lie together everywhere.
static uint8_t *locate(const tpu_model *m, unsigned memory, uint32_t address) {
  const struct tpu_config &p = *m->params;
  if (memory == TPU_SPACE_SMEM)
    return m->smem ? m->smem + address : nullptr;
  if (memory == TPU_SPACE_VMEM) {
    const unsigned word = address / p.vmem_word_bytes, row = word / p.vmem_banks;
    uint8_t *base = m->vmem[fold(word, p.vmem_banks)];
    return base ? base + row * p.vmem_word_bytes + address % p.vmem_word_bytes : nullptr;
  }
  const unsigned row_bytes = 4 * p.dim, row = address / row_bytes;
  uint8_t *base = m->acc[row & 1];
  return base ? base + (row >> 1) * row_bytes + address % row_bytes : nullptr;
}

static tpu_status back_door(tpu_model *m, unsigned memory, uint32_t address, size_t n, uint8_t *read,
                            const uint8_t *write) {
  const struct tpu_config &p = *m->params;
  const uint64_t size = memory == TPU_SPACE_VMEM   ? p.vmem_bytes
                        : memory == TPU_SPACE_SMEM ? p.smem_bytes
                        : memory == TPU_SPACE_ACC  ? uint64_t(p.acc_rows) * p.dim * 4
                                                   : 0;
  if (address > size || n > size - address)
    return TPU_EINVAL;
  Entered in(m);
  for (size_t i = 0; i < n;) {
    // A run inside one 4-byte unit lies in one place of every memory.
    const size_t run = std::min<size_t>(n - i, 4 - (address + i) % 4);
    uint8_t *p8 = locate(m, memory, static_cast<uint32_t>(address + i));
    if (p8 == nullptr)
      return TPU_EFAULT;
    if (read != nullptr)
      std::memcpy(read + i, p8, run);
    else
      std::memcpy(p8, write + i, run);
    i += run;
  }
  return TPU_OK;
}

static tpu_status model_peek(tpu_model *m, unsigned memory, uint32_t address, void *data, size_t n) {
  return back_door(m, memory, address, n, static_cast<uint8_t *>(data), nullptr);
}

static tpu_status model_poke(tpu_model *m, unsigned memory, uint32_t address, const void *data, size_t n) {
  return back_door(m, memory, address, n, nullptr, static_cast<const uint8_t *>(data));
}

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)

extern "C" __attribute__((visibility("default"))) const tpu_model_api *tpu_model_get_api(void) {
  static const tpu_model_api api = {
      TPU_MODEL_ABI_MAJOR,
      TPU_MODEL_ABI_MINOR,
      sizeof(tpu_model_api),
      TPU_ABI_HASH,
      "rtl",
      TPU_CONFIG_NAME " " TPU_BUILD_KIND " (Verilator " STRINGIFY(VERILATOR_VERSION_INTEGER) ")",
      model_create,
      model_destroy,
      model_reset,
      model_mmio_read,
      model_mmio_write,
      model_advance,
      model_cycle,
      model_next_event,
      model_quiescent,
      model_skip,
      model_irq,
      model_save,
      model_restore,
      model_describe,
      model_trace_read,
      model_trace_enable,
      model_peek,
      model_poke,
  };
  return &api;
}
