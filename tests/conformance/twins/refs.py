# SPDX-License-Identifier: MIT
"""Products, views and scalars."""
import functools

from twins.common import DTYPES, jnp, np, pl, pltpu, shape, tpu
from twins.vector import F32, TYPES, one_step

# ---- products ----


def product(t, x, y, kind, transposed=False):
    def body(x, y, o):
        b = y[...].T if transposed else y[...]
        o[...] = jnp.dot(x[...], b, preferred_element_type=DTYPES[kind])
    n = y.shape[0] if transposed else y.shape[1]
    return one_step(t, body, [x, y], shape(kind, x.shape[0], n))[0]


def dot_bf16(t):
    t.output("o", product(t, t.x, t.y, "f32"))


def dot_int8(t):
    t.output("o", product(t, t.x, t.y, "int32"))


def dot_transposed(t):
    t.output("o", product(t, t.x, t.y, "f32", True))
    t.output("p", product(t, t.a, t.b, "int32", True))


def dot_real(t):
    """Fractions: bf16 products are exact in f32, only the order of the additions differs."""
    t.output("o", product(t, t.x, t.y, "f32"))


def dot_accumulate(t):
    """x y + x z, and the whole again on top."""
    def body(x, y, z, o):
        once = jnp.dot(x[...], y[...], preferred_element_type=F32) + jnp.dot(x[...], z[...], preferred_element_type=F32)
        o[...] = once + once
    t.output("o", one_step(t, body, [t.x, t.y, t.z], shape("f32", t.x.shape[0], t.y.shape[1]))[0])


def dot_to_bf16(t):
    """The result rounded on its way out of the accumulator."""
    def body(x, y, o):
        o[...] = jnp.dot(x[...], y[...], preferred_element_type=F32).astype(jnp.bfloat16)
    t.output("o", one_step(t, body, [t.x, t.y], shape("bf16", t.x.shape[0], t.y.shape[1]))[0])


def dot_parts(t):
    """A part of the result, parts of the operands."""
    def body(x, y, o):
        o[...] = jnp.zeros_like(o)
        o[8:24, 16:48] = jnp.dot(x[8:24, 16:48], y[16:48, 0:32], preferred_element_type=F32)
    t.output("o", one_step(t, body, [t.x, t.y], shape("f32", 32, 64))[0])


# ---- views and scalars ----


def view_slices(t):
    """Slices of loads and stores, one in another."""
    def body(x, o):
        o[...] = jnp.zeros_like(o)
        o[2:7, 16:48] = x[9:14, 0:32]
        o[10:12, :] = x[3:5, :] + x[20:22, :]
        o[16:20, 32:64] = x[8:16, 16:64][2:6, 16:48]
    t.output("o", one_step(t, body, [t.x], shape("f32", 24, 64))[0])


def view_columns(t):
    """Columns that are no multiple of the lanes."""
    def body(x, o):
        o[...] = jnp.zeros_like(o)
        o[:, 3:22] = x[:, 7:26]
        o[4:6, 33:34] = x[9:11, 1:2]
    t.output("o", one_step(t, body, [t.x], shape("f32", 24, 64))[0])


def view_strided(t):
    """Every third row, and every second back."""
    def body(x, o):
        o[...] = jnp.zeros_like(o)
        o[0:8, :] = x[pl.ds(1, 8, 3), :]
        o[pl.ds(9, 6, 2), :] = x[0:6, :]
    t.output("o", one_step(t, body, [t.x], shape("f32", 24, 64))[0])


def view_index(t):
    """Integer indices drop dimensions; rank 4 down to 2."""
    def body(x, o):
        o[0] = x[1, 2]
        o[1] = x[0, 0] + x[1, 1]
    t.output("o", one_step(t, body, [t.x], shape("int32", 2, 8, 32))[0])


def view_reshape(t):
    """The same elements in another shape, load and store."""
    def body(x, o):
        o[...] = x.reshape(4, 6, 32)[2] * 2
    t.output("o", one_step(t, body, [t.x], shape("int32", 6, 32))[0])


def view_bitcast(t):
    """bf16 pairs as int32 and back: here neighbours of a row, in JAX of a column; so numpy is asked."""
    bits = np.asarray(t.x).view(np.uint16).astype(np.uint32)
    t.output("o", (bits[:, 0::2] | bits[:, 1::2] << 16).view(np.int32))


def scalar_vmem(t):
    """Scalars of every dtype read in VMEM."""
    x = {n: np.asarray(getattr(t, n)) for n in TYPES}
    t.output("o", np.array([x["int32"][1, 2], x["int8"][3, 39], x["uint8"][23, 0], x["int32"][0, 0] + x["int8"][0, 1]], np.int32))
    t.output("p", np.array([x["f32"][4, 17], x["bf16"][5, 6].astype(np.float32)], np.float32))


def scalar_store(t):
    """Stores of single elements into VMEM: the neighbours stay."""
    out = {n: np.asarray(getattr(t, n)).copy() for n in TYPES}
    for n, value in (("f32", -2.5), ("bf16", 1.5), ("int32", -70000), ("int8", -3), ("uint8", 250)):
        for at in ((0, 0), (3, 17), (23, 39)):
            out[n][at] = value
        t.output(f"o_{n}", out[n])


def scalar_smem(t):
    """An integer sequence computed by the scalar core in SMEM of rank 2."""
    def body(o, s):
        s[0, 0] = jnp.int32(1)
        s[0, 1] = jnp.int32(1)
        for i in range(2, 16):
            s[i // 8, i % 8] = s[(i - 1) // 8, (i - 1) % 8] + s[(i - 2) // 8, (i - 2) % 8]
        for i in range(2):
            for j in range(8):
                o[i, j] = s[i, j]
    results = []
    for mode in t.modes("hlo", "tpu"):
        results.append(np.asarray(pl.pallas_call(
            body, out_shape=shape("int32", 2, 8), out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
            scratch_shapes=[pltpu.SMEM((2, 8), jnp.int32)], interpret=True if mode == "hlo" else tpu())()))
    assert np.array_equal(*results)
    t.output("o", results[0])


def matmul_ragged(t):
    """T08: no dimension a multiple of its block; both operands masked in the last step of k."""
    m, k, n, bm, bk, bn = 70, 100, 90, 32, 48, 64
    for x, y, kind, name in ((t.x, t.y, "f32", "o"), (t.a, t.b, "int32", "p")):
        def body(x, y, o, acc, kind=kind):
            step = pl.program_id(2)

            @pl.when(step == 0)
            def _():
                acc[...] = jnp.zeros_like(acc)
            valid = k - bk * step
            a = jnp.where(jnp.arange(bk)[None, :] < valid, x[...], jnp.zeros((), x.dtype))
            b = jnp.where(jnp.arange(bk)[:, None] < valid, y[...], jnp.zeros((), y.dtype))
            acc[...] += jnp.dot(a, b, preferred_element_type=DTYPES[kind])

            @pl.when(step == pl.num_programs(2) - 1)
            def _():
                o[...] = acc[...]
        o, = t.call(body, [x, y], shape(kind, m, n), grid=(-(-m // bm), -(-n // bn), -(-k // bk)),
                    in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
                    out_specs=[pl.BlockSpec((bm, bn), lambda i, j, k: (i, j))], scratch=[pltpu.VMEM((bm, bn), DTYPES[kind])])
        t.output(name, o)


def rounded(x):
    return x.astype(jnp.bfloat16).astype(F32)


def dot_f32(t):
    """V1: f32 operands, and f32 with bf16, are rounded to bf16; JAX on a CPU has to be told."""
    t.output("o", product(t, rounded(t.x), rounded(t.y), "f32"))
    t.output("p", product(t, rounded(t.x), t.z.astype(F32), "f32"))


def dot_f32_high(t):
    """Three passes: x and y in two bf16 parts, without the product of the two small ones."""
    def split(x):
        high = rounded(x)
        return high, rounded(x - high)

    def body(x, y, o):
        (a, b), (c, d) = split(x[...]), split(y[...])
        dot = functools.partial(jnp.dot, preferred_element_type=F32)
        o[...] = dot(a, c) + dot(a, d) + dot(b, c)
    t.output("o", one_step(t, body, [t.x, t.y], shape("f32", t.x.shape[0], t.y.shape[1]))[0])


def dot_f32_highest(t):
    """Six passes: all 24 bits."""
    t.output("o", product(t, t.x, t.y, "f32"))


def ref_select(t):
    """The body takes one of its inputs, by the step."""
    def body(x, y, o):
        @pl.when(pl.program_id(0) % 3 == 1)
        def _():
            o[...] = x[...]

        @pl.when(pl.program_id(0) % 3 != 1)
        def _():
            o[...] = y[...]
    spec = pl.BlockSpec((8, 64), lambda i: (i, 0))
    o, = t.call(body, [t.x, t.y], shape("int32", 32, 64), grid=(4,), in_specs=[spec, spec], out_specs=[spec])
    t.output("o", o)
