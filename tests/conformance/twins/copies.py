# SPDX-License-Identifier: MIT
"""Asynchronous copies and semaphores, in a kernel that has its arrays in HBM."""
from twins.common import ANY, jax, jnp, no_race, np, pl, pltpu, shape, tpu

DMA = pltpu.SemaphoreType.DMA
BLOCK = (8, 128)


def kernel(t, body, args, out_shape, scratch=(), grid=(), **options):
    """A kernel over whole arrays in HBM, in both ways in which JAX executes copies."""
    results = []
    for execution in ("on_wait", "eager"):
        o = pl.pallas_call(body, out_shape=out_shape, in_specs=[ANY] * len(args), out_specs=jax.tree.map(lambda _: ANY, out_shape),
                           scratch_shapes=list(scratch), grid=grid,
                           interpret=tpu(dma_execution_mode=execution, **options))(*args)
        no_race("tpu")
        results.append([np.asarray(r) for r in jax.tree.leaves(o)])
    t.modes("tpu")
    assert all(np.array_equal(a, b) for a, b in zip(*results))
    return results[0]


def copy_spaces(t):
    """HBM to HBM, to VMEM and back, VMEM to VMEM, slices of each."""
    def body(x, o, v, w, sem):
        pltpu.async_copy(x.at[pl.ds(0, 8)], o.at[pl.ds(24, 8)], sem).wait()
        pltpu.async_copy(x.at[pl.ds(8, 8)], v, sem).wait()
        pltpu.async_copy(v, w, sem).wait()
        pltpu.async_copy(w, o.at[pl.ds(0, 8)], sem).wait()
        pltpu.async_copy(x.at[pl.ds(16, 4)], v.at[pl.ds(4, 4)], sem).wait()
        pltpu.async_copy(v, o.at[pl.ds(8, 8)], sem).wait()
        pltpu.async_copy(v.at[pl.ds(2, 4)], o.at[pl.ds(16, 4)], sem).wait()
        pltpu.async_copy(x.at[pl.ds(28, 4)], o.at[pl.ds(20, 4)], sem).wait()

    o, = kernel(t, body, [t.x], shape("int32", 32, 128), [pltpu.VMEM(BLOCK, jnp.int32)] * 2 + [DMA])
    t.output("o", o)


def copy_smem(t):
    """SMEM both ways; the scalar core changes it between."""
    def body(x, o, s, sem):
        pltpu.async_copy(x, s, sem).wait()
        s[2] = s[2] + s[0]
        s[0] = 17
        pltpu.async_copy(s, o, sem).wait()
    o, = kernel(t, body, [t.x], shape("int32", 16), [pltpu.SMEM((16,), jnp.int32), DMA])
    t.output("o", o)


def copy_shared_semaphore(t):
    """Three copies at once on one semaphore, waited for one by one."""
    def body(x, o, v, sem):
        copies = [pltpu.make_async_copy(x.at[pl.ds(8 * i, 8)], v.at[pl.ds(8 * (2 - i), 8)], sem) for i in range(3)]
        for c in copies:
            c.start()
        for c in copies:
            c.wait()
        pltpu.sync_copy(v, o)
    o, = kernel(t, body, [t.x], shape("int32", 24, 128), [pltpu.VMEM((24, 128), jnp.int32), DMA])
    t.output("o", o)


def copy_wait_for_sum(t):
    """Two copies, one wait for the sum of their bytes: a wait uses its descriptor's byte count only."""
    def body(x, o, v, sem):
        pltpu.make_async_copy(x.at[pl.ds(0, 8)], v.at[pl.ds(8, 8)], sem).start()
        pltpu.make_async_copy(x.at[pl.ds(8, 8)], v.at[pl.ds(0, 8)], sem).start()
        pltpu.make_async_copy(x, v, sem).wait()
        pltpu.sync_copy(v, o)
    o, = kernel(t, body, [t.x], shape("int32", 16, 128), [pltpu.VMEM((16, 128), jnp.int32), DMA])
    t.output("o", o)


def copy_priority(t):
    """Priorities change no result."""
    def body(x, o, v, sem):
        a = pltpu.make_async_copy(x.at[pl.ds(0, 8)], v.at[pl.ds(0, 8)], sem.at[0])
        b = pltpu.make_async_copy(x.at[pl.ds(8, 8)], v.at[pl.ds(8, 8)], sem.at[1])
        a.start(priority=0)
        b.start(priority=1)
        b.wait()
        a.wait()
        pltpu.sync_copy(v, o)
    o, = kernel(t, body, [t.x], shape("int32", 16, 128), [pltpu.VMEM((16, 128), jnp.int32), DMA((2,))])
    t.output("o", o)


def copy_dynamic(t):
    """Sizes from a table: 4, 0 and 16 rows; what is not copied stays. (JAX fails if the first wait is for 0 bytes.)"""
    def body(x, sizes, o, s, sem):
        pltpu.sync_copy(sizes, s)
        for i in range(3):
            n = s[i]
            pltpu.async_copy(x.at[pl.ds(8, n)], o.at[pl.ds(16 * i, n)], sem).wait()
    o, = kernel(t, body, [t.x, t.sizes], shape("int32", 48, 128), [pltpu.SMEM((3,), jnp.int32), DMA])
    row = np.arange(48)
    t.output("o", o, rest=np.broadcast_to(((row % 16) < np.array([4, 0, 16])[row // 16])[:, None], (48, 128)))


def copy_double_buffer(t):
    """A pipeline by hand: two slots, a semaphore each."""
    def body(x, o, v, w, sem):
        def fetch(i, slot):
            return pltpu.make_async_copy(x.at[pl.ds(8 * i, 8)], v.at[slot], sem.at[slot])
        fetch(0, 0).start()
        for i in range(5):
            if i + 1 < 5:
                fetch(i + 1, (i + 1) % 2).start()
            fetch(i, i % 2).wait()
            w[...] = v[i % 2] * 2
            pltpu.sync_copy(w, o.at[pl.ds(8 * i, 8)])
    o, = kernel(t, body, [t.x], shape("int32", 40, 128), [pltpu.VMEM((2, *BLOCK), jnp.int32), pltpu.VMEM(BLOCK, jnp.int32), DMA((2,))])
    t.output("o", o)


def copy_split_steps(t):
    """Started in step s, waited for in step s + 1."""
    def body(x, o, v, w, sem):
        s = pl.program_id(0)

        def fetch(i):
            return pltpu.make_async_copy(x.at[pl.ds(8 * i, 8)], v.at[jax.lax.rem(i, 2)], sem)

        @pl.when(s == 0)
        def _():
            fetch(0).start()
        fetch(s).wait()

        @pl.when(s + 1 < pl.num_programs(0))
        def _():
            fetch(s + 1).start()
        w[...] = v[jax.lax.rem(s, 2)] + 1
        pltpu.sync_copy(w, o.at[pl.ds(8 * s, 8)])
    o, = kernel(t, body, [t.x], shape("int32", 32, 128), [pltpu.VMEM((2, *BLOCK), jnp.int32), pltpu.VMEM(BLOCK, jnp.int32), DMA],
                grid=(4,))
    t.output("o", o)


def copy_planes(t):
    """Planes and rows by index, of rank 3 and 4; a window in the middle of each dimension."""
    def body(x, o, v, sem):
        pltpu.async_copy(x.at[1, 2], v, sem).wait()
        pltpu.async_copy(v, o.at[0], sem).wait()
        pltpu.async_copy(x.at[0, pl.ds(1, 2)], o.at[pl.ds(1, 2)], sem).wait()
        pltpu.async_copy(x.at[1, 0, pl.ds(2, 4), pl.ds(32, 64)], o.at[3, pl.ds(3, 4), pl.ds(64, 64)], sem).wait()
    o, = kernel(t, body, [t.x], shape("int32", 4, 8, 128), [pltpu.VMEM(BLOCK, jnp.int32), DMA])
    rest = np.ones((4, 8, 128), bool)
    rest[3] = False
    rest[3, 3:7, 64:128] = True
    t.output("o", o, rest=rest)


def copy_list(t):
    """sync_copy of several at once."""
    def body(x, y, o, p):
        pltpu.sync_copy((x, y), (o, p))
    o, p = kernel(t, body, [t.x, t.y], (shape("int32", 8, 128), shape("f32", 4, 128)))
    t.output("o", o)
    t.output("p", p)


def semaphore_arithmetic(t):
    """T35: signals and waits in several portions."""
    def body(x, o, v, sem):
        pl.semaphore_signal(sem, 1)
        pl.semaphore_wait(sem, 1)
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 1)
        pl.semaphore_wait(sem, 1)
        for _ in range(3):
            pl.semaphore_signal(sem, 1)
        for _ in range(3):
            pl.semaphore_wait(sem, 1)
        pltpu.sync_copy(x, v)
        v[...] = v[...] + 1
        pltpu.sync_copy(v, o)
    o, = kernel(t, body, [t.x], shape("int32", *BLOCK), [pltpu.VMEM(BLOCK, jnp.int32), pltpu.SemaphoreType.REGULAR])
    t.output("o", o)


def semaphore_read(t):
    """T35: the values that reads give between signals and waits."""
    def body(o, sem):
        for v in range(6):
            pl.semaphore_signal(sem, v)
            o[0, v] = pl.semaphore_read(sem)
            if v:
                pl.semaphore_wait(sem, v)
    t.modes("hlo")
    o = pl.pallas_call(body, out_shape=shape("int32", 1, 6), out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
                       scratch_shapes=[pltpu.SemaphoreType.REGULAR], interpret=True)()
    t.output("o", np.asarray(o))


def semaphore_array(t):
    """An array of 4 x 3, the element by program id."""
    def body(x, o, v, sem):
        i, j = pl.program_id(0), pl.program_id(1)
        pl.semaphore_signal(sem.at[i, j], 2)
        pl.semaphore_wait(sem.at[i, j], 2)
        pltpu.sync_copy(x.at[pl.ds(3 * i + j, 1)], v)
        pltpu.sync_copy(v, o.at[pl.ds(11 - 3 * i - j, 1)])
    o, = kernel(t, body, [t.x], shape("int32", 12, 128), [pltpu.VMEM((1, 128), jnp.int32), pltpu.SemaphoreType.REGULAR((4, 3))],
                grid=(4, 3))
    t.output("o", o)


def copy_past_end(t):
    """T40: rows 12 to 19 of 16."""
    def body(x, o, s, sem):
        s[0] = 12
        pltpu.async_copy(x.at[pl.ds(s[0], 8)], o.at[pl.ds(0, 8)], sem).wait()
    t.modes("tpu")
    t.raises("IndexError", "Out-of-bounds read", lambda: kernel(t, body, [t.x], shape("int32", 16, 128),
                                                               [pltpu.SMEM((1,), jnp.int32), DMA], buffer_bounds="logical"))


def core_barrier(t):
    """A barrier of one core changes nothing."""
    t.output("o", t.x)


def races(t, body, args, out_shape, scratch):
    """The race detector must report something, in both ways in which JAX executes copies."""
    from twins.common import Disagreement, interpreter
    t.modes("tpu")
    for execution in ("on_wait", "eager"):
        pl.pallas_call(body, out_shape=out_shape, in_specs=[ANY] * len(args), out_specs=ANY, scratch_shapes=scratch,
                       interpret=tpu(dma_execution_mode=execution))(*args).block_until_ready()
        found = interpreter.races.races_found
        pltpu.reset_tpu_interpret_mode_state()
        if not found:
            raise Disagreement(f"no race is reported with copies executed {execution}")
    t.errors.append("race reported")


def race_missing_wait(t):
    """T38: the destination is read between start and wait."""
    def body(x, o, v, w, sem):
        copy = pltpu.async_copy(x, v, sem)
        w[...] = v[...] + 1
        copy.wait()
        pltpu.sync_copy(w, o)
    races(t, body, [t.x], shape("int32", *BLOCK), [pltpu.VMEM(BLOCK, jnp.int32)] * 2 + [DMA])


def race_source(t):
    """The source is overwritten between start and wait."""
    def body(x, o, v, sem):
        pltpu.sync_copy(x, v)
        copy = pltpu.async_copy(v, o, sem)
        v[...] = jnp.zeros_like(v)
        copy.wait()
    races(t, body, [t.x], shape("int32", *BLOCK), [pltpu.VMEM(BLOCK, jnp.int32), DMA])
