/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine timer; tpu_mtimer.h says why there is one.
 */

#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "tpu_mtimer.h"

#define TPU_MTIMER_TIME 0x7ff8
#define TPU_MTIMER_SIZE 0x8000

static uint64_t tpu_mtimer_now(TPUMTimerState *s)
{
    int64_t ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) - s->base_ns;

    return s->offset + ns / s->tick_ns;
}

/* Sets the line from the comparison, and the timer for when it comes true. */
static void tpu_mtimer_update(TPUMTimerHart *hart)
{
    TPUMTimerState *s = hart->owner;
    uint64_t now = tpu_mtimer_now(s);
    uint64_t ticks, limit;

    qemu_set_irq(hart->irq, now >= hart->compare);
    if (now >= hart->compare) {
        timer_del(&hart->timer);
        return;
    }
    /* From the present tick's start; beyond what the clock can say: never. */
    ticks = hart->compare - s->offset;
    limit = (INT64_MAX - s->base_ns) / s->tick_ns;
    if (hart->compare < s->offset || ticks > limit) {
        timer_del(&hart->timer);
    } else {
        timer_mod(&hart->timer, s->base_ns + ticks * s->tick_ns);
    }
}

static void tpu_mtimer_expired(void *opaque)
{
    tpu_mtimer_update(opaque);
}

bool tpu_mtimer_pending(TPUMTimerState *s, unsigned hart)
{
    return timer_pending(&s->hart[hart].timer);
}

static uint64_t tpu_mtimer_read(void *opaque, hwaddr offset, unsigned size)
{
    TPUMTimerState *s = opaque;
    uint64_t value;

    if ((offset & ~7ull) == TPU_MTIMER_TIME) {
        value = tpu_mtimer_now(s);
    } else if (offset / 8 < s->num_harts) {
        value = s->hart[offset / 8].compare;
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "tpu-mtimer: bad read at 0x%"
                      HWADDR_PRIX "\n", offset);
        return 0;
    }
    return extract64(value, offset & 4 ? 32 : 0, 32);
}

static void tpu_mtimer_write(void *opaque, hwaddr offset, uint64_t value,
                             unsigned size)
{
    TPUMTimerState *s = opaque;
    int shift = offset & 4 ? 32 : 0;
    uint64_t now = tpu_mtimer_now(s);
    TPUMTimerHart *hart;
    int i;

    if ((offset & ~7ull) == TPU_MTIMER_TIME) {
        s->offset += deposit64(now, shift, 32, value) - now;
        for (i = 0; i < s->num_harts; i++) {
            tpu_mtimer_update(&s->hart[i]);
        }
    } else if (offset / 8 < s->num_harts) {
        hart = &s->hart[offset / 8];
        hart->compare = deposit64(hart->compare, shift, 32, value);
        tpu_mtimer_update(hart);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "tpu-mtimer: bad write at 0x%"
                      HWADDR_PRIX "\n", offset);
    }
}

static const MemoryRegionOps tpu_mtimer_ops = {
    .read = tpu_mtimer_read,
    .write = tpu_mtimer_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {
        .min_access_size = 4,
        .max_access_size = 4,
    },
    .impl = {
        .min_access_size = 4,
        .max_access_size = 4,
    },
};

static void tpu_mtimer_reset_hold(Object *obj, ResetType type)
{
    TPUMTimerState *s = TPU_MTIMER(obj);
    int i;

    s->base_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    s->offset = 0;
    for (i = 0; i < s->num_harts; i++) {
        s->hart[i].compare = UINT64_MAX;
        timer_del(&s->hart[i].timer);
        qemu_irq_lower(s->hart[i].irq);
    }
}

static void tpu_mtimer_realize(DeviceState *dev, Error **errp)
{
    TPUMTimerState *s = TPU_MTIMER(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);
    int i;

    if (s->num_harts > TPU_MTIMER_MAX_HARTS || !s->tick_ns) {
        error_setg(errp, "tpu-mtimer: num-harts is %u (at most %d), tick-ns "
                   "is %u (at least 1)", s->num_harts, TPU_MTIMER_MAX_HARTS,
                   s->tick_ns);
        return;
    }
    memory_region_init_io(&s->mmio, OBJECT(s), &tpu_mtimer_ops, s,
                          TYPE_TPU_MTIMER, TPU_MTIMER_SIZE);
    sysbus_init_mmio(sbd, &s->mmio);
    /* All of them: the saved state has a fixed number. */
    for (i = 0; i < TPU_MTIMER_MAX_HARTS; i++) {
        s->hart[i].owner = s;
        sysbus_init_irq(sbd, &s->hart[i].irq);
        timer_init_ns(&s->hart[i].timer, QEMU_CLOCK_VIRTUAL,
                      tpu_mtimer_expired, &s->hart[i]);
    }
}

static void tpu_mtimer_unrealize(DeviceState *dev)
{
    TPUMTimerState *s = TPU_MTIMER(dev);
    int i;

    for (i = 0; i < TPU_MTIMER_MAX_HARTS; i++) {
        timer_del(&s->hart[i].timer);
    }
}

static const VMStateDescription vmstate_tpu_mtimer_hart = {
    .name = "tpu-mtimer-hart",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(compare, TPUMTimerHart),
        VMSTATE_TIMER(timer, TPUMTimerHart),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_tpu_mtimer = {
    .name = TYPE_TPU_MTIMER,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(base_ns, TPUMTimerState),
        VMSTATE_UINT64(offset, TPUMTimerState),
        VMSTATE_STRUCT_ARRAY(hart, TPUMTimerState, TPU_MTIMER_MAX_HARTS, 1,
                             vmstate_tpu_mtimer_hart, TPUMTimerHart),
        VMSTATE_END_OF_LIST()
    },
};

static const Property tpu_mtimer_properties[] = {
    DEFINE_PROP_UINT32("num-harts", TPUMTimerState, num_harts, 1),
    DEFINE_PROP_UINT32("tick-ns", TPUMTimerState, tick_ns, 40),
};

static void tpu_mtimer_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "machine timer that ticks from reset";
    dc->realize = tpu_mtimer_realize;
    dc->unrealize = tpu_mtimer_unrealize;
    dc->vmsd = &vmstate_tpu_mtimer;
    /* Its lines go to harts, which only a board can connect. */
    dc->user_creatable = false;
    rc->phases.hold = tpu_mtimer_reset_hold;
    device_class_set_props(dc, tpu_mtimer_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo tpu_mtimer_types[] = {
    {
        .name = TYPE_TPU_MTIMER,
        .parent = TYPE_SYS_BUS_DEVICE,
        .instance_size = sizeof(TPUMTimerState),
        .class_init = tpu_mtimer_class_init,
    },
};

DEFINE_TYPES(tpu_mtimer_types)
