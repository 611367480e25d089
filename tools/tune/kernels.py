# SPDX-License-Identifier: MIT
"""What can be tuned: for each kernel its shape, its values, and which of them are worth a look.

The names and the order of values are those of the firmware: a kernel's `chosen...()` function reads what
tuned_find() gives in this order, and tools/tune/programs/<program>.c runs it.
"""
import dataclasses
import itertools
from collections.abc import Callable

EXTENTS = [8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """name: as KERNEL= has it; program: of tools/tune/programs; enum, dtype: as tuned_find() is asked; shape: names of the extents; values: names of
    the values of a choice; axes: of a shape, what each value may be; keep: whether a combination is worth a look."""
    name: str
    program: str
    enum: str
    dtype: str
    shape: tuple
    values: tuple
    axes: Callable
    keep: Callable
    example: str
    seeds: Callable  # of a shape: choices that hands picked, measured whatever is predicted
    blocks: int = 3  # so many of the values, the first ones, are blocks

    def candidates(self, extents):
        """All choices for a shape that are worth a look."""
        worth = [c for c in itertools.product(*self.axes(*extents)) if self.keep(extents, c)]
        return list(dict.fromkeys(self.seeds(*extents) + worth))


def blocks(extent, least=16, waste=0.08, step=16):
    """Block sizes that cut an extent with little waste, and the extent itself, rounded up to `step`."""
    whole = -(-extent // step) * step
    sizes = [b for b in EXTENTS if least <= b < whole and b % step == 0 and -(-extent // b) * b <= extent * (1 + waste)]
    return sizes + [whole]


def steps_at_most(n):
    """Grids of more steps than that cost more than their blocks can be worth, and much time to try."""
    def keep(extents, choice):
        steps = 1
        for extent, block in zip(extents, choice):
            steps *= -(-extent // block)
        return steps <= n
    return keep


def matmul(name, dtype):
    return Kernel(name, "matmul", "TUNED_MATMUL", dtype, ("M", "N", "K"), ("m", "n", "k", "buffers", "lookahead"),
                  lambda m, n, k: (blocks(m), blocks(n), blocks(k), (2, 3, 4), (0, 1)), steps_at_most(1024), "512x512x512",
                  lambda m, n, k: [(128, 128, 128, 2, 0), (64, 64, 64, 3, 0)])


def matmul_general(name, dtype):
    """order: M-N-K, N-M-K, M-K-N, N-K-M."""
    return Kernel(name, "matmul", "TUNED_MATMUL_GENERAL", dtype, ("M", "N", "K"), ("m", "n", "k", "buffers", "lookahead", "order"),
                  lambda m, n, k: (blocks(m, 32), blocks(n, 32), blocks(k, 32), (2, 3), (0, 1), (0, 1, 2, 3)), steps_at_most(512),
                  "256x1024x256", lambda m, n, k: [(128, 128, 128, 2, 0, 0), (64, 64, 64, 3, 0, 0)])


def gmm(name, dtype):
    return Kernel(name, "gmm", "TUNED_GMM", dtype, ("GROUPS", "M", "K", "N"), ("m", "n", "k", "buffers"),
                  lambda g, m, k, n: ([b for b in (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256) if b <= max(m, 16)],
                                      blocks(n), blocks(k), (2, 3, 4, 5, 6, 8)),
                  lambda extents, c: -(-extents[3] // c[1]) * -(-extents[2] // c[2]) * (extents[1] // c[0] + extents[0]) <= 1024,
                  "8x512x256x512", lambda g, m, k, n: [(96, 128, min(k, 256), 5)])


def rows(name, enum, dtype):
    return Kernel(name, "rows", enum, dtype, ("ROWS", "COLUMNS"), ("rows", "buffers"),
                  lambda r, c: ([b for b in range(8, 257, 8) if b <= -(-r // 8) * 8], (2, 3, 4, 5, 6)), lambda extents, c: True,
                  "512x1024", lambda r, c: [(8, 3), (16, 3)], blocks=1)


def flash(name, enum):
    return Kernel(name, "flash", enum, "PL_BF16", ("H", "MQ", "MK", "D"), ("q", "kv", "buffers"),
                  lambda h, mq, mk, d: (blocks(mq, step=8, least=16), blocks(mk), (2, 3, 4)),
                  lambda extents, c: extents[0] * -(-extents[1] // c[0]) * -(-extents[2] // c[1]) <= 1024,
                  "1x1024x1024x128", lambda h, mq, mk, d: [(64 if d > 64 else 128, 128, 3)], blocks=2)


KERNELS = {k.name: k for k in (
    matmul("matmul_bf16", "PL_BF16"),
    matmul("matmul_int8", "PL_INT8"),
    matmul_general("matmul_general_bf16", "PL_BF16"),
    gmm("gmm_bf16", "PL_BF16"),
    flash("flash_bf16", "TUNED_FLASH"),
    flash("flash_causal_bf16", "TUNED_FLASH_CAUSAL"),
    rows("softmax_f32", "TUNED_SOFTMAX", "PL_F32"),
    rows("softmax_bf16", "TUNED_SOFTMAX", "PL_BF16"),
    rows("layer_norm_f32", "TUNED_LAYER_NORM", "PL_F32"),
    rows("layer_norm_bf16", "TUNED_LAYER_NORM", "PL_BF16"),
    rows("rms_norm_f32", "TUNED_RMS_NORM", "PL_F32"),
    rows("rms_norm_bf16", "TUNED_RMS_NORM", "PL_BF16"),
)}
