# SPDX-License-Identifier: MIT
"""The kernel library: matrix products with an epilogue, against Pallas kernels of one block and the plain operations."""
from twins.common import Disagreement, jax, jnp, no_race, np, pl, tpu


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


def library_matmul_batch(t):
    """A batch with y transposed, one scale for all, SiLU, bf16."""
    def finish(sums, scale):
        return (jax.nn.silu(sums * scale).astype(jnp.bfloat16),)
    shape = jax.ShapeDtypeStruct((t.x.shape[0], t.x.shape[1], t.y.shape[1]), jnp.bfloat16)
    t.output("o", fused(t, t.x, t.y.swapaxes(1, 2), [t.scale], finish, [shape])[0])
