"""The only module that knows the compiler: it hands our plain functions to numba.

Verbs are dispatched at compile time on the type of the state, as `singledispatch` does at run
time; kernels are compiled into their callers. Four things make this fast: no reference counting
(compiled code borrows every array and allocates none; a state keeps its scratch arrays), forced
inlining (a state is many arrays, and passing them costs more than most kernels do), no counting
of indices from the end (no kernel has a negative one), and uniform numbers drawn in place.

What is compiled is cached on disk in a folder named by a digest of every source that can be part
of them, because numba's own cache does not see edits in other files.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numba.core.config
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.extending import intrinsic, overload, register_jitable
from numba.np import arrayobj

from foretell.errors import InvalidInput
from foretell.kernel import KERNELS, WARM_UP, reseed, uniform
from foretell.policies.draw import share_writer
from foretell.policies.verbs import COMPILED
from foretell.sim.cache import cache_folder
from foretell.sim.draw_worlds import draw_from
from foretell.sim.run import play_runs
from foretell.worlds.knots import draw_knots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foretell.types import Bools, Floats

_OPTIONS: Any = {"_nrt": False, "forceinline": True, "error_model": "numpy"}

_known: set[int] = set()


def compiled_player(state_type: type) -> Callable[..., None]:
    """Return `sim.run.play_runs` for states of this type, compiled when it is called first."""
    return _compiled(play_runs, state_type)


def compiled_drawer(rule_type: type) -> Callable[..., int]:
    """Return `sim.draw_worlds.draw_from` for rules of this type, likewise."""
    return _compiled(draw_from, rule_type)


def _compiled(function: Callable[..., Any], subject: type) -> Callable[..., Any]:
    """Return a function that has the verbs of `subject` in it, compiled for what it is given."""
    _learn_kernels()
    dispatcher = _dispatcher(function, _cache_folder(subject))
    ready = False

    def call(*arguments: Any) -> Any:
        nonlocal ready
        if not ready:
            _compile(dispatcher, subject, arguments)
            ready = True
        return dispatcher(*arguments)

    return call


def compiled_choices(state: Any) -> Callable[..., None]:
    """Compile `policies.draw.choices` for states like this one, now or from the cache on disk.

    Returns `write(state, t, eligible, rng, draws, shares)`, which fills `shares`, to the byte as
    the plain function does. It holds no lock of Python's, so it may run in a worker thread, but
    each state has one scratch space: one call at a time for one state. Compiled code reads the
    numbers of SFC64 in place: `rng` is np.random.Generator(np.random.SFC64(seed)).
    """
    _learn_kernels()
    state_type: type = type(state)
    writer = _dispatcher(share_writer(state), _cache_folder(state_type))
    rng = np.random.Generator(np.random.SFC64(0))
    _compile(writer, state_type, (state, 0, np.ones(1, np.bool_), rng, 1, np.zeros(1)))

    def write(
        state: Any, t: int, eligible: Bools, rng: np.random.Generator, draws: int, shares: Floats
    ) -> None:
        if not isinstance(rng.bit_generator, np.random.SFC64):
            raise InvalidInput(
                f"compiled choices need random numbers of SFC64, got "
                f"{type(rng.bit_generator).__name__}: "
                f"use np.random.Generator(np.random.SFC64(seed))"
            )
        writer(state, t, eligible, rng, draws, shares)

    return write


def _learn_kernels() -> None:
    """Let compiled code call every kernel that there is by now."""
    for function in KERNELS:
        if id(function) not in _known:
            _known.add(id(function))
            register_jitable(**_OPTIONS)(function)


def _compile(dispatcher: Any, state_type: type, arguments: tuple[Any, ...]) -> None:
    """Compile for the types of these arguments, or load what was compiled before."""
    try:
        with global_compiler_lock, _indices_from_the_start():
            dispatcher.compile(tuple(map(numba.typeof, arguments)))
    except NumbaError as error:
        raise InvalidInput(_explained(state_type, error)) from error


@contextmanager
def _indices_from_the_start() -> Iterator[None]:
    """Let numba take indices as they are while it compiles, instead of trying them for < 0."""
    before = arrayobj.fix_integer_index

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, _: Any) -> Any:
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    arrayobj.fix_integer_index = as_it_is
    try:
        yield
    finally:
        arrayobj.fix_integer_index = before


def _explained(state_type: type, error: NumbaError) -> str:
    """Return one sentence that says why a policy cannot be compiled."""
    text = str(error)
    what = f"the policy of {state_type.__name__} cannot be compiled"
    if "NRT required" in text or "returning of array" in text:
        return f"{what}, because it makes a new array in a verb: keep scratch arrays in its state"
    reason = next((line.strip() for line in text.splitlines()[1:] if line.strip()), text)
    return f"{what} ({reason}): run it with compiled=False, or use loops, math and arrays only"


def _dispatch_verb(verb: Any) -> None:
    @overload(verb, strict=False, jit_options=_OPTIONS)
    def implementation(state: Any, *_: Any) -> Callable[..., Any] | None:
        if not hasattr(state, "instance_class"):
            return None
        chosen: Callable[..., Any] = verb.dispatch(state.instance_class)
        return chosen


for _verb in (*COMPILED, draw_knots):
    _dispatch_verb(_verb)


@intrinsic
def _next_uniform(_: Any, bits: Any) -> Any:
    """Advance the state of NumPy's SFC64 and return the number that `rng.random()` would."""

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        proxy: Any = cgutils.create_struct_proxy
        generator = proxy(bits)(context, builder, value=arguments[0])
        state = builder.inttoptr(generator.state, word.as_pointer())
        pointers = [builder.gep(state, [ir.Constant(word, index)]) for index in range(4)]
        a, b, c, count = (builder.load(pointer) for pointer in pointers)

        def left(value: Any, by: int) -> Any:
            return builder.shl(value, ir.Constant(word, by))

        def right(value: Any, by: int) -> Any:
            return builder.lshr(value, ir.Constant(word, by))

        drawn = builder.add(builder.add(a, b), count)
        builder.store(builder.xor(b, right(b, 11)), pointers[0])
        builder.store(builder.add(c, left(c, 3)), pointers[1])
        builder.store(builder.add(builder.or_(left(c, 24), right(c, 40)), drawn), pointers[2])
        builder.store(builder.add(count, ir.Constant(word, 1)), pointers[3])
        top = builder.uitofp(right(drawn, 11), ir.DoubleType())
        return builder.fmul(top, ir.Constant(ir.DoubleType(), 2.0**-53))

    return types.float64(bits), generate


@overload(uniform, strict=False, jit_options=_OPTIONS)
def _uniform(_: Any) -> Callable[..., float]:
    advance: Any = _next_uniform

    def draw(rng: Any) -> float:
        drawn: float = advance(rng.bit_generator)
        return drawn

    return draw


@intrinsic
def _write_words(_: Any, bits: Any, words: Any) -> Any:
    """Set the words of NumPy's SFC64, its counter to 1, and clear the half that it may keep."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        proxy: Any = cgutils.create_struct_proxy
        generator = proxy(bits)(context, builder, value=arguments[0])
        state = builder.inttoptr(generator.state, word.as_pointer())
        given = proxy(signature.args[1])(context, builder, value=arguments[1])
        values = [
            builder.load(builder.gep(given.data, [ir.Constant(word, index)])) for index in range(3)
        ]
        for index, value in enumerate([*values, ir.Constant(word, 1), ir.Constant(word, 0)]):
            builder.store(value, builder.gep(state, [ir.Constant(word, index)]))
        return context.get_dummy_value()

    return types.void(bits, words), generate


@overload(reseed, strict=False, jit_options=_OPTIONS)
def _reseed(_: Any, __: Any) -> Callable[..., None]:
    advance: Any = _next_uniform
    write: Any = _write_words

    def begin(rng: Any, words: Any) -> None:
        write(rng.bit_generator, words)
        for _ in range(WARM_UP):
            advance(rng.bit_generator)

    return begin


@cache
def _dispatcher(function: Callable[..., Any], folder: Path | None) -> Any:
    """Return numba's dispatcher of a function with its cache in `folder`; None is no cache."""
    if folder is None:
        return numba.njit(nogil=True, **_OPTIONS)(function)
    config: Any = numba.core.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        return numba.njit(nogil=True, cache=True, **_OPTIONS)(function)
    finally:
        config.CACHE_DIR = before


@cache
def _cache_folder(state_type: type) -> Path | None:
    """Return the folder for runs of this state; None where its own source cannot be read."""
    if _is_ours(state_type):
        return cache_folder("compiled")
    extra = set()
    for part in (state_type, *(function for function in KERNELS if not _is_ours(function))):
        try:
            source = inspect.getsourcefile(part)  # type: ignore[arg-type]
        except TypeError:
            source = None
        if source is None or not Path(source).is_file():
            return None
        extra.add(Path(source))
    return cache_folder("compiled", tuple(sorted(extra)))


def _is_ours(part: Any) -> bool:
    return str(part.__module__).startswith("foretell.")
