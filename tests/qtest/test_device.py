# SPDX-License-Identifier: MIT
"""Tests of the QEMU device and machine, with the stub model and without a hart.

    test_device.py QEMU STUB-FOLDER [NAME...]

Prints `PASS name` or `FAIL name: why` for each, status 1 if any failed.
"""

import struct
import sys
import tempfile
import traceback
from pathlib import Path

from qtest import CYCLE_NS, Machine, V, refused

GO = 0x2000 + 0x200 * 6  # GO of the SYNC queue, see TPU_QUEUE_BASE
SEM_VALUE0 = 0x1000
SEM_SIGNAL0 = 0x1100
DONE = 1
JOB_BLOCK, JOB_STORE, JOB_FAULT = 1 << 28, 2 << 28, 3 << 28
ASLEEP = ("-global", "tpu.x-assume-asleep=on")


class Suite:
    """The tests, one method each; a test fails by raising."""

    def __init__(self, qemu, stubs):
        self.qemu = qemu
        self.stubs = stubs

    def machine(self, library="stub", machine="", options=()):
        """The machine with one of the stub libraries."""
        return Machine(self.qemu, self.stubs / f"libtpu_{library}.so", machine,
                       options)

    def test_registers(self):
        with self.machine() as m:
            assert m.read(V("TPU_REG_ID")) == 0x4C504550
            assert m.read(V("TPU_REG_ABI_HASH")) == V("TPU_ABI_HASH")
            for value in (0, 0xFFFFFFFF, 0x12345678):
                m.write(V("TPU_REG_SCRATCH"), value)
                assert m.read(V("TPU_REG_SCRATCH")) == value
            assert m.log_text() == "", m.log_text()

    def test_access_sizes(self):
        with self.machine() as m:
            smem = V("TPU_WINDOW_SMEM")
            m.write(smem, 0x44332211)
            m.write(smem + 1, 0xAB, 1)
            m.write(smem + 2, 0xBEEF, 2)
            assert m.read(smem) == 0xBEEFAB11, hex(m.read(smem))
            assert [m.read(smem + i, 1) for i in range(4)] == [0x11, 0xAB, 0xEF, 0xBE]
            assert m.read(smem + 2, 2) == 0xBEEF
            assert m.log_text() == "", m.log_text()

    def test_bad_access_is_logged(self):
        with self.machine() as m:
            assert m.read(V("TPU_REG_SCRATCH"), 1) == 0
            assert m.read(0xFFFC) == 0
            m.write(0xFFFC, 1)
            assert m.log_text().count("GUEST_ERROR") == 3, m.log_text()

    def test_cycle_follows_clock(self):
        with self.machine() as m:
            start = m.read(V("TPU_REG_CYCLE_LO"))
            for step in (1, 7, 1000, 1_000_000_007):
                m.step(step)
                now = (m.read(V("TPU_REG_CYCLE_LO")) |
                       m.read(V("TPU_REG_CYCLE_HI")) << 32)
                assert now == start + step, (now, start + step)
                start = now

    def irq_trace(self, quantum, before):
        """Cycles of the interrupt's rise, to the ns, for one quantum."""
        edges = []
        with self.machine(options=(*ASLEEP, "-global",
                                   f"tpu.quantum={quantum}")) as m:
            m.intercept()
            m.write(V("TPU_REG_INTR_ENABLE"), DONE)
            for length in (2, 3, 40, 999, 5000, 100_000):
                m.step(before)
                m.write(GO, length)
                start = m.step(1)
                assert m.read(V("TPU_REG_INTR_STATE")) == 0
                ns = start
                # Step over the interval in uneven pieces, then ns by ns.
                while not m.line:
                    ns = int(m.command("clock_step")[0])
                    assert ns < start + 10 * CYCLE_NS * length + 100_000
                edges.append(ns - start)
                m.write(V("TPU_REG_INTR_STATE"), DONE)
                assert not m.line
        return edges

    def test_irq_time_is_exact(self):
        # A read of INTR_STATE looks again after 4 cycles, and from then on
        # the edge is exact: the job ends `length` cycles after GO, which was
        # a cycle before the read.
        edges = self.irq_trace(1_000_000, 10)
        want = [max(length - 1, 4) * CYCLE_NS
                for length in (2, 3, 40, 999, 5000, 100_000)]
        assert edges == want, (edges, want)

    def test_irq_time_does_not_depend_on_quantum(self):
        want = self.irq_trace(1_000_000, 100)
        for quantum in (1, 10, 4096):
            got = self.irq_trace(quantum, 100)
            assert got == want, (quantum, got, want)

    def grid_edge(self, quantum):
        """When a hart that does not sleep or look sees an interrupt."""
        with self.machine(options=("-global", f"tpu.quantum={quantum}")) as m:
            m.intercept()
            m.write(V("TPU_REG_INTR_ENABLE"), DONE)
            m.step(77)
            m.write(GO, 5000)
            for _ in range(20):
                m.step(1000)
                if m.line:
                    return m.get("cycles")
        raise AssertionError("no interrupt")

    def test_running_hart_sees_irq_on_the_grid(self):
        edges = [self.grid_edge(q) for q in (1, 10, 1_000_000)]
        assert len(set(edges)) == 1, edges

    def test_irq_falls_at_the_write(self):
        with self.machine() as m:
            m.intercept()
            m.write(V("TPU_REG_INTR_ENABLE"), DONE)
            m.write(V("TPU_REG_INTR_TEST"), DONE)
            assert m.line
            m.write(V("TPU_REG_INTR_STATE"), DONE)
            assert not m.line

    def test_machine_timer(self):
        compare, now = (V("PEPLOS_ACLINT_BASE") + offset for offset in (0x4000, 0xBFF8))
        with self.machine() as m:
            m.command("irq_intercept_out /machine/mtimer sysbus-irq")
            assert m.read_bus(compare, 8) == (1 << 64) - 1
            m.step(52)  # ten ticks of five cycles, and two cycles
            assert m.read_bus(now, 8) == 10
            m.write_bus(compare, 20)
            m.write_bus(compare + 4, 0)
            m.step(47)
            assert m.read_bus(now, 8) == 19 and not m.line
            m.step(1)
            assert m.read_bus(now, 8) == 20 and m.line
            m.write_bus(compare, 21)
            assert not m.line
            m.write_bus(now, 0xFFFFFFFF)  # the low half
            assert m.read_bus(now, 8) == 0xFFFFFFFF and m.line
            m.step(5)
            assert m.read_bus(now, 8) == 1 << 32
            m.write_bus(now + 4, 5)
            assert m.read_bus(now, 8) == 5 << 32
            m.step(3)
            m.qmp("system_reset")
            m.step(4)  # ticks count from the reset
            assert m.read_bus(now, 8) == 0 and not m.line
            m.step(1)
            assert m.read_bus(now, 8) == 1

    def test_dma_reaches_hbm(self):
        with self.machine() as m:
            m.write(GO, JOB_STORE | 123)
            m.step(200)
            assert m.read(V("TPU_REG_STATUS")) & 1
            assert m.read_bus(V("PEPLOS_HBM_BASE"), 8) == 123

    def test_window_access_lets_time_pass(self):
        with self.machine() as m:
            m.read(V("TPU_WINDOW_SMEM"))
            first = m.read(V("TPU_REG_CYCLE_LO"))
            assert first == 3, first
            m.step(1)  # the model is ahead; it waits for the machine
            assert m.read(V("TPU_REG_CYCLE_LO")) == 3
            m.step(10)
            assert m.read(V("TPU_REG_CYCLE_LO")) == 11

    def test_reset_while_busy(self):
        with self.machine(options=ASLEEP) as m:
            m.intercept()
            results = []
            for _ in range(3):
                m.write(V("TPU_REG_INTR_ENABLE"), DONE)
                m.write(V("TPU_REG_SCRATCH"), 7)
                m.write(GO, 3000)
                m.read(V("TPU_REG_INTR_STATE"))
                m.step(100)
                m.qmp("system_reset")
                m.step(1)
                results.append((m.read(V("TPU_REG_SCRATCH")),
                                m.read(V("TPU_REG_STATUS")) & 1, m.line,
                                m.read(V("TPU_REG_CYCLE_LO"))))
            assert results == [(0, 1, False, 1)] * 3, results
            m.write(V("TPU_REG_INTR_ENABLE"), DONE)
            m.write(GO, 50)
            m.read(V("TPU_REG_INTR_STATE"))
            m.step(51)
            assert m.line

    def expect_end(self, m, status, *words):
        """The process must end so, and its report must have these words."""
        got = m.wait()
        text = m.stderr()
        assert got == status, (got, text)
        for word in words:
            assert word in text, (word, text)

    def test_hang_blocked_asleep(self):
        with self.machine(options=ASLEEP) as m:
            m.write(GO, JOB_BLOCK | 500)
            m.read(V("TPU_REG_INTR_STATE"))
            self.step_to_end(m, 1000)
            self.expect_end(m, 120, "blocked on semaphores", "at cycle 500",
                            "stub: blocked, tag 0x100001f4")

    def test_hang_idle_asleep(self):
        with self.machine(options=ASLEEP) as m:
            m.write(GO, 100)
            m.read(V("TPU_REG_INTR_STATE"))
            self.step_to_end(m, 1000)
            self.expect_end(m, 120, "the device is idle", "stub: idle")

    def test_hang_without_a_look(self):
        # WFI without a read of INTR_STATE first: the periodic check finds it.
        with self.machine(options=ASLEEP) as m:
            m.step(1000)
            assert m.process.poll() is None
            self.step_to_end(m, 130_000)
            self.expect_end(m, 120, "the device is idle")

    def test_no_hang_with_interrupt_pending(self):
        with self.machine(options=ASLEEP) as m:
            m.write(V("TPU_REG_INTR_ENABLE"), DONE)
            m.write(GO, 100)
            m.read(V("TPU_REG_INTR_STATE"))
            m.step(300_000)
            assert m.process.poll() is None
            assert m.read(V("TPU_REG_INTR_STATE")) == DONE

    def test_hang_polled(self):
        with self.machine() as m:
            m.write(GO, JOB_BLOCK | 10)
            try:
                for _ in range(100):
                    m.step(100)
                    m.read(V("TPU_REG_STATUS"))
            except ConnectionError:
                pass
            self.expect_end(m, 120, "polled", "at cycle 8300")

    def test_poll_then_signal_is_no_hang(self):
        with self.machine() as m:
            for _ in range(5):
                m.write(GO, JOB_BLOCK | 10)
                for _ in range(80):
                    m.step(100)
                    assert m.read(SEM_VALUE0) < 5
                m.write(SEM_SIGNAL0, 1)
            assert m.read(SEM_VALUE0) == 5
            assert m.process.poll() is None

    def step_to_end(self, m, cycles):
        """Steps the clock while the machine may end."""
        try:
            m.step(cycles)
        except ConnectionError:
            pass

    def test_model_fault(self):
        with self.machine(options=ASLEEP) as m:
            m.write(GO, JOB_FAULT | 50)
            self.step_to_end(m, 5000)
            self.expect_end(m, 121, "model fault at cycle 50")

    def test_limit_of_cycles(self):
        with self.machine(machine=",max-cycles=7000") as m:
            m.write(GO, 100_000)
            m.step(6999)
            assert m.process.poll() is None
            self.step_to_end(m, 1)
            self.expect_end(m, 124, "limit of 7000 cycles", "stub: running")

    def test_properties(self):
        with self.machine() as m:
            m.write(GO, 300)
            m.step(1000)
            assert m.read(V("TPU_REG_STATUS")) & 1
            assert m.get("cycles") == 1000
            assert m.get("busy-cycles") == 300
            assert m.get("skipped-cycles") == 700
            assert abs(m.get("utilisation") - 0.3) < 1e-9
            assert m.get("describe").startswith("stub: idle")
            m.write(V("TPU_REG_TRACE_MARK"), V("TPU_MARK_STEP") << 24 | 42)
            assert m.get("step") == 42

    def test_trace_file(self):
        path = self.stubs / "trace.bin"
        with self.machine(machine=f",trace={path}") as m:
            for i in range(3):
                m.write(GO, 10 + i)
                m.step(100)
                assert m.read(V("TPU_REG_STATUS")) & 1
            m.qmp("quit")
            assert m.wait() == 0
        data = path.read_bytes()
        magic, version, head, record, abi = struct.unpack_from("<8sIIII", data)
        assert magic == b"PEPLTRC\0" and version == 1 and record == 16
        assert abi == V("TPU_ABI_HASH")
        records = list(struct.iter_unpack("<QII", data[head:]))
        events = [(r[0] >> 48 & 0xFF, r[0] & (1 << 48) - 1, r[1]) for r in records]
        start, end = V("TPU_EVENT_START"), V("TPU_EVENT_END")
        want = [(e, c, 10 + i) for i in range(3)
                for e, c in ((start, 100 * i), (end, 100 * i + 10 + i))]
        assert events == want, events

    def test_snapshot(self):
        """Save while a job runs, go on in another process: same end."""
        file = self.stubs / "snapshot"
        with self.machine(options=ASLEEP) as m:
            m.write(V("TPU_REG_INTR_ENABLE"), DONE)
            m.write(V("TPU_REG_SCRATCH"), 99)
            m.write(GO, 3000)
            m.step(1000)
            m.read(V("TPU_REG_STATUS"))
            m.qmp("stop")
            m.qmp("migrate", uri=f"file:{file}")
            for _ in range(1000):
                if m.qmp("query-migrate").get("status") == "completed":
                    break
            else:
                raise AssertionError(m.qmp("query-migrate"))
        with self.machine(options=(*ASLEEP, "-incoming", "defer")) as m:
            m.qmp("migrate-incoming", uri=f"file:{file}")
            for _ in range(1000):
                if m.qmp("query-status")["status"] != "inmigrate":
                    break
            m.qmp("cont")
            m.intercept()
            m.command(f"clock_set {1000 * CYCLE_NS}")  # qtest's is not saved
            assert m.read(V("TPU_REG_SCRATCH")) == 99
            assert m.read(V("TPU_REG_CYCLE_LO")) == 1000
            m.read(V("TPU_REG_INTR_STATE"))
            m.step(1999)
            assert not m.line
            m.step(1)
            assert m.line

    def expect_refusal(self, library, words, machine="", options=("-accel", "qtest")):
        """QEMU must not start, and say why."""
        status, text = refused(self.qemu, f"tpu-soc,model={library}{machine}",
                               options)
        assert status == 1, (status, text)
        for word in words:
            assert word in text, (word, text)

    def test_missing_library(self):
        self.expect_refusal("/no/such/libtpu.so",
                            ("cannot load the model library",
                             "/no/such/libtpu.so", "Build it with make"))

    def test_library_without_entry(self):
        self.expect_refusal(self.stubs / "libtpu_other.so",
                            ("no tpu_model_get_api",))

    def test_abi_version_mismatch(self):
        self.expect_refusal(self.stubs / "libtpu_major.so",
                            ("model ABI 9.0, this QEMU needs 1.",))

    def test_abi_hash_mismatch(self):
        self.expect_refusal(self.stubs / "libtpu_hash.so",
                            ("ABI hash mismatch", "0xdeadbeef",
                             f"{V('TPU_ABI_HASH'):#010x}", "libtpu_hash.so"))

    def test_unknown_configuration(self):
        self.expect_refusal(self.stubs / "libtpu_stub.so",
                            ("no configuration 'nonsense'",),
                            options=("-accel", "qtest", "-global",
                                     "tpu.config=nonsense"))

    def test_unknown_timing(self):
        self.expect_refusal(self.stubs / "libtpu_stub.so",
                            ("timing 'fast' is not cycle",),
                            options=("-accel", "qtest", "-global",
                                     "tpu.timing=fast"))

    def test_wrong_icount(self):
        for options in ((), ("-icount", "shift=3"), ("-icount", "shift=2,sleep=off"),
                        ("-icount", "shift=auto")):
            self.expect_refusal(self.stubs / "libtpu_stub.so",
                                ("-icount shift=3,sleep=off",), options=options)

    def test_long_arguments(self):
        self.expect_refusal(self.stubs / "libtpu_stub.so",
                            ("argument page holds 4095",),
                            options=("-accel", "qtest", "-kernel", "none",
                                     "-append", "x" * 5000))

    def test_ram(self):
        for size in ("64K", "1M"):
            self.expect_refusal(self.stubs / "libtpu_stub.so", ("RAM is 128 KiB", "up to 512 KiB"),
                                options=("-accel", "qtest", "-m", size))
        with tempfile.NamedTemporaryFile() as file:
            file.write(elf_at(V("PEPLOS_RAM_BASE") + V("PEPLOS_RAM_SIZE") + 16))
            file.flush()
            self.expect_refusal(self.stubs / "libtpu_stub.so", ("ends at 0x80020014", "needs -m 512K"),
                                options=("-accel", "qtest", "-kernel", file.name))
            with self.machine(options=("-kernel", file.name, "-m", "512K")) as m:
                assert m.read_bus(V("PEPLOS_RAM_BASE") + V("PEPLOS_RAM_SIZE") + 16) == 0x12345678

    def test_argument_page(self):
        with self.machine(options=("-kernel", "none", "-append", "prog 12 ab")) as m:
            words = [m.read_bus(V("PEPLOS_ARGS_BASE") + 4 * i) for i in range(3)]
            assert struct.pack("<3I", *words) == b"prog 12 ab\0\0"


def elf_at(address):
    """An ELF file of one word, 0x12345678, at an address of RAM."""
    header = struct.pack("<16s2H5I6H", b"\x7fELF\x01\x01\x01", 2, 243, 1, address, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<8I", 1, 84, address, address, 4, 4, 7, 4)
    return header + segment + struct.pack("<I", 0x12345678)


def main():
    suite = Suite(Path(sys.argv[1]), Path(sys.argv[2]).resolve())
    names = sys.argv[3:] or [n for n in dir(suite) if n.startswith("test_")]
    failed = 0
    for name in names:
        try:
            getattr(suite, name)()
            print(f"PASS qtest.{name.removeprefix('test_')}", flush=True)
        except Exception as error:  # noqa: BLE001 - any way to fail is a failure
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAIL qtest.{name.removeprefix('test_')}: line {where.lineno}: "
                  f"{type(error).__name__} {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
