# SPDX-License-Identifier: MIT
"""What kernels in use do with several features at once: masks from positions, carries, tables that skip work, edges in
every dimension, pipelines whose extent or table another part of the kernel makes."""
from twins.common import ANY, copy_body, jax, jnp, no_race, np, pl, pltpu, shape, tpu
from twins.buffers import buffered, inout_pipeline

BLOCK = (8, 128)


def rows(i, *_):
    return i, 0


def vmem(*extents):
    return pltpu.VMEM(extents, jnp.int32)


def iota(shape_, dimension):
    return jax.lax.broadcasted_iota(jnp.int32, shape_, dimension)


def cut_rank5(t):
    """Rank 5, cut in every dimension."""
    spec = pl.BlockSpec((2, 3, 2, 8, 128), lambda *ids: ids)
    o, = t.call(copy_body, [t.x], shape("int32", 4, 6, 4, 16, 256), grid=(2,) * 5, in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def cut_rank5_ragged(t):
    """The same with an edge in every dimension."""
    spec = pl.BlockSpec((2, 3, 2, 8, 48), lambda *ids: ids)
    o, = t.call(copy_body, [t.x], shape("bf16", 3, 5, 3, 12, 100), grid=(2, 2, 2, 2, 3), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def transposed_blocks(t):
    """Block (i, j) to block (j, i), transposed, with an edge."""
    def body(x, o):
        o[...] = x[...].T
    o, = t.call(body, [t.x], shape("f32", 24, 40), grid=(3, 3), in_specs=[pl.BlockSpec((16, 8), lambda i, j: (i, j))],
                out_specs=[pl.BlockSpec((8, 16), lambda i, j: (j, i))])
    t.output("o", o)


def stencil(t):
    """Windows of ten rows at every eighth: three views of each, added."""
    def body(x, o):
        o[...] = x[0:8] + x[1:9] - x[2:10]
    o, = t.call(body, [t.x], shape("int32", 32, 128), grid=(4,),
                in_specs=[pl.BlockSpec((pl.Element(10), pl.Element(128)), lambda i: (8 * i, 0))], out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)


def shifted_columns(t):
    """Sums of views whose columns begin anywhere."""
    def body(x, o):
        o[...] = x[:, 0:128] + x[:, 5:133] + x[:, 10:138] + x[:, 31:159]
    o, = t.call(body, [t.x], shape("int32", 32, 128), grid=(2,), in_specs=[pl.BlockSpec((16, 160), rows)],
                out_specs=[pl.BlockSpec((16, 128), rows)])
    t.output("o", o)


def batched_product(t):
    """A product a batch, the right operand transposed, both squeezed."""
    def body(x, y, o):
        o[...] = jax.lax.dot_general(x[...], y[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
    o, = t.call(body, [t.x, t.y], shape("f32", 3, 32, 24), grid=(3, 2),
                in_specs=[pl.BlockSpec((None, 16, 32), lambda b, i: (b, i, 0)), pl.BlockSpec((None, 24, 32), lambda b, i: (b, 0, 0))],
                out_specs=[pl.BlockSpec((None, 16, 24), lambda b, i: (b, i, 0))])
    t.output("o", o)


def bias_relu_product(t):
    """An int8 product in two parts of k with an accumulator in scratch, then bias and ReLU."""
    def body(x, y, bias, o, acc):
        @pl.when(pl.program_id(1) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)
        acc[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.int32)

        @pl.when(pl.program_id(1) == 1)
        def _():
            o[...] = jnp.maximum(acc[...] + bias[...], 0)
    o, = t.call(body, [t.x, t.y, t.bias], shape("int32", 48, 32), grid=(3, 2),
                in_specs=[pl.BlockSpec((16, 32), lambda i, k: (i, k)), pl.BlockSpec((32, 32), lambda i, k: (k, 0)),
                          pl.BlockSpec((1, 32), lambda i, k: (0, 0))],
                out_specs=[pl.BlockSpec((16, 32), lambda i, k: (i, 0))], scratch=[vmem(16, 32)])
    t.output("o", o)


def column_sums(t):
    """Sums over all rows into one row, which stays while the row blocks go by."""
    def body(x, o):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += jnp.sum(x[...], axis=0, keepdims=True)
    o, = t.call(body, [t.x], shape("int32", 1, 256), grid=(2, 8), in_specs=[pl.BlockSpec(BLOCK, lambda j, i: (i, j))],
                out_specs=[pl.BlockSpec((1, 128), lambda j, i: (0, j))])
    t.output("o", o)


def carried_sum(t):
    """o = x + the sum of all blocks before, which a scalar carries."""
    def body(x, o, carry):
        @pl.when(pl.program_id(0) == 0)
        def _():
            carry[0] = 0
        o[...] = x[...] + carry[0]
        carry[0] += jnp.sum(x[...])
    o, = t.call(body, [t.x], shape("int32", 40, 128), grid=(5,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)], scratch=[pltpu.SMEM((1,), jnp.int32)])
    t.output("o", o)


def counted_values(t):
    """Scalars in, scalars out: how often each value occurs in a row."""
    def body(x, o):
        for k in range(8):
            o[0, k] = 0

        def count(k, _):
            v = x[0, k]
            o[0, v] = o[0, v] + 1
        jax.lax.fori_loop(0, 16, count, None)
    smem = {"memory_space": pltpu.SMEM}
    o, = t.call(body, [t.x], shape("int32", 4, 8), grid=(4,), in_specs=[pl.BlockSpec((1, 16), rows, **smem)],
                out_specs=[pl.BlockSpec((1, 8), rows, **smem)])
    t.output("o", o)


def group_sums(t):
    """Sums of groups of rows whose borders a table gives; masks from positions, block numbers clamped."""
    def body(first, x, o):
        g, j = pl.program_id(0), pl.program_id(1)

        @pl.when(j == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        row = 8 * (first[g] // 8 + j) + iota(BLOCK, 0)
        inside = (row >= first[g]) & (row < first[g + 1]) & (first[g] // 8 + j < 4)
        o[...] += jnp.sum(jnp.where(inside, x[...], 0), axis=0, keepdims=True)
    o, = t.call(body, [t.x], shape("int32", 4, 1, 128), grid=(4, 3), prefetch=[t.first],
                in_specs=[pl.BlockSpec(BLOCK, lambda g, j, first: (jnp.minimum(first[g] // 8 + j, 3), 0))],
                out_specs=[pl.BlockSpec((None, 1, 128), lambda g, j, first: (g, 0, 0))])
    t.output("o", o)


def skipped_blocks(t):
    """Steps without work name the block that is there already: no copy."""
    def body(table, work, x, o):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        @pl.when(work[i] != 0)
        def _():
            o[...] += x[...]
    o, = t.call(body, [t.x], shape("int32", *BLOCK), grid=(8,), prefetch=[t.table, t.work],
                in_specs=[pl.BlockSpec(BLOCK, lambda i, table, work: (table[i], 0))],
                out_specs=[pl.BlockSpec(BLOCK, lambda i, table, work: (0, 0))])
    t.output("o", o)


def causal_mask(t):
    """Elements right of the diagonal get a constant, by positions of block and element."""
    def body(x, o):
        row = 16 * pl.program_id(0) + iota((16, 32), 0)
        column = 32 * pl.program_id(1) + iota((16, 32), 1)
        o[...] = jnp.where(row >= column, x[...], -1000.0)
    spec = pl.BlockSpec((16, 32), lambda i, j: (i, j))
    o, = t.call(body, [t.x], shape("f32", 56, 64), grid=(4, 2), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def alias_windows(t):
    """Aliased windows of ELEMENT dimensions, apart from one another and out of order: the gaps survive."""
    def body(table, x, o):
        o[...] = x[...] + 100
    spec = pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i, table: (table[i], 0))
    o, = t.call(body, [t.x], shape("int32", 48, 128), grid=(3,), prefetch=[t.table], in_specs=[spec], out_specs=[spec],
                aliases={1: 0}, modes=["hlo", "tpu"])
    t.modes("hlo", "tpu")
    t.output("o", o)


def wrapping_bytes(t):
    """Sums, differences and products of bytes wrap, at edges, too."""
    def body(x, y, a, b, c):
        a[...] = x[...] + y[...]
        b[...] = x[...] - y[...]
        c[...] = x[...] * y[...]
    spec = pl.BlockSpec((16, 24), lambda i, j: (i, j))
    for kind in ("uint8", "int8"):
        results = t.call(body, [getattr(t, "x_" + kind), getattr(t, "y_" + kind)], (shape(kind, 40, 36),) * 3, grid=(3, 2),
                         in_specs=[spec] * 2, out_specs=[spec] * 3)
        for name, value in zip("abc", results):
            t.output(f"{name}_{kind}", value)


def roll_by_step(t):
    """Rotations by the number of the step, along both dimensions."""
    def body(x, o):
        i = pl.program_id(0)
        o[...] = pltpu.roll(pltpu.roll(x[...], 3 * i, 0), 5 + i, 1)
    o, = t.call(body, [t.x], shape("int32", 32, 128), grid=(4,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.output("o", o)


def sums_of_parts(t):
    """Rank 1 with an edge: one sum a block, as scalars."""
    def body(x, o):
        i = pl.program_id(0)
        place = 256 * i + iota((1, 256), 1).reshape(256)
        o[i] = jnp.sum(jnp.where(place < 1000, x[...], 0))
    o, = t.call(body, [t.x], shape("int32", 4), grid=(4,), in_specs=[pl.BlockSpec((256,), lambda i: (i,))],
                out_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)])
    t.output("o", o)


def rows_by_copy(t):
    """Rows that a table names, copied by hand a step ahead into two slots, with a semaphore a slot."""
    def body(table, x, o, v, sem):
        i, n = pl.program_id(0), pl.num_programs(0)

        def copies(step, slot):
            return [pltpu.make_async_copy(x.at[pl.ds(8 * table[2 * step + k], 8)], v.at[slot, pl.ds(8 * k, 8)], sem.at[slot])
                    for k in range(2)]

        @pl.when(i == 0)
        def _():
            for copy in copies(0, 0):
                copy.start()

        @pl.when(i + 1 < n)
        def _():
            for copy in copies(i + 1, (i + 1) % 2):
                copy.start()
        for copy in copies(i, i % 2):
            copy.wait()
        o[...] = v[i % 2] + v[i % 2]
    o = pl.pallas_call(body, out_shape=shape("int32", 64, 128), interpret=tpu(), grid_spec=pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(4,), in_specs=[ANY], out_specs=pl.BlockSpec((16, 128), lambda i, table: (i, 0)),
        scratch_shapes=[vmem(2, 16, 128), pltpu.SemaphoreType.DMA((2,))]))(t.table, t.x)
    no_race("tpu")
    t.modes("tpu")
    t.output("o", o)


def lookahead_ragged(t):
    """Lookahead over blocks of which one has an edge."""
    def body(table, x, o):
        o[...] = jnp.where(iota(BLOCK, 0) < 36 - 8 * table[pl.program_id(0)], x[...], 0)
    o, = t.call(body, [t.x], shape("int32", 64, 128), grid=(8,), prefetch=[t.table], modes=["emit"],
                in_specs=[buffered(BLOCK, lambda i, table: (table[i], 0), 3, use_lookahead=True)],
                out_specs=[pl.BlockSpec(BLOCK, rows)])
    t.modes("emit")
    t.output("o", o)


def inout_ragged(t):
    """Read, changed and written, with an edge; three steps a block."""
    def body(x, z):
        z[...] = z[...] + x[...]
    o, _ = inout_pipeline(body, t.x, t.z, shape("int32", 20, 128), (3, 3), [pl.BlockSpec(BLOCK, lambda i, j: (j, 0))],
                          pl.BlockSpec(BLOCK, lambda i, j: (i, 0)))
    no_race("emit")
    t.modes("emit")
    t.output("o", o)


def pipe_of_counts(t):
    """Inner pipelines whose extents a table gives, one of them 0, into scratch that the outer body reads."""
    def body(count, x, o, acc):
        i = pl.program_id(0)
        acc[...] = jnp.full(BLOCK, count[i], jnp.int32)

        def add(x):
            acc[...] += x[...]
        pltpu.emit_pipeline(add, grid=(count[i],), in_specs=[pl.BlockSpec(BLOCK, rows)])(x.at[pl.ds(24 * i, 24)])
        o[...] = acc[...]
    o = pl.pallas_call(body, out_shape=shape("int32", 24, 128), interpret=tpu(), grid_spec=pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(3,), in_specs=[ANY], out_specs=pl.BlockSpec(BLOCK, lambda i, count: (i, 0)),
        scratch_shapes=[vmem(*BLOCK)]))(t.count, t.x)
    no_race("emit")
    t.modes("emit")
    t.output("o", o)


def pipe_by_copied_table(t):
    """The inner pipeline's table comes by a copy to SMEM, another row of it in every outer step."""
    def inner(x, o):
        o[...] = x[...] * 3

    def body(tables, x, o, s):
        i = pl.program_id(0)
        pltpu.sync_copy(tables.at[i], s)
        pltpu.emit_pipeline(inner, grid=(4,), in_specs=[buffered(BLOCK, lambda j: (s[j], 0), 3)],
                            out_specs=[pl.BlockSpec(BLOCK, rows)])(x, o.at[pl.ds(32 * i, 32)])
    o = pl.pallas_call(body, out_shape=shape("int32", 64, 128), grid=(2,), in_specs=[ANY, ANY], out_specs=ANY, interpret=tpu(),
                       scratch_shapes=[pltpu.SMEM((4,), jnp.int32)])(t.tables, t.x)
    no_race("emit")
    t.modes("emit")
    t.output("o", np.asarray(o))
