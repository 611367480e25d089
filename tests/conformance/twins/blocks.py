# SPDX-License-Identifier: MIT
"""Block specs: kinds of dimensions, edges, whole arrays, what must be refused."""
from twins.common import ANY, Disagreement, copy_body, jnp, np, pallas_call, pl, pltpu, shape, tpu


def plus_one(x, o):
    o[...] = x[...] + 1


def block_squeezed(t):
    spec = pl.BlockSpec((None, 8, 128), lambda i, j: (j, i, 0))
    o, = t.call(plus_one, [t.x], shape("int32", 4, 16, 128), grid=(2, 4), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def block_squeezed_middle(t):
    o, = t.call(plus_one, [t.x], shape("int32", 3, 8, 128), grid=(3,),
                in_specs=[pl.BlockSpec((8, None, 128), lambda i: (0, i, 0))],
                out_specs=[pl.BlockSpec((None, 8, 128), lambda i: (i, 0, 0))])
    t.output("o", o)


def block_leading(t):
    """Blocks of rank 3, of several planes."""
    spec = pl.BlockSpec((2, 8, 128), lambda i, j: (i, j, 0))
    o, = t.call(plus_one, [t.x], shape("int32", 4, 16, 128), grid=(2, 2), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def block_element(t):
    """Overlapping windows of 8 rows at every fourth row."""
    o, = t.call(copy_body, [t.x], shape("f32", 40, 128), grid=(5,),
                in_specs=[pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i: (4 * i, 0))],
                out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))])
    t.output("o", o)


def block_element_out(t):
    """Overlapping output windows: the later step wins."""
    o, = t.call(copy_body, [t.x], shape("int32", 20, 128), grid=(4,),
                in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                out_specs=[pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i: (4 * i, 0))])
    t.output("o", o)


def block_element_columns(t):
    """Windows whose first column is not a multiple of anything."""
    o, = t.call(copy_body, [t.x], shape("f32", 24, 32), grid=(3,),
                in_specs=[pl.BlockSpec((pl.Element(8), pl.Element(32)), lambda i: (i, 7 * i + 1))],
                out_specs=[pl.BlockSpec((8, 32), lambda i: (i, 0))])
    t.output("o", o)


def block_element_pad(t):
    """Four padding rows behind the array: the last window may end there, what it holds is unspecified."""
    o, = t.call(copy_body, [t.x], shape("f32", 24, 128), grid=(3,),
                in_specs=[pl.BlockSpec((pl.Element(8, (0, 4)), pl.Element(128)), lambda i: (8 * i, 0))],
                out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))], compare=lambda o: o[:20])
    t.output("o", o, mask=np.arange(24)[:, None] < 20)


def block_mixed(t):
    """Squeezed and Blocked against Squeezed and Element at the same places (T11)."""
    out = pl.BlockSpec((8, 256), lambda i: (i, 0))
    blocked, = t.call(plus_one, [t.x], shape("int32", 24, 256), grid=(3,), out_specs=[out],
                      in_specs=[pl.BlockSpec((None, 8, 256), lambda i: (i, 1, 0))])
    element, = t.call(plus_one, [t.x], shape("int32", 24, 256), grid=(3,), out_specs=[out], in_specs=[
        pl.BlockSpec((pl.Squeezed(), pl.Element(8), pl.Element(256)), lambda i: (i, 8, 0))])
    if not np.array_equal(blocked, element):
        raise Disagreement("Blocked and Element differ")
    t.output("o", blocked)
    t.output("p", element)


def bounded(t, rows_of, prefetch=()):
    spec = pl.BlockSpec((pl.BoundedSlice(16), 8, 128), lambda *ids: (rows_of(*ids), 0, 0))
    return t.call(copy_body if not prefetch else lambda s, x, o: copy_body(x, o), [t.x], shape("int32", 16, 8, 128),
                  grid=(len(t.case["starts"]),), in_specs=[spec], out_specs=[spec], prefetch=prefetch)[0]


def block_bounded_static(t):
    """Planes 4 to 11 and no others (T12 a)."""
    o = bounded(t, lambda i: pl.ds(4, 8))
    plane = np.arange(16)[:, None, None]
    t.output("o", o, rest=np.broadcast_to((plane >= 4) & (plane < 12), o.shape))


def block_bounded_table(t):
    """Starts and sizes from prefetched tables: together the whole array (T12 b)."""
    o = bounded(t, lambda i, table: pl.ds(table[i, 0], table[i, 1] - table[i, 0]), prefetch=[t.table])
    t.output("o", o)


def block_whole(t):
    o, = t.call(plus_one, [t.x], shape("int32", 5, 7), in_specs=[pl.BlockSpec()], out_specs=[pl.BlockSpec()])
    t.output("o", o)


def block_rank1(t):
    o, = t.call(plus_one, [t.x], shape("int32", 1000), grid=(4,), in_specs=[pl.BlockSpec((256,), lambda i: (i,))],
                out_specs=[pl.BlockSpec((256,), lambda i: (i,))])
    t.output("o", o)


def block_in_hbm(t):
    """The body gets the arrays themselves and copies by hand."""
    def body(x, o, v):
        pltpu.sync_copy(x.at[pl.ds(8, 8)], v)
        pltpu.sync_copy(v, o.at[pl.ds(0, 8)])
        pltpu.sync_copy(x.at[pl.ds(0, 8)], o.at[pl.ds(8, 8)])

    o = pl.pallas_call(body, out_shape=shape("int32", 16, 128), in_specs=[ANY], out_specs=ANY,
                       scratch_shapes=[pltpu.VMEM((8, 128), jnp.int32)], interpret=tpu())(t.x)
    t.modes("tpu")
    t.output("o", o)


def block_dtypes(t):
    """A move is a move in every dtype, ragged too."""
    for name in ("f32", "bf16", "int32", "int8", "uint8"):
        x = getattr(t, name)
        spec = pl.BlockSpec((32, 128), lambda i, j: (i, j))
        o, = t.call(copy_body, [x], shape(name, *x.shape), grid=(3, 2), in_specs=[spec], out_specs=[spec])
        t.output(f"o_{name}", o)


def block_uneven(t):
    """T07: no dimension is a multiple of its block."""
    spec = pl.BlockSpec((2, 16, 128), lambda i, j, k: (i, j, k))
    o, = t.call(plus_one, [t.x], shape("f32", 5, 40, 160), grid=(3, 3, 2), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def block_rows_601(t):
    """T09: the last block has 89 of 256 rows."""
    spec = pl.BlockSpec((256, 128), lambda i: (i, 0))
    o, = t.call(copy_body, [t.x], shape("int8", 601, 128), grid=(3,), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def block_ragged_fill(t):
    """What the part of a block behind the edge holds: a value of the user's, 0 by default. Not in JAX."""
    def filled(pad):
        whole = np.full((24, 256), pad, np.float32)
        whole[:20, :200] = np.asarray(t.x)
        return whole
    t.output("o", filled(0.0))
    t.output("p", filled(-2.5))


def block_ragged_reduction(t):
    """T08: the padding of the reduced dimension is taken out by masks on both operands."""
    k = 72

    def body(x, y, o):
        step = pl.program_id(0)

        @pl.when(step == 0)
        def _():
            o[...] = jnp.zeros_like(o)
        valid = jnp.minimum(k - 32 * step, 32)
        a = jnp.where(jnp.arange(32)[None, :] < valid, x[...], 0)
        b = jnp.where(jnp.arange(32)[:, None] < valid, y[...], 0)
        o[...] += jnp.dot(a, b, preferred_element_type=jnp.float32)

    o, = t.call(body, [t.x, t.y], shape("f32", 24, 48), grid=(3,),
                in_specs=[pl.BlockSpec((24, 32), lambda i: (0, i)), pl.BlockSpec((32, 48), lambda i: (i, 0))],
                out_specs=[pl.BlockSpec((24, 48), lambda i: (0, 0))])
    t.output("o", o)


def out_of_range(t, in_map, out_map, kind, pattern, block=(4, 128)):
    def run():
        pallas_call({"body": copy_body, "args": [t.x], "shapes": (shape("f32", *t.x.shape),), "grid": (4,),
                     "in_specs": [pl.BlockSpec(block, in_map)], "out_specs": [pl.BlockSpec(block, out_map)],
                     "scratch": (), "prefetch": (), "aliases": {}, "semantics": None}, tpu(buffer_bounds="logical"))
    t.modes("tpu")
    t.raises(kind, pattern, run)


def rows(i):
    return i, 0


def block_index_in(t):
    out_of_range(t, lambda i: (i + 1, 0), rows, "IndexError", "block index .* for input")


def block_index_out(t):
    out_of_range(t, rows, lambda i: (i + 2, 0), "IndexError", "block index .* for output")


def block_index_elements(t):
    """Element offsets where block indices are due."""
    out_of_range(t, lambda i: (4 * i, 0), rows, "IndexError", "block index .* for input")


def block_index_negative(t):
    out_of_range(t, lambda i: (i - 1, 0), rows, "IndexError", "")


def block_element_past_end(t):
    out_of_range(t, lambda i: (4 * i + 1, 0), rows, "IndexError", "", (pl.Element(4), pl.Element(128)))


def block_rank_mismatch(t):
    t.modes("tpu")
    t.raises("ValueError", "rank|same number of dimensions|dimensions", lambda: pallas_call(
        {"body": copy_body, "args": [t.x], "shapes": (shape("f32", 16, 128),), "grid": (4,),
         "in_specs": [pl.BlockSpec((4, 128, 1), lambda i: (i, 0, 0))], "out_specs": [pl.BlockSpec((4, 128), rows)],
         "scratch": (), "prefetch": (), "aliases": {}, "semantics": None}, tpu()))


def block_hbm_load(t):
    """A load from HBM in a body: it must be copied."""
    def body(x, o):
        o[...] = x[...]
    t.modes("tpu")
    t.raises("ValueError", "sync_copy|async_copy|HBM|ANY", lambda: pl.pallas_call(
        body, out_shape=shape("f32", 16, 128), in_specs=[ANY], interpret=tpu())(t.x))


def block_smem(t):
    """Blocks in SMEM, in and out."""
    def body(x, o):
        for i in range(4):
            o[0, i] = x[0, i] * 2 + 1
    spec = pl.BlockSpec((1, 4), lambda i: (i, 0), memory_space=pltpu.SMEM)
    o, = t.call(body, [t.x], shape("int32", 6, 4), grid=(6,), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def block_rank5(t):
    """The most dimensions."""
    spec = pl.BlockSpec((None, 2, None, 8, 32), lambda i, j, k: (i, j, k, 0, 0))
    o, = t.call(plus_one, [t.x], shape("int32", 2, 4, 3, 8, 32), grid=(2, 2, 3), in_specs=[spec], out_specs=[spec])
    t.output("o", o)


def block_many(t):
    """The most operands: 14 inputs and 2 outputs."""
    def body(*refs):
        total = refs[0][...]
        for r in refs[1:14]:
            total = total + r[...]
        refs[14][...] = total
        refs[15][...] = refs[0][...]
    specs = [pl.BlockSpec((8, 32), lambda i, n=n: ((i + n) % 4, 0)) for n in range(16)]
    out = pl.BlockSpec((8, 32), lambda i: (i, 0))
    o, p = t.call(body, [t.x] * 14, (shape("int32", 32, 32),) * 2, grid=(4,), in_specs=specs[:14], out_specs=[out, out])
    t.output("o", o)
    t.output("p", p)
