/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peplos TPU device: window, properties, reset, migration
 *
 * One window of registers and on-chip memories goes to the model as it is;
 * see tpu_dev.h for how the work is divided.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "exec/address-spaces.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "tpu_dev.h"
#include "trace.h"

/* A debugger's access: no time passes, nothing is armed or counted. */
static uint32_t tpu_debug_read(TPUState *s, hwaddr offset, unsigned size)
{
    uint32_t value = 0;

    if (offset >= TPU_WINDOW_VMEM) {
        s->api->peek(s->model, TPU_SPACE_VMEM, offset - TPU_WINDOW_VMEM,
                     &value, size);
        return le32_to_cpu(value);
    }
    if (offset >= TPU_WINDOW_SMEM) {
        s->api->peek(s->model, TPU_SPACE_SMEM, offset - TPU_WINDOW_SMEM,
                     &value, size);
        return le32_to_cpu(value);
    }
    if (offset != TPU_REG_CYCLE_LO) {
        s->api->mmio_read(s->model, offset, size, &value);
    }
    return value;
}

static MemTxResult tpu_read(void *opaque, hwaddr offset, uint64_t *data,
                            unsigned size, MemTxAttrs attrs)
{
    TPUState *s = opaque;
    uint32_t value = 0;

    *data = 0;
    if (s->dead) {
        return MEMTX_ERROR;
    }
    if (attrs.debug) {
        *data = tpu_debug_read(s, offset, size);
        return MEMTX_OK;
    }
    tpu_sync(s);
    if (s->dead || s->api->mmio_read(s->model, offset, size, &value)) {
        tpu_die(s, "read of a register failed");
        return MEMTX_ERROR;
    }
    trace_tpu_mmio_read(tpu_cycle(s), offset, value, size);
    tpu_accessed(s, offset, false);
    *data = value;
    return MEMTX_OK;
}

/* The firmware marks grid steps for the trace; the progress line shows them. */
static void tpu_note_mark(TPUState *s, uint32_t value)
{
    if (value >> TPU_REG_TRACE_MARK_KIND_SHIFT == TPU_MARK_STEP) {
        s->step = value & TPU_REG_TRACE_MARK_VALUE_MASK;
    }
}

static MemTxResult tpu_write(void *opaque, hwaddr offset, uint64_t data,
                             unsigned size, MemTxAttrs attrs)
{
    TPUState *s = opaque;

    if (s->dead) {
        return MEMTX_ERROR;
    }
    tpu_sync(s);
    if (s->dead || s->api->mmio_write(s->model, offset, size, data)) {
        tpu_die(s, "write of a register failed");
        return MEMTX_ERROR;
    }
    trace_tpu_mmio_write(tpu_cycle(s), offset, data, size);
    if (offset == TPU_REG_TRACE_MARK) {
        tpu_note_mark(s, data);
    }
    tpu_accessed(s, offset, true);
    return MEMTX_OK;
}

static const MemoryRegionOps tpu_ops = {
    .read_with_attrs = tpu_read,
    .write_with_attrs = tpu_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    /* The model decides which sizes an offset takes, as the RTL's bus does. */
    .valid = {
        .min_access_size = 1,
        .max_access_size = 4,
    },
    .impl = {
        .min_access_size = 1,
        .max_access_size = 4,
    },
};

static void tpu_reset_hold(Object *obj, ResetType type)
{
    TPUState *s = TPU(obj);

    if (!s->model) {
        return;
    }
    s->dead = false;
    s->ended = false;
    s->busy_cycles = 0;
    s->skipped_cycles = 0;
    s->step = 0;
    if (s->api->reset(s->model, TPU_RESET_HARD) != TPU_OK) {
        tpu_die(s, "reset failed");
    }
    tpu_time_reset(s);
    trace_tpu_reset(tpu_cycle(s), s->base_ns);
    s->irq_level = false;
    qemu_irq_lower(s->irq);
}

void tpu_set_board(TPUState *s, const TPUBoardOps *ops, void *opaque)
{
    s->board = ops;
    s->board_opaque = opaque;
}

static void tpu_realize(DeviceState *dev, Error **errp)
{
    TPUState *s = TPU(dev);

    if (!s->hbm) {
        error_setg(errp, "tpu: the property hbm is not set");
        return;
    }
    if (!s->quantum) {
        error_setg(errp, "tpu: quantum must be at least 1 cycle");
        return;
    }
    s->hbm_size = memory_region_size(s->hbm);
    s->hbm_ptr = memory_region_get_ram_ptr(s->hbm);
    if (!tpu_model_open(s, errp)) {
        return;
    }
    if (!tpu_time_check_icount(s, errp)) {
        tpu_model_close(s);
        return;
    }
    s->dead = false;
    address_space_init(&s->hbm_as, s->hbm, "tpu-hbm");
    tpu_time_init(s);
    tpu_place_init(s);
}

static void tpu_unrealize(DeviceState *dev)
{
    TPUState *s = TPU(dev);

    timer_del(&s->timer);
    tpu_place_close(s);
    tpu_model_close(s);
    address_space_destroy(&s->hbm_as);
}

static char *tpu_get_describe(Object *obj, Error **errp)
{
    return tpu_describe(TPU(obj));
}

static void tpu_get_cycles(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    uint64_t value = TPU(obj)->model ? tpu_cycle(TPU(obj)) : 0;

    visit_type_uint64(v, name, &value, errp);
}

/* Fraction of the cycles since reset in which the device was at work. */
static void tpu_get_utilisation(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    TPUState *s = TPU(obj);
    uint64_t total = s->busy_cycles + s->skipped_cycles;
    double value = total ? (double)s->busy_cycles / total : 0;

    visit_type_number(v, name, &value, errp);
}

static void tpu_init(Object *obj)
{
    TPUState *s = TPU(obj);
    SysBusDevice *sbd = SYS_BUS_DEVICE(obj);

    memory_region_init_io(&s->window, obj, &tpu_ops, s, TYPE_TPU,
                          TPU_WINDOW_SIZE);
    sysbus_init_mmio(sbd, &s->window);
    sysbus_init_irq(sbd, &s->irq);

    object_property_add_str(obj, "describe", tpu_get_describe, NULL);
    object_property_add(obj, "cycles", "uint64", tpu_get_cycles, NULL, NULL,
                        NULL);
    object_property_add(obj, "utilisation", "number", tpu_get_utilisation,
                        NULL, NULL, NULL);
    object_property_add_uint64_ptr(obj, "busy-cycles", &s->busy_cycles,
                                   OBJ_PROP_FLAG_READ);
    object_property_add_uint64_ptr(obj, "skipped-cycles", &s->skipped_cycles,
                                   OBJ_PROP_FLAG_READ);
    object_property_add_uint32_ptr(obj, "step", &s->step, OBJ_PROP_FLAG_READ);
}

static int tpu_pre_save(void *opaque)
{
    TPUState *s = opaque;
    size_t size = 0;

    if (s->dead || s->api->save(s->model, NULL, &size) != TPU_OK ||
        size > UINT32_MAX) {
        return -EIO;
    }
    g_free(s->blob);
    s->blob = g_malloc(size);
    if (s->api->save(s->model, s->blob, &size) != TPU_OK) {
        return -EIO;
    }
    s->blob_size = size;
    return 0;
}

static int tpu_post_save(void *opaque)
{
    TPUState *s = opaque;

    g_free(s->blob);
    s->blob = NULL;
    return 0;
}

static int tpu_post_load(void *opaque, int version_id)
{
    TPUState *s = opaque;
    tpu_status status;

    status = s->api->restore(s->model, s->blob, s->blob_size);
    g_free(s->blob);
    s->blob = NULL;
    if (status != TPU_OK) {
        error_report("tpu: the saved state does not fit this model (%s, %s)",
                     s->api->name, s->api->build);
        return -EINVAL;
    }
    return 0;
}

static const VMStateDescription vmstate_tpu = {
    .name = TYPE_TPU,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = tpu_pre_save,
    .post_save = tpu_post_save,
    .post_load = tpu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_TIMER(timer, TPUState),
        VMSTATE_INT64(base_ns, TPUState),
        VMSTATE_UINT64(deliver_at, TPUState),
        VMSTATE_UINT32(arm_step, TPUState),
        VMSTATE_UINT64(poll_since, TPUState),
        VMSTATE_BOOL(irq_level, TPUState),
        VMSTATE_UINT64(busy_cycles, TPUState),
        VMSTATE_UINT64(skipped_cycles, TPUState),
        VMSTATE_UINT32(step, TPUState),
        VMSTATE_UINT32(blob_size, TPUState),
        VMSTATE_VBUFFER_ALLOC_UINT32(blob, TPUState, 0, NULL, blob_size),
        VMSTATE_END_OF_LIST()
    },
};

static const Property tpu_properties[] = {
    DEFINE_PROP_STRING("model", TPUState, model_name),
    DEFINE_PROP_STRING("model-dir", TPUState, model_dir),
    DEFINE_PROP_STRING("config", TPUState, config),
    DEFINE_PROP_STRING("timing", TPUState, timing),
    DEFINE_PROP_STRING("trace", TPUState, trace_path),
    DEFINE_PROP_STRING("wave", TPUState, wave_path),
    DEFINE_PROP_UINT64("wave-from", TPUState, wave_from, 0),
    DEFINE_PROP_UINT64("wave-to", TPUState, wave_to, UINT64_MAX),
    DEFINE_PROP_UINT32("quantum", TPUState, quantum, 4096),
    DEFINE_PROP_UINT32("seed", TPUState, seed, 1),
    DEFINE_PROP_UINT32("hbm-latency", TPUState, hbm_latency, 0),
    DEFINE_PROP_UINT32("stall-percent", TPUState, stall_percent, 0),
    DEFINE_PROP_UINT32("stall-seed", TPUState, stall_seed, 1),
    DEFINE_PROP_BOOL("detect-races", TPUState, detect_races, false),
    /* For tests without a running hart: treat all harts as asleep. */
    DEFINE_PROP_BOOL("x-assume-asleep", TPUState, assume_asleep, false),
    DEFINE_PROP_LINK("hbm", TPUState, hbm, TYPE_MEMORY_REGION, MemoryRegion *),
};

static void tpu_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    dc->desc = "Peplos TPU";
    dc->realize = tpu_realize;
    dc->unrealize = tpu_unrealize;
    dc->vmsd = &vmstate_tpu;
    /* Needs its window and HBM mapped, which only a board can do. */
    dc->user_creatable = false;
    rc->phases.hold = tpu_reset_hold;
    device_class_set_props(dc, tpu_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo tpu_types[] = {
    {
        .name = TYPE_TPU,
        .parent = TYPE_SYS_BUS_DEVICE,
        .instance_size = sizeof(TPUState),
        .instance_init = tpu_init,
        .class_init = tpu_class_init,
    },
};

DEFINE_TYPES(tpu_types)
