/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peplos TPU device: where its two threads run
 *
 * A hart that sleeps hands over to the main loop, which lets virtual time jump
 * and the model run, and gets back from it; several times in every sleep. On
 * one processor of the host that costs little, between two it doubles the time
 * of a run, and the two never work at the same time. So both are kept on one
 * processor: the one the host has given the hart's thread. That thread is let
 * go for a while again and again, so that the host can move it away from a
 * processor that has become busy. Nothing but speed depends on this; where the
 * host refuses, nothing is done.
 */

#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "tpu_dev.h"

#define TPU_PLACE_PERIOD 1024 /* sleeps from one release to the next */

void tpu_place_init(TPUState *s)
{
    qemu_thread_get_self(&s->main_thread);
    s->place_count = 0;
}

void tpu_place_close(TPUState *s)
{
    g_clear_pointer(&s->place_free, g_free);
}

#ifdef CONFIG_LINUX
static void tpu_place_on(QemuThread *thread, int cpu)
{
    g_autofree unsigned long *set = bitmap_new(cpu + 1);

    set_bit(cpu, set);
    qemu_thread_set_affinity(thread, set, cpu + 1);
}

/* Called in the hart's thread when it is about to sleep. */
void tpu_place_threads(TPUState *s)
{
    QemuThread self;
    int cpu;

    qemu_thread_get_self(&self);
    if (qemu_thread_is_self(&s->main_thread)) {
        return; /* a test drives the device */
    }
    if (s->place_count == 0) {
        if (!s->place_free &&
            qemu_thread_get_affinity(&self, &s->place_free, &s->place_bits)) {
            return;
        }
        qemu_thread_set_affinity(&self, s->place_free, s->place_bits);
    } else if (s->place_count == 1) {
        cpu = sched_getcpu();
        if (cpu >= 0) {
            tpu_place_on(&self, cpu);
            tpu_place_on(&s->main_thread, cpu);
        }
    }
    s->place_count = (s->place_count + 1) % TPU_PLACE_PERIOD;
}
#else
void tpu_place_threads(TPUState *s)
{
}
#endif
