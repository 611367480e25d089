/* SPDX-License-Identifier: MIT */
/*
 * The functional model's vector unit against vpu_ref on random programs: memories, registers, errors and
 * counters bit for bit; then cases written out. `test_vpu [programs [seed]]`.
 */
#include "../check.h"
#include "compute.h"
#include "num_ref.h"
#include "vpu_disasm.h"
#include "vpu_random.h"
#include "vpu_ref.h"

#include <string.h>

#define VMEM_MAX      524288
#define ACC_WORDS_MAX 65536
#define SMEM_MAX      16384

static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};

static uint8_t vmem[VMEM_MAX], ref_vmem[VMEM_MAX], smem[SMEM_MAX];
static uint32_t acc[ACC_WORDS_MAX], ref_acc[ACC_WORDS_MAX];
static const struct tpu_memories memories = {.vmem = vmem, .acc = acc, .smem = smem};
static struct tpu_vpu vpu;
static struct vpu_ref ref = {.vmem = ref_vmem, .acc = ref_acc, .smem = smem};
static struct vpu_random command;

/* f32 values of all kinds: as bf16 and int8 they are of all kinds too. */
static void fill_memories(struct check_random *r) {
  for (uint32_t i = 0; i < VMEM_MAX; i += 4) {
    uint32_t bits = f32_random(r);
    memcpy(vmem + i, &bits, 4);
  }
  for (uint32_t i = 0; i < SMEM_MAX; i += 4) {
    uint32_t bits = f32_random(r);
    memcpy(smem + i, &bits, 4);
  }
  for (uint32_t i = 0; i < ACC_WORDS_MAX; i++)
    acc[i] = f32_random(r);
  memcpy(ref_vmem, vmem, sizeof vmem);
  memcpy(ref_acc, acc, sizeof acc);
}

/* ---- random programs ---------------------------------------------------------------------------------- */

static void print_command(const struct tpu_config *config) {
  printf("  %s: model status %d code %d %08x %08x pc %u instructions %llu bytes %llu\n", config->name,
         (int)vpu.status, (int)vpu.fault.code, vpu.fault.detail0, vpu.fault.detail1, vpu.pc,
         (unsigned long long)vpu.instructions, (unsigned long long)vpu.bytes);
  printf("  reference halted %d code %u %08x %08x pc %u instructions %llu bytes %llu\n", ref.halted, ref.code,
         ref.detail0, ref.detail1, ref.pc, (unsigned long long)ref.instructions,
         (unsigned long long)ref.bytes);
  for (uint32_t i = command.args[0]; i < VPU_RANDOM_PROGRAM; i++) {
    char text[TPU_VPU_DISASM_SIZE];
    tpu_vpu_disassemble(command.program[i], text, sizeof text);
    printf("  %4u  %s\n", i, text);
    if ((command.program[i] & 0xff) == TPU_VOP_HALT)
      break;
  }
}

static bool same_registers(const struct tpu_config *config) {
  for (uint32_t v = 0; v < 32; v++)
    for (uint32_t s = 0; s < 8; s++)
      for (uint32_t l = 0; l < config->lanes; l++)
        if (vpu.vreg[v].word[s * config->lanes + l] != ref.v[v][s][l]) {
          return false;
        }
  return true;
}

static bool same_results(const struct tpu_config *config) {
  if (vpu.fault.code != ref.code || (vpu.status == TPU_VPU_DONE) != ref.halted)
    return false;
  if (ref.code != 0 && (vpu.fault.detail0 != ref.detail0 || vpu.fault.detail1 != ref.detail1))
    return false;
  if (memcmp(vmem, ref_vmem, sizeof vmem) != 0 || memcmp(acc, ref_acc, sizeof acc) != 0)
    return false;
  return ref.code != 0 ||
         (vpu.bytes == ref.bytes && vpu.instructions == ref.instructions && same_registers(config));
}

/* Runs the command on both; the model in slices of `slice` instructions. */
static bool run_both(const struct tpu_config *config, uint64_t slice) {
  tpu_vpu_start(&vpu, config, &memories, command.args, NULL, NULL);
  while (vpu.status == TPU_VPU_RUNNING)
    tpu_vpu_run(&vpu, config, &memories, command.program, slice, NULL, NULL);
  ref.config = config;
  ref.program = command.program;
  vpu_ref_run(&ref, command.args, UINT64_MAX);
  return same_results(config);
}

static void resynchronise(void) {
  memcpy(ref_vmem, vmem, sizeof vmem);
  memcpy(ref_acc, acc, sizeof acc);
}

static void test_random(const struct tpu_config *config, uint32_t programs, uint64_t seed) {
  struct check_random r = {seed};
  uint64_t bad = 0, executed = 0, failed[16] = {0};
  for (uint32_t i = 0; i < programs; i++) {
    if (i % 64 == 0)
      fill_memories(&r);
    vpu_random_command(&command, &r, config);
    bool same = run_both(config, 1 + check_random_below(&r, 2) * 1000);
    if (!same && bad++ == 0)
      print_command(config);
    if (!same)
      resynchronise();
    executed += vpu.instructions;
    failed[vpu.fault.code & 15]++;
  }
  check(bad == 0, "%s: %u random programs, %llu instructions, seed %llu, equal the reference (%llu not)",
        config->name, programs, (unsigned long long)executed, (unsigned long long)seed,
        (unsigned long long)bad);
  check(programs < 500 || (failed[TPU_ERROR_NONE] > programs / 2 && failed[TPU_ERROR_ALIGN] > 0 &&
                           failed[TPU_ERROR_RANGE] > 0 && failed[TPU_ERROR_VPU_ILLEGAL] > 0 &&
                           failed[TPU_ERROR_VPU_PC] > 0),
        "%s: of them %llu ran to their end, %llu ALIGN, %llu RANGE, %llu VPU_ILLEGAL, %llu VPU_PC",
        config->name, (unsigned long long)failed[TPU_ERROR_NONE], (unsigned long long)failed[TPU_ERROR_ALIGN],
        (unsigned long long)failed[TPU_ERROR_RANGE], (unsigned long long)failed[TPU_ERROR_VPU_ILLEGAL],
        (unsigned long long)failed[TPU_ERROR_VPU_PC]);
}

/* Each mistake, made in the reference, must show. */
static void test_mistakes(void) {
  static const char *const names[VPU_REF_MISTAKES] = {"none",
                                                      "reductions in order",
                                                      "argmax takes the last",
                                                      "mask one row too long",
                                                      "no stride at a loop's end",
                                                      "+0 as identity of sums",
                                                      "narrow stores truncate",
                                                      "masked sublanes checked",
                                                      "offsets unsigned",
                                                      "rotations go back"};
  for (enum vpu_ref_mistake mistake = VPU_REF_SUMS_IN_ORDER; mistake < VPU_REF_MISTAKES; mistake++) {
    struct check_random r = {11};
    unsigned caught = 0;
    fill_memories(&r);
    ref.mistake = mistake;
    for (int i = 0; i < 400; i++) {
      vpu_random_command(&command, &r, &configs[0]);
      caught += !run_both(&configs[0], UINT64_MAX);
      resynchronise();
    }
    ref.mistake = VPU_REF_CORRECT;
    check(caught > 0, "mistake noticed: %s (%u of 400 programs)", names[mistake], caught);
  }
}

/* ---- cases -------------------------------------------------------------------------------------------- */

static uint64_t program[VPU_RANDOM_PROGRAM];
static uint32_t args[TPU_VPU_ARG_WORDS];

static void arg(uint32_t reg, uint32_t value) {
  args[(reg - TPU_QUEUE_ARGS) / 4] = value;
}

static void begin(void) {
  memset(program, 0, sizeof program);
  memset(args, 0, sizeof args);
  for (uint32_t r = 0; r < 8; r++)
    arg(TPU_VPU_PITCH(r), 64);
}

static enum tpu_vpu_status run(uint64_t budget) {
  tpu_vpu_start(&vpu, &configs[0], &memories, args, NULL, NULL);
  return tpu_vpu_run(&vpu, &configs[0], &memories, program, budget, NULL, NULL);
}

static bool fault_is(enum tpu_error code, uint32_t detail0, uint32_t detail1) {
  return vpu.status == TPU_VPU_FAULT && vpu.fault.code == code && vpu.fault.detail0 == detail0 &&
         vpu.fault.detail1 == detail1;
}

static void test_errors(void) {
  begin();
  program[0] = 250 | 0x1234500;
  run(10);
  check(fault_is(TPU_ERROR_VPU_ILLEGAL, 0, 0x12345fa), "illegal: pc and low word");
  program[0] = TPU_VASM_FIELD(OP, 0x8f);
  run(10);
  check(fault_is(TPU_ERROR_VPU_ILLEGAL, 0, 0x8f), "illegal: a reserved operation");
  struct tpu_config without = configs[0];
  without.eup_lanes = 0;
  program[0] = tpu_vasm_exp2(1, TPU_V(2));
  tpu_vpu_start(&vpu, &without, &memories, args, NULL, NULL);
  tpu_vpu_run(&vpu, &without, &memories, program, 10, NULL, NULL);
  check(fault_is(TPU_ERROR_VPU_ILLEGAL, 0, (uint32_t)program[0]),
        "illegal: exp2 without a transcendental pipe");
  begin();
  arg(TPU_VPU_ENTRY, 5000);
  run(10);
  check(fault_is(TPU_ERROR_VPU_PC, 5000, 0), "pc: entry past the program memory");
  begin();
  arg(TPU_VPU_SCALAR_MODE, 0x0c);
  arg(TPU_VPU_SCALAR(3), 6);
  arg(TPU_VPU_SCALAR(2), 16384);
  tpu_vpu_start(&vpu, &configs[0], &memories, args, NULL, NULL);
  check(fault_is(TPU_ERROR_RANGE, 0x0202ffff, 16384), "scalar past SMEM, in order of number");
  arg(TPU_VPU_SCALAR(2), 16380);
  tpu_vpu_start(&vpu, &configs[0], &memories, args, NULL, NULL);
  check(fault_is(TPU_ERROR_ALIGN, 0x0203ffff, 6), "scalar not aligned");
  begin();
  program[0] = tpu_vasm_const(0, 7);
  program[1] = tpu_vasm_st(TPU_V(0), (struct tpu_vasm_memory){.areg = 1});
  arg(TPU_VPU_ADDR(1), 524288 - 3 * 64);
  memset(vmem, 0, sizeof vmem);
  run(10);
  check(fault_is(TPU_ERROR_RANGE, 0x01030001, 524288), "store past VMEM: sublane and address");
  check(vmem[524288 - 4] == 7, "sublanes before the failing one stand");
  arg(TPU_VPU_ADDR(1), 0x1f0);
  arg(TPU_VPU_PITCH(1), 16);
  program[1] = tpu_vasm_st(TPU_V(0), (struct tpu_vasm_memory){.areg = 1, .offset = 16});
  run(10);
  check(fault_is(TPU_ERROR_ALIGN, 0x01010001, 0x210), "row not aligned: sublane 1");
  program[1] = tpu_vasm_ld(0, (struct tpu_vasm_memory){.areg = 1, .acc = true});
  arg(TPU_VPU_ADDR(1), 4095);
  arg(TPU_VPU_PITCH(1), 1);
  run(10);
  check(fault_is(TPU_ERROR_RANGE, 0x03010001, 4096), "load past ACC");
}

static void test_loops(void) {
  begin();
  program[0] = tpu_vasm_loop(1, 0); /* an empty loop that jumps to itself never ends */
  check(run(1000) == TPU_VPU_RUNNING && vpu.instructions == 1000, "an endless program runs in slices");
  begin();
  for (uint32_t level = 0; level < 3; level++)
    arg(TPU_VPU_LOOP(level), 0xffffffff);
  program[0] = tpu_vasm_loop(0, 0);
  program[1] = tpu_vasm_loop(1, 0);
  program[2] = tpu_vasm_loop(2, 0);
  program[3] = tpu_vasm_end(2);
  check(run(1000) == TPU_VPU_RUNNING, "2^96 iterations run in slices");
  begin();
  arg(TPU_VPU_LOOP(0), 3);
  arg(TPU_VPU_EDGE, 0 | 3 << 2 | 1 << 8);
  program[0] = tpu_vasm_loop(0, 9);
  program[1] = tpu_vasm_end(0);
  program[2] = tpu_vasm_iota_sub(0, (struct tpu_vasm_mask){.rgrp = 1});
  run(100);
  check(vpu.vreg[0].word[16] == 8 * (3 + 1) + 1, "the iteration stays after a loop's end");
}

static void test_facts(void) {
  begin();
  program[0] = tpu_vasm_iota_lane(1, (struct tpu_vasm_mask){0});
  program[1] = tpu_vasm_reduce(TPU_VOP_RL_ISUM, 2, TPU_V(1), (struct tpu_vasm_mask){.masked = true});
  program[2] = tpu_vasm_const(3, NUM_NAN_F32);
  program[3] = tpu_vasm_selm(4, TPU_S(0), TPU_V(3), (struct tpu_vasm_mask){0});
  program[4] = tpu_vasm_reduce(TPU_VOP_RL_FARGMAX, 5, TPU_V(4), (struct tpu_vasm_mask){0});
  program[5] = tpu_vasm_reduce(TPU_VOP_RS_FSUM, 6, TPU_S(0), (struct tpu_vasm_mask){.masked = true});
  arg(TPU_VPU_VALID_ROWS, 3);
  arg(TPU_VPU_VALID_COLS, 5);
  arg(TPU_VPU_SCALAR(0), 0x3f800000);
  arg(TPU_VPU_EDGE, 3 | 3 << 2);
  run(100);
  check(vpu.status == TPU_VPU_DONE, "the program ends");
  check(vpu.vreg[2].word[0] == 10 && vpu.vreg[2].word[3 * 16] == 0, "masked sum over lanes");
  check(vpu.vreg[5].word[15] == 5, "argmax takes the first NaN");
  check(vpu.vreg[6].word[4] == 0x40400000 && vpu.vreg[6].word[5] == 0x80000000, "masked sum over sublanes");
  check(vpu.instructions == 7 && vpu.bytes == 0, "counters");
}

struct access_log {
  struct tpu_access access[8];
  unsigned count;
};

static void record(void *opaque, const struct tpu_access *access) {
  struct access_log *log = opaque;
  if (log->count < 8)
    log->access[log->count] = *access;
  log->count++;
}

static bool access_is(const struct tpu_access *x, enum tpu_space space, bool write, uint32_t base,
                      uint32_t row_bytes, uint32_t rows, int32_t pitch) {
  return x->space == space && x->write == write && x->base == base && x->row_bytes == row_bytes &&
         x->rows == rows && x->pitch == pitch;
}

static void test_accesses(void) {
  struct access_log log = {.count = 0};
  begin();
  program[0] = tpu_vasm_ld(0, (struct tpu_vasm_memory){.dtype = TPU_VMEM_DTYPE_BF16, .masked = true});
  program[1] = tpu_vasm_st(TPU_V(0), (struct tpu_vasm_memory){.areg = 1, .acc = true});
  program[2] = tpu_vasm_st(TPU_V(0), (struct tpu_vasm_memory){.column = true, .masked = true, .cgrp = 1});
  arg(TPU_VPU_EDGE, 3 | 3 << 2);
  arg(TPU_VPU_VALID_ROWS, 3);
  arg(TPU_VPU_VALID_COLS, 5);
  arg(TPU_VPU_ADDR(0), 1024);
  arg(TPU_VPU_ADDR(1), 20);
  arg(TPU_VPU_PITCH(1), 2);
  arg(TPU_VPU_SCALAR_MODE, 1);
  arg(TPU_VPU_SCALAR(0), 64);
  tpu_vpu_start(&vpu, &configs[0], &memories, args, record, &log);
  tpu_vpu_run(&vpu, &configs[0], &memories, program, 100, record, &log);
  check(log.count == 3 && access_is(&log.access[0], TPU_SPACE_SMEM, false, 64, 4, 1, 0) &&
            access_is(&log.access[1], TPU_SPACE_VMEM, false, 1024, 10, 3, 64) &&
            access_is(&log.access[2], TPU_SPACE_ACC, true, 20 * 64, 64, 8, 128),
        "accesses: scalars, valid part of a load, ACC in bytes, nothing for an empty mask");
  check(vpu.bytes == 3 * 32 + 8 * 64, "bytes: whole rows of accessed sublanes");
}

/* ---- time --------------------------------------------------------------------------------------------- */

/* Cycles of `n` instructions in a loop of 100 iterations, beside what an empty loop takes, an iteration. */
static uint32_t cycles_per_iteration(const uint64_t *body, unsigned n) {
  arg(TPU_VPU_LOOP(0), 100);
  program[0] = tpu_vasm_loop(0, 0);
  memcpy(program + 1, body, n * sizeof *body);
  program[n + 1] = tpu_vasm_end(0);
  program[n + 2] = tpu_vasm_halt();
  run(UINT64_MAX);
  uint64_t hundred = vpu.cycles;
  arg(TPU_VPU_LOOP(0), 200);
  run(UINT64_MAX);
  return (uint32_t)((vpu.cycles - hundred + 50) / 100);
}

/* What the RTL's structure gives; its own measurements are in docs/timings.md. */
static void test_time(void) {
  const struct tpu_vasm_memory from = {.areg = 0}, to = {.areg = 1};
  const struct tpu_vasm_mask all = {0};
  begin();
  arg(TPU_VPU_ADDR(1), 65536);
#define TIME(cycles, text, ...)                                                                              \
  do {                                                                                                       \
    const uint64_t body[] = {__VA_ARGS__};                                                                   \
    uint32_t seen = cycles_per_iteration(body, sizeof body / sizeof body[0]);                                \
    check(seen == (cycles), "time: %s %u cycles an iteration (%u)", text, cycles, seen);                     \
  } while (0)
  TIME(8, "an ALU operation", tpu_vasm_fadd(1, TPU_V(2), TPU_V(3)));
  TIME(24, "a chain of three dependent ALU operations", tpu_vasm_fadd(1, TPU_V(1), TPU_S(0)),
       tpu_vasm_fmul(1, TPU_V(1), TPU_S(0)), tpu_vasm_fma(1, TPU_V(1), TPU_S(0), TPU_V(2)));
  TIME(8, "load, ALU and store at once", tpu_vasm_ld(1, from), tpu_vasm_fadd(2, TPU_V(1), TPU_S(0)),
       tpu_vasm_st(TPU_V(2), to));
  TIME(16, "two loads", tpu_vasm_ld(1, from), tpu_vasm_ld(2, from));
  TIME(8, "reductions of one kind", tpu_vasm_reduce(TPU_VOP_RL_FSUM, 1, TPU_V(2), all));
  TIME(36, "reductions of two kinds", tpu_vasm_reduce(TPU_VOP_RL_FSUM, 1, TPU_V(3), all),
       tpu_vasm_reduce(TPU_VOP_RL_FMAX, 2, TPU_V(3), all));
  TIME(8, "a transcendental operation", tpu_vasm_exp2(1, TPU_V(2)));
  TIME(16, "one of two trips", tpu_vasm_tanh(1, TPU_V(2)));
  TIME(9, "a transcendental operation on its own result", tpu_vasm_rcp(1, TPU_V(1)));
  TIME(8, "rotations over lanes", tpu_vasm_move(TPU_VOP_ROT_LANE, 1, TPU_V(2), 3));
  TIME(8, "rotations over sublanes", tpu_vasm_move(TPU_VOP_ROT_SUB, 1, TPU_V(2), 3));
  TIME(16, "transpositions of a pair", tpu_vasm_transpose(2, TPU_V(4)));
  TIME(40, "random bits", tpu_vasm_rand(1, 0, 1, -1, all));
  TIME(8, "five pipes at once", tpu_vasm_st(TPU_V(2), to), tpu_vasm_reduce(TPU_VOP_RL_FSUM, 2, TPU_V(3), all),
       tpu_vasm_exp2(3, TPU_V(1)), tpu_vasm_fmul(1, TPU_V(0), TPU_S(0)), tpu_vasm_ld(0, from));
  TIME(2, "an empty inner loop and the END of the outer one", tpu_vasm_loop(1, 2));
#undef TIME
}

/* ---- text --------------------------------------------------------------------------------------------- */

static void test_text(void) {
  const struct {
    uint64_t instruction;
    const char *text;
  } cases[] = {
      {tpu_vasm_halt(), "halt"},
      {tpu_vasm_loop(2, 300), "loop 2, to 300 if empty"},
      {tpu_vasm_end(1), "end 1"},
      {tpu_vasm_const(31, 0x3f800000), "const v31, 0x3f800000"},
      {tpu_vasm_fma(3, TPU_V(1), TPU_S(7), TPU_V(30)), "fma v3, v1, s7, v30"},
      {tpu_vasm_mov(3, TPU_S(2)), "mov v3, s2"},
      {tpu_vasm_and(3, TPU_V(2), TPU_V(1)), "and v3, v2, v1"},
      {tpu_vasm_sel(3, TPU_V(2), TPU_V(1), TPU_V(9)), "sel v3, v2, v1, v9"},
      {tpu_vasm_f2i_rne(4, TPU_V(5)), "f2i_rne v4, v5"},
      {tpu_vasm_exp2(4, TPU_V(5)), "exp2 v4, v5"},
      {tpu_vasm_sigmoid(4, TPU_S(5)), "sigmoid v4, s5"},
      {tpu_vasm_ld(1, (struct tpu_vasm_memory){.areg = 3,
                                               .offset = -64,
                                               .dtype = TPU_VMEM_DTYPE_BF16,
                                               .masked = true,
                                               .fill = TPU_FILL_MIN,
                                               .rgrp = 1,
                                               .cgrp = 2}),
       "ld v1, vmem[a3 - 64] bf16 masked rows 1 columns 2 fill min"},
      {tpu_vasm_st(TPU_V(5),
                   (struct tpu_vasm_memory){
                       .areg = 7, .dtype = TPU_VMEM_DTYPE_UINT8, .i32 = true, .column = true, .offset = 4}),
       "st vmem[a7 + 4] column, v5 uint8 i32"},
      {tpu_vasm_st(TPU_S(5), (struct tpu_vasm_memory){.acc = true}), "st acc[a0], s5"},
      {tpu_vasm_reduce(TPU_VOP_RL_FARGMAX, 1, TPU_V(2), (struct tpu_vasm_mask){.masked = true, .cgrp = 3}),
       "rl_fargmax v1, v2 masked columns 3"},
      {tpu_vasm_selm(1, TPU_V(2), TPU_V(3), (struct tpu_vasm_mask){.rgrp = 2}), "selm v1, v2, v3 rows 2"},
      {tpu_vasm_iota_lane(1, (struct tpu_vasm_mask){.cgrp = 2}), "iota_lane v1 columns 2"},
      {tpu_vasm_move(TPU_VOP_ROT_LANE, 1, TPU_V(2), 3), "rot_lane v1, v2, 3"},
      {tpu_vasm_move_by_scalar(TPU_VOP_BC_SUB, 1, TPU_V(2), 3), "bc_sub v1, v2, s3"},
      {tpu_vasm_transpose(4, TPU_V(2)), "transpose v4, v2"},
      {tpu_vasm_rand(4, 0, 1, -1, (struct tpu_vasm_mask){.cgrp = 1}), "rand v4, s0, s1 columns 1"},
      {tpu_vasm_rand(4, 0, 1, 2, (struct tpu_vasm_mask){0}), "rand v4, s0, s1, s2"},
      {0xff, ".quad 0x00000000000000ff"},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[TPU_VPU_DISASM_SIZE];
    size_t length = tpu_vpu_disassemble(cases[i].instruction, text, sizeof text);
    check(strcmp(text, cases[i].text) == 0 && length == strlen(text), "text: %s", text);
  }
  char tiny[6];
  check(tpu_vpu_disassemble(tpu_vasm_fma(3, TPU_V(1), TPU_S(7), TPU_V(30)), tiny, sizeof tiny) == 19 &&
            strcmp(tiny, "fma v") == 0,
        "text: truncated like snprintf");
}

int main(int argc, char **argv) {
  uint32_t programs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  test_text();
  test_errors();
  test_loops();
  test_facts();
  test_accesses();
  test_time();
  for (unsigned i = 0; i < TPU_CONFIG_COUNT; i++)
    test_random(&configs[i], programs, seed + i);
  test_mistakes();
  return check_result(argv[0]);
}
