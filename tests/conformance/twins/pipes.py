# SPDX-License-Identifier: MIT
"""Pipelines inside kernels, kernels without a grid, and what they share."""
from twins.common import ANY, jax, jnp, no_race, np, pl, pltpu, shape, tpu

BLOCK = (8, 128)


def rows(i):
    return i, 0


def kernel(t, body, args, out_shape, scratch=(), grid=()):
    """A kernel over whole arrays in HBM."""
    o = pl.pallas_call(body, out_shape=out_shape, in_specs=[ANY] * len(args), out_specs=jax.tree.map(lambda _: ANY, out_shape),
                       scratch_shapes=list(scratch), grid=grid, interpret=tpu())(*args)
    no_race("emit")
    t.modes("emit")
    return [np.asarray(r) for r in jax.tree.leaves(o)]


def pipe_plain(t):
    """A pipeline over the kernel's arrays."""
    def inner(x, o):
        o[...] = x[...] * 3

    def body(x, o):
        pltpu.emit_pipeline(inner, grid=(4,), in_specs=[pl.BlockSpec(BLOCK, rows)], out_specs=[pl.BlockSpec(BLOCK, rows)])(x, o)
    t.output("o", kernel(t, body, [t.x], shape("int32", 32, 128))[0])


def pipe_parts(t):
    """Over parts of the arrays, in every step of an outer grid."""
    def inner(x, o):
        o[...] = x[...] + pl.program_id(0)

    def body(x, o):
        i = pl.program_id(0)
        pltpu.emit_pipeline(inner, grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)], out_specs=[pl.BlockSpec(BLOCK, rows)])(
            x.at[pl.ds(24 * i, 24)], o.at[pl.ds(24 * (1 - i), 24)])
    t.output("o", kernel(t, body, [t.x], shape("int32", 48, 128), grid=(2,))[0])


def pipe_ids(t):
    """Inside, program_id is the pipeline's; the outer one reaches it through a closure."""
    def body(o):
        i = pl.program_id(0)

        def inner(o):
            o[...] = jnp.full(o.shape, 100 * i + 10 * pl.program_id(0) + pl.program_id(1), jnp.int32)
        pltpu.emit_pipeline(inner, grid=(2, 2), out_specs=[pl.BlockSpec(BLOCK, lambda j, k: (j, k))])(o.at[pl.ds(16 * i, 16)])
    t.output("o", kernel(t, body, [], shape("int32", 48, 256), grid=(3,))[0])


def pipe_nested(t):
    """A pipeline in the body of a pipeline: blocks of 16 rows in HBM, inside of 8 x 128 over VMEM blocks' parts."""
    def innermost(x, o):
        o[...] = x[...] + 1

    def inner(o):
        i = pl.program_id(0)
        pltpu.emit_pipeline(innermost, grid=(2,), in_specs=[pl.BlockSpec(BLOCK, rows)], out_specs=[pl.BlockSpec(BLOCK, rows)])(
            x_ref[0].at[pl.ds(16 * i, 16)], o)
    x_ref = [None]

    def body(x, o):
        x_ref[0] = x
        pltpu.emit_pipeline(inner, grid=(3,), out_specs=[pl.BlockSpec((16, 128), rows)])(o)
    t.output("o", kernel(t, body, [t.x], shape("int32", 48, 128))[0])


def pipe_vmem(t):
    """An operand that is in VMEM is used in place; what is written there is seen afterwards (T23)."""
    def inner(x, v):
        v[...] = x[...] + v[...]

    def body(x, o, v):
        v[...] = jnp.full(v.shape, 7, jnp.int32)
        pltpu.emit_pipeline(inner, grid=(4,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                            out_specs=[pl.BlockSpec(BLOCK, rows, memory_space=pltpu.VMEM)])(x, v)
        pltpu.sync_copy(v, o)
    t.output("o", kernel(t, body, [t.x], shape("int32", 32, 128), [pltpu.VMEM((32, 128), jnp.int32)])[0])


def pipe_scratch(t):
    """Scratch of the outer kernel, kept from one pipeline to the next."""
    def body(x, o, acc):
        def add(x):
            acc[...] += x[...]
        acc[...] = jnp.zeros_like(acc)
        for part in range(2):
            pltpu.emit_pipeline(add, grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)])(x.at[pl.ds(24 * part, 24)])
        pltpu.sync_copy(acc, o)
    t.output("o", kernel(t, body, [t.x], shape("int32", *BLOCK), [pltpu.VMEM(BLOCK, jnp.int32)])[0])


def pipe_dynamic(t):
    """Run-time extents of 3, 0 and 2 steps, from SMEM."""
    def inner(x, o):
        o[...] = x[...] * 2

    def body(x, sizes, o, s):
        pltpu.sync_copy(sizes, s)
        for part in range(3):
            pltpu.emit_pipeline(inner, grid=(s[part],), in_specs=[pl.BlockSpec(BLOCK, rows)], out_specs=[pl.BlockSpec(BLOCK, rows)])(
                x.at[pl.ds(24 * part, 24)], o.at[pl.ds(24 * part, 24)])
    o, = kernel(t, body, [t.x, t.sizes], shape("int32", 72, 128), [pltpu.SMEM((3,), jnp.int32)])
    row = np.arange(72)
    t.output("o", o, rest=np.broadcast_to((row % 24 < 8 * np.array([3, 0, 2])[row // 24])[:, None], (72, 128)))


def pipe_matmul(t):
    """A product whose accumulator is the output block, in a pipeline over HBM (E5)."""
    def inner(x, y, o):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

    def body(x, y, o):
        pltpu.emit_pipeline(inner, grid=(2, 1, 2), in_specs=[pl.BlockSpec((16, 128), lambda i, j, k: (i, k)),
                                                              pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
                            out_specs=[pl.BlockSpec((16, 128), lambda i, j, k: (i, j))])(x, y, o)
    t.output("o", kernel(t, body, [t.x, t.y], shape("f32", 32, 128))[0])


def pipe_allocations(t):
    """Buffers made once by the caller, used by two invocations."""
    def inner(x, o):
        o[...] = x[...] + 5
    specs = {"in_specs": [pl.BlockSpec(BLOCK, rows)], "out_specs": [pl.BlockSpec(BLOCK, rows)]}

    def body(x, o):
        pipeline, allocate = pltpu.emit_pipeline_with_allocations(inner, grid=(3,), **specs)

        def scoped(allocations):
            for part in range(2):
                pipeline(x.at[pl.ds(24 * part, 24)], o.at[pl.ds(24 * part, 24)], allocations=allocations)
        pl.run_scoped(scoped, allocate(x, o))
    t.output("o", kernel(t, body, [t.x], shape("int32", 48, 128))[0])


def pipe_parallel_any(t):
    """PARALLEL after ARBITRARY, which pallas_call refuses and emit_pipeline takes."""
    def inner(x, o):
        o[...] = x[...] - 4

    def body(x, o):
        spec = pl.BlockSpec(BLOCK, lambda i, j: (2 * i + j, 0))
        pltpu.emit_pipeline(inner, grid=(2, 2), in_specs=[spec], out_specs=[spec],
                            dimension_semantics=(pltpu.ARBITRARY, pltpu.PARALLEL))(x, o)
    t.output("o", kernel(t, body, [t.x], shape("int32", 32, 128))[0])


def kernel_in_place(t):
    """pl.kernel over mutable refs: y += x in place, by a pipeline; x only read."""
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)
    x_ref, y_ref = jax.new_ref(t.x), jax.new_ref(t.y)

    @pl.kernel(mesh=mesh, interpret=tpu(), scratch_types=[pltpu.VMEM(BLOCK, jnp.int32)] * 2)
    def run(x, y, v, w):
        for i in range(3):
            pltpu.sync_copy(x.at[pl.ds(8 * i, 8)], v)
            pltpu.sync_copy(y.at[pl.ds(8 * i, 8)], w)
            w[...] = w[...] + v[...]
            pltpu.sync_copy(w, y.at[pl.ds(8 * i, 8)])
    run(x_ref, y_ref)
    t.modes("tpu")
    if not np.array_equal(x_ref[...], t.x):
        raise AssertionError("x has changed")
    t.output("o", np.asarray(y_ref[...]))


def kernel_pipeline(t):
    """pl.kernel with a pipeline inside, out of place."""
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)
    x_ref, o_ref = jax.new_ref(t.x), jax.new_ref(jnp.zeros_like(t.x))

    def inner(x, o):
        o[...] = x[...] * x[...]

    @pl.kernel(mesh=mesh, interpret=tpu())
    def run(x, o):
        pltpu.emit_pipeline(inner, grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)], out_specs=[pl.BlockSpec(BLOCK, rows)])(x, o)
    run(x_ref, o_ref)
    t.modes("tpu")
    t.output("o", np.asarray(o_ref[...]))


def pipe_prefetched(t):
    """The caller has filled the first two of three buffers with something else than HBM has: it is used, and only
    the third block is fetched. (Not in this version of JAX.)"""
    o = np.asarray(t.x).copy()
    o[:16] = np.asarray(t.y)
    t.output("o", o + 1)
