# SPDX-License-Identifier: MIT
"""Variants of what blocks, buffers and state have, together: edges, kinds, types, tables, buffers, aliasing."""
from twins.common import ANY, Disagreement, copy_body, jnp, no_race, np, pl, pltpu, shape
from twins.buffers import buffered, inout_pipeline


def rows(i, *_):
    return i, 0


def ragged_three(t):
    """Rank 3, ragged in every dimension, the last one not a multiple of the lanes."""
    spec = pl.BlockSpec((2, 16, 48), lambda i, j, k: (i, j, k))
    o, = t.call(copy_body, [t.x], shape("bf16", 5, 40, 100), grid=(3, 3, 3), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def ragged_mixed(t):
    """Operands of three types, each with an edge of its own; the result is cast."""
    def body(x, y, o, p):
        o[...] = x[...].astype(jnp.int32)
        p[...] = y[...].astype(jnp.bfloat16)
    o, p = t.call(body, [t.x, t.y], (shape("int32", 50, 70), shape("bf16", 40, 36)), grid=(3, 2),
                  in_specs=[pl.BlockSpec((24, 40), lambda i, j: (i, j)), pl.BlockSpec((16, 20), lambda i, j: (i, j))],
                  out_specs=[pl.BlockSpec((24, 40), lambda i, j: (i, j)), pl.BlockSpec((16, 20), lambda i, j: (i, j))])
    t.output("o", o)
    t.output("p", p)


def squeezed_two(t):
    """Two squeezed dimensions, one of them in the middle, on one side only."""
    o, = t.call(copy_body, [t.x], shape("int32", 6, 16, 32), grid=(2, 3, 2),
                in_specs=[pl.BlockSpec((None, 8, None, 32), lambda i, j, k: (i, k, j, 0))],
                out_specs=[pl.BlockSpec((None, 8, 32), lambda i, j, k: (3 * i + j, k, 0))])
    t.output("o", o)


def squeezed_last(t):
    """A squeezed last dimension: every third element of memory."""
    o, = t.call(copy_body, [t.x], shape("int32", 3, 16, 32), grid=(3, 2),
                in_specs=[pl.BlockSpec((8, 32, None), lambda i, j: (j, 0, i))],
                out_specs=[pl.BlockSpec((None, 8, 32), lambda i, j: (i, j, 0))])
    t.output("o", o)


def element_both(t):
    """Windows that overlap in both dimensions."""
    o, = t.call(copy_body, [t.x], shape("int32", 32, 48), grid=(4, 3),
                in_specs=[pl.BlockSpec((pl.Element(8), pl.Element(16)), lambda i, j: (3 * i, 5 * j))],
                out_specs=[pl.BlockSpec((8, 16), lambda i, j: (i, j))])
    t.output("o", o)


def element_backwards(t):
    """Windows from the end to the start, each for two steps: four copies of eight."""
    o, = t.call(lambda s, x, o: copy_body(x, o), [t.x], shape("f32", 64, 128), grid=(8,), prefetch=[t.table],
                in_specs=[pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i, s: (s[i], 0))],
                out_specs=[pl.BlockSpec((8, 128), rows)])
    t.output("o", o)


def element_out_gaps(t):
    """Output windows with gaps between them: what is in the gaps is not written."""
    o, = t.call(copy_body, [t.x], shape("int32", 44, 128), grid=(4,), in_specs=[pl.BlockSpec((8, 128), rows)],
                out_specs=[pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i: (11 * i + 2, 0))], compare=gaps)
    t.output("o", o, rest=np.broadcast_to(gap_rows(), o.shape))


def gap_rows():
    row = np.arange(44) % 11
    return ((row >= 2) & (row < 10))[:, None]


def gaps(o):
    return np.where(gap_rows(), o, 0)


def bounded_zero(t):
    """Sizes 3, 8, 0, 5, 0: a size of 0 moves nothing and is no copy. (JAX fails if the first wait is for 0 bytes.)"""
    spec = pl.BlockSpec((pl.BoundedSlice(8), 8, 128), lambda i, s: (pl.ds(s[i, 0], s[i, 1]), 0, 0))
    o, = t.call(lambda s, x, o: copy_body(x, o), [t.x], shape("int32", 16, 8, 128), grid=(5,), in_specs=[spec], out_specs=[spec],
                prefetch=[t.table])
    t.output("o", o)


def bounded_and_blocked(t):
    """A bounded dimension and blocked ones that run within it."""
    spec = pl.BlockSpec((pl.BoundedSlice(6), 8, 128), lambda i, j, s: (pl.ds(s[i], s[i + 1] - s[i]), j, 0))
    o, = t.call(lambda s, x, o: copy_body(x, o), [t.x], shape("int32", 12, 16, 128), grid=(3, 2), in_specs=[spec],
                out_specs=[spec], prefetch=[t.starts])
    t.output("o", o)


def every_buffer_count(t):
    """1 to 5 buffers of an input, 1 to 5 of an output, of which JAX takes two; blocks with repeats."""
    for n_in in (1, 2, 3, 4, 5):
        for n_out in (1, 2):
            o, = t.call(lambda s, x, o: copy_body(x, o), [t.x], shape("int32", 56, 128), grid=(7,), modes=["emit"],
                        prefetch=[t.table], in_specs=[buffered((8, 128), lambda i, s: (s[i], 0), n_in)],
                        out_specs=[buffered((8, 128), rows, n_out)])
            t.output("o", o)
        for _ in (3, 4, 5):
            t.copies.append(t.copies[-1])
    t.modes("emit")


def lookahead_one_of_two(t):
    """Lookahead on one input beside another without; tables with long and short runs."""
    def body(s, u, x, y, o):
        o[...] = x[...] - y[...]
    for n in (2, 3, 5):
        o, = t.call(body, [t.x, t.y], shape("int32", 72, 128), grid=(9,), modes=["emit"], prefetch=[t.first, t.second],
                    in_specs=[buffered((8, 128), lambda i, s, u: (s[i], 0), n, use_lookahead=True),
                              buffered((8, 128), lambda i, s, u: (u[i], 0), 2)],
                    out_specs=[pl.BlockSpec((8, 128), lambda i, s, u: (i, 0))])
        t.output("o", o)


def two_outputs(t):
    """One output changes in every step, the other stays for a run and is an accumulator."""
    def body(x, o, p):
        @pl.when(pl.program_id(1) == 0)
        def _():
            p[...] = jnp.zeros_like(p)
        p[...] += x[...]
        o[...] = x[...] * x[...]
    o, p = t.call(body, [t.x], (shape("int32", 96, 128), shape("int32", 24, 128)), grid=(3, 4),
                  in_specs=[pl.BlockSpec((8, 128), lambda i, j: (4 * i + j, 0))],
                  out_specs=[pl.BlockSpec((8, 128), lambda i, j: (4 * i + j, 0)), pl.BlockSpec((8, 128), lambda i, j: (i, 0))])
    t.output("o", o)
    t.output("p", p)


def sum_over_runs(t):
    """Output blocks 1 1 0 3 3 3 2: each the sum of its run."""
    def body(s, x, o):
        i = pl.program_id(0)
        first = jnp.logical_or(i == 0, s[jnp.maximum(i - 1, 0)] != s[i])

        @pl.when(first)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += x[...]
    o, = t.call(body, [t.x], shape("int32", 32, 128), grid=(7,), prefetch=[t.table], in_specs=[pl.BlockSpec((8, 128), rows)],
                out_specs=[pl.BlockSpec((8, 128), lambda i, s: (s[i], 0))])
    t.output("o", o)


def inout_runs(t):
    """INOUT over blocks that stay for two steps and for three."""
    def body(x, z):
        z[...] = z[...] * 2 + x[...]
    t.modes("emit")
    o, _ = inout_pipeline(body, t.x, t.z, shape("int32", 24, 128), (3, 2), [pl.BlockSpec((8, 128), lambda i, j: (2 * i + j, 0))],
                          pl.BlockSpec((8, 128), lambda i, j: (2 - i, 0)))
    no_race("emit")
    t.output("o", o)


def revisit_two(t):
    """Coming back to every block of a 2-D output: it is loaded again."""
    def body(x, o):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        o[...] += x[...]
    o, = t.call(body, [t.x], shape("f32", 16, 256), grid=(3, 2, 2), modes=["hlo"],
                in_specs=[pl.BlockSpec((8, 128), lambda k, i, j: (2 * k + i, j))],
                out_specs=[pl.BlockSpec((8, 128), lambda k, i, j: (i, j))])
    t.modes("hlo")
    t.output("o", o)


def alias_ragged(t):
    """An aliased array with an edge; every second block is not visited and keeps its values."""
    spec = pl.BlockSpec((8, 48), lambda i, j: (i, 2 * j))
    o, = t.call(lambda x, o: o.__setitem__(..., x[...] - 7), [t.x], shape("int32", 20, 130), grid=(3, 2), aliases={0: 0},
                in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def alias_crossed(t):
    """Two aliased pairs, crossed: output 0 is input 1 and the other way round."""
    def body(x, y, o, p):
        o[...] = x[...] + y[...]
        p[...] = x[...] - y[...]
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    o, p = t.call(body, [t.x, t.y], (shape("int32", 24, 128),) * 2, grid=(3,), aliases={0: 1, 1: 0}, in_specs=[spec, spec],
                  out_specs=[spec, spec])
    t.output("o", o)
    t.output("p", p)


def alias_scatter(t):
    """Blocks named by a table are written into an array that they are not read from; the others survive."""
    def body(s, x, z, o):
        o[...] = x[...]
    o, = t.call(body, [t.x, t.z], shape("int32", 48, 128), grid=(3,), prefetch=[t.table], aliases={2: 0},
                in_specs=[pl.BlockSpec((8, 128), rows), ANY], out_specs=[pl.BlockSpec((8, 128), lambda i, s: (s[i], 0))],
                modes=["hlo", "tpu"])
    t.modes("hlo", "tpu")
    t.output("o", o)


def prefetch_three(t):
    """Three tables of ranks 1, 2 and 3 and three types, all in one map."""
    def index(i, j, a, b, c):
        return a[i] + b[i, j].astype(jnp.int32) + c[j, 0, i].astype(jnp.int32), 0
    o, = t.call(lambda a, b, c, x, o: copy_body(x, o), [t.x], shape("int32", 48, 128), grid=(3, 2), prefetch=[t.a, t.b, t.c],
                in_specs=[pl.BlockSpec((8, 128), index)], out_specs=[pl.BlockSpec((8, 128), lambda i, j, *_: (2 * i + j, 0))])
    t.output("o", o)


def maps_with_arithmetic(t):
    """Maps with min, max, select and remainders, as causal attention and ragged kernels have them."""
    visited = written(64, 256, [(2 * i + j // 2, j) for i in range(4) for j in range(4)], 8, 64)
    o, = t.call(copy_body, [t.x], shape("int32", 64, 256), grid=(4, 4), compare=lambda o: np.where(visited, o, 0),
                in_specs=[pl.BlockSpec((8, 64), lambda i, j: (jnp.minimum(i, j), jnp.where(j > i, 3 - j, (i + j) % 4)))],
                out_specs=[pl.BlockSpec((8, 64), lambda i, j: (2 * i + j // 2, j))])
    t.output("o", o, rest=visited)


def written(m, n, blocks, height, width):
    rest = np.zeros((m, n), bool)
    for i, j in blocks:
        rest[height * i:height * (i + 1), width * j:width * (j + 1)] = True
    return rest


def dynamic_mixed(t):
    """A run-time extent between static ones; every step counts, num_programs in body and map."""
    def run(n):
        def body(x, o):
            @pl.when(jnp.logical_and(pl.program_id(1) == 0, pl.program_id(2) == 0))
            def _():
                o[...] = x[...]
            o[...] += 10 * pl.num_programs(1) + pl.program_id(2)
        return t.call(body, [t.x], shape("int32", 16, 128), grid=(2, n, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, j, k: (i, 0))],
                      out_specs=[pl.BlockSpec((8, 128), lambda i, j, k: (pl.num_programs(0) - 1 - i, 0))])[0]
    t.output("o", run(3))
    t.output("p", run(1))


def whole_and_blocks(t):
    """A whole array, a block that never changes, an SMEM table and blocks, in one grid."""
    def body(w, c, s, x, o):
        o[...] = x[...] * s[0, pl.program_id(0)] + c[...] + w[0:1, :]
    o, = t.call(body, [t.w, t.c, t.s, t.x], shape("int32", 32, 128), grid=(4,),
                in_specs=[pl.BlockSpec(), pl.BlockSpec((8, 128), lambda i: (1, 0)),
                          pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec((8, 128), rows)],
                out_specs=[pl.BlockSpec((8, 128), rows)], modes=["hlo", "tpu"])
    t.modes("hlo", "tpu")
    t.output("o", o)


def one_element(t):
    """Blocks of one element, of one row and of one column."""
    outs = []
    for block, grid, index in (((1, 1), (3, 5), lambda i, j: (i, j)), ((1, 5), (3, 1), lambda i, j: (i, j)),
                               ((3, 1), (1, 5), lambda i, j: (i, j))):
        spec = pl.BlockSpec(block, index)
        outs.append(t.call(copy_body, [t.x], shape("int32", 3, 5), grid=grid, in_specs=[spec], out_specs=[spec])[0])
    if not all(np.array_equal(outs[0], o) for o in outs):
        raise Disagreement("a copy is not a copy")
    for name, o in zip("opq", outs):
        t.output(name, o)
