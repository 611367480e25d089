# SPDX-License-Identifier: MIT
"""The kernel library's kernels that move and choose, against the operations of JAX that they are for."""
from jax import lax

from twins.common import jax, jnp, shape
from twins.lists import add, in_order, same, take
from twins.vector import one_step


def library_topk(t):
    """Equal elements come in the order of their columns."""
    def body(x, y, values, indices, int_values, int_indices):
        values[...], indices[...] = lax.top_k(x[...], 9)
        int_values[...], int_indices[...] = lax.top_k(y[...], 5)
    m, n = t.x.shape[0], t.y.shape[0]
    shapes = (shape("f32", m, 9), shape("int32", m, 9), shape("int32", n, 5), shape("int32", n, 5))
    for name, value in zip(("values", "indices", "int_values", "int_indices"), one_step(t, body, [t.x, t.y], shapes)):
        t.output(name, value)


def library_argmax(t):
    """The first of equals, the first NaN."""
    def body(x, y, indices, int_indices):
        indices[...], int_indices[...] = jnp.argmax(x[...], axis=1), jnp.argmax(y[...], axis=1)
    shapes = (shape("int32", t.x.shape[0]), shape("int32", t.y.shape[0]))
    for name, value in zip(("indices", "int_indices"), one_step(t, body, [t.x, t.y], shapes)):
        t.output(name, value)


def library_elementwise(t):
    def body(x, y, p, q, o, sums, rows, columns):
        o[...], sums[...] = x[...] + y[...], p[...] + q[...]
        rows[...], columns[...] = (lax.broadcasted_iota(jnp.int32, rows.shape, d) for d in (0, 1))
    shapes = (shape("bf16", *t.x.shape), shape("int32", *t.p.shape), shape("int32", 45, 77), shape("int32", 45, 77))
    for name, value in zip(("o", "sum", "rows", "columns"), one_step(t, body, [t.x, t.y, t.p, t.q], shapes)):
        t.output(name, value)


def library_rotary(t):
    def body(x, cosine, sine, o, p):
        half = x.shape[-1] // 2
        a, b = x[..., :half].astype(jnp.float32), x[..., half:].astype(jnp.float32)
        c, s = cosine[...], sine[...]
        result = jnp.concatenate([a * c - b * s, b * c + a * s], axis=-1)
        o[...] = result
        p[...] = result.astype(jnp.bfloat16)
    shapes = (shape("f32", *t.x.shape), shape("bf16", *t.x.shape))
    for name, value in zip("op", one_step(t, body, [t.x, t.cosine, t.sine], shapes)):
        t.output(name, value)


def library_pool(t):
    def most(x, o, least):
        o[...] = lax.reduce_window(x[...], jnp.array(least, x.dtype), lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                                   ((0, 0), (1, 1), (1, 1), (0, 0)))

    def body(x, y, o, p, q):
        most(x, o, -jnp.inf)
        most(y, q, -128)
        p[...] = lax.reduce_window(x[...], jnp.float32(0), lax.add, (1, 2, 4, 1), (1, 2, 3, 1),
                                   ((0, 0), (0, 0), (1, 1), (0, 0))) / 8
    n, h, w, c = t.x.shape
    half = (n, (h - 1) // 2 + 1, (w - 1) // 2 + 1, c)
    shapes = (shape("f32", *half), shape("f32", n, (h - 2) // 2 + 1, (w - 2) // 3 + 1, c), shape("int8", *half))
    for name, value in zip("opq", one_step(t, body, [t.x, t.y], shapes)):
        t.output(name, value)


def library_paged(t):
    """One query a sequence; keys and values are gathered from their pages."""
    batch, heads, columns = t.q.shape
    _, heads_kv, page, _ = t.k.shape

    def body(q, k, v, table, lengths, o):
        positions = table.shape[1] * page

        def gathered(pages):
            x = pages[...][table[...]]  # [batch, listed, heads, page, columns]
            x = jnp.moveaxis(x, 2, 1).reshape(batch, heads_kv, positions, columns)
            return jnp.repeat(x.astype(jnp.float32), heads // heads_kv, axis=1)
        scores = jnp.einsum("bhd,bhkd->bhk", q[...].astype(jnp.float32), gathered(k)) * 0.25
        scores = jnp.where(jnp.arange(positions) < lengths[...][:, None, None], scores, -jnp.inf)
        o[...] = jnp.einsum("bhk,bhkd->bhd", jax.nn.softmax(scores, axis=-1), gathered(v))
    t.output("o", one_step(t, body, [t.q, t.k, t.v, t.table, t.lengths], shape("f32", batch, heads, columns))[0])


def library_embedding(t):
    for name, t.list, t.x in (("o", t.many, t.narrow), ("p", t.few, t.wide)):
        n, columns = t.list.shape[0], t.x.shape[1]
        o = in_order(t, jnp.zeros((n, columns), t.x.dtype), take, n)
        t.output(name, same(o, jnp.take(t.x, t.list, axis=0)))


def library_embedding_grad(t):
    """Each addition rounds, so the order counts."""
    t.list = t.ids
    for name, t.x, table in (("o", t.grad, t.table), ("p", t.halves, t.half_table)):
        t.output(name, same(in_order(t, table, add, t.ids.shape[0]), table.at[t.ids].add(t.x)))
