# SPDX-License-Identifier: MIT
"""Tests of the machine with its hart running hart_test.c on the stub model.

    test_hart.py QEMU STUB-FOLDER [NAME...]
"""

import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

JOBS = (1, 2, 3, 5, 17, 1000, 4095, 4096, 20000, 100000, 1000000)


class Suite:
    """The tests, one method each; a test fails by raising."""

    def __init__(self, qemu, folder):
        self.qemu = qemu
        self.folder = folder

    def run(self, name, arguments="", machine="", options=()):
        """One run; returns (status, {line name: numbers}, stderr)."""
        console = self.folder / f"hart-{name}.txt"
        console.unlink(missing_ok=True)
        result = subprocess.run(
            [str(self.qemu), "-M",
             f"tpu-soc,model={self.folder / 'libtpu_stub.so'}{machine}",
             "-icount", "shift=3,sleep=off", "-nodefaults", "-display", "none",
             "-serial", f"file:{console}", "-action", "panic=exit-failure",
             "-kernel", str(self.folder / "hart_test.elf"), "-append", arguments,
             *options], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=120, check=False)
        lines = {}
        for line in console.read_text().splitlines():
            words = line.split()
            lines[words[0]] = [int(word) for word in words[1:]]
        return result.returncode, lines, result.stderr

    def good_run(self, name, **arguments):
        """A run that must end well and quietly."""
        status, lines, text = self.run(name, **arguments)
        assert status == 0 and text == "", (status, lines, text)
        return lines

    def test_isa_is_rv32imc_exactly(self):
        lines = self.good_run("isa")
        assert lines["isa.has"] == [0] * 5, lines
        assert lines["isa.lacks"] == [1] * 10, lines

    def test_reset_while_busy(self):
        assert self.good_run("reset")["boots"] == [2]

    def test_wake_is_exact(self):
        # From the end of the job to the read of CYCLE is the same number of
        # instructions for every job that outlasts the look at INTR_STATE.
        late = dict(zip(JOBS, self.good_run("wake")["sleep"]))
        long_jobs = {late[job] for job in JOBS if job >= 17}
        assert len(long_jobs) == 1 and long_jobs.pop() < 20, late

    def test_work_between_look_and_sleep(self):
        late = self.good_run("late")["late"]
        assert len(late) == 8 and len(set(late)) == 1 and late[0] < 20, late

    def test_timer_wakes_while_the_device_works(self):
        woken, done = self.good_run("timer")["timer"]
        assert 10000 <= woken < 10040, woken
        assert 100000 - 40 <= done < 100040, done

    def test_results_do_not_depend_on_quantum(self):
        want = self.good_run("quantum")
        for quantum in (1, 10, 4095, 1_000_000):
            got = self.good_run("quantum", options=(
                "-global", f"tpu.quantum={quantum}"))
            assert got == want, (quantum, got, want)

    def test_results_do_not_depend_on_load(self):
        want = self.good_run("load")
        spinners = [subprocess.Popen(
            ["nice", sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count())]
        try:
            runs = [self.good_run("load") for _ in range(3)]
        finally:
            for spinner in spinners:
                spinner.kill()
                spinner.wait()
        assert runs == [want] * 3, (want, runs)

    def test_exit_code(self):
        status, _, text = self.run("fail", arguments="fail")
        assert status == 42 and text == "", (status, text)

    def test_hang_names_the_function(self):
        status, _, text = self.run("hang", arguments="hang")
        assert status == 120, (status, text)
        for word in ("the device is idle, all harts sleep", "hart 0 sleeps at pc",
                     "(main)", "stub: idle"):
            assert word in text, (word, text)

    def test_limit_of_cycles(self):
        status, _, text = self.run("limit", arguments="loop",
                                   machine=",max-cycles=1000000")
        assert status == 124 and "limit of 1000000 cycles" in text, (status, text)

    def test_limit_of_seconds_and_progress(self):
        status, _, text = self.run("seconds", arguments="loop",
                                   machine=",max-seconds=2,progress=1")
        assert status == 124 and "limit of 2 seconds" in text, (status, text)
        assert "Mcycles" in text and "kcycles/s" in text, text

    def test_trap_loop(self):
        # No program: every trap handler traps, no instruction is executed, virtual time stands.
        result = subprocess.run(
            [str(self.qemu), "-M", f"tpu-soc,model={self.folder / 'libtpu_stub.so'},max-cycles=1000",
             "-icount", "shift=3,sleep=off", "-nodefaults", "-display", "none"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 120 and "traps for ever" in result.stderr, result
        assert "hart 0 runs at pc" in result.stderr, result

    def test_signal_is_no_success(self):
        process = subprocess.Popen(
            [str(self.qemu), "-M", f"tpu-soc,model={self.folder / 'libtpu_stub.so'}", "-icount",
             "shift=3,sleep=off", "-nodefaults", "-display", "none", "-serial", "null", "-kernel",
             str(self.folder / "hart_test.elf"), "-append", "loop"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.terminate()
        _, text = process.communicate(timeout=60)
        assert process.returncode == 143 and "signal 15" in text, (process.returncode, text)

    def test_no_other_cpu(self):
        status, _, text = self.run("cpu", options=("-cpu", "lowrisc-ibex"))
        assert status == 1 and "Invalid CPU" in text, (status, text)

    def test_bad_firmware(self):
        result = subprocess.run(
            [str(self.qemu), "-M",
             f"tpu-soc,model={self.folder / 'libtpu_stub.so'}", "-icount",
             "shift=3,sleep=off", "-display", "none", "-kernel", __file__],
            capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 1 and "could not load" in result.stderr, result


def main():
    suite = Suite(Path(sys.argv[1]), Path(sys.argv[2]).resolve())
    names = sys.argv[3:] or [n for n in dir(suite) if n.startswith("test_")]
    failed = 0
    for name in names:
        try:
            getattr(suite, name)()
            print(f"PASS hart.{name.removeprefix('test_')}", flush=True)
        except Exception as error:  # noqa: BLE001 - any way to fail is a failure
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAIL hart.{name.removeprefix('test_')}: line {where.lineno}: "
                  f"{type(error).__name__} {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
