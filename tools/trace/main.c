/* SPDX-License-Identifier: MIT */
/* tpu-trace: summary, SVG timeline and Chrome/Perfetto JSON of a trace file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tpu_regs.h"
#include "trace.h"

static const char usage[] = "usage: tpu-trace FILE [--svg OUT] [--json OUT] [--from CYCLE] [--to CYCLE] "
                            "[--call N] [--title TEXT] [--quiet]\n"
                            "                 [--elf PROGRAM]\n"
                            "  --elf has the names of scopes and values; --call N limits everything to the "
                            "Nth pl_call (1 = first, -1 = last)\n";

static bool number(const char *text, long long *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 0);
  return errno == 0 && end != text && *end == '\0';
}

/* Cycles of the nth call, counted from the end if negative. */
static bool find_call(const struct trace *t, long long n, uint64_t *from, uint64_t *to) {
  long long calls = 0;
  for (size_t i = 0; i < t->marks; ++i)
    calls += t->mark[i].kind == TPU_MARK_CALL_BEGIN;
  if (n < 0)
    n = calls + 1 + n;
  if (n < 1 || n > calls) {
    fprintf(stderr, "tpu-trace: there is no call %lld; the trace has %lld\n", n, calls);
    return false;
  }
  for (size_t i = 0; i < t->marks; ++i) {
    if (t->mark[i].kind == TPU_MARK_CALL_BEGIN && --n == 0) {
      *from = t->mark[i].cycle;
      while (++i < t->marks && t->mark[i].kind != TPU_MARK_CALL_END)
        continue;
      *to = i < t->marks ? t->mark[i].cycle : t->last;
      return true;
    }
  }
  return false;
}

static bool cannot_write(const char *path) {
  fprintf(stderr, "tpu-trace: cannot write %s: %s\n", path, strerror(errno));
  return false;
}

static bool write_file(const struct trace *t, const char *path, bool svg, uint64_t from, uint64_t to,
                       const char *title) {
  FILE *out = fopen(path, "w");
  if (!out)
    return cannot_write(path);
  if (svg)
    trace_write_svg(t, out, from, to, title);
  else
    trace_write_json(t, out, from, to);
  const bool ok = fflush(out) == 0 && !ferror(out);
  if (!ok)
    cannot_write(path);
  return fclose(out) == 0 && ok;
}

int main(int argc, char **argv) {
  const char *file = NULL, *svg = NULL, *json = NULL, *title = "Peplos", *elf = NULL;
  long long from = -1, to = -1, call = 0;
  bool quiet = false;
  for (int i = 1; i < argc; ++i) {
    const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
    bool ok = true;
    if (!strcmp(a, "--quiet"))
      quiet = true;
    else if (!strcmp(a, "--svg") && v)
      svg = v, ++i;
    else if (!strcmp(a, "--json") && v)
      json = v, ++i;
    else if (!strcmp(a, "--title") && v)
      title = v, ++i;
    else if (!strcmp(a, "--elf") && v)
      elf = v, ++i;
    else if (!strcmp(a, "--from") && v)
      ok = number(v, &from) && from >= 0, ++i;
    else if (!strcmp(a, "--to") && v)
      ok = number(v, &to) && to >= 0, ++i;
    else if (!strcmp(a, "--call") && v)
      ok = number(v, &call) && call != 0, ++i;
    else if (a[0] != '-' && !file)
      file = a;
    else
      ok = false;
    if (!ok) {
      if (v && a == argv[i - 1])
        fprintf(stderr, "tpu-trace: %s: '%s' is not a %s\n", a, v,
                strcmp(a, "--call") ? "cycle, a number from 0" : "call, 1 = first, -1 = last");
      else
        fprintf(stderr, "tpu-trace: cannot use '%s'\n%s", a, usage);
      return 2;
    }
  }
  if (!file) {
    fputs(usage, stderr);
    return 2;
  }
  struct trace t = {0};
  const char *wrong = elf ? trace_names_load(elf) : NULL;
  if (!wrong)
    wrong = trace_load(&t, file);
  if (wrong) {
    fprintf(stderr, "tpu-trace: %s\n", wrong);
    trace_free(&t);
    return 1;
  }
  uint64_t first = t.first, last = t.last + 1;
  int status = 0;
  if (call != 0 && !find_call(&t, call, &first, &last))
    status = 1;
  if (from >= 0)
    first = (uint64_t)from;
  if (to >= 0)
    last = (uint64_t)to;
  if (status == 0 && last <= first && t.records) {
    fprintf(stderr,
            "tpu-trace: cycles %llu to %llu: --to must be after --from (the trace has cycles %llu to %llu)\n",
            (unsigned long long)first, (unsigned long long)last, (unsigned long long)t.first,
            (unsigned long long)t.last);
    status = 2;
  }
  if (status == 0 && !quiet)
    trace_write_summary(&t, stdout, first, last);
  if (status == 0 && svg && !write_file(&t, svg, true, first, last, title))
    status = 1;
  if (status == 0 && json && !write_file(&t, json, false, first, last, title))
    status = 1;
  trace_free(&t);
  return status;
}
