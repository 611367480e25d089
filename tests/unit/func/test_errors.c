/* SPDX-License-Identifier: MIT */
/* Errors of commands: start checks of MXU and VPU, errors of vector programs, bus errors, halted queues. */
#include "func_test.h"

#include <string.h>

#include "vpu_asm.h"

/* ---- MXU --------------------------------------------------------------------------------------------------
 */

static void stage_mxu(struct host *h, const struct host_mxu *x, uint32_t tag) {
  struct host_head head = {.signals = 1, .signal = {{1, 1, false}}};
  host_stage_head(h, TPU_QUEUE_MXU, &head);
  host_stage_mxu(h, x);
  host_go(h, TPU_QUEUE_MXU, tag);
  host_run(h, LIMIT);
}

static void expect_mxu(struct host *h, const char *what, struct host_mxu x, uint32_t code, uint32_t d0,
                       uint32_t d1) {
  stage_mxu(h, &x, 0x3c);
  check(sem_value(h, 1) == 0, "%s: no signal", what);
  expect_error(h, what, (struct host_error){code, TPU_QUEUE_MXU, 0x3c, d0, d1});
}

static struct host_mxu square(uint32_t n) {
  return (struct host_mxu){.b = 4096, .a_pitch = n, .b_pitch = n, .c_pitch = n, .m = n, .n = n, .k = n};
}

static void test_mxu_checks(void) {
  struct host h;
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  uint32_t dim = c->dim, end = c->vmem_bytes;
  struct host_mxu x = square(2 * dim);
  stage_mxu(&h, &x, 1);
  check(sem_value(&h, 1) == 1, "a valid MXU command signals");
  expect_no_error(&h, "valid MXU command");
  host_write(&h, TPU_REG_SEM_VALUE(1), 0);
  x.a = 1;
  x.b = 1;
  expect_mxu(&h, "A not aligned", x, TPU_ERROR_ALIGN, TPU_MXU_A, 1);
  x.a = 0;
  x.a_pitch = dim + 1;
  expect_mxu(&h, "A_PITCH not aligned", x, TPU_ERROR_ALIGN, TPU_MXU_A_PITCH, dim + 1);
  x.a_pitch = dim;
  expect_mxu(&h, "B not aligned", x, TPU_ERROR_ALIGN, TPU_MXU_B, 1);
  x.b = 0;
  x.b_pitch = dim / 2;
  expect_mxu(&h, "B_PITCH not aligned", x, TPU_ERROR_ALIGN, TPU_MXU_B_PITCH, dim / 2);
  x = square(2 * dim);
  x.c_pitch = 2 * dim - 1;
  expect_mxu(&h, "C_PITCH below M", x, TPU_ERROR_BAD_FIELD, TPU_MXU_C_PITCH, 2 * dim - 1);
  x = square(2 * dim);
  x.a = end - dim;
  expect_mxu(&h, "A past the end", x, TPU_ERROR_RANGE, TPU_SPACE_VMEM << 8,
             x.a + (2 * dim - 1) * 2 * dim + 2 * dim);
  x = square(2 * dim);
  x.b = end - dim;
  expect_mxu(&h, "B past the end", x, TPU_ERROR_RANGE, 1 | TPU_SPACE_VMEM << 8,
             x.b + (2 * dim - 1) * 2 * dim + 2 * dim);
  x = square(2 * dim);
  x.c = c->acc_rows - 2 * dim - 1;
  expect_mxu(&h, "C past the end", x, TPU_ERROR_RANGE, 2 | TPU_SPACE_ACC << 8, c->acc_rows + 2 * dim - 1);
  close_model(&h, "MXU checks");
}

/* M, N or K of zero. */
static void test_mxu_empty(void) {
  struct host h;
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  uint32_t acc[64];
  for (int which = 0; which < 4; which++) {
    struct host_mxu x = square(c->dim);
    memset(acc, 0x77, sizeof acc);
    host_poke(&h, TPU_SPACE_ACC, 0, acc, c->dim * 4);
    x.m = which == 0 ? 0 : 1;
    x.n = which == 1 ? 0 : c->dim;
    x.k = which >= 2 ? 0 : c->dim;
    x.accumulate = which == 3;
    x.a = x.b = which < 2 ? 1 : 0xffffff01; /* not looked at */
    stage_mxu(&h, &x, 2);
    host_peek(&h, TPU_SPACE_ACC, 0, acc, c->dim * 4);
    check(sem_value(&h, 1) == 1 + (uint32_t)which && acc[c->dim - 1] == (which == 2 ? 0 : 0x77777777),
          "M, N or K zero, case %d: signals; only K = 0 with overwrite writes zeros", which);
    expect_no_error(&h, "empty MXU command");
  }
  check(host_counter(&h, TPU_QUEUE_MXU, TPU_COUNTER_WORK) == 0, "no multiply-accumulates are counted");
  struct host_mxu x = square(c->dim);
  x.k = 0;
  x.c = c->acc_rows;
  stage_mxu(&h, &x, 3);
  expect_error(
      &h, "K = 0 with overwrite past ACC",
      (struct host_error){TPU_ERROR_RANGE, TPU_QUEUE_MXU, 3, 2 | TPU_SPACE_ACC << 8, c->acc_rows + c->dim});
  close_model(&h, "MXU empty");
}

/* A small product, to see that operands and results are where they should be. */
static void test_mxu_product(void) {
  struct host h;
  int8_t a[3 * 32], b[32 * 32];
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  uint32_t dim = c->dim, n = dim + 1, wrong = 0;
  for (uint32_t i = 0; i < sizeof a; i++)
    a[i] = (int8_t)(i * 37 + 11);
  for (uint32_t i = 0; i < sizeof b; i++)
    b[i] = (int8_t)(i * 59 - 7);
  host_poke(&h, TPU_SPACE_VMEM, 0, a, sizeof a);
  host_poke(&h, TPU_SPACE_VMEM, 8192, b, sizeof b);
  struct host_mxu x = {
      .b = 8192, .a_pitch = 32, .b_pitch = 32, .c = 5, .c_pitch = 7, .m = 3, .n = n, .k = dim - 1};
  stage_mxu(&h, &x, 1);
  x.accumulate = true;
  stage_mxu(&h, &x, 2);
  for (uint32_t i = 0; i < 3; i++)
    for (uint32_t j = 0; j < n; j++) {
      int32_t sum = 0, got;
      for (uint32_t k = 0; k < dim - 1; k++)
        sum += a[32 * i + k] * b[32 * k + j];
      host_peek(&h, TPU_SPACE_ACC, 4 * ((5 + j / dim * 7 + i) * dim + j % dim), &got, 4);
      wrong += got != 2 * sum;
    }
  check(wrong == 0, "int8 product, twice: 3 x %u x %u (%u wrong)", n, dim - 1, wrong);
  check(host_counter(&h, TPU_QUEUE_MXU, TPU_COUNTER_WORK) == 2u * 3 * n * (dim - 1),
        "multiply-accumulates are counted");
  expect_no_error(&h, "product");
  close_model(&h, "MXU product");
}

/* ---- VPU --------------------------------------------------------------------------------------------------
 */

static void load_program(struct host *h, const uint64_t *program, uint32_t count, uint32_t at) {
  for (uint32_t i = 0; i < count; i++) {
    host_write(h, TPU_REG_VPROG(2 * (at + i)), (uint32_t)program[i]);
    host_write(h, TPU_REG_VPROG(2 * (at + i) + 1), (uint32_t)(program[i] >> 32));
  }
}

static void run_vpu(struct host *h, uint32_t entry, uint32_t tag) {
  struct host_head head = {.signals = 1, .signal = {{1, 1, false}}};
  host_stage_head(h, TPU_QUEUE_VPU, &head);
  host_stage(h, TPU_QUEUE_VPU, TPU_VPU_ENTRY, entry);
  host_go(h, TPU_QUEUE_VPU, tag);
  host_run(h, LIMIT);
}

static void expect_vpu(struct host *h, const char *what, uint32_t entry, uint32_t code, uint32_t d0,
                       uint32_t d1) {
  run_vpu(h, entry, 0x5e);
  check(sem_value(h, 1) == 0, "%s: no signal", what);
  expect_error(h, what, (struct host_error){code, TPU_QUEUE_VPU, 0x5e, d0, d1});
}

static void test_vpu_errors(void) {
  struct host h;
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  uint32_t row = 4 * c->lanes, rows = 8 * row;
  const uint64_t program[] = {
      [0] = tpu_vasm_const(1, 7),
      [1] = tpu_vasm_st(TPU_V(1), (struct tpu_vasm_memory){.areg = 0}),
      [2] = tpu_vasm_st(TPU_V(1), (struct tpu_vasm_memory){.areg = 1}),
      [3] = tpu_vasm_halt(),
      [4] = 0x7f, /* no such operation */
      [5] = tpu_vasm_ld(2, (struct tpu_vasm_memory){.areg = 2, .acc = true}),
      [6] = tpu_vasm_halt(),
      [7] = tpu_vasm_end(1),
  };
  load_program(&h, program, sizeof program / sizeof program[0], 0);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_ADDR(0), rows);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_ADDR(1), c->vmem_bytes - 3 * row);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_ADDR(2), c->acc_rows - 8);
  for (uint32_t i = 0; i < 2; i++)
    host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_PITCH(i), row);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_PITCH(2), 1);
  uint32_t zeros[16] = {0}, seen[2] = {0};
  host_poke(&h, TPU_SPACE_VMEM, rows, zeros, row);
  host_poke(&h, TPU_SPACE_VMEM, c->vmem_bytes - row, zeros, row);
  expect_vpu(&h, "store past VMEM", 0, TPU_ERROR_RANGE, 2 | 3 << 16 | (uint32_t)TPU_SPACE_VMEM << 24,
             c->vmem_bytes);
  host_peek(&h, TPU_SPACE_VMEM, rows, &seen[0], 4);
  host_peek(&h, TPU_SPACE_VMEM, c->vmem_bytes - row, &seen[1], 4);
  check(seen[0] == 7 && seen[1] == 7, "earlier instructions and earlier sublanes stand");
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_ADDR(0), rows + 4);
  expect_vpu(&h, "row not aligned", 0, TPU_ERROR_ALIGN, 1 | (uint32_t)TPU_SPACE_VMEM << 24, rows + 4);
  expect_vpu(&h, "illegal instruction", 4, TPU_ERROR_VPU_ILLEGAL, 4, 0x7f);
  expect_vpu(&h, "END of an inactive loop", 7, TPU_ERROR_VPU_ILLEGAL, 7, (uint32_t)program[7]);
  run_vpu(&h, 5, 1);
  check(sem_value(&h, 1) == 1, "a load of the last rows of ACC is legal");
  expect_no_error(&h, "last rows of ACC");
  host_write(&h, TPU_REG_SEM_VALUE(1), 0);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_ADDR(2), c->acc_rows - 7);
  expect_vpu(&h, "load past ACC", 5, TPU_ERROR_RANGE, 5 | 7 << 16 | (uint32_t)TPU_SPACE_ACC << 24,
             c->acc_rows);
  expect_vpu(&h, "entry past the program memory", c->vpu_program, TPU_ERROR_VPU_PC, c->vpu_program, 0);
  host_write(&h, TPU_REG_VPROG(2 * c->vpu_program - 2), (uint32_t)program[0]);
  host_write(&h, TPU_REG_VPROG(2 * c->vpu_program - 1), (uint32_t)(program[0] >> 32));
  expect_vpu(&h, "program without HALT", c->vpu_program - 1, TPU_ERROR_VPU_PC, c->vpu_program, 0);
  close_model(&h, "VPU errors");
}

static void test_vpu_scalars(void) {
  struct host h;
  uint32_t word = 0xc0ffee, got = 0;
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  const uint64_t program[] = {tpu_vasm_st(TPU_S(3), (struct tpu_vasm_memory){.areg = 0}), tpu_vasm_halt()};
  load_program(&h, program, 2, 20);
  host_poke(&h, TPU_SPACE_SMEM, 0x40, &word, 4);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_PITCH(0), 4 * c->lanes);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_SCALAR_MODE, 1 << 3 | 1 << 5);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_SCALAR(3), 0x40);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_SCALAR(5), c->smem_bytes - 4);
  run_vpu(&h, 20, 1);
  host_peek(&h, TPU_SPACE_VMEM, 4, &got, 4);
  check(got == word && sem_value(&h, 1) == 1, "a scalar argument from SMEM");
  expect_no_error(&h, "scalars");
  host_write(&h, TPU_REG_SEM_VALUE(1), 0);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_SCALAR(5), c->smem_bytes);
  expect_vpu(&h, "scalar past SMEM", 20, TPU_ERROR_RANGE, 0xffff | 5 << 16 | (uint32_t)TPU_SPACE_SMEM << 24,
             c->smem_bytes);
  host_stage(&h, TPU_QUEUE_VPU, TPU_VPU_SCALAR(3), 0x42);
  expect_vpu(&h, "scalar not aligned", 20, TPU_ERROR_ALIGN, 0xffff | 3 << 16 | (uint32_t)TPU_SPACE_SMEM << 24,
             0x42);
  close_model(&h, "VPU scalars");
}

/* ---- halted queues ----------------------------------------------------------------------------------------
 */

static struct host_dma copy(uint32_t src, uint32_t dst, uint32_t bytes) {
  return (struct host_dma){.src_space = TPU_SPACE_HBM,
                           .dst_space = TPU_SPACE_VMEM,
                           .src = src,
                           .dst = dst,
                           .row_bytes = bytes,
                           .count = {1, 1, 1}};
}

static void test_halt(void) {
  struct host h;
  open_model(&h, 0);
  struct host_head head = {.waits = 1, .wait = {{2, 1, true}}, .signals = 1, .signal = {{1, 1, false}}};
  struct host_dma good = copy(0, 0, 64), bad = copy(0xfffffff0, 0, 64);
  host_dma(&h, 1, 0x10, &head, &good);
  host_dma(&h, 1, 0x11, &head, &bad);
  host_dma(&h, 1, 0x12, &head, &good);
  host_dma(&h, 2, 0x20, &head, &good);
  host_write(&h, TPU_REG_SEM_SIGNAL(2), 10);
  check(host_run(&h, LIMIT) == TPU_STOP_BLOCKED, "a halted queue with commands behind counts as blocked");
  uint32_t status = host_read(&h, TPU_REG_STATUS);
  check((status & TPU_REG_STATUS_HALTED_MASK) == 1u << (TPU_REG_STATUS_HALTED_SHIFT + 1) &&
            status & TPU_REG_STATUS_BLOCKED_MASK && status & TPU_REG_STATUS_ERROR_MASK,
        "only the queue of the failed command is halted (STATUS 0x%x)", status);
  check(sem_value(&h, 1) == 2,
        "the command before it and the other channel's signal, it and those behind do not");
  check(sem_value(&h, 2) == 7, "the failed command has consumed its wait, the one behind it has not");
  check(free_slots(&h, 1) == host_parameter(&h, TPU_PARAM_QUEUE_DEPTH) - 1,
        "the command behind it stays queued");
  host_go(&h, 3, 1);
  check(free_slots(&h, 3) == host_parameter(&h, TPU_PARAM_QUEUE_DEPTH),
        "GO is refused while the error is set");
  expect_error(&h, "source past HBM",
               (struct host_error){TPU_ERROR_RANGE, 1, 0x11, 0, (uint32_t)(0xfffffff0u + 64)});
  check(host_read(&h, TPU_REG_STATUS) == TPU_REG_STATUS_IDLE_MASK, "after an abort the device is idle");
  host_write(&h, TPU_REG_SEM_VALUE(2), 1);
  host_dma(&h, 1, 0x13, &head, &good);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE && sem_value(&h, 1) == 1, "and the queue works again");
  close_model(&h, "halt");
}

/* HBM answers with an error in the middle of a command. */
static void test_bus(bool write) {
  struct host h;
  static uint8_t vmem[65536];
  open_model(&h, 0);
  struct host_head head = {.signals = 1, .signal = {{1, 1, false}}};
  uint32_t bad = 0x10000 + 0x2100, i;
  h.bad_begin = bad;
  h.bad_end = bad + 16;
  for (i = 0; i < 65536; i++)
    h.hbm[0x10000 + i] = write ? 0xaa : 0x55;
  memset(vmem, write ? 0x55 : 0xaa, sizeof vmem);
  host_poke(&h, TPU_SPACE_VMEM, 0, vmem, sizeof vmem);
  struct host_dma d = copy(0x10000, 0, 0x4000), first = copy(0, 0x18000, 64);
  if (write) {
    d.src_space = first.src_space = TPU_SPACE_VMEM;
    d.dst_space = first.dst_space = TPU_SPACE_HBM;
    d.src = 0;
    d.dst = 0x10000;
    first.src = 0x8000;
    first.dst = 0x1000;
  }
  host_dma(&h, 0, 0x80, &head, &first);
  host_dma(&h, 0, 0x81, &head, &d);
  host_dma(&h, 0, 0x82, &head, &first);
  host_run(&h, LIMIT);
  check(sem_value(&h, 1) == 1, "bus error on %s: the command before signals, the others do not",
        write ? "write" : "read");
  expect_error(&h, write ? "bus error on write" : "bus error on read",
               (struct host_error){TPU_ERROR_BUS, 0, 0x81, write, bad});
  host_peek(&h, TPU_SPACE_VMEM, 0, vmem, sizeof vmem);
  const uint8_t *dst = write ? h.hbm + 0x10000 : vmem;
  for (i = 0; i < 0x4000 && dst[i] == 0x55; i++)
    ;
  check(i == bad - 0x10000, "what came before the burst was written, nothing after it (0x%x bytes)", i);
  for (; i < 0x4000 && (write || dst[i] == 0xaa); i++)
    ;
  check(write || i == 0x4000, "and nothing behind the burst");
  h.bad_begin = h.bad_end = 0;
  host_dma(&h, 0, 0x83, &head, &d);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE && sem_value(&h, 1) == 1,
        "after an abort the channel works again");
  close_model(&h, "bus error");
}

/* The registers keep the first error of several, and the log has that one, in both models. */
static void test_first_only(void) {
  struct host h;
  open_model(&h, 0);
  host_clear_log(&h);
  host_write(&h, 0xfff0, 1);
  host_write(&h, 0xfff4, 2);
  host_write(&h, 0xfff0, 3);
  settle(&h);
  host_run(&h, LIMIT);
  check(h.log_lines[TPU_LOG_GUEST_ERROR] == 1 && strstr(h.log, "0xfff0"),
        "of three errors the first is logged: %u lines, %s", h.log_lines[TPU_LOG_GUEST_ERROR], h.log);
  expect_error(&h, "the first of three errors",
               (struct host_error){TPU_ERROR_BAD_ACCESS, TPU_QUEUE_SCALAR, 0, 0xfff0, 1});
  close_model(&h, "errors: the first only");
}

void test_errors(void) {
  test_first_only();
  test_mxu_checks();
  test_mxu_empty();
  test_mxu_product();
  test_vpu_errors();
  test_vpu_scalars();
  test_halt();
  test_bus(false);
  test_bus(true);
  add_results(&check_state);
}
