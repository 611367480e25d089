# SPDX-License-Identifier: MIT
"""Flash attention against the definition, as a Pallas kernel of a head a step, and against JAX's own kernel."""
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as jax_flash

from twins.common import Disagreement, jax, jnp, no_race, np, pl, tpu
from twins.library import same


def attention(t, dtype, scale, causal):
    """All scores of a head at once, in f32; the weights are not rounded."""
    heads, rows, columns = t.q.shape
    group, keys = heads // t.k.shape[0], t.k.shape[1]

    def body(q, k, v, o):
        q, k, v = (ref[0].astype(jnp.float32) for ref in (q, k, v))
        s = jnp.dot(q, k.T, precision="highest") * scale
        if causal:
            s = jnp.where(jax.lax.broadcasted_iota(jnp.int32, s.shape, 1) <= jax.lax.broadcasted_iota(jnp.int32, s.shape, 0), s, -jnp.inf)
        p = jnp.exp(s - jnp.max(s, axis=-1, keepdims=True))
        o[0] = (jnp.dot(p, v, precision="highest") / jnp.sum(p, axis=-1, keepdims=True)).astype(o.dtype)

    results = {}
    for mode in t.modes("hlo", "tpu"):
        results[mode] = pl.pallas_call(
            body, out_shape=jax.ShapeDtypeStruct(t.q.shape, dtype), grid=(heads,),
            in_specs=[pl.BlockSpec((1, rows, columns), lambda h: (h, 0, 0))] +
            [pl.BlockSpec((1, keys, columns), lambda h: (h // group, 0, 0))] * 2,
            out_specs=pl.BlockSpec((1, rows, columns), lambda h: (h, 0, 0)),
            interpret=True if mode == "hlo" else tpu())(t.q, t.k, t.v)
        no_race(mode)
    return same(t, results)


def library_flash(t):
    """Two heads of queries to one of keys, ragged rows, the usual scale."""
    t.output("o", attention(t, jnp.float32, t.q.shape[2] ** -0.5, causal=False))


def library_flash_causal(t):
    """Blocks on the diagonal, above and below; JAX's kernel, which rounds as ours does, must agree with the definition."""
    scale = 0.125
    o = attention(t, jnp.bfloat16, scale, causal=True)
    with pltpu.force_tpu_interpret_mode(tpu()):
        theirs = jax_flash.flash_attention(t.q[None], t.k[None], t.v[None], causal=True, sm_scale=scale)[0]
    no_race("tpu")
    off = np.max(np.abs(np.asarray(o, np.float32) - np.asarray(theirs, np.float32)))
    if off > 0.03:
        raise Disagreement(f"JAX's flash_attention is {off} away from the definition")
    t.output("o", o)
