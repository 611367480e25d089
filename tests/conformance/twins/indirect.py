# SPDX-License-Identifier: MIT
"""Block dimensions by lists of indices: no mode of JAX on a CPU has pl.Indirect, so a kernel does one row after the
other, and plain indexing of jnp has to agree with it where its result is defined."""
from twins.common import jax, jnp, np
from twins.lists import in_order, same


def padded(rows, n, fill):
    """n rows: those, and then the fill."""
    return jnp.concatenate([rows, jnp.full((n - rows.shape[0],) + rows.shape[1:], fill, rows.dtype)])


def indirect_gather(t):
    """44 of 48 rows; the others are filled with 7; all doubled."""
    def update(i, table, x, o):
        o[i] = x[table[i]] * 2
    o = in_order(t, jnp.full((48, 128), 14, jnp.float32), update, 44)
    t.output("o", same(o, 2 * padded(t.x[t.list], 48, 7)))


def indirect_scatter(t):
    """jnp leaves open which of several rows stays."""
    def update(i, table, x, o):
        o[table[i]] = x[i]
    t.output("o", in_order(t, t.z, update, 20))


def indirect_both(t):
    """Row list[i], doubled, to row places[i]; of one place the last row stays. The kernel gets both lists as one."""
    def update(i, table, x, o):
        o[table[24 + i]] = x[table[i]] * 2
    last = {int(place): i for i, place in enumerate(np.asarray(t.places))}
    places, rows = jnp.array(list(last)), t.list[jnp.array(list(last.values()))]
    wanted = t.z.at[places].set(2 * t.x[rows])
    t.list = jnp.concatenate([t.list, t.places])
    t.output("o", same(in_order(t, t.z, update, 24), wanted))


def indirect_middle(t):
    def update(i, table, x, o):
        o[:, i] = x[:, table[i]]
    o = in_order(t, jnp.zeros((3, 12, 40), jnp.int32), update, 12)
    t.output("o", same(o, jnp.take(t.x, t.list, axis=1)))


def indirect_columns(t):
    """Of the second matrix; the last list has 8 entries."""
    def update(i, table, x, o):
        o[i] = x[1, :, table[i]]
    o = in_order(t, jnp.zeros((48, 9), jnp.bfloat16), update, 40).T
    t.output("o", same(o, padded(t.x[1][:, t.list].T, 48, 0).T))


def indirect_groups(t):
    """Groups of at most 8 rows, filled with -1."""
    begins = np.asarray(t.begins)
    rows = [padded(t.x[t.list[a:b]], 8, -1) for a, b in zip(begins, begins[1:])]
    t.modes("hlo")
    t.output("o", np.asarray(jax.jit(lambda: jnp.concatenate(rows))()))


def indirect_nested(t):
    def update(i, table, x, o):
        o[i] = x[table[i]]
    o = in_order(t, jnp.zeros((48, 64), jnp.float32), update, 48)
    t.output("o", same(o, t.x[t.list]))


def indirect_errors(t):
    """The call that works."""
    def update(i, table, x, o):
        o[i] = x[table[i]]
    o = in_order(t, jnp.zeros((8, 64), jnp.float32), update, 8)
    t.output("o", same(o, t.x[t.list]))
