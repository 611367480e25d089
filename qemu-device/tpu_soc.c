/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peplos machine: RV32IMC harts, their RAM, HBM, and a TPU
 *
 * The memory map is that of the RTL chip (tpu_memmap.h is generated from the
 * same source), so that one firmware image runs on both. There is no PLIC:
 * the TPU's line is the external interrupt of hart 0, and the UART is polled.
 *
 * The machine ends a run that would not end by itself: a hang (see
 * tpu_time.c), a hart that traps for ever, a limit of virtual cycles, a limit
 * of wall-clock seconds. It also prints a progress line for runs that take
 * long. Only a firmware that says so ends with success: an end from outside
 * (a signal) has a status of its own.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "disas/disas.h"
#include "elf.h"
#include "hw/boards.h"
#include "hw/char/sifive_uart.h"
#include "hw/intc/riscv_aclint.h"
#include "hw/loader.h"
#include "hw/qdev-properties.h"
#include "hw/riscv/riscv_hart.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "system/system.h"
#include "system/tcg.h"
#include "target/riscv/cpu.h"
#include "target/riscv/cpu_bits.h"
#include "tpu_dev.h"
#include "tpu_mtimer.h"

#define TYPE_TPU_SOC_MACHINE MACHINE_TYPE_NAME("tpu-soc")
OBJECT_DECLARE_SIMPLE_TYPE(TPUSocState, TPU_SOC_MACHINE)

/* A second hart comes with a second TensorCore; the code below loops. */
#define TPU_SOC_MAX_HARTS 1
/* Programs for simulation only may have more RAM than the chip. */
#define TPU_SOC_RAM_MOST (512 * KiB)
#define TPU_SOC_TIMEBASE_HZ 25000000

/* Values of the finisher's register, low half; the high half is a code. */
enum {
    FINISHER_FAIL = 0x3333,
    FINISHER_PASS = 0x5555,
    FINISHER_RESET = 0x7777,
};

/* The period of the checks that nothing else triggers. */
#define TPU_SOC_WATCH_NS (1 * SCALE_MS)
/* The same for what only the host's clock can see. */
#define TPU_SOC_WALL_NS (200 * SCALE_MS)
/* Looks in a row at a virtual clock that stands. */
#define TPU_SOC_STILL_LOOKS 25

struct TPUSocState {
    MachineState parent_obj;

    /* Properties */
    char *model;
    char *model_dir;
    char *trace;
    uint64_t max_cycles;
    uint32_t max_seconds;
    uint32_t progress;

    /* Parts */
    RISCVHartArrayState harts;
    TPUState tpu;
    MemoryRegion hbm;
    MemoryRegion hbm_window;
    TPUMTimerState mtimer;
    MemoryRegion finisher;

    /* Watching */
    QEMUTimer *watch;
    QEMUTimer *limit;
    QEMUTimer *wall;
    Notifier shutdown;
    int64_t start_us;
    int64_t still_ns;
    unsigned still_looks;
    int64_t shown_us;
    uint64_t shown_cycle;
};

static bool tpu_soc_asleep(void *opaque)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        if (!cs->halted || cpu_has_work(cs)) {
            return false;
        }
    }
    return true;
}

/*
 * While all harts sleep and the TPU is quiet, only a timer can wake one: a
 * software interrupt comes from a hart, and nothing else is connected.
 */
static bool tpu_soc_can_wake(void *opaque)
{
    TPUSocState *s = opaque;
    int i;

    for (i = 0; i < s->harts.num_harts; i++) {
        if ((s->harts.harts[i].env.mie & MIP_MTIP) &&
            tpu_mtimer_pending(&s->mtimer, i)) {
            return true;
        }
    }
    return false;
}

static void tpu_soc_describe(void *opaque, GString *text)
{
    TPUSocState *s = opaque;
    int i;

    for (i = 0; i < s->harts.num_harts; i++) {
        CPUState *cs = CPU(&s->harts.harts[i]);
        CPURISCVState *env = &s->harts.harts[i].env;
        const char *symbol = lookup_symbol(env->pc);

        g_string_append_printf(text, "hart %d %s at pc 0x%08x%s%s%s\n", i,
                               cs->halted ? "sleeps" : "runs",
                               (uint32_t)env->pc, symbol[0] ? " (" : "",
                               symbol, symbol[0] ? ")" : "");
    }
}

static const TPUBoardOps tpu_soc_board_ops = {
    .asleep = tpu_soc_asleep,
    .can_wake = tpu_soc_can_wake,
    .describe = tpu_soc_describe,
};

static void tpu_soc_end(TPUSocState *s, const char *what, int status)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *device = tpu_describe(&s->tpu);

    if (qemu_shutdown_requested_get()) {
        return;
    }
    tpu_soc_describe(s, text);
    error_report("tpu-soc: %s", what);
    error_printf("%s%s", text->str, device);
    qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_GUEST_PANIC,
                                           status);
}

static void tpu_soc_limit(void *opaque)
{
    TPUSocState *s = opaque;
    g_autofree char *what = g_strdup_printf("the limit of %" PRIu64
                                            " cycles is reached",
                                            s->max_cycles);

    tpu_soc_end(s, what, TPU_EXIT_LIMIT);
}

static void tpu_soc_progress(TPUSocState *s, int64_t now_us)
{
    uint64_t cycle = tpu_cycle(&s->tpu);
    double seconds = (now_us - s->shown_us) / 1e6;

    if (seconds < s->progress) {
        return;
    }
    error_printf("[%6.1f s] %.2f Mcycles, %.0f kcycles/s, device at work "
                 "%.1f %%, grid step %u\n", (now_us - s->start_us) / 1e6,
                 cycle / 1e6, (cycle - s->shown_cycle) / seconds / 1e3,
                 100.0 * s->tpu.busy_cycles / MAX(cycle, 1), s->tpu.step);
    s->shown_us = now_us;
    s->shown_cycle = cycle;
}

/*
 * Deterministic in virtual time, and without an effect that a guest could
 * see; only whether it ends the process or prints depends on the wall clock.
 */
static void tpu_soc_watch(void *opaque)
{
    TPUSocState *s = opaque;
    int64_t now_us = g_get_monotonic_time();

    tpu_drain_trace(&s->tpu);
    tpu_check_hang(&s->tpu);
    if (s->progress) {
        tpu_soc_progress(s, now_us);
    }
    timer_mod(s->watch, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
              TPU_SOC_WATCH_NS);
}

/*
 * A hart whose trap handler traps executes nothing: the virtual clock stands,
 * and with it every timer on it.
 */
static bool tpu_soc_still(TPUSocState *s)
{
    int64_t now_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    if (!tcg_enabled() || !runstate_is_running() || tpu_soc_asleep(s) ||
        now_ns != s->still_ns) {
        s->still_ns = now_ns;
        s->still_looks = 0;
        return false;
    }
    return ++s->still_looks >= TPU_SOC_STILL_LOOKS;
}

static void tpu_soc_wall(void *opaque)
{
    TPUSocState *s = opaque;
    int64_t us = g_get_monotonic_time() - s->start_us;

    if (tpu_soc_still(s)) {
        tpu_soc_end(s, "hang: a hart traps for ever, its trap handler too; "
                    "is there a program, and does mtvec point to it?",
                    TPU_EXIT_HANG);
    } else if (s->max_seconds && us > s->max_seconds * G_USEC_PER_SEC) {
        g_autofree char *what = g_strdup_printf("the limit of %u seconds is "
                                                "reached", s->max_seconds);

        tpu_soc_end(s, what, TPU_EXIT_LIMIT);
    }
    timer_mod(s->wall, qemu_clock_get_ns(QEMU_CLOCK_REALTIME) +
              TPU_SOC_WALL_NS);
}

/* A run that a signal ends has not succeeded. */
static void tpu_soc_shutdown(Notifier *notifier, void *data)
{
    if (*(ShutdownCause *)data == SHUTDOWN_CAUSE_HOST_SIGNAL) {
        qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_HOST_SIGNAL,
                                               TPU_EXIT_SIGNAL);
    }
}

static uint64_t tpu_soc_finisher_read(void *opaque, hwaddr offset,
                                      unsigned size)
{
    return 0;
}

/*
 * Registers of the SiFive test finisher. Our own, because a failure must not
 * look like a success (that of QEMU turns code 0 into status 0), and because
 * the hart must stop at this instruction: the main loop honours the request at
 * some time of the host's choice.
 */
static void tpu_soc_finisher_write(void *opaque, hwaddr offset, uint64_t value,
                                   unsigned size)
{
    unsigned code = value >> 16 & 0xffff;

    switch (offset ? 0 : value & 0xffff) {
    case FINISHER_FAIL:
        /* Neither like a success nor like one of the machine's own ends. */
        code = MIN(MAX(code, 1), TPU_EXIT_HANG - 1);
        qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_GUEST_PANIC,
                                               code);
        break;
    case FINISHER_PASS:
        qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
        break;
    case FINISHER_RESET:
        qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "tpu-soc: finisher: bad write of 0x%"
                      PRIx64 " at 0x%" HWADDR_PRIX "\n", value, offset);
        return;
    }
    cpu_stop_current();
}

static const MemoryRegionOps tpu_soc_finisher_ops = {
    .read = tpu_soc_finisher_read,
    .write = tpu_soc_finisher_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {
        .min_access_size = 4,
        .max_access_size = 4,
    },
};

static void tpu_soc_create_finisher(TPUSocState *s)
{
    memory_region_init_io(&s->finisher, NULL, &tpu_soc_finisher_ops, s,
                          "tpu-soc.finisher", PEPLOS_FINISHER_SIZE);
    memory_region_add_subregion(get_system_memory(), PEPLOS_FINISHER_BASE,
                                &s->finisher);
}

/* The command line of the program, in the page that the firmware reads. */
static void tpu_soc_load_args(MachineState *machine)
{
    const char *line = machine->kernel_cmdline ? machine->kernel_cmdline : "";
    size_t length = strlen(line);
    g_autofree char *page = g_malloc0(PEPLOS_ARGS_SIZE);

    if (length >= PEPLOS_ARGS_SIZE) {
        error_report("tpu-soc: the argument line has %zu characters, the "
                     "argument page holds %d", length, PEPLOS_ARGS_SIZE - 1);
        exit(EXIT_FAILURE);
    }
    memcpy(page, line, length);
    rom_add_blob_fixed("tpu-soc.args", page, PEPLOS_ARGS_SIZE,
                       PEPLOS_ARGS_BASE);
}

/* The data file (-initrd) at the start of HBM, as it is. */
static void tpu_soc_load_data(MachineState *machine)
{
    const char *file = machine->initrd_filename;

    if (file && load_image_targphys(file, PEPLOS_HBM_BASE,
                                    PEPLOS_HBM_SIZE) < 0) {
        error_report("tpu-soc: could not load %s into HBM; it must be a "
                     "readable file of at most %d MiB", file,
                     PEPLOS_HBM_SIZE / (int)MiB);
        exit(EXIT_FAILURE);
    }
}

/* Returns the address at which harts start. */
static uint64_t tpu_soc_load_firmware(MachineState *machine)
{
    const char *file = machine->firmware ? machine->firmware
                                         : machine->kernel_filename;
    uint64_t entry = PEPLOS_RAM_BASE;
    uint64_t high, end;
    ssize_t size;

    if (file && strcmp(file, "none")) {
        size = load_elf(file, NULL, NULL, NULL, &entry, NULL, &high, NULL,
                        ELFDATA2LSB, EM_RISCV, 1, 0);
        if (size < 0) {
            error_report("tpu-soc: could not load %s: %s", file,
                         load_elf_strerror(size));
            exit(EXIT_FAILURE);
        }
        /* The low end says nothing: an empty segment may have any address. */
        end = machine->ram_size == PEPLOS_RAM_SIZE
              ? PEPLOS_ARGS_BASE : PEPLOS_RAM_BASE + machine->ram_size;
        if (entry < PEPLOS_RAM_BASE || high > end) {
            error_report("tpu-soc: %s starts at 0x%" PRIx64 " and ends at 0x%"
                         PRIx64 ", RAM for it is 0x%x to 0x%" PRIx64, file,
                         entry, high, PEPLOS_RAM_BASE, end);
            if (high <= PEPLOS_RAM_BASE + TPU_SOC_RAM_MOST) {
                error_printf("A program linked for more RAM than the chip has "
                             "needs -m %dK.\n", TPU_SOC_RAM_MOST / (int)KiB);
            }
            exit(EXIT_FAILURE);
        }
    }
    return entry;
}

static void tpu_soc_create_tpu(TPUSocState *s)
{
    DeviceState *dev;

    object_initialize_child(OBJECT(s), "tpu", &s->tpu, TYPE_TPU);
    dev = DEVICE(&s->tpu);
    qdev_prop_set_string(dev, "model", s->model);
    if (s->model_dir) {
        qdev_prop_set_string(dev, "model-dir", s->model_dir);
    }
    if (s->trace) {
        qdev_prop_set_string(dev, "trace", s->trace);
    }
    object_property_set_link(OBJECT(dev), "hbm", OBJECT(&s->hbm),
                             &error_abort);
    tpu_set_board(&s->tpu, &tpu_soc_board_ops, s);
    sysbus_realize(SYS_BUS_DEVICE(dev), &error_fatal);
    sysbus_mmio_map(SYS_BUS_DEVICE(dev), 0, PEPLOS_TPU_BASE);
    sysbus_connect_irq(SYS_BUS_DEVICE(dev), 0,
                       qdev_get_gpio_in(DEVICE(&s->harts.harts[0]),
                                        IRQ_M_EXT));
}

static void tpu_soc_create_harts(TPUSocState *s, uint64_t resetvec)
{
    MachineState *machine = MACHINE(s);
    int n = machine->smp.cpus;
    DeviceState *dev;
    int i;

    object_initialize_child(OBJECT(s), "harts", &s->harts,
                            TYPE_RISCV_HART_ARRAY);
    dev = DEVICE(&s->harts);
    qdev_prop_set_uint32(dev, "num-harts", n);
    qdev_prop_set_string(dev, "cpu-type", machine->cpu_type);
    qdev_prop_set_uint64(dev, "resetvec", resetvec);
    sysbus_realize(SYS_BUS_DEVICE(dev), &error_fatal);
    if (tcg_enabled() && s->harts.harts[0].env.misa_ext != (RVI | RVM | RVC)) {
        error_report("tpu-soc: the hart is not RV32IMC (misa extensions 0x%x)",
                     s->harts.harts[0].env.misa_ext);
        exit(EXIT_FAILURE);
    }

    riscv_aclint_swi_create(PEPLOS_ACLINT_BASE, 0, n, false);
    object_initialize_child(OBJECT(s), "mtimer", &s->mtimer, TYPE_TPU_MTIMER);
    qdev_prop_set_uint32(DEVICE(&s->mtimer), "num-harts", n);
    qdev_prop_set_uint32(DEVICE(&s->mtimer), "tick-ns",
                         NANOSECONDS_PER_SECOND / TPU_SOC_TIMEBASE_HZ);
    sysbus_realize(SYS_BUS_DEVICE(&s->mtimer), &error_fatal);
    sysbus_mmio_map(SYS_BUS_DEVICE(&s->mtimer), 0,
                    PEPLOS_ACLINT_BASE + RISCV_ACLINT_SWI_SIZE);
    for (i = 0; i < n; i++) {
        sysbus_connect_irq(SYS_BUS_DEVICE(&s->mtimer), i,
                           qdev_get_gpio_in(DEVICE(&s->harts.harts[i]),
                                            IRQ_M_TIMER));
    }
}

static void tpu_soc_init(MachineState *machine)
{
    TPUSocState *s = TPU_SOC_MACHINE(machine);
    MemoryRegion *system = get_system_memory();

    if (machine->ram_size < PEPLOS_RAM_SIZE ||
        machine->ram_size > TPU_SOC_RAM_MOST) {
        error_report("tpu-soc: RAM is %d KiB, the chip's; with -m it can be up "
                     "to %d KiB", PEPLOS_RAM_SIZE / (int)KiB,
                     TPU_SOC_RAM_MOST / (int)KiB);
        exit(EXIT_FAILURE);
    }
    memory_region_add_subregion(system, PEPLOS_RAM_BASE, machine->ram);
    memory_region_init_ram(&s->hbm, NULL, "tpu-soc.hbm", PEPLOS_HBM_SIZE,
                           &error_fatal);
    /* An alias: the device's address space begins at HBM's own address, 0. */
    memory_region_init_alias(&s->hbm_window, NULL, "tpu-soc.hbm-window",
                             &s->hbm, 0, PEPLOS_HBM_SIZE);
    memory_region_add_subregion(system, PEPLOS_HBM_BASE, &s->hbm_window);

    tpu_soc_create_harts(s, tpu_soc_load_firmware(machine));
    tpu_soc_load_args(machine);
    tpu_soc_load_data(machine);
    tpu_soc_create_finisher(s);
    sifive_uart_create(system, PEPLOS_UART_BASE, serial_hd(0), NULL);
    tpu_soc_create_tpu(s);

    s->start_us = g_get_monotonic_time();
    s->shown_us = s->start_us;
    s->watch = timer_new_ns(QEMU_CLOCK_VIRTUAL, tpu_soc_watch, s);
    timer_mod(s->watch, TPU_SOC_WATCH_NS);
    s->wall = timer_new_ns(QEMU_CLOCK_REALTIME, tpu_soc_wall, s);
    timer_mod(s->wall, qemu_clock_get_ns(QEMU_CLOCK_REALTIME) +
              TPU_SOC_WALL_NS);
    s->shutdown.notify = tpu_soc_shutdown;
    qemu_register_shutdown_notifier(&s->shutdown);
    if (s->max_cycles) {
        s->limit = timer_new_ns(QEMU_CLOCK_VIRTUAL, tpu_soc_limit, s);
        timer_mod(s->limit, s->max_cycles * s->tpu.period_ns);
    }
}

#define TPU_SOC_STRING_PROPERTY(field)                                      \
    static char *tpu_soc_get_##field(Object *obj, Error **errp)             \
    {                                                                       \
        return g_strdup(TPU_SOC_MACHINE(obj)->field);                       \
    }                                                                       \
    static void tpu_soc_set_##field(Object *obj, const char *value,         \
                                    Error **errp)                           \
    {                                                                       \
        g_free(TPU_SOC_MACHINE(obj)->field);                                \
        TPU_SOC_MACHINE(obj)->field = g_strdup(value);                      \
    }

TPU_SOC_STRING_PROPERTY(model)
TPU_SOC_STRING_PROPERTY(model_dir)
TPU_SOC_STRING_PROPERTY(trace)

static void tpu_soc_instance_init(Object *obj)
{
    TPUSocState *s = TPU_SOC_MACHINE(obj);

    s->model = g_strdup("rtl");
    object_property_add_uint64_ptr(obj, "max-cycles", &s->max_cycles,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_set_description(obj, "max-cycles",
                                    "End the run after so many cycles");
    object_property_add_uint32_ptr(obj, "max-seconds", &s->max_seconds,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_set_description(obj, "max-seconds",
                                    "End the run after so many seconds");
    object_property_add_uint32_ptr(obj, "progress", &s->progress,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_set_description(obj, "progress",
                                    "Seconds between progress lines, 0 = off");
}

static void tpu_soc_instance_finalize(Object *obj)
{
    TPUSocState *s = TPU_SOC_MACHINE(obj);

    g_free(s->model);
    g_free(s->model_dir);
    g_free(s->trace);
}

/*
 * RV32IMC and nothing else: code that uses another extension must trap here
 * as it does on the RTL core. The bare CPU has only RV32I. Optional, because
 * only TCG's CPUs have these properties and qtest's do not;
 * tpu_soc_create_harts() checks the result.
 */
static GlobalProperty tpu_soc_isa[] = {
    { TYPE_RISCV_CPU_RV32I, "m", "on", .optional = true },
    { TYPE_RISCV_CPU_RV32I, "c", "on", .optional = true },
    { TYPE_RISCV_CPU_RV32I, "zicsr", "on", .optional = true },
    { TYPE_RISCV_CPU_RV32I, "zifencei", "on", .optional = true },
    { TYPE_RISCV_CPU_RV32I, "sv32", "off", .optional = true },
};

static void tpu_soc_class_init(ObjectClass *oc, void *data)
{
    static const char *const cpu_types[] = { TYPE_RISCV_CPU_RV32I, NULL };
    MachineClass *mc = MACHINE_CLASS(oc);

    mc->desc = "Peplos: RV32IMC and a TPU";
    mc->init = tpu_soc_init;
    mc->max_cpus = TPU_SOC_MAX_HARTS;
    mc->default_cpus = 1;
    mc->default_cpu_type = TYPE_RISCV_CPU_RV32I;
    mc->valid_cpu_types = cpu_types;
    mc->default_ram_id = "tpu-soc.ram";
    mc->default_ram_size = PEPLOS_RAM_SIZE;
    mc->no_cdrom = 1;
    mc->no_floppy = 1;
    mc->no_parallel = 1;
    compat_props_add(mc->compat_props, tpu_soc_isa, ARRAY_SIZE(tpu_soc_isa));

    object_class_property_add_str(oc, "model", tpu_soc_get_model,
                                  tpu_soc_set_model);
    object_class_property_set_description(oc, "model",
        "TPU model: rtl (default), func, or the path of a library");
    object_class_property_add_str(oc, "model-dir", tpu_soc_get_model_dir,
                                  tpu_soc_set_model_dir);
    object_class_property_set_description(oc, "model-dir",
        "Directory of libtpu_rtl.so and libtpu_func.so");
    object_class_property_add_str(oc, "trace", tpu_soc_get_trace,
                                  tpu_soc_set_trace);
    object_class_property_set_description(oc, "trace",
        "File to which the TPU's event trace is written");
}

static const TypeInfo tpu_soc_types[] = {
    {
        .name = TYPE_TPU_SOC_MACHINE,
        .parent = TYPE_MACHINE,
        .instance_size = sizeof(TPUSocState),
        .instance_init = tpu_soc_instance_init,
        .instance_finalize = tpu_soc_instance_finalize,
        .class_init = tpu_soc_class_init,
    },
};

DEFINE_TYPES(tpu_soc_types)
