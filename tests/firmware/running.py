#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How runs begin and end for those who start them: several at once, another configuration, gdb, waveforms, signals.

All on small programs, so that it takes seconds. Waveforms need the RTL; the rest runs on the functional model.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/run"))
import waves  # noqa: E402

OUT = ROOT / "build/tests/running"
failed = 0


def verdict(name, ok, why=""):
    global failed
    failed += not ok
    print(f"{'PASS' if ok else 'FAIL'} running: {name}" + ("" if ok else f": {why}"), flush=True)


def start(command, **more):
    return subprocess.Popen(command, cwd=ROOT, text=True, errors="replace", stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **{"stdin": subprocess.DEVNULL} | more)


def make(*words):
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return start(["make", "--no-print-directory", *words], env=environment)


def end(process, text=None):
    """Its output and status; a run that does not end is a failure like any other."""
    try:
        return process.communicate(text, timeout=120)[0], process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        return f"no end after 120 s\n{process.communicate()[0]}", None


def several_at_once():
    """Each has the data and the timeline of its own arguments."""
    sizes = ["32", "48", "96", "160"]
    runs = [make("run", "PLATFORM=func", "APP=matmul", f"ARGS={s} {s} {s}") for s in sizes]
    for size, process in zip(sizes, runs):
        text, status = end(process)
        reported = re.search(rf"{size} x {size} x {size} bf16.*: (\d+) cycles", text)
        traced = re.search(r"^cycles \d+ to \d+ \((\d+),", text, re.M)
        verdict(f"four runs at once, that of {size}", status == 0 and f"all {int(size) ** 2} elements" in text and
                reported and traced and 0 <= int(reported[1]) - int(traced[1]) <= 40, f"status {status}: {text}")


def another_configuration():
    """The timeline is that of the run, not one that another configuration left."""
    cycles = {}
    for config in ("sim16", "sim8"):
        text, status = end(make("run", "PLATFORM=func", "APP=matmul", "ARGS=96 96 96", f"CONFIG={config}"))
        reported, traced = re.search(r"bf16.*: (\d+) cycles", text), re.search(r"^cycles .* \((\d+),", text, re.M)
        verdict(f"the timeline of {config}", status == 0 and reported and traced and
                0 <= int(reported[1]) - int(traced[1]) <= 40, f"status {status}: {text}")
        cycles[config] = traced and traced[1]
    verdict("configurations differ", cycles["sim16"] != cycles["sim8"], str(cycles))


def one_call():
    """The warm call is shown if there is one."""
    text, status = end(make("run", "PLATFORM=func", "APP=matmul", "ARGS=48 48 48 --calls 1"))
    verdict("a timeline of the only call", status == 0 and "timeline: build/run/matmul-func/timeline.svg" in text, f"status {status}: {text}")


def under_gdb():
    """Lines of C, of main too, which lies right behind the assembler's code."""
    process = start(["tools/run/peplos-run", "--platform", "func", "--no-trace", "--out", OUT / "gdb", "--gdb", "hello"],
                    stdin=subprocess.PIPE)
    text, _ = end(process, "break main\nbreak banner_print\ncontinue\nbacktrace\ncontinue\nbacktrace\n")
    verdict("gdb stops in main and knows the line", re.search(r"#0  main \(argc=1.*at firmware/apps/hello.c:\d+", text), text)
    verdict("gdb knows who called", re.search(r"#1  .*main \(argc=1.*\s+at firmware/apps/hello.c:\d+", text), text)


def signals():
    """A run that is ended ends its machine, too, and says so."""
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 130), (signal.SIGQUIT, 130)):
        out = OUT / "signal"
        process = start(["tools/run/peplos-run", "--platform", "func", "--progress", "0", "--no-trace", "--out", out,
                         "--data", "build/data/repeat.bin", "matmul", "--", "96", "80", "112", "--calls", "60000"])
        machine, deadline = None, time.monotonic() + 20
        while not machine and time.monotonic() < deadline:
            machine = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout.strip()
            time.sleep(0.05)
        process.send_signal(number)
        text, ended = end(process)
        gone = machine and not Path(f"/proc/{machine}").exists()
        verdict(f"{signal.Signals(number).name} ends the run and its machine", ended == status and gone, f"status {ended}, machine {machine}: {text}")


def waveforms():
    def run(name, low, high):
        process = start(["tools/run/peplos-run", "--progress", "0", "--out", OUT / name, "--data", "build/data/repeat.bin",
                         "--wave", str(low), str(high), "matmul", "--", "96", "80", "112"])
        return end(process)

    text, status = run("wave", 1 << 40, 1 << 41)
    verdict("a window behind the end of the run", status == 1 and f"or the run had ended: nothing from cycle {1 << 40} to {1 << 41}" in text and
            not (OUT / "wave/wave.fst").exists(), f"status {status}: {text}")
    text, status = run("wave", 1, 1 << 40)
    match = re.search(r"waveforms of cycles (\d+) to (\d+): (.*)", text)
    verdict("a window that is longer than the run", status == 0 and match and int(match[2]) < 1 << 32 and
            waves.window(match[3]) == (int(match[1]), int(match[2])), f"status {status}: {text}")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for part in (several_at_once, another_configuration, one_call, under_gdb, signals, waveforms):
        part()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
