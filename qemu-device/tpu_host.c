/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peplos TPU device: the model library and what it may ask of us
 *
 * The library is loaded at run time and not linked, because the Verilated
 * model is C++, which QEMU's main binary does not link, and because a change
 * in the RTL must not rebuild QEMU. Its path: a model name with a slash is a
 * path; any other NAME is libtpu_NAME.so in the directory that the property
 * model-dir or the environment variable PEPLOS_MODEL_DIR gives, else wherever
 * the dynamic linker looks.
 */

#include "qemu/osdep.h"
#include <dlfcn.h>
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qapi/error.h"
#include "migration/blocker.h"
#include "system/system.h"
#include "exec/address-spaces.h"
#include "tpu_dev.h"
#include "trace.h"

#define TPU_TRACE_RECORDS 65536

/* Head of a trace file; records follow. All fields are little-endian. */
typedef struct TPUTraceHeader {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t record_bytes;
    uint32_t abi_hash;
    uint32_t cycle_hz;
    uint32_t config;
} TPUTraceHeader;

static int tpu_host_read(void *opaque, uint64_t address, void *data, size_t n)
{
    TPUState *s = opaque;
    bool bad = address > s->hbm_size || n > s->hbm_size - address;

    if (!bad) {
        memcpy(data, s->hbm_ptr + address, n);
    }
    trace_tpu_hbm_read(tpu_cycle(s), address, n, bad);
    return bad;
}

/* Through the memory API, which drops translated code that is overwritten. */
static int tpu_host_write(void *opaque, uint64_t address, const void *data,
                          size_t n)
{
    TPUState *s = opaque;
    bool bad = address > s->hbm_size || n > s->hbm_size - address ||
        address_space_write(&s->hbm_as, address, MEMTXATTRS_UNSPECIFIED,
                            data, n) != MEMTX_OK;

    trace_tpu_hbm_write(tpu_cycle(s), address, n, bad);
    return bad;
}

static void tpu_host_log(void *opaque, tpu_log_class class, const char *text)
{
    switch (class) {
    case TPU_LOG_GUEST_ERROR:
        qemu_log_mask(LOG_GUEST_ERROR, "tpu: GUEST_ERROR: %s\n", text);
        break;
    case TPU_LOG_UNPREDICTABLE:
        qemu_log_mask(LOG_GUEST_ERROR, "tpu: UNPREDICTABLE: %s\n", text);
        break;
    case TPU_LOG_UNIMPLEMENTED:
        qemu_log_mask(LOG_UNIMP, "tpu: UNIMPLEMENTED: %s\n", text);
        break;
    case TPU_LOG_MODEL_BUG:
        error_report("tpu: MODEL_BUG: %s", text);
        break;
    }
}

/* Value of a parameter of the model's ROM; 0 if it is not there. */
uint32_t tpu_param(TPUState *s, uint32_t id)
{
    uint32_t i, entry, value;

    for (i = 0; i < TPU_REG_PARAM_COUNT; i++) {
        s->api->mmio_read(s->model, TPU_REG_PARAM_ID(i), 4, &entry);
        if (entry == TPU_PARAM_END) {
            break;
        }
        if (entry == id) {
            s->api->mmio_read(s->model, TPU_REG_PARAM_VALUE(i), 4, &value);
            return value;
        }
    }
    return 0;
}

static char *tpu_library_path(TPUState *s)
{
    const char *dir = s->model_dir ? s->model_dir : getenv("PEPLOS_MODEL_DIR");

    if (strchr(s->model_name, '/')) {
        return g_strdup(s->model_name);
    }
    return g_strdup_printf("%s%slibtpu_%s.so", dir ? dir : "",
                           dir ? "/" : "", s->model_name);
}

/* Loads the library and checks that it speaks our ABI. */
static bool tpu_load_library(TPUState *s, const char *path, Error **errp)
{
    tpu_model_get_api_fn get_api;

    s->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!s->library) {
        error_setg(errp, "tpu: cannot load the model library: %s", dlerror());
        error_append_hint(errp, "Build it with make, name its directory with "
                          "-M tpu-soc,model-dir=DIR, or give a path as "
                          "model=PATH\n");
        return false;
    }
    get_api = (tpu_model_get_api_fn)dlsym(s->library, "tpu_model_get_api");
    if (!get_api) {
        error_setg(errp, "tpu: %s has no tpu_model_get_api: it is not a TPU "
                   "model library", path);
        return false;
    }
    s->api = get_api();
    if (!s->api || s->api->abi_major != TPU_MODEL_ABI_MAJOR ||
        s->api->struct_size < sizeof(tpu_model_api)) {
        error_setg(errp, "tpu: %s has model ABI %u.%u, this QEMU needs %u.%u",
                   path, s->api ? s->api->abi_major : 0,
                   s->api ? s->api->abi_minor : 0,
                   TPU_MODEL_ABI_MAJOR, TPU_MODEL_ABI_MINOR);
        s->api = NULL;
        return false;
    }
    if (s->api->abi_hash != TPU_ABI_HASH) {
        error_setg(errp, "tpu: ABI hash mismatch: %s (%s, %s) was built from "
                   "registers with hash 0x%08x, this QEMU from 0x%08x",
                   path, s->api->name, s->api->build, s->api->abi_hash,
                   TPU_ABI_HASH);
        error_append_hint(errp, "Rebuild both from one source: make deps, and "
                          "the model\n");
        s->api = NULL;
        return false;
    }
    trace_tpu_model_loaded(path, s->api->name, s->api->build);
    return true;
}

static bool tpu_parse_timing(TPUState *s, uint32_t *timing, Error **errp)
{
    static const char *const names[] = {
        [TPU_TIMING_CYCLE] = "cycle",
        [TPU_TIMING_EAGER] = "eager",
        [TPU_TIMING_LATE] = "late",
        [TPU_TIMING_RANDOM] = "random",
    };
    int i;

    *timing = TPU_TIMING_CYCLE;
    if (!s->timing) {
        return true;
    }
    for (i = 0; i < ARRAY_SIZE(names); i++) {
        if (!strcmp(s->timing, names[i])) {
            *timing = i;
            return true;
        }
    }
    error_setg(errp, "tpu: timing '%s' is not cycle, eager, late or random",
               s->timing);
    return false;
}

static bool tpu_create_model(TPUState *s, Error **errp)
{
    tpu_model_host host = {
        .opaque = s,
        .mem_read = tpu_host_read,
        .mem_write = tpu_host_write,
        .log = tpu_host_log,
    };
    tpu_model_config config = {
        .struct_size = sizeof(config),
        .abi_hash = TPU_ABI_HASH,
        .config = s->config,
        .seed = s->seed,
        .hbm_latency = s->hbm_latency,
        .stall_percent = s->stall_percent,
        .stall_seed = s->stall_seed,
        .detect_races = s->detect_races,
        .trace_records = s->trace_path ? TPU_TRACE_RECORDS : 0,
        .wave_path = s->wave_path,
        .wave_from = s->wave_from,
        .wave_to = s->wave_to,
    };
    char text[512] = "";
    sigset_t all, before;
    tpu_status status;

    if (!tpu_parse_timing(s, &config.timing, errp)) {
        return false;
    }
    /* Should a library start a thread, it must not take QEMU's signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = s->api->create(&config, &host, &s->model, text, sizeof(text));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != TPU_OK) {
        s->model = NULL;
        error_setg(errp, "tpu: the %s model was not created: %s (status %d)",
                   s->api->name, text[0] ? text : "no reason given", status);
        return false;
    }
    return true;
}

/* The machine and the model must agree on what both were told separately. */
static bool tpu_check_params(TPUState *s, Error **errp)
{
    uint32_t hz = tpu_param(s, TPU_PARAM_CYCLE_HZ);
    uint32_t hbm = tpu_param(s, TPU_PARAM_HBM_BYTES);

    if (!hz || NANOSECONDS_PER_SECOND % hz ||
        !is_power_of_2(NANOSECONDS_PER_SECOND / hz)) {
        error_setg(errp, "tpu: the model's parameter CYCLE_HZ is %u; the "
                   "period must be a power of two of nanoseconds", hz);
        return false;
    }
    s->period_ns = NANOSECONDS_PER_SECOND / hz;
    if (hbm > s->hbm_size) {
        error_setg(errp, "tpu: the model's parameter HBM_BYTES is %u, the "
                   "machine has %" PRIu64 " bytes", hbm, s->hbm_size);
        return false;
    }
    return true;
}

static bool tpu_open_trace(TPUState *s, Error **errp)
{
    TPUTraceHeader header = {
        .magic = "PEPLTRC",
        .version = cpu_to_le32(1),
        .header_bytes = cpu_to_le32(sizeof(header)),
        .record_bytes = cpu_to_le32(sizeof(tpu_trace_record)),
        .abi_hash = cpu_to_le32(TPU_ABI_HASH),
        .cycle_hz = cpu_to_le32(tpu_param(s, TPU_PARAM_CYCLE_HZ)),
        .config = cpu_to_le32(tpu_param(s, TPU_PARAM_CONFIG)),
    };

    if (!s->trace_path) {
        return true;
    }
    s->trace_file = fopen(s->trace_path, "wb");
    if (!s->trace_file) {
        error_setg_file_open(errp, errno, s->trace_path);
        return false;
    }
    fwrite(&header, sizeof(header), 1, s->trace_file);
    s->api->trace_enable(s->model, true);
    return true;
}

void tpu_drain_trace(TPUState *s)
{
    tpu_trace_record records[256];
    size_t n, i;

    if (!s->model) {
        return;
    }
    do {
        n = s->api->trace_read(s->model, records, ARRAY_SIZE(records));
        for (i = 0; i < n; i++) {
            records[i].head = cpu_to_le64(records[i].head);
            records[i].tag = cpu_to_le32(records[i].tag);
            records[i].arg = cpu_to_le32(records[i].arg);
        }
        if (s->trace_file &&
            fwrite(records, sizeof(records[0]), n, s->trace_file) != n) {
            error_report("tpu: writing the trace file %s: %s", s->trace_path,
                         strerror(errno));
            fclose(s->trace_file);
            s->trace_file = NULL;
        }
    } while (n == ARRAY_SIZE(records));
}

/* Files must be whole whatever way the process ends. */
static void tpu_exit_notify(Notifier *notifier, void *data)
{
    tpu_model_close(container_of(notifier, TPUState, exit_notifier));
}

bool tpu_model_open(TPUState *s, Error **errp)
{
    g_autofree char *path = tpu_library_path(s);
    size_t size = 0;

    if (!tpu_load_library(s, path, errp) || !tpu_create_model(s, errp) ||
        !tpu_check_params(s, errp) || !tpu_open_trace(s, errp)) {
        tpu_model_close(s);
        return false;
    }
    if (s->api->save(s->model, NULL, &size) == TPU_ENOTSUP) {
        error_setg(&s->migration_blocker, "the %s model of the TPU cannot "
                   "save its state (use model=func)", s->api->name);
        if (migrate_add_blocker(&s->migration_blocker, errp) < 0) {
            tpu_model_close(s);
            return false;
        }
    }
    s->exit_notifier.notify = tpu_exit_notify;
    qemu_add_exit_notifier(&s->exit_notifier);
    return true;
}

void tpu_model_close(TPUState *s)
{
    s->dead = true;
    if (s->exit_notifier.notify) {
        qemu_remove_exit_notifier(&s->exit_notifier);
        s->exit_notifier.notify = NULL;
    }
    if (s->migration_blocker) {
        migrate_del_blocker(&s->migration_blocker);
    }
    if (s->model) {
        tpu_drain_trace(s);
        s->api->destroy(s->model);
        s->model = NULL;
    }
    if (s->trace_file) {
        fclose(s->trace_file);
        s->trace_file = NULL;
    }
    if (s->library) {
        dlclose(s->library);
        s->library = NULL;
        s->api = NULL;
    }
}
