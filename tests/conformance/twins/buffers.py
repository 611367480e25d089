# SPDX-License-Identifier: MIT
"""Buffering and revisiting: how many copies, which block, and what is refused."""
from twins.common import (ANY, Disagreement, copy_body, jax, jnp, no_race, np, pallas_call, pl, pltpu, recording, shape, tpu)


def buffered(block, index_map, n, **more):
    return pl.BlockSpec(block, index_map, pipeline_mode=pl.Buffered(n, **more))


def buffer_copy(t):
    """T14: every number of buffers gives the same result and the same 16 copies."""
    for n_in in (1, 2, 3, 4):
        for n_out in (1, 2):
            o, = t.call(copy_body, [t.x], shape("int32", 32, 512), grid=(4, 4), modes=["emit"],
                        in_specs=[buffered((8, 128), lambda i, j: (i, j), n_in)],
                        out_specs=[buffered((8, 128), lambda i, j: (i, j), n_out)])
            t.output("o", o)
    t.modes("emit")


def accumulate(x, y, o):
    @pl.when(pl.program_id(2) == 0)
    def _():
        o[...] = jnp.zeros_like(o)
    o[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)


def buffer_matmul(t):
    """T15: the output block stays while k runs."""
    for n in (2, 4):
        o, = t.call(accumulate, [t.x, t.y], shape("f32", 64, 256), grid=(2, 2, 2), modes=["emit"],
                    in_specs=[buffered((32, 128), lambda i, j, k: (i, k), n),
                              buffered((128, 128), lambda i, j, k: (k, j), n)],
                    out_specs=[pl.BlockSpec((32, 128), lambda i, j, k: (i, j))])
        t.output("o", o)


TABLES = ("repeat", "runs", "tail", "cycle")


def buffer_gather(t):
    """T16: which blocks a table in SMEM names; runs of equal ones cost one copy."""
    for name in TABLES:
        for n in (2, 4):
            for lookahead in (False, True):
                o, = t.call(lambda table, x, o: copy_body(x, o), [t.x], shape("int32", 80, 128), grid=(10,), modes=["emit"],
                            prefetch=[getattr(t, name)],
                            in_specs=[buffered((8, 128), lambda i, table: (table[i], 0), n, use_lookahead=lookahead)],
                            out_specs=[pl.BlockSpec((8, 128), lambda i, table: (i, 0))])
                t.output(f"o_{name}", o)


def buffer_single_output(t):
    """T18: one buffer, an accumulation over the inner dimension."""
    def body(one, o):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += one[...]

    o, = t.call(body, [t.one], shape("f32", 16, 128), grid=(2, 3), in_specs=[pl.BlockSpec((8, 128), lambda i, j: (0, 0))],
                out_specs=[buffered((8, 128), lambda i, j: (i, 0), 1)], modes=["emit"])
    t.output("o", o)


def buffer_three_outputs(t):
    """Three buffers of an output: JAX refuses what works here."""
    t.raises("NotImplementedError", "", lambda: t.call(
        copy_body, [t.x], shape("int32", 40, 128), grid=(5,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=[buffered((8, 128), lambda i: (i, 0), 3)], modes=["emit"]))
    for _ in (3, 5):
        t.output("o", t.x)


def buffer_short(t):
    """T24: fewer steps than buffers. JAX is asked where it does not leave copies in flight (N >= n - 1)."""
    for steps in (1, 2, 3):
        for n in (3, 4, 5):
            want = np.asarray(t.x)[:8 * steps]
            if steps >= n - 1:
                o, = t.call(copy_body, [t.x], shape("int32", 8 * steps, 128), grid=(steps,), modes=["emit"],
                            in_specs=[buffered((8, 128), lambda i: (i, 0), n)],
                            out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))])
                if not np.array_equal(o, want):
                    raise Disagreement("a copy is not a copy")
            t.output(f"o_{steps}", want)


def buffer_constant(t):
    """T22: a window that is the whole array and cannot change is copied once."""
    def body(x, o):
        o[...] = x[...] + x[...]
    for n in (None, 2):
        more = {"pipeline_mode": pl.Buffered(n)} if n else {}
        o, = t.call(body, [t.x], shape("int32", 16, 128), grid=(4,), in_specs=[pl.BlockSpec((16, 128), lambda i: (0, 0), **more)],
                    out_specs=[pl.BlockSpec((16, 128), lambda i: (0, 0), **more)], modes=["emit"])
        t.output("o", o)


def buffer_constant_one(t):
    """A map that depends on a dimension of extent 1 only."""
    o, = t.call(copy_body, [t.x], shape("int32", 16, 128), grid=(3, 1), modes=["emit"],
                in_specs=[pl.BlockSpec((16, 128), lambda i, j: (j, 0))], out_specs=[pl.BlockSpec((16, 128), lambda i, j: (j, 0))])
    t.output("o", o)


def buffer_output_runs(t):
    """Output blocks 0 0 1 1 1 2: three write-backs, each after the run's last step."""
    def body(table, x, o):
        o[...] = x[...]
    o, = t.call(body, [t.x], shape("int32", 24, 128), grid=(6,), prefetch=[t.table],
                in_specs=[pl.BlockSpec((8, 128), lambda i, table: (i, 0))],
                out_specs=[pl.BlockSpec((8, 128), lambda i, table: (table[i], 0))])
    t.output("o", o)


def buffer_partial_write(t):
    """The body writes four of eight rows; the others are undefined, whether flushed or not."""
    def body(x, o):
        o[:4, :] = x[:4, :]
    o, = t.call(body, [t.x], shape("int32", 24, 128), grid=(3,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))], compare=lambda o: o.reshape(3, 8, 128)[:, :4])
    t.output("o", o, mask=np.arange(24)[:, None] % 8 < 4)


def buffer_revisit_any(t):
    """T19: sums over i into blocks (0, j); every block is come back to."""
    def body(x, o):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += x[...]
    t.modes("hlo")
    problem = {"body": body, "args": [t.x], "shapes": (shape("f32", 8, 384),), "grid": (3, 3),
               "in_specs": [pl.BlockSpec((8, 128), lambda i, j: (i, j))],
               "out_specs": [buffered((8, 128), lambda i, j: (0, j), 1, revisit=pl.RevisitMode.ANY)], "scratch": (),
               "prefetch": (), "aliases": {}, "semantics": None}
    t.output("o", np.asarray(pallas_call(problem, True)[0]))


def buffer_revisit_error(t):
    """T20: output 1 comes back to its block (0, 0) in step (2, 0)."""
    def body(x, o, p):
        o[...] = x[...]
        p[...] = x[...]
    t.modes("tpu")
    problem = {"body": body, "args": [t.x], "shapes": (shape("int32", 32, 256), shape("int32", 16, 256)), "grid": (4, 4),
               "in_specs": [pl.BlockSpec((8, 128), lambda i, j: (i, 0))],
               "out_specs": [pl.BlockSpec((8, 128), lambda i, j: (i, j // 2)),
                             pl.BlockSpec((8, 128), lambda i, j: (j // 2, i % 2))],
               "scratch": (), "prefetch": (), "aliases": {}, "semantics": None}
    t.raises("RuntimeError", r"[Rr]evisited block .* of output 1 .*\(2, 0\)", lambda: pallas_call(problem, tpu()))


def inout_pipeline(body, x, z, shapes, grid, in_specs, z_spec, n=2):
    """emit_pipeline whose last operand is INPUT_OUTPUT, over a copy of z."""
    def outer(x_ref, z_in, o_ref):
        pltpu.sync_copy(z_in, o_ref)
        make = pltpu.emit_pipeline(body, grid=grid, in_specs=in_specs, out_specs=[z_spec])
        allocations = [pltpu.BufferedRef.input(s, jax.typeof(x), 2, grid_rank=len(grid), source_memory_space=pl.ANY)
                       for s in in_specs]
        allocations.append(pltpu.BufferedRef.input_output(z_spec, jax.typeof(z), n, source_memory_space=pl.ANY))
        pl.run_scoped(lambda a: make(x_ref, o_ref, allocations=a), tuple(allocations))

    with recording() as recorder:
        o = np.asarray(pl.pallas_call(outer, out_shape=shapes, in_specs=[ANY, ANY], out_specs=ANY, interpret=tpu())(x, z))
    return o, recorder


def buffer_inout(t):
    """T25: a sum into what the output held before; four steps a block."""
    def body(x, z):
        z[...] += x[...]
    t.modes("emit")
    o, _ = inout_pipeline(body, t.x, t.z, shape("int32", 24, 128), (3, 4), [pl.BlockSpec((8, 128), lambda i, j: (4 * i + j, 0))],
                          pl.BlockSpec((8, 128), lambda i, j: (i, 0)))
    no_race("emit")
    t.output("o", o)


def buffer_inout_every_step(t):
    """A new block in every step: JAX reports a race in its own schedule here with two buffers; with one it does not."""
    def body(x, z):
        z[...] += x[...]
    t.modes("emit")
    o, _ = inout_pipeline(body, t.x, t.z, shape("int32", 64, 128), (8,), [pl.BlockSpec((8, 128), lambda i: (i, 0))],
                          pl.BlockSpec((8, 128), lambda i: (i, 0)), n=1)
    no_race("emit")
    for name in ("o", "o_2", "o_3"):
        t.output(name, o)


def buffer_inout_back(t):
    """Blocks 0 1 0 2 1 0: an INOUT operand may come back, in any number of buffers."""
    z = np.asarray(t.z).copy()
    for step, block in enumerate(np.asarray(t.table)):
        z[8 * block:8 * block + 8] += np.asarray(t.x)[8 * step:8 * step + 8]
    for name in ("o", "o_2", "o_3"):
        t.output(name, z)


def pipelines(case):
    """Random pipelines of one input and one output over three blocks; numbers as the kernel makes them."""
    state = case["random_seed"]

    def number(n):
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        return (state >> 16) % n
    for _ in range(case["random_cases"]):
        steps = 1 + number(8)
        n_in, n_out, lookahead = 1 + number(4), 1 + number(2), number(2)
        blocks = [number(3) for _ in range(steps)]
        runs, out = number(2), 0
        outs = []
        for i in range(steps):
            out += i > 0 and number(2)
            outs.append(out if runs else i)
        yield steps, n_in, n_out, bool(lookahead), blocks, outs


def buffer_random(t):
    """T28: random tables, numbers of buffers and lookahead; results and copies of each."""
    rows = 0
    total = np.zeros((8 * t.case["random_rows"], 128), np.int32)
    for steps, n_in, n_out, lookahead, blocks, outs in pipelines(t.case):
        lookahead = lookahead and n_in > 1  # JAX hangs with lookahead and one buffer
        tables = [jnp.asarray(blocks, jnp.int32), jnp.asarray(outs, jnp.int32)]
        if steps >= n_in - 1:
            o, = t.call(lambda b, p, x, o: copy_body(x, o), [t.x], shape("int32", 8 * (outs[-1] + 1), 128), grid=(steps,),
                        modes=["emit"], prefetch=tables,
                        in_specs=[buffered((8, 128), lambda i, b, p: (b[i], 0), n_in, use_lookahead=lookahead)],
                        out_specs=[buffered((8, 128), lambda i, b, p: (p[i], 0), n_out)])
        else:  # JAX would leave copies in flight
            o = np.zeros((8 * (outs[-1] + 1), 128), np.int32)
            for i, (block, out) in enumerate(zip(blocks, outs)):
                o[8 * out:8 * out + 8] = np.asarray(t.x)[8 * block:8 * block + 8]
            t.copies.append([sum(i == 0 or b != blocks[i - 1] for i, b in enumerate(blocks)), outs[-1] + 1])
        total[rows:rows + len(o)] = o
        rows += len(o)
    if rows > len(total):
        raise Disagreement(f"random_rows must be at least {rows // 8}")
    t.output("o", total, rest=np.broadcast_to(np.arange(len(total))[:, None] < rows, total.shape))


def buffer_poison(t):
    """T27: in poison mode what the body leaves unwritten is NaN or the least int."""
    o = np.full((24, 128), np.nan, np.float32)
    p = np.full((24, 128), np.iinfo(np.int32).min, np.int32)
    for first in (0, 8, 16):
        o[first:first + 4] = np.asarray(t.x)[first:first + 4]
        p[first:first + 4] = np.asarray(t.y)[first:first + 4]
    t.output("o", o)
    t.output("p", p)


def buffer_lookahead_one(t):
    """Lookahead with one buffer: JAX waits for ever; here it is one buffer."""
    t.output("o", np.concatenate([np.asarray(t.x)[8 * b:8 * b + 8] for b in np.asarray(t.table)]))
