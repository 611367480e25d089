/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peplos TPU device: time
 *
 * One instruction of a hart is one TPU cycle (-icount). The model is run
 * lazily: before an access it catches up to the instruction's cycle, and
 * while it is busy a timer lets it catch up every quantum, so that no access
 * has much to catch up.
 *
 * What the harts see must not depend on the quantum. Their accesses do not:
 * the model is then exactly at the present. The interrupt line does not
 * either, because it changes at these points only ("delivery points"):
 *
 * - at an access, to the level of that cycle;
 * - TPU_ARM_CYCLES after a read of INTR_STATE with the line low, which is what
 *   waiting code does just before WFI, and if the hart does not sleep then,
 *   after twice as many more, and so on (with the line high WFI goes on);
 * - while all harts sleep, at the exact cycle of the edge: then nothing but
 *   the model and other timers can happen, so the model runs ahead until its
 *   line changes or the next other timer is due;
 * - at multiples of TPU_GRID_CYCLES otherwise, that is for a hart that runs
 *   with interrupts enabled and does not touch the device.
 *
 * Idle and blocked cycles are skipped. A device that will never change again,
 * with harts that nothing will ever wake, is a hang and ends the process with
 * a report.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/option.h"
#include "qemu/config-file.h"
#include "qapi/error.h"
#include "system/cpu-timers.h"
#include "system/qtest.h"
#include "system/runstate.h"
#include "hw/irq.h"
#include "tpu_dev.h"
#include "trace.h"

#define TPU_ARM_CYCLES 4
#define TPU_GRID_CYCLES 4096
/* Longest run without giving the main loop a chance (monitor, SIGTERM). */
#define TPU_CHUNK_CYCLES 16384
/* Polls that span so many cycles in a blocked device are a hang. */
#define TPU_POLL_LIMIT 8192

uint64_t tpu_cycle(TPUState *s)
{
    return s->dead ? 0 : s->api->cycle(s->model);
}

/* The cycle that the machine's clock stands for. */
static uint64_t tpu_now(TPUState *s)
{
    int64_t ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) - s->base_ns;

    return ns < 0 ? 0 : ns / s->period_ns;
}

char *tpu_describe(TPUState *s)
{
    size_t size;
    char *text;

    if (!s->model) {
        return g_strdup("no model\n");
    }
    size = s->api->describe(s->model, NULL, 0) + 1;
    text = g_malloc0(size);
    s->api->describe(s->model, text, size);
    return text;
}

/* Ends the process with a report; the first cause wins. */
static void tpu_end(TPUState *s, const char *what, const char *why, int code)
{
    g_autoptr(GString) harts = g_string_new(NULL);
    g_autofree char *text = NULL;

    if (s->ended) {
        return;
    }
    s->ended = true;
    text = tpu_describe(s);
    if (s->board) {
        s->board->describe(s->board_opaque, harts);
    }
    error_report("tpu: %s at cycle %" PRIu64 ": %s", what,
                 s->api->cycle(s->model), why);
    error_printf("%s%s", harts->str, text);
    qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_GUEST_PANIC, code);
}

void tpu_die(TPUState *s, const char *where)
{
    tpu_end(s, "model fault", where, TPU_EXIT_FAULT);
    s->dead = true;
    timer_del(&s->timer);
}

void tpu_update_irq(TPUState *s)
{
    bool level = !s->dead && s->api->irq(s->model);

    if (level != s->irq_level) {
        trace_tpu_irq(tpu_cycle(s), level);
        s->irq_level = level;
        qemu_set_irq(s->irq, level);
    }
}

/* Runs the busy model once, up to a cycle; false when it is dead. */
static bool tpu_advance(TPUState *s, uint64_t limit, tpu_stop *reason)
{
    uint64_t before = tpu_cycle(s);
    uint64_t ran = 0;

    if (s->api->advance(s->model, limit - before, &ran, reason) != TPU_OK ||
        *reason == TPU_STOP_FAULT) {
        tpu_die(s, "advance failed");
        return false;
    }
    trace_tpu_advance(tpu_cycle(s), ran, *reason);
    s->busy_cycles += ran;
    if (*reason == TPU_STOP_TRACE) {
        tpu_drain_trace(s);
    } else if (!ran && !s->api->quiescent(s->model)) {
        tpu_die(s, "a busy model made no progress");
        return false;
    }
    return true;
}

static void tpu_skip(TPUState *s, uint64_t target)
{
    uint64_t cycles = target - tpu_cycle(s);

    if (s->api->skip(s->model, cycles) != TPU_OK) {
        tpu_die(s, "skip failed");
        return;
    }
    s->skipped_cycles += cycles;
    trace_tpu_skip(tpu_cycle(s), cycles);
}

/*
 * Catches up with the machine. The model may be ahead (it ran while the harts
 * slept, or an access took cycles); then there is nothing to do.
 */
void tpu_sync(TPUState *s)
{
    uint64_t now = tpu_now(s);
    tpu_stop reason;

    while (!s->dead && tpu_cycle(s) < now) {
        if (s->api->quiescent(s->model)) {
            tpu_skip(s, now);
        } else if (!tpu_advance(s, now, &reason)) {
            return;
        }
    }
}

static bool tpu_asleep(TPUState *s)
{
    return s->assume_asleep ||
           (s->board && s->board->asleep(s->board_opaque));
}

/* Idle or blocked; *blocked tells which. */
static bool tpu_is_quiescent(TPUState *s, bool *blocked)
{
    uint64_t ran = 0;
    tpu_stop reason;

    if (!s->api->quiescent(s->model)) {
        return false;
    }
    /* Runs nothing in that state, but says what it is. */
    s->api->advance(s->model, 1, &ran, &reason);
    *blocked = reason == TPU_STOP_BLOCKED;
    return true;
}

/*
 * All harts asleep, the device idle or blocked, its line low, and no other
 * interrupt that could wake a hart: only a reset from outside could change
 * anything. Not while the machine is about to end or reset.
 */
void tpu_check_hang(TPUState *s)
{
    bool blocked;
    const char *why;

    if (s->dead || s->ended || s->irq_level || s->api->irq(s->model) ||
        qemu_shutdown_requested_get() || qemu_reset_requested_get() ||
        !tpu_is_quiescent(s, &blocked) || !tpu_asleep(s) ||
        (s->board && s->board->can_wake(s->board_opaque))) {
        return;
    }
    why = blocked ?
        "hang: the device is blocked on semaphores, all harts sleep and no "
        "interrupt can come" :
        "hang: the device is idle, all harts sleep and no interrupt can come";
    trace_tpu_hang(tpu_cycle(s), why);
    tpu_end(s, "stopped", why, TPU_EXIT_HANG);
}

/*
 * A hart that polls a blocked device waits for something that will not come.
 * Writes, and accesses to the memories, are progress of the hart.
 */
static void tpu_count_poll(TPUState *s, hwaddr offset, bool write)
{
    uint64_t cycle = tpu_cycle(s);
    bool poll, neutral, blocked;
    bool in_registers = offset < TPU_WINDOW_SMEM;
    hwaddr in_queue = (offset - TPU_QUEUE_BASE(0)) % TPU_QUEUE_STRIDE;

    poll = !write &&
        (offset == TPU_REG_STATUS || offset == TPU_REG_INTR_STATE ||
         (offset >= TPU_REG_SEM_VALUE(0) &&
          offset < TPU_REG_SEM_VALUE(TPU_REG_SEM_VALUE_COUNT)) ||
         (offset >= TPU_QUEUE_BASE(0) &&
          offset < TPU_QUEUE_BASE(TPU_QUEUE_SCALAR) && in_queue == TPU_Q_GO));
    neutral = !write && in_registers && !poll;
    if (neutral) {
        return;
    }
    if (!poll || !tpu_is_quiescent(s, &blocked) || !blocked) {
        s->poll_since = TPU_NEVER;
    } else if (s->poll_since == TPU_NEVER) {
        s->poll_since = cycle;
    } else if (cycle - s->poll_since >= TPU_POLL_LIMIT) {
        trace_tpu_hang(cycle, "polled");
        tpu_end(s, "stopped",
                "hang: the device is blocked on semaphores and a hart has "
                "polled it since then", TPU_EXIT_HANG);
    }
}

static uint64_t tpu_next_grid(uint64_t cycle)
{
    return QEMU_ALIGN_DOWN(cycle, TPU_GRID_CYCLES) + TPU_GRID_CYCLES;
}

/*
 * Sets the timer to the next thing that must happen, or takes it away. A
 * timer that is due before then stays: it only lets the model catch up, and
 * to move it at every access would throw the hart out of its translated code
 * each time.
 */
void tpu_schedule(TPUState *s)
{
    uint64_t cycle = tpu_cycle(s);
    int64_t next_ns;
    uint64_t next;
    bool busy;

    if (s->dead || s->ended) {
        timer_del(&s->timer);
        return;
    }
    busy = !s->api->quiescent(s->model);
    if (busy && s->deliver_at == TPU_NEVER) {
        s->deliver_at = tpu_next_grid(cycle);
    }
    next = s->deliver_at;
    if (busy) {
        next = MIN(next, cycle + s->quantum);
    }
    trace_tpu_arm(cycle, next);
    if (next == TPU_NEVER) {
        timer_del(&s->timer);
        return;
    }
    next_ns = s->base_ns + next * s->period_ns;
    if (!timer_pending(&s->timer) ||
        timer_expire_time_ns(&s->timer) > next_ns) {
        timer_mod(&s->timer, next_ns);
    }
}

/* After every access of a hart: deliver, watch for hangs, set the timer. */
void tpu_accessed(TPUState *s, hwaddr offset, bool write)
{
    if (s->dead) {
        return;
    }
    tpu_update_irq(s);
    tpu_count_poll(s, offset, write);
    if (!write && offset == TPU_REG_INTR_STATE) {
        s->arm_step = s->irq_level ? TPU_GRID_CYCLES : TPU_ARM_CYCLES;
        s->deliver_at = s->irq_level ? TPU_NEVER : tpu_cycle(s) + s->arm_step;
        if (!s->irq_level) {
            tpu_place_threads(s);
        }
    }
    tpu_schedule(s);
}

/*
 * All harts sleep: run until the line changes, there is nothing to run, or
 * something else in the machine is due. Sets the next delivery point.
 */
static void tpu_run_ahead(TPUState *s, uint64_t now)
{
    int64_t other_ns = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL,
                                                  QEMU_TIMER_ATTR_ALL);
    uint64_t limit = now + TPU_CHUNK_CYCLES;
    tpu_stop reason;

    if (other_ns >= 0) {
        limit = MIN(limit, now + other_ns / s->period_ns);
    }
    while (tpu_cycle(s) < limit && !s->api->quiescent(s->model) &&
           s->api->irq(s->model) == s->irq_level) {
        if (!tpu_advance(s, limit, &reason)) {
            return;
        }
    }
    if (s->api->quiescent(s->model) &&
        s->api->irq(s->model) == s->irq_level) {
        s->deliver_at = TPU_NEVER;
        tpu_check_hang(s);
    } else {
        s->deliver_at = MAX(tpu_cycle(s), now + 1);
    }
}

/* A delivery point passed and a hart runs: where is the next? */
static uint64_t tpu_next_look(TPUState *s, uint64_t now)
{
    if (!s->irq_level && s->arm_step < TPU_GRID_CYCLES / 2) {
        s->arm_step *= 2;
        return MIN(now + s->arm_step, tpu_next_grid(now));
    }
    return s->api->quiescent(s->model) ? TPU_NEVER : tpu_next_grid(now);
}

static void tpu_timer(void *opaque)
{
    TPUState *s = opaque;
    uint64_t now = tpu_now(s);

    if (qemu_shutdown_requested_get() || qemu_reset_requested_get()) {
        /*
         * The request is honoured at some time of the host's choice; what the
         * device would do until then must not be seen, in its trace or in HBM.
         */
        s->ended = true;
        return;
    }
    tpu_sync(s);
    trace_tpu_timer(tpu_cycle(s), now);
    if (!s->dead && now >= s->deliver_at) {
        tpu_update_irq(s);
        if (tpu_asleep(s)) {
            tpu_run_ahead(s, now);
        } else {
            s->deliver_at = tpu_next_look(s, now);
        }
    }
    tpu_schedule(s);
}

/*
 * Guest time must be a function of the instructions executed, and an
 * instruction must be a cycle; the option that does so cannot be set from
 * here. Under qtest the test itself moves the clock.
 */
bool tpu_time_check_icount(TPUState *s, Error **errp)
{
    QemuOptsList *list = qemu_find_opts("icount");
    QemuOpts *opts = list ? qemu_opts_find(list, NULL) : NULL;
    const char *fault = NULL;

    if (qtest_enabled()) {
        return true;
    }
    if (icount_enabled() != ICOUNT_PRECISE) {
        fault = "guest time does not follow the instructions";
    } else if (icount_to_ns(1) != s->period_ns) {
        fault = "an instruction does not take a TPU cycle";
    } else if (!opts || qemu_opt_get_bool(opts, "sleep", true)) {
        fault = "sleeping harts would wait for the host's clock";
    }
    if (fault) {
        error_setg(errp, "tpu: %s", fault);
        error_append_hint(errp, "Start QEMU with -icount shift=%d,sleep=off "
                          "(one TPU cycle is %" PRId64 " ns)\n",
                          ctz64(s->period_ns), s->period_ns);
    }
    return !fault;
}

void tpu_time_init(TPUState *s)
{
    timer_init_ns(&s->timer, QEMU_CLOCK_VIRTUAL, tpu_timer, s);
}

/* The model was reset: its present cycle is now. */
void tpu_time_reset(TPUState *s)
{
    timer_del(&s->timer);
    s->deliver_at = TPU_NEVER;
    s->poll_since = TPU_NEVER;
    s->arm_step = TPU_GRID_CYCLES;
    s->base_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) -
                 tpu_cycle(s) * s->period_ns;
}
