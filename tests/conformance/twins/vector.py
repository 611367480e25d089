# SPDX-License-Identifier: MIT
"""Operations on whole refs: elementwise, comparisons, casts, reductions."""
from twins.common import Disagreement, jax, jnp, no_race, np, pl, pltpu, shape, tpu

TYPES = ("f32", "bf16", "int32", "int8", "uint8")
F32 = jnp.float32


def one_step(t, body, args, out_shape, scratch=()):
    """A kernel of one step over whole arrays, in the modes of the case."""
    results = []
    for mode in t.modes("hlo", "tpu"):
        o = pl.pallas_call(body, out_shape=out_shape, scratch_shapes=list(scratch),
                           interpret=True if mode == "hlo" else tpu())(*args)
        no_race(mode)
        results.append([np.asarray(r) for r in jax.tree.leaves(o)])
    for other in results[1:]:
        for a, b in zip(results[0], other):
            if not np.array_equal(a, b, equal_nan=a.dtype.kind not in "iub"):
                raise Disagreement("the modes differ")
    return results[0]


def elementwise(t, function):
    for name in TYPES:
        x, y = getattr(t, f"x_{name}"), getattr(t, f"y_{name}")

        def body(x, y, o):
            o[...] = function(x[...], y[...])
        t.output(name, one_step(t, body, [x, y], shape(name, *x.shape))[0])


def op_add(t):
    elementwise(t, lambda a, b: a + b)


def op_sub(t):
    elementwise(t, lambda a, b: a - b)


def op_mul(t):
    elementwise(t, lambda a, b: a * b)


def op_max(t):
    elementwise(t, jnp.maximum)


def op_min(t):
    elementwise(t, jnp.minimum)


def op_special(t):
    """Infinities, NaN and zeros of both signs."""
    def body(x, y, add, mul, most, least):
        add[...] = x[...] + y[...]
        mul[...] = x[...] * y[...]
        most[...] = jnp.maximum(x[...], y[...])
        least[...] = jnp.minimum(x[...], y[...])
    s = shape("f32", *t.x.shape)
    for name, value in zip(("add", "mul", "most", "least"), one_step(t, body, [t.x, t.y], (s, s, s, s))):
        t.output(name, value)


def op_one_for_all(t):
    """One row, one column, one element, used for all."""
    def body(x, row, column, one, o, p, q):
        o[...] = x[...] + row[...]
        p[...] = x[...] * column[...]
        q[...] = x[...] - one[...]
    s = shape("f32", *t.x.shape)
    for name, value in zip("opq", one_step(t, body, [t.x, t.row, t.column, t.one], (s, s, s))):
        t.output(name, value)


def op_compare(t):
    def body(x, y, less, less_equal, equal, not_equal):
        less[...] = (x[...] < y[...]).astype(jnp.int32)
        less_equal[...] = (x[...] <= y[...]).astype(jnp.int32)
        equal[...] = (x[...] == y[...]).astype(jnp.int32)
        not_equal[...] = (x[...] != y[...]).astype(jnp.int32)
    s = shape("int32", *t.x.shape)
    for name, value in zip(("less", "less_equal", "equal", "not_equal"), one_step(t, body, [t.x, t.y], (s, s, s, s))):
        t.output(name, value)


def op_where(t):
    def body(m, x, y, o):
        o[...] = jnp.where(m[...] != 0, x[...], y[...])
    t.output("o", one_step(t, body, [t.m, t.x, t.y], shape("f32", *t.x.shape))[0])


def op_store_masked(t):
    """Only where the mask is set; the rest of the output stays (T-M16)."""
    def body(m, x, y, o):
        o[...] = y[...]
        pltpu.store(o, x[...], mask=m[...] != 0)
    t.output("o", one_step(t, body, [t.m, t.x, t.y], shape("f32", *t.x.shape))[0])


def op_store_bounded(t):
    """The first 5 rows and 19 columns: in JAX a mask of two comparisons."""
    def body(x, y, o):
        o[...] = y[...]
        rows, columns = (jax.lax.broadcasted_iota(jnp.int32, x.shape, d) for d in (0, 1))
        pltpu.store(o, x[...], mask=(rows < 5) & (columns < 19))
    t.output("o", one_step(t, body, [t.x, t.y], shape("f32", *t.x.shape))[0])


def op_broadcast(t):
    def body(row, column, one, o, p, q):
        o[...] = jnp.broadcast_to(row[...], o.shape)
        p[...] = jnp.broadcast_to(column[...], p.shape)
        q[...] = jnp.broadcast_to(one[...], q.shape).astype(q.dtype)
    for name, value in zip("opq", one_step(t, body, [t.row, t.column, t.one], (
            shape("f32", 24, 40), shape("f32", 24, 40), shape("bf16", 24, 40)))):
        t.output(name, value)


def op_iota(t):
    def body(o, p):
        o[...] = jax.lax.broadcasted_iota(jnp.int32, o.shape, 0)
        p[...] = jax.lax.broadcasted_iota(jnp.int32, p.shape, 1)
    for name, value in zip("op", one_step(t, body, [], (shape("int32", 24, 40), shape("int32", 24, 40)))):
        t.output(name, value)


def op_fill(t):
    def body(o, p, q):
        o[...] = jnp.full(o.shape, -1.5, o.dtype)
        p[...] = jnp.full(p.shape, 1234567, p.dtype)
        q[...] = jnp.full(q.shape, -7, q.dtype)
    for name, value in zip("opq", one_step(t, body, [], (shape("bf16", 9, 40), shape("int32", 9, 40), shape("int8", 9, 40)))):
        t.output(name, value)


def op_roll(t):
    def body(x, o, p):
        o[...] = jnp.roll(x[...], 5, axis=1)
        p[...] = jnp.roll(x[...], -3, axis=0)
    for name, value in zip("op", one_step(t, body, [t.x], (shape("int32", 24, 40), shape("int32", 24, 40)))):
        t.output(name, value)


def op_transpose(t):
    def body(x, y, z, o, p, q):
        o[...] = x[...].T
        p[...] = y[...].T
        q[...] = z[...].T
    shapes = (shape("f32", 40, 24), shape("bf16", 16, 32), shape("int8", 21, 13))
    for name, value in zip("opq", one_step(t, body, [t.x, t.y, t.z], shapes)):
        t.output(name, value)


def random_bits(n):
    """Row 0 under the key (0, 42)."""
    return jax.random.bits(jax.random.key(42), (n,), "uint32").reshape(1, n)


def op_random(t):
    """JAX's generator itself: its kernels on a CPU have none."""
    t.output("o", jax.lax.bitcast_convert_type(random_bits(200), jnp.int32))


def op_stochastic_round(t):
    """The definition, on bits; pltpu.stochastic_round is not there on a CPU."""
    r = random_bits(200)
    bits = jax.lax.bitcast_convert_type(t.x, jnp.uint32) + (r & 0xffff)
    t.output("o", jax.lax.bitcast_convert_type((bits >> 16).astype(jnp.uint16), jnp.bfloat16))
    t.output("p", jax.lax.bitcast_convert_type(r, jnp.int32))


CASTS = (("f32", "bf16"), ("f32", "int32"), ("f32", "int8"), ("int32", "f32"), ("int32", "int8"), ("int32", "bf16"),
         ("bf16", "f32"), ("int8", "int32"), ("int8", "f32"), ("uint8", "f32"), ("uint8", "int32"))


def op_cast(t):
    """Values that fit or wrap; rounding to nearest even; to integers toward zero."""
    for source, target in CASTS:
        x = getattr(t, source)

        def body(x, o):
            o[...] = x[...].astype(o.dtype)
        t.output(f"{source}_{target}", one_step(t, body, [x], shape(target, *x.shape))[0])


def reductions(t, x, types):
    """Sum, maximum and minimum over rows, columns and all."""
    m, n = x.shape
    for word, function in (("sum", jnp.sum), ("max", jnp.max), ("min", jnp.min)):
        def body(x, o, p, q):
            v = x[...].astype(F32) if x.dtype == jnp.bfloat16 else x[...]
            o[...] = function(v, axis=0, keepdims=True)
            p[...] = function(v, axis=1, keepdims=True)
            q[...] = function(v, axis=(0, 1), keepdims=True)
        out = one_step(t, body, [x], tuple(shape(types, *s) for s in ((1, n), (m, 1), (1, 1))))
        for name, value in zip(("rows", "columns", "all"), out):
            t.output(f"{word}_{name}", value)


def op_reduce(t):
    reductions(t, t.x, "f32")


def op_reduce_int(t):
    reductions(t, t.x, "int32")


def op_reduce_real(t):
    def body(x, o, p):
        o[...] = jnp.sum(x[...], axis=0, keepdims=True)
        p[...] = jnp.sum(x[...], axis=1, keepdims=True)
    m, n = t.x.shape
    for name, value in zip("op", one_step(t, body, [t.x], (shape("f32", 1, n), shape("f32", m, 1)))):
        t.output(name, value)


def op_argmax(t):
    def body(x, o):
        o[...] = jnp.argmax(x[...], axis=1, keepdims=True).astype(jnp.int32)
    t.output("o", one_step(t, body, [t.x], shape("int32", t.x.shape[0], 1))[0])


def op_argmax_special(t):
    """The first of equals, the first NaN, infinities."""
    op_argmax(t)


def op_argmax_zeros(t):
    """-0 and +0 are equal: the first one wins wherever it is."""
    op_argmax(t)


def op_relu(t):
    def body(x, bias, o, p):
        o[...] = jnp.maximum(x[...] + bias[...], 0)
        p[...] = jnp.maximum(x[...], 0)
    s = shape("f32", *t.x.shape)
    for name, value in zip("op", one_step(t, body, [t.x, t.bias], (s, s))):
        t.output(name, value)
