# SPDX-License-Identifier: MIT
"""The kernel library: matrix products with an epilogue, against Pallas kernels of one block and the plain operations;
ragged and block-sparse products, against Pallas kernels that skip what does not count."""
from twins.common import Disagreement, jax, jnp, no_race, np, pl, pltpu, tpu


def fused(t, x, y, others, finish, shapes):
    """x [B,M,K] and y [B,K,N] as a Pallas kernel, a matrix a step, with finish(sum, *others) on the way out; the plain operations
    give the same to within what contracting a product and a sum can change."""
    kind = jnp.int32 if x.dtype == jnp.int8 else jnp.float32

    def body(x_ref, y_ref, *refs):
        sums = jnp.dot(x_ref[0].astype(kind), y_ref[0].astype(kind), preferred_element_type=kind)
        values = finish(sums, *(r[...] for r in refs[:len(others)]))
        for ref, value in zip(refs[len(others):], values):
            ref[0] = value

    def whole(a):
        return pl.BlockSpec(a.shape, lambda b, rank=a.ndim: (0,) * rank)

    def matrix(a):
        return pl.BlockSpec((1,) + a.shape[1:], lambda b: (b, 0, 0))
    plain = [np.asarray(v) for v in jax.vmap(lambda a, b: finish(jnp.dot(a.astype(kind), b.astype(kind)), *others))(x, y)]
    for mode in t.modes("hlo", "tpu"):
        got = pl.pallas_call(body, grid=x.shape[:1], in_specs=[matrix(x), matrix(y)] + [whole(a) for a in others],
                             out_specs=[matrix(s) for s in shapes], out_shape=shapes,
                             interpret=True if mode == "hlo" else tpu())(x, y, *others)
        no_race(mode)
        for a, b in zip(plain, got):
            if not np.allclose(a.astype(np.float64), np.asarray(b).astype(np.float64), rtol=2.0 ** -7 if a.dtype == jnp.bfloat16 else 1e-5, atol=1e-6):
                raise Disagreement(f"{mode} and the plain operations differ")
    return plain


def library_matmul_epilogue(t):
    """Scale, bias, GELU in its tanh form, a residual; the result and the sums of its rows."""
    def finish(sums, scale, bias, residual):
        v = jax.nn.gelu(sums * scale + bias, approximate=True) + residual.astype(jnp.float32)
        return v, v.sum(axis=1, keepdims=True), (v * v).sum(axis=1, keepdims=True)
    rows, columns = t.x.shape[0], t.y.shape[1]
    shapes = [jax.ShapeDtypeStruct((1, rows, n), jnp.float32) for n in (columns, 1, 1)]
    for name, value in zip(("o", "sums", "squares"), fused(t, t.x[None], t.y[None], [t.scale, t.bias, t.residual], finish, shapes)):
        t.output(name, value[0])


def library_matmul_int8(t):
    """int8 product, scale a column, bias a row, ReLU, int8 again: every step exact but the last rounding."""
    def finish(sums, scale, bias):
        v = jnp.maximum(sums.astype(jnp.float32) * scale + bias, 0)
        return (jnp.clip(jnp.round(v * 0.25), -128, 127).astype(jnp.int8),)
    shape = jax.ShapeDtypeStruct((1, t.x.shape[0], t.y.shape[1]), jnp.int8)
    t.output("o", fused(t, t.x[None], t.y[None], [t.scale, t.bias], finish, [shape])[0][0])


def library_matmul_f32(t):
    """f32 operands that bf16 cannot hold, to 24 bits."""
    def finish(sums, bias):
        return (sums + bias,)
    shape = jax.ShapeDtypeStruct((1, t.x.shape[0], t.y.shape[1]), jnp.float32)
    t.output("o", fused(t, t.x[None], t.y[None], [t.bias], finish, [shape])[0][0])


def library_matmul_batch(t):
    """A batch with y transposed, one scale for all, SiLU, bf16."""
    def finish(sums, scale):
        return (jax.nn.silu(sums * scale).astype(jnp.bfloat16),)
    shape = jax.ShapeDtypeStruct((t.x.shape[0], t.x.shape[1], t.y.shape[1]), jnp.bfloat16)
    t.output("o", fused(t, t.x, t.y.swapaxes(1, 2), [t.scale], finish, [shape])[0])


def prefetched(t, body, scalars, args, grid, in_specs, out_spec, out_shape, scratch=()):
    """A pallas_call with scalar prefetch in every mode; all results."""
    for mode in t.modes("hlo", "tpu"):
        spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=grid, in_specs=in_specs, out_specs=out_spec,
                                            scratch_shapes=list(scratch))
        o = pl.pallas_call(body, grid_spec=spec, out_shape=out_shape, interpret=True if mode == "hlo" else tpu())(scalars, *args)
        no_race(mode)
        yield mode, np.asarray(o)


def agree(plain, results, where=True):
    for mode, o in results:
        if not np.array_equal(np.where(where, o, 0), np.where(where, plain, 0)):
            raise Disagreement(f"{mode} and the plain operations differ")
    return plain


def library_matmul_sparse(t):
    """Blocks of 16 x 32 of y that a mask names; NaN stands in the others."""
    m, n, k = 16, 32, 16
    counts = np.repeat(np.repeat(np.asarray(t.mask) != 0, k, 0), n, 1)
    y = jnp.where(counts, t.y, jnp.nan)

    def body(mask, x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        @pl.when(mask[pl.program_id(2), pl.program_id(1)] != 0)
        def _():
            o_ref[...] += jnp.dot(x_ref[...].astype(jnp.float32), y_ref[...].astype(jnp.float32))
    plain = np.asarray(jnp.dot(t.x.astype(jnp.float32), jnp.where(counts, t.y, 0).astype(jnp.float32)))
    t.output("o", agree(plain, prefetched(
        t, body, t.mask, (t.x, y), (t.x.shape[0] // m, y.shape[1] // n, y.shape[0] // k),
        [pl.BlockSpec((m, k), lambda i, j, l, _: (i, l)), pl.BlockSpec((k, n), lambda i, j, l, _: (l, j))],
        pl.BlockSpec((m, n), lambda i, j, l, _: (i, j)), jax.ShapeDtypeStruct(plain.shape, jnp.float32))))


def library_matmul_ragged(t):
    """A batch with a number of rows each; the others must keep what they hold."""
    batch, height, _ = t.x.shape
    inside = np.broadcast_to((np.arange(height) < np.asarray(t.rows)[:, None])[..., None], (batch, height, t.y.shape[2]))

    def body(rows, x_ref, y_ref, o_ref):
        @pl.when(rows[pl.program_id(0)] > 0)
        def _():
            o_ref[...] = jnp.dot(x_ref[0].astype(jnp.float32), y_ref[0].astype(jnp.float32))[None]
    plain = np.asarray(jnp.einsum("bmk,bkn->bmn", t.x.astype(jnp.float32), t.y.astype(jnp.float32)))
    plain = agree(plain, prefetched(
        t, body, t.rows, (t.x, t.y), (batch,), [pl.BlockSpec((1,) + a.shape[1:], lambda b, _: (b, 0, 0)) for a in (t.x, t.y)],
        pl.BlockSpec((1,) + plain.shape[1:], lambda b, _: (b, 0, 0)), jax.ShapeDtypeStruct(plain.shape, jnp.float32)), inside)
    t.output("o", plain, rest=inside)
