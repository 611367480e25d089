# SPDX-License-Identifier: MIT
"""A client for QEMU's qtest and QMP protocols, and a machine under test.

Under qtest no hart runs: the test reads and writes the bus and moves the
clock, so that it can say exactly at which nanosecond something must happen.
"""

import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/run"))
import memmap  # noqa: E402

V = memmap.value
CYCLE_NS = 8
TIMEOUT = 60


class Channel:
    """Lines over a Unix socket that QEMU connects to."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.listener.settimeout(TIMEOUT)
        self.file = None

    def accept(self):
        connection, _ = self.listener.accept()
        connection.settimeout(TIMEOUT)
        self.file = connection.makefile("rw", encoding="utf-8", newline="\n")

    def send(self, line):
        self.file.write(line + "\n")
        self.file.flush()

    def receive(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("QEMU closed the connection")
        return line.rstrip("\n")


class Machine:
    """tpu-soc under qtest, with QMP. Use as a context manager."""

    def __init__(self, qemu, library, machine="", options=(), qtest=True):
        self.folder = tempfile.TemporaryDirectory(prefix="peplos-qtest-")
        self.path = Path(self.folder.name)
        self.log = self.path / "log"
        self.irq = {}
        self.irq_events = []
        self.qtest = Channel(str(self.path / "qtest")) if qtest else None
        self.qmp_channel = Channel(str(self.path / "qmp"))
        command = [
            str(qemu), "-M", f"tpu-soc,model={library}{machine}", "-nodefaults",
            "-display", "none", "-d", "guest_errors,unimp,invalid_mem",
            "-D", str(self.log), "-qmp", f"unix:{self.path / 'qmp'}"]
        if qtest:
            command += ["-accel", "qtest", "-qtest-log", "/dev/null",
                        "-qtest", f"unix:{self.path / 'qtest'}"]
        command += list(options)
        self.stderr_file = open(self.path / "stderr", "w+", encoding="utf-8")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL,
                                        stderr=self.stderr_file)

    def __enter__(self):
        if self.qtest:
            self.qtest.accept()
        self.qmp_channel.accept()
        self.qmp_channel.receive()
        self.qmp("qmp_capabilities")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.stderr_file.close()
        self.folder.cleanup()

    # qtest

    def command(self, text):
        """One qtest command; returns the words after OK."""
        try:
            return self.converse(text)
        except OSError as error:
            raise ConnectionError(f"{text}: QEMU ended with status "
                                  f"{self.wait()}: {self.stderr()}") from error

    def converse(self, text):
        """Sends a command and reads up to its answer."""
        self.qtest.send(text)
        while True:
            words = self.qtest.receive().split()
            if words[0] == "IRQ":
                self.irq[int(words[2])] = words[1] == "raise"
                self.irq_events.append((words[1], int(words[2])))
            elif words[0] == "OK":
                return words[1:]
            else:
                raise RuntimeError(f"{text}: {' '.join(words)}")

    def read(self, offset, size=4):
        """A read in the TPU's window."""
        kind = {1: "readb", 2: "readw", 4: "readl"}[size]
        return int(self.command(f"{kind} {V('PEPLOS_TPU_BASE') + offset:#x}")[0], 0)

    def write(self, offset, value, size=4):
        """A write in the TPU's window."""
        kind = {1: "writeb", 2: "writew", 4: "writel"}[size]
        self.command(f"{kind} {V('PEPLOS_TPU_BASE') + offset:#x} {value:#x}")

    def read_bus(self, address, size=4):
        """A read anywhere."""
        kind = {4: "readl", 8: "readq"}[size]
        return int(self.command(f"{kind} {address:#x}")[0], 0)

    def write_bus(self, address, value):
        """A 32-bit write anywhere."""
        self.command(f"writel {address:#x} {value:#x}")

    def step(self, cycles):
        """Lets cycles pass."""
        return int(self.command(f"clock_step {cycles * CYCLE_NS}")[0])

    def intercept(self):
        """From now on follow the TPU's interrupt line."""
        self.command("irq_intercept_out /machine/tpu sysbus-irq")

    @property
    def line(self):
        """Level of the TPU's interrupt line."""
        return self.irq.get(0, False)

    # QMP

    def qmp(self, name, **arguments):
        """One QMP command; returns its value or raises."""
        self.qmp_channel.send(json.dumps(
            {"execute": name, "arguments": arguments}))
        while True:
            answer = json.loads(self.qmp_channel.receive())
            if "error" in answer:
                raise RuntimeError(answer["error"]["desc"])
            if "return" in answer:
                return answer["return"]

    def get(self, name):
        """A property of the device."""
        return self.qmp("qom-get", path="/machine/tpu", property=name)

    # the process

    def wait(self):
        """Exit status."""
        return self.process.wait(TIMEOUT)

    def stderr(self):
        """What QEMU wrote to stderr so far."""
        return (self.path / "stderr").read_text()

    def log_text(self):
        """QEMU's log so far."""
        return self.log.read_text() if self.log.exists() else ""


def refused(qemu, machine, options=()):
    """Starts QEMU where it must refuse; returns (status, stderr)."""
    result = subprocess.run(
        [str(qemu), "-M", machine, "-nodefaults", "-display", "none",
         *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=TIMEOUT, check=False)
    return result.returncode, result.stderr
