# SPDX-License-Identifier: MIT
"""The kernel library, against the kernels that JAX has of the same name, or the operation it is for."""
from jax.experimental.pallas.ops.tpu import megablox

from twins.common import Disagreement, jax, jnp, no_race, np, pl, tpu


def same(t, results):
    """Every way to compute it gives the same; the first one's result."""
    first, *others = results
    for other in others:
        a, b = np.asarray(results[first]), np.asarray(results[other])
        if not np.array_equal(a, b, equal_nan=a.dtype.kind not in "iub"):
            raise Disagreement(f"{first} and {other} differ")
    return results[first]


def library_gmm(t):
    """Rows sorted by group, a matrix for each group: the library's kernel and the operation of lax."""
    def product(interpret):
        o = megablox.gmm(t.x, t.y, t.sizes, preferred_element_type=jnp.float32, tiling=(16, 32, 16), interpret=interpret)
        return o
    results = {"ragged_dot": jax.lax.ragged_dot(t.x, t.y, t.sizes, preferred_element_type=jnp.float32)}
    for mode in t.modes("hlo", "tpu"):
        results[mode] = product(True if mode == "hlo" else tpu())
        no_race(mode)
    t.output("o", same(t, results))


def by_rows(t, function, x, *parameters):
    """A Pallas kernel over blocks of 8 rows, the last one ragged; the function is of a block and the parameters, in f32."""
    rows = x.reshape(-1, x.shape[-1])
    columns = rows.shape[1]

    def body(x, *refs):
        *parameters, o = refs
        o[...] = function(*(ref[...].astype(jnp.float32) for ref in (x, *parameters))).astype(o.dtype)

    results = {}
    for mode in t.modes("hlo", "tpu"):
        results[mode] = pl.pallas_call(
            body, out_shape=jax.ShapeDtypeStruct(rows.shape, x.dtype), grid=(pl.cdiv(rows.shape[0], 8),),
            in_specs=[pl.BlockSpec((8, columns), lambda i: (i, 0))] +
            [pl.BlockSpec((1, columns), lambda i: (0, 0)) for _ in parameters],
            out_specs=pl.BlockSpec((8, columns), lambda i: (i, 0)), interpret=True if mode == "hlo" else tpu(),
        )(rows, *(p.reshape(1, columns) for p in parameters)).reshape(x.shape)
        no_race(mode)
    return same(t, results)


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def library_softmax(t):
    t.output("f32", by_rows(t, softmax, t.x_f32))
    t.output("bf16", by_rows(t, softmax, t.x_bf16))


def library_softmax_masked(t):
    """-infinity marks what does not count."""
    t.output("o", by_rows(t, softmax, t.x))


def library_layer_norm(t):
    def norm(x, scale, shift):
        distance = x - jnp.mean(x, axis=-1, keepdims=True)
        return distance * jax.lax.rsqrt(jnp.mean(distance * distance, axis=-1, keepdims=True) + 1e-5) * scale + shift
    t.output("f32", by_rows(t, norm, t.x_f32, t.scale, t.shift))
    t.output("bf16", by_rows(t, norm, t.x_bf16, t.scale, t.shift))


def library_rms_norm(t):
    def norm(x, scale):
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * scale
    t.output("f32", by_rows(t, norm, t.x_f32, t.scale))
    t.output("bf16", by_rows(t, norm, t.x_bf16, t.scale))
