# SPDX-License-Identifier: MIT
"""The kernel library, against the kernels that JAX has of the same name, or the operation it is for."""
from jax.experimental.pallas.ops.tpu import megablox

from twins.common import Disagreement, jax, jnp, no_race, np, tpu


def same(t, results):
    """Every way to compute it gives the same; the first one's result."""
    first, *others = results
    for other in others:
        if not np.array_equal(np.asarray(results[first]), np.asarray(results[other])):
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
