# SPDX-License-Identifier: MIT
"""Tests of the QEMU device with a real model: what the stub cannot show.

    test_models.py QEMU LIBRARY LABEL [NAME...]

The same list runs on the functional model and on the RTL.
"""

import os
import random
import sys
import time
import traceback
from pathlib import Path

from qtest import CYCLE_NS, ROOT, Machine, V, refused

QUEUE = [0x2000 + 0x200 * q for q in range(7)]
DONE = 1
ASLEEP = ("-global", "tpu.x-assume-asleep=on")
HBM, VMEM = 0, 1
SYNC = 6


class Suite:
    """The tests, one method each; a test fails by raising."""

    def __init__(self, qemu, library):
        self.qemu = qemu
        self.library = library

    def machine(self, machine="", options=()):
        """The machine with the model."""
        return Machine(self.qemu, self.library, machine, options)

    def stage(self, m, queue, waits=0, signals=0, **values):
        """Writes staging registers; names as in tpu_regs.h, without prefix."""
        m.write(QUEUE[queue] + V("TPU_Q_WAITS"), waits)
        m.write(QUEUE[queue] + V("TPU_Q_SIGNALS"), signals)
        for name, value in values.items():
            m.write(QUEUE[queue] + V(f"TPU_{name}"), value)

    def copy(self, m, queue, source, destination, size, tag=1):
        """Queues a copy of rows of 1 KiB; source and destination are (space, address)."""
        row = min(size, 1024)
        self.stage(m, queue, signals=1 << 16, DMA_SRC=source[1], DMA_DST=destination[1],
                   DMA_MODE=source[0] | destination[0] << 2, DMA_ROW_BYTES=row,
                   DMA_COUNT01=1 << 16 | size // row, DMA_COUNT2=1)
        for base, pitch in (("DMA_SRC_STRIDE", row), ("DMA_DST_STRIDE", row)):
            for i in range(3):
                offset = {"DMA_SRC_STRIDE": 0x58, "DMA_DST_STRIDE": 0x64}[base]
                m.write(QUEUE[queue] + offset + 4 * i, pitch if i == 0 else 0)
        m.write(QUEUE[queue], tag)

    def fill_hbm(self, m, address, size):
        """Random bytes, always the same."""
        data = random.Random(address).randbytes(size)
        m.command(f"write {V('PEPLOS_HBM_BASE') + address:#x} {size} 0x{data.hex()}")
        return data

    def hbm(self, m, address, size):
        """Bytes of HBM."""
        return bytes.fromhex(m.command(
            f"read {V('PEPLOS_HBM_BASE') + address:#x} {size}")[0][2:])

    def wait(self, m, limit=100_000):
        """Steps to the interrupt, exactly; returns the time in ns."""
        m.read(V("TPU_REG_INTR_STATE"))
        start = now = m.step(1)
        while not m.line:
            now = int(m.command("clock_step")[0])
            assert now - start < limit * CYCLE_NS, m.get("describe")
        return now

    def test_identity(self):
        with self.machine() as m:
            assert m.read(V("TPU_REG_ID")) == 0x4C504550
            assert m.read(V("TPU_REG_ABI_HASH")) == V("TPU_ABI_HASH")
            assert m.read(V("TPU_REG_STATUS")) & 1
            assert m.log_text() == "", m.log_text()

    def test_windows(self):
        with self.machine() as m:
            for base in (V("TPU_WINDOW_SMEM"), V("TPU_WINDOW_VMEM")):
                m.write(base + 0x40, 0x44332211)
                m.write(base + 0x41, 0xAB, 1)
                m.write(base + 0x42, 0xBEEF, 2)
                m.step(100)
                assert m.read(base + 0x40) == 0xBEEFAB11, hex(m.read(base + 0x40))
                assert m.read(base + 0x43, 1) == 0xBE
                assert m.read(base + 0x42, 2) == 0xBEEF
            assert m.log_text() == "", m.log_text()

    def test_bad_access_is_logged_and_sticky(self):
        with self.machine() as m:
            m.read(0xFFFC)
            m.step(10)
            error = m.read(V("TPU_REG_ERROR"))
            assert error & 0xFF == V("TPU_ERROR_BAD_ACCESS") and error >> 31, hex(error)
            assert "GUEST_ERROR" in m.log_text(), m.log_text()

    def round_trip(self, quantum):
        """HBM to VMEM and back; returns the times of both interrupts."""
        with self.machine(options=(*ASLEEP, "-global", f"tpu.quantum={quantum}")) as m:
            m.intercept()
            m.write(V("TPU_REG_INTR_ENABLE"), DONE)
            data = self.fill_hbm(m, 0x10000, 8192)
            times = []
            for source, destination in (((HBM, 0x10000), (VMEM, 0x4000)),
                                        ((VMEM, 0x4000), (HBM, 0x20000))):
                self.copy(m, 0, source, destination, len(data))
                times.append(self.wait(m))
                m.write(V("TPU_REG_INTR_STATE"), DONE)
            assert self.hbm(m, 0x20000, len(data)) == data
            assert m.log_text() == "", m.log_text()
            return times

    def test_dma_and_irq_do_not_depend_on_quantum(self):
        want = self.round_trip(1_000_000)
        for quantum in (1, 10):
            got = self.round_trip(quantum)
            assert got == want, (quantum, got, want)

    def test_reset_in_the_middle(self):
        with self.machine(options=ASLEEP) as m:
            m.intercept()
            data = self.fill_hbm(m, 0, 65536)
            times = []
            for cycles in (1, 50, 333, 2000):
                m.write(V("TPU_REG_INTR_ENABLE"), DONE)
                self.copy(m, 1, (HBM, 0), (VMEM, 0), 65536)
                m.read(V("TPU_REG_INTR_STATE"))
                m.step(cycles)
                m.qmp("system_reset")
                start = m.step(1)
                assert m.read(V("TPU_REG_STATUS")) & 1 and not m.line
                assert m.read(V("TPU_REG_INTR_ENABLE")) == 0
                m.write(V("TPU_REG_INTR_ENABLE"), DONE)
                self.copy(m, 1, (HBM, 0), (VMEM, 0), 65536)
                times.append(self.wait(m) - start)
                m.write(V("TPU_REG_INTR_STATE"), DONE)
                self.copy(m, 3, (VMEM, 0), (HBM, 1 << 20), 65536)
                self.wait(m)
                m.write(V("TPU_REG_INTR_STATE"), DONE)
                assert self.hbm(m, 1 << 20, 65536) == data
            assert len(set(times)) == 1, times

    def test_hang_names_the_semaphore(self):
        with self.machine(options=ASLEEP) as m:
            m.write(QUEUE[SYNC] + V("TPU_Q_WAITS"), 0x80 | 0x40 | 5)
            m.write(QUEUE[SYNC] + 0x10, 3)
            m.write(QUEUE[SYNC], 0xCAFE)
            m.read(V("TPU_REG_INTR_STATE"))
            try:
                m.step(10_000)
            except ConnectionError:
                pass
            status, text = m.wait(), m.stderr()
            assert status == 120, (status, text)
            assert "blocked on semaphores" in text and "cafe" in text.lower(), text
            assert "5" in text, text

    def test_error_stops_the_queue(self):
        with self.machine(options=ASLEEP) as m:
            m.intercept()
            m.write(V("TPU_REG_INTR_ENABLE"), 4)  # error
            self.copy(m, 2, (HBM, 0), (VMEM, V("TPU_WINDOW_VMEM")), 1024, tag=77)
            self.wait(m)
            assert m.read(V("TPU_REG_ERROR")) & 0xFF == V("TPU_ERROR_RANGE")
            assert m.read(V("TPU_REG_ERROR_TAG")) == 77
            assert "GUEST_ERROR" in m.log_text(), m.log_text()

    def test_trace_file(self):
        path = Path(os.environ.get("TMPDIR", "/tmp")) / f"peplos-trace-{os.getpid()}"
        try:
            with self.machine(machine=f",trace={path}", options=ASLEEP) as m:
                m.intercept()
                m.write(V("TPU_REG_INTR_ENABLE"), DONE)
                self.copy(m, 0, (HBM, 0), (VMEM, 0), 1024, tag=5)
                self.wait(m)
                m.qmp("quit")
                m.wait()
            records = path.read_bytes()[32:]
            events = [(records[i + 6], int.from_bytes(records[i + 8:i + 12], "little"))
                      for i in range(0, len(records), 16)]
            for event in ("GO", "START", "END"):
                assert (V(f"TPU_EVENT_{event}"), 5) in events, (event, events)
        finally:
            path.unlink(missing_ok=True)

    def test_save_and_restore(self):
        """The functional model goes on in another process; the RTL refuses, with a reason."""
        path = Path(os.environ.get("TMPDIR", "/tmp")) / f"peplos-save-{os.getpid()}"
        try:
            with self.machine(options=ASLEEP) as m:
                m.write(V("TPU_REG_INTR_ENABLE"), DONE)
                data = self.fill_hbm(m, 0, 32768)
                self.copy(m, 0, (HBM, 0), (VMEM, 0), 32768)
                m.step(700)
                assert not m.read(V("TPU_REG_STATUS")) & 1
                cycle = m.read(V("TPU_REG_CYCLE_LO"))
                m.qmp("stop")
                try:
                    m.qmp("migrate", uri=f"file:{path}")
                except RuntimeError as error:
                    assert "cannot save its state" in str(error), error
                    assert "rtl" in str(error), error
                    return
                deadline = time.monotonic() + 60
                while m.qmp("query-migrate").get("status") != "completed":
                    assert time.monotonic() < deadline, m.qmp("query-migrate")
            with self.machine(options=(*ASLEEP, "-incoming", "defer")) as m:
                m.qmp("migrate-incoming", uri=f"file:{path}")
                while m.qmp("query-status")["status"] == "inmigrate":
                    assert time.monotonic() < deadline
                m.qmp("cont")
                m.intercept()
                m.command(f"clock_set {cycle * CYCLE_NS}")
                self.wait(m)
                m.write(V("TPU_REG_INTR_STATE"), DONE)
                self.copy(m, 3, (VMEM, 0), (HBM, 1 << 20), 32768)
                self.wait(m)
                assert self.hbm(m, 1 << 20, 32768) == data
        finally:
            path.unlink(missing_ok=True)

    def test_other_configuration_is_refused_or_taken(self):
        """A name that no library knows is an error that names it."""
        status, text = refused(
            self.qemu, f"tpu-soc,model={self.library}",
            ("-accel", "qtest", "-global", "tpu.config=sim99"))
        assert status == 1 and "sim99" in text, (status, text)


def main():
    label = sys.argv[3]
    suite = Suite(Path(sys.argv[1]), (ROOT / sys.argv[2]).resolve())
    names = sys.argv[4:] or [n for n in dir(suite) if n.startswith("test_")]
    failed = 0
    for name in names:
        title = f"qtest-{label}.{name.removeprefix('test_')}"
        try:
            getattr(suite, name)()
            print(f"PASS {title}", flush=True)
        except Exception as error:  # noqa: BLE001 - any way to fail is a failure
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAIL {title}: line {where.lineno}: "
                  f"{type(error).__name__} {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
