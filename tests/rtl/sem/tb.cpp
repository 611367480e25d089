// SPDX-License-Identifier: MIT
//
// Semaphore file against a model of the contract.
//
// The bench plays the queues (heads with random waits, engines that are ready now and then), the
// completing commands and the scalar core. The model holds values and modes. It does not predict in which
// cycle a head starts; it checks what the contract promises:
//   - a start only when all waits hold, never two that fight for one semaphore in one cycle;
//   - a start within 4 cycles after the first cycle in which all waits held and the engine was ready
//     (a cycle in which heads fight for a semaphore and one of them loses counts for nobody);
//   - "waiting" only while a wait does not hold, and WAIT events that name the first such wait;
//   - values, overflow and underflow of every cycle, by reading a random semaphore every cycle.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "Vtpu_sem.h"
#include "verilated.h"

namespace {

constexpr int kQueues = 7;
constexpr int kWaits = WAITS;
constexpr int kSems = SEMAPHORES;
constexpr uint32_t kCountMax = 0x7fffffff;
enum Op { kNone, kSignal, kTake, kValue, kMode };

struct Random {
  uint64_t s;
  explicit Random(uint64_t seed) : s(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  uint32_t next() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return static_cast<uint32_t>(s * 0x2545f4914f6cdd1dull >> 32);
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(uint64_t(next()) * n >> 32); }
  bool percent(uint32_t p) { return below(100) < p; }
};

struct Wait {
  bool en = false, consume = false;
  unsigned sem = 0;
  uint32_t amount = 0;
};

struct Head {
  bool valid = false;
  Wait wait[kWaits];
  unsigned held = 0;   // cycles in which all waits held and the engine was ready
  unsigned missed = 0; // cycles in which a wait did not hold and the engine was ready
  bool reported = false;
};

void put(void *port, unsigned low, unsigned width, uint32_t value) {
  uint32_t *w = static_cast<uint32_t *>(port);
  for (unsigned i = 0; i < width; ++i) {
    const unsigned b = low + i;
    w[b / 32] = (w[b / 32] & ~(1u << (b % 32))) | ((value >> i & 1) << (b % 32));
  }
}

struct Bench {
  VerilatedContext context;
  Vtpu_sem top{&context, "top"};
  Random random;
  uint64_t cycle = 0;
  uint32_t value[kSems] = {};
  bool ticket[kSems] = {};
  Head head[kQueues];
  unsigned errors = 0;
  // coverage: a bench whose rare cases never happen proves nothing
  uint64_t starts = 0, pairs = 0, waits = 0, overflows = 0, underflows = 0, merges = 0, contested = 0;
  unsigned latest = 0;
  bool lost = false; // heads fought in this cycle
  unsigned kept = 0; // takes that may still wait for a write port
  unsigned delivered = 0;

  explicit Bench(uint64_t seed) : random(seed) {}

  void fail(const char *what, long a = 0, long b = 0) {
    if (errors++ < 10)
      std::printf("cycle %llu: %s (%ld, %ld)\n", (unsigned long long)cycle, what, a, b);
  }

  bool holds(const Wait &w) const {
    if (!w.en)
      return true;
    return ticket[w.sem] ? int32_t(value[w.sem] - w.amount) >= 0 : value[w.sem] >= w.amount;
  }
  bool takes(const Wait &w) const { return w.en && w.consume && !ticket[w.sem]; }
  int first_missing(const Head &h) const {
    for (int i = 0; i < kWaits; ++i) {
      if (!holds(h.wait[i]))
        return static_cast<int>(h.wait[i].sem);
    }
    return -1;
  }
  bool conflict(const Head &a, const Head &b) const {
    for (const Wait &x : a.wait) {
      for (const Wait &y : b.wait) {
        if (x.en && y.en && x.sem == y.sem && (takes(x) || takes(y)))
          return true;
      }
    }
    return false;
  }

  void drive_heads() {
    for (int q = 0; q < kQueues; ++q) {
      for (int i = 0; i < kWaits; ++i) {
        const Wait &w = head[q].wait[i];
        put(&top.waits_i, 8 * (q * kWaits + i), 8, uint32_t(w.en) << 7 | uint32_t(w.consume) << 6 | w.sem);
        put(&top.amounts_i, 32 * (q * kWaits + i), 32, w.amount);
      }
    }
  }

  void edge() {
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    ++cycle;
    context.timeInc(1);
  }

  void quiet() {
    top.clear_i = top.clear_modes_i = 0;
    top.fresh_i = top.ask_i = 0;
    top.sig_valid_i = top.sig_huge_i = 0;
    top.op_i = kNone;
    top.rd_valid_i = 0;
  }

  void reset() {
    quiet();
    top.rst_ni = 0;
    for (int i = 0; i < 3; ++i)
      edge();
    top.rst_ni = 1;
    forget(true);
  }

  void forget(bool modes) {
    for (int s = 0; s < kSems; ++s) {
      value[s] = 0;
      if (modes)
        ticket[s] = false;
    }
    for (Head &h : head)
      h = Head{};
  }

  void clear(bool modes) {
    quiet();
    top.clear_i = 1;
    top.clear_modes_i = modes;
    top.eval();
    edge();
    quiet();
    forget(modes);
  }

  void operation(Op op, unsigned sem, uint32_t data) {
    quiet();
    top.op_i = op;
    top.op_sem_i = sem;
    top.op_data_i = data;
    top.eval();
    edge();
    quiet();
  }

  void set_value(unsigned sem, uint32_t v) {
    operation(kValue, sem, v);
    value[sem] = v;
  }
  void set_modes(uint64_t bits) {
    for (int half = 0; half < kSems / 32; ++half)
      operation(kMode, half, uint32_t(bits >> (32 * half)));
    for (int s = 0; s < kSems; ++s)
      ticket[s] = bits >> s & 1;
  }

  // One cycle with the given signals or operation. Engines that are ready: bits of `ask`. New heads for
  // queues whose head starts come from `refill`.
  struct Cycle {
    unsigned ask = 0;
    unsigned signals = 0; // bit mask
    unsigned sem[2] = {};
    uint32_t amount[2] = {};
    unsigned huge = 0;
    Op op = kNone;
    unsigned op_sem = 0;
    uint32_t op_data = 0;
  };

  template <typename Refill> unsigned run(Cycle c, Refill refill) {
    top.sig_valid_i = 0;
    top.sig_huge_i = c.huge;
    put(&top.sig_sem_i, 0, 6, c.sem[0]);
    put(&top.sig_sem_i, 6, 6, c.sem[1]);
    put(&top.sig_amount_i, 0, 32, c.amount[0]);
    put(&top.sig_amount_i, 32, 32, c.amount[1]);
    top.op_i = c.op;
    top.op_sem_i = c.op_sem;
    top.op_data_i = c.op_data;
    unsigned ask = 0;
    for (int q = 0; q < kQueues; ++q)
      ask |= unsigned(head[q].valid && (c.ask >> q & 1)) << q;
    top.ask_i = ask;
    top.fresh_i = 0;
    const unsigned look = random.below(kSems);
    top.rd_valid_i = 1;
    top.rd_sem_i = look;
    top.eval();
    // Signals are delivered only when they are not held, and do not change what is decided.
    const unsigned held_start = top.start_o;
    if (top.hold_o) {
      c.signals = c.huge = 0;
    } else {
      top.sig_valid_i = c.signals;
      top.eval();
      if (top.start_o != held_start)
        fail("starts depend on signals", top.start_o, held_start);
    }
    delivered = c.signals;

    if (top.rd_value_o != value[look])
      fail("value read", look, top.rd_value_o);
    const unsigned start = top.start_o;
    if (start & ~ask)
      fail("start of a head that did not ask", start, ask);
    check_starts(start, ask, c);
    check_looks(start, ask);
    apply(start, c);

    // New heads are loaded in this cycle, as the queues do it.
    Head loaded[kQueues];
    unsigned fresh = 0;
    for (int q = 0; q < kQueues; ++q) {
      if (start >> q & 1)
        head[q].valid = false;
      if (!head[q].valid && refill(q, &loaded[q]))
        fresh |= 1u << q;
    }
    top.fresh_i = fresh;
    top.eval();
    if (top.start_o != start)
      fail("starts depend on fresh", top.start_o, start);
    edge();
    for (int q = 0; q < kQueues; ++q) {
      if (fresh >> q & 1) {
        head[q] = loaded[q];
        head[q].valid = true;
      }
    }
    if (fresh)
      drive_heads();
    return start;
  }

  unsigned take_count(const Head &h) const {
    unsigned n = 0;
    for (const Wait &w : h.wait)
      n += takes(w);
    return n;
  }

  // Does a head that could start lose a semaphore or a write port to another, or to the scalar core?
  bool fight(unsigned start, unsigned ask, const Cycle &c) const {
    const unsigned ports = c.op == kNone ? 2 : 1;
    unsigned used = 0;
    for (int q = 0; q < kQueues; ++q)
      used += (start >> q & 1) ? take_count(head[q]) : 0;
    for (int q = 0; q < kQueues; ++q) {
      if (!(ask >> q & 1) || (start >> q & 1) || first_missing(head[q]) >= 0)
        continue;
      for (const Wait &w : head[q].wait) {
        if (takes(w) && c.op != kNone && c.op_sem == w.sem)
          return true;
      }
      if (take_count(head[q]) != 0 && used + take_count(head[q]) > ports)
        return true;
      for (int o = 0; o < kQueues; ++o) {
        if ((start >> o & 1) && conflict(head[o], head[q]))
          return true;
      }
    }
    return false;
  }

  void check_starts(unsigned start, unsigned ask, const Cycle &c) {
    int count = 0, first = -1;
    lost = kept != 0 || fight(start, ask, c);
    contested += lost;
    if (start != 0)
      kept = 0; // an operation may have written one in passing
    for (int q = 0; q < kQueues; ++q)
      kept += (start >> q & 1) ? take_count(head[q]) : 0;
    kept -= std::min(kept, c.op == kNone ? 2u : 1u);
    for (int q = 0; q < kQueues; ++q) {
      Head &h = head[q];
      if (!(ask >> q & 1)) {
        h.held = 0;
        continue;
      }
      const bool can = first_missing(h) < 0;
      if (start >> q & 1) {
        if (!can)
          fail("start although a wait does not hold", q, first_missing(h));
        if (h.held > 4)
          fail("start later than 4 cycles after the waits held", q, h.held);
        if (h.held > latest)
          latest = h.held;
        if (first >= 0 && conflict(head[first], h))
          fail("two starts fight for a semaphore", first, q);
        first = q;
        ++count;
        ++starts;
        continue;
      }
      if (!can) {
        h.held = 0;
        continue;
      }
      if (!lost && ++h.held > 4)
        fail("no start within 4 cycles", q, h.held);
    }
    if (count == 2)
      ++pairs;
    if (count > 2)
      fail("more than two starts", count);
  }

  void check_looks(unsigned start, unsigned ask) {
    unsigned seen = 0, event = 0;
    for (int p = 0; p < 2; ++p) {
      const unsigned q = top.look_queue_o >> (3 * p) & 7;
      const unsigned sem = top.look_sem_o >> (6 * p) & 63;
      if (top.look_start_o >> p & 1)
        seen |= 1u << q;
      if (top.look_wait_o >> p & 1) {
        event |= 1u << q;
        ++waits;
        if (head[q].reported)
          fail("WAIT twice for a command", q);
        head[q].reported = true;
        if (int(sem) != first_missing(head[q]))
          fail("WAIT names another semaphore", q, sem);
      }
    }
    if (seen != start)
      fail("trace of starts", seen, start);
    if (event & ~ask)
      fail("WAIT of a head that did not ask", event, ask);
    for (int q = 0; q < kQueues; ++q) {
      Head &h = head[q];
      if (!h.valid)
        continue;
      if ((top.settled_o >> q & 1) && first_missing(h) < 0)
        fail("settled although all waits hold", q);
      if ((top.settled_o >> q & 1) && !(top.waiting_o >> q & 1))
        fail("settled but not waiting", q);
      h.missed = ((ask >> q & 1) && first_missing(h) >= 0) ? h.missed + !lost : 0;
      if (h.missed > 5 && !(top.waiting_o >> q & 1))
        fail("not reported as waiting", q);
      if (h.missed > 5 && !h.reported)
        fail("no WAIT event", q);
    }
  }

  // All takes and signals of the cycle, and what the unit says about them.
  void apply(unsigned start, const Cycle &c) {
    uint64_t add[kSems] = {}, take[kSems] = {};
    for (int q = 0; q < kQueues; ++q) {
      if (!(start >> q & 1))
        continue;
      for (const Wait &w : head[q].wait) {
        if (takes(w))
          take[w.sem] += w.amount;
      }
    }
    for (int i = 0; i < 2; ++i) {
      if (c.signals >> i & 1)
        add[c.sem[i]] += c.amount[i] + ((c.huge >> i & 1) ? 1ull << 32 : 0);
    }
    if (c.signals == 3 && c.sem[0] == c.sem[1])
      ++merges;
    if (c.op == kSignal)
      add[c.op_sem] += c.op_data;
    bool underflow = false;
    if (c.op == kTake) {
      underflow = c.op_data > value[c.op_sem];
      if (!underflow)
        take[c.op_sem] += c.op_data;
    }
    if (top.underflow_o != underflow)
      fail("underflow", top.underflow_o, underflow);
    if (underflow) {
      ++underflows;
      if (top.fault_sem_o != c.op_sem)
        fail("semaphore of an underflow", top.fault_sem_o, c.op_sem);
      if (top.fault_value_o != value[c.op_sem])
        fail("value of an underflow", top.fault_value_o);
    }
    int first = -1;
    for (int s = 0; s < kSems; ++s) {
      if (take[s] > value[s])
        fail("taken below zero", s);
      const uint64_t sum = value[s] + add[s] - take[s];
      if (!ticket[s] && add[s] != 0 && sum > kCountMax) {
        if (first < 0) {
          first = s;
          if (int(top.fault_sem_o) != s)
            fail("semaphore of an overflow", top.fault_sem_o, s);
          if (top.fault_value_o != value[s])
            fail("value of an overflow", top.fault_value_o);
        }
        continue;
      }
      value[s] = static_cast<uint32_t>(sum);
    }
    if (top.overflow_o != (first >= 0))
      fail("overflow", top.overflow_o, first);
    if (first >= 0)
      ++overflows;
  }
};

// ---- random streams ----

struct Flavour {
  unsigned sems, wait_percent, consume_percent, ready_percent, signal_percent, op_percent, refill_percent;
  uint32_t small; // amounts are below this, mostly
  bool edges;     // values near the limits
};

Flavour choose(Random &r) {
  Flavour f;
  f.sems = r.percent(50) ? 3 + r.below(4) : kSems;
  f.wait_percent = 20 + r.below(70);
  f.consume_percent = r.below(90);
  f.ready_percent = r.percent(30) ? 100 : 20 + r.below(80);
  f.signal_percent = 10 + r.below(90);
  f.op_percent = r.percent(50) ? 0 : r.below(20);
  f.refill_percent = 30 + r.below(71);
  f.small = r.percent(50) ? 3 : 50;
  f.edges = r.percent(30);
  return f;
}

Head random_head(Bench &b, const Flavour &f) {
  Head h;
  uint64_t used = 0;
  for (Wait &w : h.wait) {
    w.sem = b.random.below(f.sems);
    w.en = b.random.percent(f.wait_percent) && !(used >> w.sem & 1);
    if (w.en)
      used |= 1ull << w.sem;
    w.consume = b.random.percent(f.consume_percent);
    w.amount = b.ticket[w.sem] ? b.value[w.sem] + b.random.below(f.small) - 1 : b.random.below(f.small);
  }
  return h;
}

void phase(Bench &b, unsigned cycles) {
  const Flavour f = choose(b.random);
  b.set_modes(uint64_t(b.random.next()) << 32 | b.random.next());
  for (unsigned s = 0; s < f.sems; ++s) {
    uint32_t v = b.random.below(f.small);
    if (f.edges)
      v = b.ticket[s] ? 0xfffffff0u : kCountMax + 3 - b.random.below(10);
    b.set_value(s, v);
  }
  unsigned ask = 0;
  for (unsigned n = 0; n < cycles; ++n) {
    Bench::Cycle c;
    for (int q = 0; q < kQueues; ++q) {
      if (b.random.percent(30))
        ask = (ask & ~(1u << q)) | unsigned(b.random.percent(f.ready_percent)) << q;
    }
    c.ask = ask;
    if (b.random.percent(f.op_percent)) {
      c.op_sem = b.random.below(f.sems);
      c.op = b.random.percent(50) && !b.ticket[c.op_sem] ? kTake : kSignal;
      c.op_data = b.random.below(f.small);
    } else if (b.random.percent(f.signal_percent)) {
      c.signals = 1 + b.random.below(3);
      for (int i = 0; i < 2; ++i) {
        c.sem[i] = b.random.below(f.sems);
        c.amount[i] = b.random.below(f.small);
        if (b.random.below(400) == 0)
          c.amount[i] = b.random.next();
        if (b.random.below(400) == 0)
          c.huge |= 1u << i;
      }
      c.huge &= c.signals;
    }
    b.run(c, [&](int, Head *h) {
      if (!b.random.percent(f.refill_percent))
        return false;
      *h = random_head(b, f);
      return true;
    });
  }
  b.clear(b.random.percent(50));
}

// ---- directed ----

bool no_refill(int, Head *) {
  return false;
}

void place(Bench &b, const Head (&heads)[kQueues], unsigned which) {
  Bench::Cycle c;
  b.run(c, [&](int q, Head *h) {
    if (!(which >> q & 1))
      return false;
    *h = heads[q];
    return true;
  });
}

// All seven heads are released by one signal: the last one starts at most 4 cycles after.
bool release_all(Bench &b, bool consume) {
  b.reset();
  Head heads[kQueues];
  for (int q = 0; q < kQueues; ++q) {
    // consume: from a semaphore of one's own, so that nobody stands in the way
    heads[q].wait[0] = Wait{true, false, 0, 5};
    heads[q].wait[1] = Wait{true, consume, unsigned(1 + q), 1};
  }
  for (int q = 0; q < kQueues; ++q)
    b.set_value(1 + q, 1);
  place(b, heads, 0x7f);
  Bench::Cycle idle;
  idle.ask = 0x7f;
  for (int i = 0; i < 8; ++i) {
    if (b.run(idle, no_refill))
      return false;
  }
  Bench::Cycle signal = idle;
  signal.signals = 1;
  signal.sem[0] = 0;
  signal.amount[0] = 5;
  if (b.run(signal, no_refill))
    return false;
  unsigned all = 0;
  for (int i = 0; i < 5; ++i)
    all |= b.run(idle, no_refill);
  for (int q = 0; q < kQueues; ++q) {
    if (b.value[1 + q] != (consume ? 0u : 1u))
      return false;
  }
  return all == 0x7f && b.errors == 0;
}

// Two heads want the one count that is there: the lower queue gets it, the other waits on.
bool lower_first(Bench &b) {
  for (int low = 0; low < kQueues; ++low) {
    for (int high = low + 1; high < kQueues; ++high) {
      b.reset();
      Head heads[kQueues];
      heads[low].wait[0] = Wait{true, true, 3, 1};
      heads[high].wait[kWaits - 1] = Wait{true, true, 3, 1};
      place(b, heads, 1u << low | 1u << high);
      Bench::Cycle idle;
      idle.ask = 0x7f;
      for (int i = 0; i < 6; ++i)
        b.run(idle, no_refill);
      Bench::Cycle signal = idle;
      signal.signals = 2;
      signal.sem[1] = 3;
      signal.amount[1] = 1;
      unsigned all = b.run(signal, no_refill);
      for (int i = 0; i < 8; ++i)
        all |= b.run(idle, no_refill);
      if (all != 1u << low || b.value[3] != 0)
        return false;
      all = b.run(signal, no_refill);
      for (int i = 0; i < 8; ++i)
        all |= b.run(idle, no_refill);
      if (all != 1u << high)
        return false;
    }
  }
  return b.errors == 0;
}

// The two signals of a command are summed before the overflow check: both or none.
bool summed(Bench &b) {
  b.reset();
  b.set_value(2, kCountMax - 7);
  Bench::Cycle c;
  c.signals = 3;
  c.sem[0] = c.sem[1] = 2;
  c.amount[0] = 3;
  c.amount[1] = 4;
  b.run(c, no_refill);
  if (b.overflows != 0 || b.value[2] != kCountMax)
    return false;
  b.set_value(2, kCountMax - 6);
  b.run(c, no_refill);
  return b.overflows == 1 && b.value[2] == kCountMax - 6 && b.errors == 0;
}

// A head that consumes all it can: everybody sees all its takes at once, also the scalar core, which
// works on one of the semaphores in the next cycle.
bool together(Bench &b) {
  for (int op = 0; op < 3; ++op) {
    for (int late = 0; late < kWaits; ++late) {
      b.reset();
      Head heads[kQueues];
      for (int i = 0; i < kWaits; ++i) {
        b.set_value(i, 10);
        heads[5].wait[i] = Wait{true, true, unsigned(i), uint32_t(3 + i)};
      }
      place(b, heads, 1u << 5);
      Bench::Cycle c;
      c.ask = 1u << 5;
      if (b.run(c, no_refill) != 1u << 5)
        return false;
      c.op = Op(op);
      c.op_sem = unsigned(late);
      c.op_data = 2;
      b.run(c, no_refill);
      c.op = kNone;
      for (int i = 0; i < 40; ++i)
        b.run(c, no_refill); // reads them all
      for (int i = 0; i < kWaits; ++i) {
        const uint32_t want = uint32_t(10 - 3 - i) + (i == late ? (op == kSignal ? 2
                                                                   : op == kTake ? -2
                                                                                 : 0)
                                                                : 0);
        if (b.value[i] != want)
          return false;
      }
    }
  }
  return b.errors == 0;
}

int report(const char *name, const std::string &variant, bool good) {
  std::printf("%s rtl/sem %s (%s)\n", good ? "PASS" : "FAIL", name, variant.c_str());
  return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const uint64_t cycles = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 400000;
  const std::string variant = argc > 3 ? argv[3] : "?";
  Bench b(seed);
  b.context.randSeed(static_cast<int>(seed & 0x7fffffff) + 1);
  int failed = 0;
  b.reset();
  failed += report("seven heads start within 4 cycles", variant, release_all(b, false));
  failed += report("seven consuming heads start within 4 cycles", variant, release_all(b, true));
  failed += report("the lower queue goes first", variant, lower_first(b));
  failed += report("signals of a command are summed", variant, summed(b));
  failed += report("takes of a command happen together", variant, together(b));
  b.reset();
  while (b.cycle < cycles && b.errors == 0)
    phase(b, 200 + b.random.below(1000));
  std::printf(
      "seed %llu: %llu cycles, %llu starts (%llu pairs), %llu waits, %llu overflows, %llu underflows, "
      "%llu merged signals, %llu contested, latest start %u cycles\n",
      (unsigned long long)seed, (unsigned long long)b.cycle, (unsigned long long)b.starts,
      (unsigned long long)b.pairs, (unsigned long long)b.waits, (unsigned long long)b.overflows,
      (unsigned long long)b.underflows, (unsigned long long)b.merges, (unsigned long long)b.contested,
      b.latest);
  const bool covered = cycles < 100000 || (b.pairs > 100 && b.waits > 100 && b.overflows > 10 &&
                                           b.underflows > 10 && b.merges > 100 && b.contested > 10);
  failed += report("random streams", variant, b.errors == 0);
  failed += report("random streams reach the rare cases", variant, covered);
  b.top.final();
  return failed == 0 ? 0 : 1;
}
