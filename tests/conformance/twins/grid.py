# SPDX-License-Identifier: MIT
"""Grids: order, rank, run-time extents, what program_id and num_programs say."""
from twins.common import jax, jnp, np, pl, pltpu, shape


def number_blocks(o):
    o[...] = jnp.full(o.shape, 10 * pl.program_id(0) + pl.program_id(1), jnp.int32)


def numbered(t, rows, columns, grid):
    o, = t.call(number_blocks, [], shape("int32", rows, columns), grid=grid,
                out_specs=[pl.BlockSpec((2, 3), lambda i, j: (i, j))])
    t.output("o", o)


def grid_order(t):
    numbered(t, 8, 6, (4, 2))


def grid_ragged(t):
    numbered(t, 7, 5, (4, 2))


def grid_one_block(t):
    numbered(t, 1, 2, (1, 1))


def grid_ignored_dim(t):
    def body(o):
        o[...] = jnp.full(o.shape, 100 * pl.program_id(0) + 10 * pl.program_id(1) + pl.program_id(2), jnp.int32)

    o, = t.call(body, [], shape("int32", 32, 256), grid=(4, 2, 10),
                out_specs=[pl.BlockSpec((8, 128), lambda i, j, k: (i, j))])
    t.output("o", o)


def grid_empty(t):
    def body(x, o):
        o[...] = x[...] + x[...]

    o, = t.call(body, [t.x], shape("int32", 16, 128))
    t.output("o", o)


def grid_int(t):
    def body(x, o):
        o[...] = x[...] + pl.program_id(0)

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    o, = t.call(body, [t.x], shape("int32", 24, 128), grid=3, in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def counting(t, extents):
    """o counts the steps of a grid whose extents are known at run time only."""
    def run(*n):
        def body(one, o):
            first = pl.program_id(0) == 0
            for axis in range(1, len(n)):
                first = first & (pl.program_id(axis) == 0)

            @pl.when(first)
            def _():
                o[...] = jnp.zeros_like(o)
            o[...] += one[...]

        spec = pl.BlockSpec((8, 128), lambda *ids: (0, 0))
        return pl.pallas_call(body, out_shape=shape("f32", 8, 128), grid=n, in_specs=[spec], out_specs=spec,
                              interpret=interpret)(t.one)

    from twins.common import tpu
    results = []
    for mode in t.modes("hlo", "tpu"):
        interpret = True if mode == "hlo" else tpu()
        results.append(np.asarray(jax.jit(run)(*(jnp.int32(n) for n in extents))))
    assert all(np.array_equal(results[0], r) for r in results)
    t.output("o", results[0])


def grid_dynamic(t):
    counting(t, (8,))


def grid_dynamic_3d(t):
    counting(t, (8, 5, 3))


def grid_dynamic_zero(t):
    """emit_pipeline over a grid of no steps does nothing, not even the copies of constant blocks."""
    from twins.common import ANY, recording, tpu
    copies = []
    for mode in t.modes("emit"):
        def outer(n, x, o):
            def body(x, o):
                o[...] = x[...]
            pltpu.emit_pipeline(body, grid=(2, n[0]), in_specs=[pl.BlockSpec((8, 128), lambda i, j: (0, 0))],
                                out_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, 0))])(x, o)
        call = pl.pallas_call(outer, out_shape=shape("int32", 16, 128),
                              in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), ANY], out_specs=ANY, interpret=tpu())
        with recording() as recorder:
            o = call(jnp.zeros((1,), jnp.int32), t.x)
        copies.append(recorder.counts(1, 1, 1))
    t.copies += copies
    t.output("o", o, rest=np.zeros(o.shape, bool))


def grid_num_programs(t):
    def body(o):
        o[0, 0] = pl.num_programs(0)
        o[0, 1] = pl.num_programs(1)
        o[0, 2] = pl.program_id(0)
        o[0, 3] = pl.program_id(1)

    from twins.common import pallas_call, tpu
    results = []
    for mode in t.modes("hlo", "tpu"):
        problem = {"body": body, "args": [], "shapes": (shape("int32", 6, 4),), "grid": (3, 2), "in_specs": [],
                   "out_specs": [pl.BlockSpec((1, 4), lambda i, j: (i * pl.num_programs(1) + j, 0),
                                              memory_space=pltpu.SMEM)],
                   "scratch": (), "prefetch": (), "aliases": {}, "semantics": None}
        results.append(np.asarray(pallas_call(problem, True if mode == "hlo" else tpu())[0]))
    assert all(np.array_equal(results[0], r) for r in results)
    t.output("o", results[0])


def grid_6d(t):
    """The most dimensions; the number of the step in mixed radix."""
    def body(o):
        n = jnp.int32(0)
        for axis in range(6):
            n = n * 10 + pl.program_id(axis)
        o[...] = jnp.full(o.shape, n, jnp.int32)

    def flat(*ids):
        step = 0
        for i, extent in zip(ids, (2, 1, 2, 3, 1, 2)):
            step = step * extent + i
        return step, 0
    o, = t.call(body, [], shape("int32", 24, 16), grid=(2, 1, 2, 3, 1, 2), out_specs=[pl.BlockSpec((1, 16), flat)])
    t.output("o", o)


PARTITIONS = (((8,), "p"), ((5,), "p"), ((8, 3), "pp"), ((5, 3), "pp"), ((2, 7), "ap"), ((8, 8), "pp"), ((5, 7), "pp"),
              ((1, 1), "pp"), ((3, 4, 5), "app"))


def grid_partition(t):
    """T33: which of two cores runs which step of emit_pipeline; 100 + core for every step in order."""
    from twins.common import no_race, tpu
    kinds = {"p": pltpu.PARALLEL, "a": pltpu.ARBITRARY}
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=2)
    t.modes("emit")
    table = np.zeros((len(PARTITIONS), 64), np.int32)
    for row, (grid, semantics) in enumerate(PARTITIONS):
        steps = int(np.prod(grid))

        def index(*ids, grid=grid):
            step = 0
            for i, extent in zip(ids, grid):
                step = step * extent + i
            return step, 0

        @pl.kernel(mesh=mesh, out_type=shape("int32", 8 * steps, 128), interpret=tpu(num_cores_or_threads=2))
        def run(o, grid=grid, semantics=semantics, index=index):
            def body(o):
                o[...] = jnp.full(o.shape, 100 + jax.lax.axis_index("core"), jnp.int32)
            pltpu.emit_pipeline(body, grid=grid, out_specs=[pl.BlockSpec((8, 128), index)], core_axis_name="core",
                                dimension_semantics=tuple(kinds[s] for s in semantics))(o)
        table[row, :steps] = np.asarray(run())[::8, 0]
        no_race("emit")
    t.output("o", table)
