# SPDX-License-Identifier: MIT
"""Scalar prefetch, aliasing, scratch, and which state is kept for how long."""
from twins.common import copy_body, jax, jnp, pl, pltpu, shape, tpu

BLOCK = (8, 128)


def rows(i, *tables):
    del tables
    return i, 0


def prefetch_gather(t):
    """T32: a permutation table names the input block of each step."""
    o, = t.call(lambda s, x, o: copy_body(x, o), [t.x], shape("int32", 64, 128), grid=(8,), prefetch=[t.table],
                in_specs=[pl.BlockSpec(BLOCK, lambda i, s: (s[i], 0))], out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)


def prefetch_two(t):
    """Two tables: one permutes the input, one the output."""
    o, = t.call(lambda a, b, x, o: copy_body(x, o), [t.x], shape("int32", 64, 128), grid=(8,), prefetch=[t.into, t.out],
                in_specs=[pl.BlockSpec(BLOCK, lambda i, a, b: (a[i], 0))],
                out_specs=[pl.BlockSpec(BLOCK, lambda i, a, b: (b[i], 0))])
    t.output("o", o)


def prefetch_types(t):
    """Tables of 8, 16 and 32 bits, in body and maps; a float one."""
    def body(a, b, c, d, x, o):
        i = pl.program_id(0)
        o[...] = x[...] + (a[i].astype(jnp.int32) + b[i].astype(jnp.int32) + c[i]).astype(jnp.float32) + \
            d[i].astype(jnp.float32)

    o, = t.call(body, [t.x], shape("f32", 32, 128), grid=(4,), prefetch=[t.a, t.b, t.c, t.d],
                in_specs=[pl.BlockSpec(BLOCK, lambda i, a, b, c, d: (a[i].astype(jnp.int32) & 3, 0))],
                out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)


def prefetch_rank(t):
    """A table of rank 3, as attention kernels have them."""
    o, = t.call(lambda s, x, o: copy_body(x, o), [t.x], shape("int32", 48, 128), grid=(2, 3), prefetch=[t.table],
                in_specs=[pl.BlockSpec(BLOCK, lambda i, j, s: (s[i, 1, j], 0))],
                out_specs=[pl.BlockSpec(BLOCK, lambda i, j, s: (3 * i + j, 0))])
    t.output("o", o)


def prefetch_written(t):
    """The body counts in a prefetched ref; the caller's array keeps its value."""
    def body(s, x, o):
        s[0] = s[0] + 3
        o[...] = x[...] + s[0]

    o, = t.call(body, [t.x], shape("int32", 32, 128), grid=(4,), prefetch=[t.table], in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)


def alias_unvisited(t):
    """Blocks 1 and 3 are visited, 0 and 2 survive."""
    o, = t.call(lambda x, o: o.__setitem__(..., x[...] * 2 + 1), [t.x], shape("int32", 32, 128), grid=(2,), aliases={0: 0},
                in_specs=[pl.BlockSpec(BLOCK, lambda i: (2 * i + 1, 0))],
                out_specs=[pl.BlockSpec(BLOCK, lambda i: (2 * i + 1, 0))])
    t.output("o", o)


def alias_second(t):
    """Input 1 of two is output 0, with a prefetched table: numbering in JAX counts the table, ours does not."""
    def body(s, x, z, o):
        o[...] = x[...] + z[...]
    o, = t.call(body, [t.x, t.z], shape("int32", 32, 128), grid=(2,), prefetch=[t.table], aliases={2: 0},
                in_specs=[pl.BlockSpec(BLOCK, rows), pl.BlockSpec(BLOCK, lambda i, s: (s[i], 0))],
                out_specs=[pl.BlockSpec(BLOCK, lambda i, s: (s[i], 0))])
    t.output("o", o)


def alias_same_block(t):
    """One block, four steps of o = x + 1: the input's block was fetched once, the result is x + 1."""
    def body(x, o):
        o[...] = x[...] + 1
    o, = t.call(body, [t.x], shape("int32", 8, 128), grid=(4,), aliases={0: 0},
                in_specs=[pl.BlockSpec(BLOCK, lambda i: (0, 0))], out_specs=[pl.BlockSpec(BLOCK, lambda i: (0, 0))])
    t.output("o", o)


def alias_mismatch(t):
    """An alias of another shape is refused."""
    t.modes("tpu")
    t.raises("ValueError", "alias|shape", lambda: pl.pallas_call(
        copy_body, out_shape=shape("int32", 16, 128), grid=(2,), in_specs=[pl.BlockSpec(BLOCK, rows)],
        out_specs=pl.BlockSpec(BLOCK, rows), input_output_aliases={0: 0}, interpret=tpu())(t.x))


def scratch_persists(t):
    """T31: scratch is kept over the steps of a call."""
    def body(x, o, acc):
        @pl.when(pl.program_id(0) == 0)
        def _():
            acc[...] = x[...]

        @pl.when(pl.program_id(0) > 0)
        def _():
            acc[...] += x[...]

        @pl.when(pl.program_id(0) == 2)
        def _():
            o[...] = acc[...]

    o, = t.call(body, [t.x], shape("int32", 8, 128), grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, lambda i: (0, 0))], scratch=[pltpu.VMEM(BLOCK, jnp.int32)])
    t.output("o", o)


def scratch_smem(t):
    """A counter in SMEM scratch, added to each block."""
    def body(x, o, n):
        @pl.when(pl.program_id(0) == 0)
        def _():
            n[0] = 100
        n[0] = n[0] + 7
        o[...] = x[...] + n[0]
    o, = t.call(body, [t.x], shape("int32", 32, 128), grid=(4,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)], scratch=[pltpu.SMEM((1,), jnp.int32)])
    t.output("o", o)


def scratch_many(t):
    """Scratch of several spaces and dtypes in the order given."""
    def body(x, o, a, b, s):
        a[...] = x[...].astype(jnp.bfloat16)
        b[...] = x[...] + x[...]
        s[1, 2] = 5
        o[...] = a[...].astype(jnp.float32) + b[...] + s[1, 2].astype(jnp.float32)
    o, = t.call(body, [t.x], shape("f32", 16, 128), grid=(1,), in_specs=[pl.BlockSpec((16, 128), rows)],
                out_specs=[pl.BlockSpec((16, 128), rows)],
                scratch=[pltpu.VMEM((16, 128), jnp.bfloat16), pltpu.VMEM((16, 128), jnp.float32), pltpu.SMEM((2, 3), jnp.int32)])
    t.output("o", o)


def scoped(t):
    """Memory for the time of a function, nested, in every step."""
    def body(x, o):
        def outer(a):
            a[...] = x[...] + 1

            def inner(b, c):
                c[0] = 4
                b[...] = a[...] * 2
                a[...] = b[...] + c[0]
            pl.run_scoped(inner, pltpu.VMEM(BLOCK, jnp.int32), pltpu.SMEM((1,), jnp.int32))
            o[...] = a[...]
        pl.run_scoped(outer, pltpu.VMEM(BLOCK, jnp.int32))
    o, = t.call(body, [t.x], shape("int32", 24, 128), grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)


def scoped_semaphore(t):
    """A copy on a semaphore of a scope."""
    def body(x, o):
        def run(sem, v):
            copy = pltpu.make_async_copy(x, v, sem)
            copy.start()
            copy.wait()
            o[...] = v[...] + 1
        pl.run_scoped(run, pltpu.SemaphoreType.DMA, pltpu.VMEM(BLOCK, jnp.int32))
    o, = t.call(body, [t.x], shape("int32", 16, 128), grid=(2,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)


def names(t):
    """Grid dimensions by name."""
    def body(o):
        o[...] = jnp.full(o.shape, 10 * jax.lax.axis_index("row") + jax.lax.axis_index("column"), jnp.int32)
    t.modes("tpu")
    o = pl.pallas_call(body, out_shape=shape("int32", 24, 256), grid=(("row", 3), ("column", 2)),
                       out_specs=pl.BlockSpec(BLOCK, lambda i, j: (i, j)), interpret=tpu())()
    t.output("o", o)


def parallel_order(t):
    """T34: a parallel dimension in any order; the steps of the arbitrary one in order."""
    def body(x, o, acc):
        @pl.when(pl.program_id(1) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)
        acc[...] = acc[...] * 3 + x[...]

        @pl.when(pl.program_id(1) == 3)
        def _():
            o[...] = acc[...]
    o, = t.call(body, [t.x], shape("int32", 32, 128), grid=(4, 4), semantics=("parallel", "arbitrary"),
                in_specs=[pl.BlockSpec(BLOCK, lambda i, j: (4 * i + j, 0))],
                out_specs=[pl.BlockSpec(BLOCK, lambda i, j: (i, 0))], scratch=[pltpu.VMEM(BLOCK, jnp.int32)])
    t.output("o", o)


def parallel_suffix(t):
    """('arbitrary', 'parallel') is refused."""
    t.modes("tpu")
    t.raises("ValueError", "parallel", lambda: pl.pallas_call(
        copy_body, out_shape=shape("int32", 128, 128), grid=(4, 4), interpret=tpu(),
        in_specs=[pl.BlockSpec(BLOCK, lambda i, j: (4 * i + j, 0))],
        out_specs=pl.BlockSpec(BLOCK, lambda i, j: (4 * i + j, 0)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary", "parallel")))(t.x))


def grid_bad_extent(t):
    """T04: static extents of 0 and below are refused (pallas_call takes them silently)."""
    t.modes("emit")
    for grid in ((0, 2), (2, -1)):
        t.raises("ValueError", "strictly positive", lambda grid=grid: t.call(
            copy_body, [t.x], shape("int32", 16, 128), grid=grid, modes=["emit"],
            in_specs=[pl.BlockSpec(BLOCK, lambda i, j: (0, 0))], out_specs=[pl.BlockSpec(BLOCK, lambda i, j: (0, 0))]))


def alias_distance(t):
    """Blocks that were written three steps before are read: the new values (A5)."""
    def body(r, x, o):
        o[...] = x[...] * 2 + 1
    o, = t.call(body, [t.x], shape("int32", 72, 128), grid=(6,), prefetch=[t.table], aliases={1: 0},
                in_specs=[pl.BlockSpec(BLOCK, lambda i, r: (r[i], 0))], out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)
