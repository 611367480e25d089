# SPDX-License-Identifier: MIT
"""What the twins share: one description of a pipeline, run in every mode of JAX that judges it.

hlo    pallas_call, interpret=True
tpu    pallas_call, the TPU interpreter: synchronous copies, every check
emit   emit_pipeline inside a pallas_call, the TPU interpreter: the published schedule with real
       asynchronous copies, which are counted here by wrapping the interpreter's dma_start

The modes of a case must agree with one another before they may judge anybody else. In both TPU modes
the race detector is on, and a race is a failure.
"""
import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.pallas.mosaic import tpu_info
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import suite

# emit_pipeline asks what the device is.
tpu_info.registry["cpu"] = lambda: tpu_info.get_tpu_info_for_chip(tpu_info.ChipVersion.TPU_V5E, 1)

DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "int32": jnp.int32, "int8": jnp.int8, "uint8": jnp.uint8}
NAMES = {jnp.dtype(t).name: n for n, t in DTYPES.items()}
ANY = pl.BlockSpec(memory_space=pl.ANY)
# Memory space numbers of the interpreter: HBM and ANY.
HBM_SPACES = (5, 6)


def tpu(**options):
    """The TPU interpreter with every check; the default clock has too few slots to tell DMAs apart."""
    return pltpu.InterpretParams(**{"detect_races": True, "vector_clock_size": 64, "buffer_bounds": "padded"} | options)


class Disagreement(Exception):
    """The oracle contradicts itself, or what cases.toml says of it."""


class Recorder:
    """Buffers in HBM in the order in which they were made, and the copies that touch them."""

    def __init__(self):
        self.buffers, self.copies = [], []

    def counts(self, n_in, n_out, skip=0):
        """Copies out of the first n_in buffers behind those to skip, then copies into the next n_out."""
        ids = self.buffers[skip:skip + n_in + n_out]
        return [sum(src == i for src, _ in self.copies) for i in ids[:n_in]] + \
               [sum(dst == i for _, dst in self.copies) for i in ids[n_in:]]


@contextlib.contextmanager
def recording():
    recorder = Recorder()
    start, allocate = interpreter.dma_start, interpreter._allocate_buffer

    @functools.wraps(start)
    def counted(token, device, core, src_space, src, src_t, dst_space, dst, *rest, **more):
        recorder.copies.append((int(src) if int(src_space) in HBM_SPACES else None,
                                int(dst) if int(dst_space) in HBM_SPACES else None))
        return start(token, device, core, src_space, src, src_t, dst_space, dst, *rest, **more)

    @functools.wraps(allocate)
    def noted(token, device, core, space, value, *rest, **more):
        result = allocate(token, device, core, space, value, *rest, **more)
        if int(space) in HBM_SPACES:
            recorder.buffers.append(int(result[-1]))
        return result

    interpreter.dma_start, interpreter._allocate_buffer = counted, noted
    try:
        yield recorder
    finally:
        interpreter.dma_start, interpreter._allocate_buffer = start, allocate


def as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


class Twin:
    """A case on its way through JAX: inputs by attribute, results in outputs, copies, errors."""

    def __init__(self, case):
        self.case = case
        self.outputs, self.masks, self.copies, self.errors = {}, {}, [], []
        for name in case.get("inputs", {}):
            values, dtype = suite.make_input(case, name)
            setattr(self, name, jnp.asarray(values).astype(DTYPES[dtype]))

    def output(self, name, value, mask=None, rest=None):
        """A result. mask: which elements count. rest: like mask, but the others must keep the pattern."""
        value = np.asarray(value)
        if rest is not None:
            pattern = np.frombuffer(bytes([suite.PATTERN]) * value.dtype.itemsize, value.dtype)[0]
            value = np.where(rest, value, pattern)
        if mask is not None:
            mask = np.broadcast_to(np.asarray(mask, np.uint8), value.shape)
            value = np.where(mask, value, np.zeros((), value.dtype))
            self.masks[name] = mask
        self.outputs[name] = value

    def modes(self, *known):
        chosen = [m for m in self.case["oracle"] if m in known]
        if not chosen:
            raise Disagreement(f"cases.toml gives the modes {self.case['oracle']}, the twin knows {known}")
        return chosen

    def call(self, body, args, out_shape, *, grid=(), in_specs=None, out_specs=None, scratch=(), prefetch=(),
             aliases=None, semantics=None, modes=None, compare=None, **options):
        """Runs a pipeline in the case's modes and returns its results; copies go to self.copies.

        Shapes and specs as pallas_call has them; maps get the grid indices and then the prefetched refs.
        compare: a function that takes out what is defined of the results.
        """
        shapes = as_tuple(out_shape)
        problem = {"body": body, "args": args, "shapes": shapes, "grid": grid,
                   "in_specs": in_specs or [pl.BlockSpec()] * len(args),
                   "out_specs": out_specs or [pl.BlockSpec()] * len(shapes), "scratch": scratch, "prefetch": prefetch,
                   "aliases": aliases or {}, "semantics": semantics, "options": options}
        results = {}
        for mode in modes or self.modes("hlo", "tpu", "emit"):
            with recording() as recorder:
                results[mode] = [np.asarray(r) for r in RUN[mode](problem)]
            no_race(mode)
            if mode == "emit":
                self.copies.append(recorder.counts(len(args), len(shapes), len(prefetch)))
        first, *others = results
        for other in others:
            for i, (a, b) in enumerate(zip(results[first], results[other])):
                a, b = (compare(a), compare(b)) if compare else (a, b)
                if not np.array_equal(a, b, equal_nan=a.dtype.kind not in "iub"):
                    raise Disagreement(f"result {i}: the modes {first} and {other} differ")
        return results[first]

    def raises(self, kind, pattern, function):
        """The function must raise an error of this kind whose text has the pattern."""
        import re
        try:
            function()
        except Exception as error:  # pylint: disable=broad-exception-caught
            text = f"{type(error).__name__}: {error}"
            if kind not in text or not re.search(pattern, text, re.S):
                raise Disagreement(f"instead of {kind} with {pattern!r}: {text[:500]}") from error
            self.errors.append(f"{kind}: {pattern}")
        else:
            raise Disagreement(f"no {kind} with {pattern!r}")
        finally:
            pltpu.reset_tpu_interpret_mode_state()


def no_race(mode):
    if mode != "hlo" and interpreter.races is not None and interpreter.races.races_found:
        pltpu.reset_tpu_interpret_mode_state()
        raise Disagreement(f"the race detector reports a race in mode {mode}")


def pallas_call(p, interpret):
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=len(p["prefetch"]), grid=p["grid"], in_specs=p["in_specs"],
                                        out_specs=p["out_specs"], scratch_shapes=list(p["scratch"]))
    params = {"compiler_params": pltpu.CompilerParams(dimension_semantics=p["semantics"])} if p["semantics"] else {}
    call = pl.pallas_call(p["body"], out_shape=list(p["shapes"]), grid_spec=spec, interpret=interpret,
                          input_output_aliases=p["aliases"], **params)
    return as_tuple(call(*p["prefetch"], *p["args"]))


def with_refs(spec, refs):
    """A spec whose map gets the prefetched refs, for emit_pipeline, which passes grid indices only."""
    if spec.index_map is None or not refs:
        return spec
    index_map = spec.index_map
    return pl.BlockSpec(spec.block_shape, lambda *ids: index_map(*ids, *refs), memory_space=spec.memory_space,
                        pipeline_mode=spec.pipeline_mode)


def emit(p):
    n_pre, n_args, n_out = len(p["prefetch"]), len(p["args"]), len(p["shapes"])
    grid = p["grid"] if isinstance(p["grid"], tuple) else (p["grid"],)

    def outer(*refs):
        pre, refs = refs[:n_pre], refs[n_pre:]
        operands, scratch = refs[:n_args + n_out], refs[n_args + n_out:]

        def body(*inner):
            p["body"](*pre, *inner)

        pltpu.emit_pipeline(body, grid=grid or (1,), in_specs=[with_refs(s, pre) for s in p["in_specs"]],
                            out_specs=[with_refs(s, pre) for s in p["out_specs"]],
                            dimension_semantics=p["semantics"], **p["options"])(*operands, scratches=scratch)

    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    call = pl.pallas_call(outer, out_shape=list(p["shapes"]), in_specs=[smem] * n_pre + [ANY] * n_args,
                          out_specs=[ANY] * n_out, scratch_shapes=list(p["scratch"]),
                          input_output_aliases=p["aliases"], interpret=tpu())
    return as_tuple(call(*p["prefetch"], *p["args"]))


RUN = {"hlo": lambda p: pallas_call(p, True), "tpu": lambda p: pallas_call(p, tpu()), "emit": emit}


def shape(dtype, *extents):
    return jax.ShapeDtypeStruct(extents, DTYPES[dtype])


def copy_body(*refs):
    """o = x, of the same shape and dtype."""
    refs[1][...] = refs[0][...]
