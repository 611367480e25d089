# SPDX-License-Identifier: MIT
"""Gathers and scatters by lists of indices: a kernel that does one row after the other, and the operation of jnp
where its result is defined."""
from twins.common import ANY, Disagreement, jax, jnp, np, pl, pltpu


def in_order(t, o, update, n):
    """A kernel over whole arrays that does update(i, list, x, o) for i = 0 .. n-1; o: the output's first contents."""
    def body(table, x, first, out):
        out[...] = first[...]

        def step(i, _):
            update(i, table, x, out)
            return 0
        jax.lax.fori_loop(0, n, step, 0)
    t.modes("hlo")
    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, in_specs=[ANY, ANY], out_specs=ANY)
    return np.asarray(pl.pallas_call(body, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(o.shape, o.dtype),
                                     interpret=True)(t.list, t.x, o))


def same(o, other):
    if not np.array_equal(np.asarray(o), np.asarray(other)):
        raise Disagreement("the kernel and jnp differ")
    return o


def take(i, table, x, o):
    o[i] = x[table[i]]


def add(i, table, x, o):
    o[table[i]] = o[table[i]] + x[i]


def list_gather(t):
    o = in_order(t, jnp.zeros((24, 128), jnp.float32), take, 24)
    t.output("o", same(o, jnp.take(t.x, t.list, axis=0)))


def list_gather_columns(t):
    """The first ten from column 3 on, the others from column 60 on."""
    def update(i, table, x, o):
        row = x[table[i]]
        o[i] = jnp.where(i < 10, row[3:43], row[60:])
    o = in_order(t, jnp.zeros((20, 40), jnp.bfloat16), update, 20)
    t.output("o", same(o, jnp.concatenate([t.x[t.list[:10], 3:43], t.x[t.list[10:], 60:]])))


def list_gather_matrices(t):
    def update(i, table, x, o):
        o[i, 0:8, 16:48] = x[table[i], 8:16]
    o = in_order(t, t.z, update, 5)
    t.output("o", same(o, t.z.at[:, 0:8, 16:48].set(jnp.take(t.x, t.list, axis=0)[:, 8:16])))


def list_scatter(t):
    """jnp leaves open which of several rows stays."""
    def update(i, table, x, o):
        o[table[i]] = x[i]
    t.output("o", in_order(t, t.z, update, 20))


def list_made(t):
    def update(i, table, x, o):
        o[i] = x[table[i] // 2]
    o = in_order(t, jnp.zeros((12, 64), jnp.int32), update, 12)
    t.output("o", same(o, jnp.take(t.x, t.list // 2, axis=0)))


def list_async(t):
    """Twice the rows; the last eight are not doubled, and in the order that the list's end says."""
    def update(i, table, x, o):
        o[jnp.where(i < 24, i, 24 + table[8 + i])] = x[table[i]] * jnp.where(i < 24, 2.0, 1.0)
    o = in_order(t, jnp.zeros((32, 128), jnp.float32), update, 32)
    rows = jnp.take(t.x, t.list[:32], axis=0)
    t.output("o", same(o, jnp.concatenate([2 * rows[:24], jnp.zeros((8, 128)).at[t.list[32:]].set(rows[24:])])))


def list_add(t):
    """Each addition rounds, so the order counts."""
    t.output("o", same(in_order(t, t.z, add, 150), t.z.at[t.list].add(t.x)))


def list_add_apart(t):
    t.output("o", same(in_order(t, t.z, add, 100), t.z.at[t.list].add(t.x)))


def list_histogram(t):
    o = in_order(t, jnp.zeros((10,), jnp.int32), add, 90)
    t.output("o", same(o, jnp.zeros((10,), jnp.int32).at[t.list].add(t.x)))


def list_errors(t):
    """The call that works."""
    o = in_order(t, jnp.zeros((6, 64), jnp.float32), take, 6)
    t.output("o", same(o, jnp.take(t.x, t.list, axis=0)))
