# SPDX-License-Identifier: MIT
"""Scratch, copies, semaphores, pipelines and views, several at once."""
from twins.common import ANY, jax, jnp, no_race, np, pl, pltpu, shape, tpu
from twins.copies import kernel as copy_kernel
from twins.pipes import kernel as pipe_kernel

DMA = pltpu.SemaphoreType.DMA
BLOCK = (8, 128)


def rows(i, *_):
    return i, 0


def vmem(*extents):
    return pltpu.VMEM(extents, jnp.int32)


def scratch_history(t):
    """A ring of three blocks in scratch: o of step s is x of step s + x of step s - 2."""
    def body(x, o, ring):
        s = pl.program_id(0)
        ring[s % 3] = x[...]

        @pl.when(s < 2)
        def _():
            o[...] = x[...]

        @pl.when(s >= 2)
        def _():
            o[...] = x[...] + ring[(s - 2) % 3]
    o, = t.call(body, [t.x], shape("int32", 56, 128), grid=(7,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)], scratch=[vmem(3, *BLOCK)])
    t.output("o", o)


def scratch_choice(t):
    """A counter in SMEM, changed by the data, decides what is written: blocks whose first element is larger."""
    def body(x, o, s):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            s[0] = -1000
        v = jnp.sum(jnp.where((jnp.arange(8)[:, None] == 0) & (jnp.arange(128)[None, :] == 0), x[...], 0))
        larger = v > s[0]

        @pl.when(larger)
        def _():
            s[0] = v
        o[...] = jnp.where(larger, x[...], -x[...])
    o, = t.call(body, [t.x], shape("int32", 48, 128), grid=(6,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)], scratch=[pltpu.SMEM((1,), jnp.int32)], modes=["hlo", "tpu"])
    t.modes("hlo", "tpu")
    t.output("o", o)


def copy_ring(t):
    """Three slots, two copies ahead over the steps of a grid, a semaphore a slot."""
    steps = 6

    def body(x, o, v, w, sem):
        s = pl.program_id(0)

        def fetch(i):
            slot = jax.lax.rem(i, 3)
            return pltpu.make_async_copy(x.at[pl.ds(8 * i, 8)], v.at[slot], sem.at[slot])

        @pl.when(s == 0)
        def _():
            fetch(0).start()
            fetch(1).start()

        @pl.when(s + 2 < steps)
        def _():
            fetch(s + 2).start()
        fetch(s).wait()
        w[...] = v[jax.lax.rem(s, 3)] * 3
        pltpu.sync_copy(w, o.at[pl.ds(8 * (steps - 1 - s), 8)])
    o, = copy_kernel(t, body, [t.x], shape("int32", 48, 128), [vmem(3, *BLOCK), vmem(*BLOCK), DMA((3,))], grid=(steps,))
    t.output("o", o)


def copy_reverse(t):
    """Four copies, of one row and more, waited for in reverse order; then one back of all."""
    def body(x, o, v, sem):
        copies = [pltpu.make_async_copy(x.at[pl.ds(a, n)], v.at[pl.ds(b, n)], sem.at[i])
                  for i, (a, b, n) in enumerate([(0, 15, 1), (1, 0, 3), (4, 3, 5), (9, 8, 7)])]
        for c in copies:
            c.start()
        for c in reversed(copies):
            c.wait()
        pltpu.async_copy(v, o, sem.at[2]).wait()
    o, = copy_kernel(t, body, [t.x], shape("int32", 16, 128), [vmem(16, 128), DMA((4,))])
    t.output("o", o)


def copy_middle_index(t):
    """An integer index in the middle, in source and destination, and windows on both sides of it."""
    def body(x, o, v, sem):
        for k in range(3):
            pltpu.async_copy(x.at[pl.ds(1, 2), k], v, sem).wait()
            pltpu.async_copy(v, o.at[pl.ds(0, 2), 2 - k], sem).wait()
    o, = copy_kernel(t, body, [t.x], shape("int32", 2, 3, 8, 128), [vmem(2, *BLOCK), DMA])
    t.output("o", o)


def semaphore_handover(t):
    """Signalled in one step, awaited in the next; two semaphores of an array, chosen by the step."""
    def body(x, o, sem):
        s = pl.program_id(0)

        @pl.when(s > 0)
        def _():
            pl.semaphore_wait(sem.at[jax.lax.rem(s - 1, 2)], s)
        o[...] = x[...] + s

        @pl.when(s + 1 < pl.num_programs(0))
        def _():
            pl.semaphore_signal(sem.at[jax.lax.rem(s, 2)], s + 1)
    o, = t.call(body, [t.x], shape("int32", 40, 128), grid=(5,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)], scratch=[pltpu.SemaphoreType.REGULAR((2,))], modes=["tpu"])
    t.modes("tpu")
    t.output("o", o)


def scoped_nested(t):
    """run_scoped inside run_scoped, in every step, with a semaphore of its own."""
    def body(x, o):
        def outer(v, sem):
            pltpu.async_copy(x, v, sem).wait()

            def inner(w):
                w[...] = v[...] + v[...]
                pltpu.async_copy(w, v, sem).wait()
            pl.run_scoped(inner, vmem(*BLOCK))
            o[...] = v[...] + 1
        pl.run_scoped(outer, vmem(*BLOCK), DMA)
    o, = t.call(body, [t.x], shape("int32", 24, 128), grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)],
                out_specs=[pl.BlockSpec(BLOCK, rows)], modes=["tpu"])
    t.modes("tpu")
    t.output("o", o)


def pipes_two(t):
    """Two different pipelines in one body, in turns, over the same arrays: the second reads what the first wrote."""
    def add(x, o):
        o[...] = x[...] + 3

    def swap(o, p):
        p[...] = o[...] * 2
    block = pl.BlockSpec(BLOCK, rows)

    def body(x, o, p):
        i = pl.program_id(0)
        part = pl.ds(24 * i, 24)
        pltpu.emit_pipeline(add, grid=(3,), in_specs=[block], out_specs=[block])(x.at[part], o.at[part])
        pltpu.emit_pipeline(swap, grid=(3,), in_specs=[pl.BlockSpec(BLOCK, lambda i: (2 - i, 0))], out_specs=[block])(
            o.at[part], p.at[part])
    o, p = pipe_kernel(t, body, [t.x], (shape("int32", 48, 128),) * 2, grid=(2,))
    t.output("o", o)
    t.output("p", p)


def pipe_by_table(t):
    """A pipeline whose map reads the outer kernel's prefetched table at a place that the outer step gives."""
    def inner(x, o):
        o[...] = x[...]

    def body(s, x, o):
        i = pl.program_id(0)
        pltpu.emit_pipeline(inner, grid=(3,), in_specs=[pl.BlockSpec(BLOCK, lambda j: (s[3 * i + j], 0))],
                            out_specs=[pl.BlockSpec(BLOCK, rows)])(x, o.at[pl.ds(24 * i, 24)])
    o = pl.pallas_call(body, out_shape=shape("int32", 48, 128), interpret=tpu(), grid_spec=pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(2,), in_specs=[ANY], out_specs=ANY))(t.table, t.x)
    no_race("emit")
    t.modes("emit")
    t.output("o", o)


def pipe_into_block(t):
    """Inner pipelines that add to the outer pipeline's output block, which is in VMEM; three steps a block."""
    def body(x, o):
        i = pl.program_id(0)
        o[...] = jnp.zeros_like(o)

        def add(x):
            o[...] += x[...]
        pltpu.emit_pipeline(add, grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)])(x.at[pl.ds(24 * i, 24)])
    o = pl.pallas_call(body, out_shape=shape("int32", 16, 128), grid=(2,), in_specs=[ANY], out_specs=pl.BlockSpec(BLOCK, rows),
                       interpret=tpu())(t.x)
    no_race("emit")
    t.modes("emit")
    t.output("o", o)


def pipe_ragged(t):
    """A pipeline over 20 rows in blocks of 8, over a part of an array: no row outside it is touched."""
    def inner(x, o):
        o[...] = x[...] + 1

    def body(x, o):
        pltpu.emit_pipeline(inner, grid=(3,), in_specs=[pl.BlockSpec(BLOCK, rows)], out_specs=[pl.BlockSpec(BLOCK, rows)])(x, o)
    o, = pipe_kernel(t, body, [t.x], shape("int32", 20, 128))
    t.output("o", o)


def pipe_buffers_kept(t):
    """Buffers of the caller, used in every step of an outer grid and by two pipelines."""
    def inner(x, o):
        o[...] = x[...] - 9
    specs = {"in_specs": [pl.BlockSpec(BLOCK, rows)], "out_specs": [pl.BlockSpec(BLOCK, rows)]}

    def body(x, o):
        i = pl.program_id(0)
        pipeline, allocate = pltpu.emit_pipeline_with_allocations(inner, grid=(2,), **specs)

        def scoped(allocations):
            for half in range(2):
                part = pl.ds(32 * i + 16 * half, 16)
                pipeline(x.at[part], o.at[part], allocations=allocations)
        pl.run_scoped(scoped, allocate(x, o))
    o, = pipe_kernel(t, body, [t.x], shape("int32", 64, 128), grid=(2,))
    t.output("o", o)


def pipe_two_products(t):
    """A product whose left operand another pipeline of the same body has just made."""
    def double(x, z):
        z[...] = x[...] + x[...]

    def product(z, y, o):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += jnp.dot(z[...], y[...], preferred_element_type=jnp.float32)

    def body(x, y, z, o):
        block = pl.BlockSpec((16, 128), lambda i, j: (i, j))
        pltpu.emit_pipeline(double, grid=(2, 2), in_specs=[block], out_specs=[block])(x, z)
        pltpu.emit_pipeline(product, grid=(2, 2), in_specs=[block, pl.BlockSpec((128, 128), lambda i, k: (k, 0))],
                            out_specs=[pl.BlockSpec((16, 128), lambda i, k: (i, 0))])(z, y, o)
    z, o = pipe_kernel(t, body, [t.x, t.y], (shape("bf16", 32, 256), shape("f32", 32, 128)))
    t.output("z", z)
    t.output("o", o)


def kernel_permute(t):
    """pl.kernel: rows of a mutable array change places, by a table in SMEM."""
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)
    x_ref, s_ref = jax.new_ref(t.x), jax.new_ref(t.table)

    @pl.kernel(mesh=mesh, interpret=tpu(), scratch_types=[pltpu.SMEM((4,), jnp.int32), vmem(32, 128)])
    def run(x, s, table, v):
        pltpu.sync_copy(s, table)
        pltpu.sync_copy(x, v)
        for i in range(4):
            pltpu.sync_copy(v.at[pl.ds(8 * i, 8)], x.at[pl.ds(8 * table[i], 8)])
    run(x_ref, s_ref)
    t.modes("tpu")
    t.output("o", np.asarray(x_ref[...]))


def views_of_views(t):
    """Slices of slices, with an index and a stride between them, for reading and for writing."""
    def body(x, o):
        o[...] = jnp.zeros_like(o)
        o.at[pl.ds(2, 12)].at[pl.ds(1, 4)].at[:, pl.ds(16, 32)][...] = x.at[1].at[pl.ds(3, 9)].at[pl.ds(2, 4)][:, pl.ds(7, 32)]
        o.at[pl.ds(8, 8)][pl.ds(0, 4, 2), :] = x.at[0][pl.ds(1, 4, 3), :]
    o, = t.call(body, [t.x], shape("int32", 16, 64), modes=["hlo", "tpu"])
    t.modes("hlo", "tpu")
    t.output("o", o)


def types_in_turn(t):
    """f32 to bf16 to f32 to int32 to int8, a block each."""
    def body(x, a, b, c, d):
        a[...] = x[...].astype(jnp.bfloat16)
        b[...] = a[...].astype(jnp.float32)
        c[...] = b[...].astype(jnp.int32)
        d[...] = c[...].astype(jnp.int8)
    spec = pl.BlockSpec((16, 64), lambda i: (i, 0))
    results = t.call(body, [t.x], tuple(shape(n, 32, 64) for n in ("bf16", "f32", "int32", "int8")), grid=(2,), in_specs=[spec],
                     out_specs=[spec] * 4, modes=["hlo", "tpu"])
    t.modes("hlo", "tpu")
    for name, value in zip("abcd", results):
        t.output(name, value)
