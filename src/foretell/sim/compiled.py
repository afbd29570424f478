"""The only module that knows the compiler: it hands our plain functions to numba.

Verbs are dispatched at compile time on the type of the state, as `singledispatch` does at run
time; kernels are compiled into their callers. Four things make this fast: no reference counting
(compiled code borrows every array and allocates none; a state keeps its scratch arrays), forced
inlining (a state is many arrays, and passing them costs more than most kernels do), no counting
of indices from the end (no kernel has a negative one), and uniform numbers drawn in place.

What is compiled is cached on disk, in the folders of `compile_cache`.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numba
import numba.core.config
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext, CPUTargetOptions
from numba.core.errors import NumbaError
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic, overload, register_jitable
from numba.np import arrayobj, linalg

from foretell.errors import InvalidInput
from foretell.evaluation.reading import read_rounds
from foretell.evaluation.replay import replay_rounds
from foretell.kernel import KERNELS, WARM_UP, reseed, uniform
from foretell.policies.draw import share_writer, share_writer_of, write_shares
from foretell.policies.verbs import COMPILED, value_verb_of
from foretell.sim.compile_cache import Structure, compiled_folder, structure_of
from foretell.sim.draw_worlds import draw_from
from foretell.sim.run import play_runs
from foretell.worlds.knots import draw_knots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from foretell.types import Bools, Floats

_OPTIONS: Any = {"_nrt": False, "forceinline": True, "error_model": "numpy"}

_known: set[int] = set()


class CompiledFunction:
    """One of our functions with the verbs of a state, or a rule, compiled into it.

    All its calls have arguments of the same types; the first compiles, or loads from the disk.
    """

    def __init__(self, function: Callable[..., Any], structure: Structure) -> None:
        """Prepare to compile; nothing is compiled yet."""
        _learn_kernels()
        self._subject: type = structure[0]
        self._dispatcher = _dispatcher(function, compiled_folder(structure))
        self.ready = False
        """Whether it is compiled and loaded."""

    def __call__(self, *arguments: Any) -> Any:
        """Call it, compiled."""
        if not self.ready:
            _compile(self._dispatcher, self._subject, arguments)
            self.ready = True
        return self._dispatcher(*arguments)

    def is_on_disk(self, *arguments: Any) -> bool:
        """Return whether a call with such arguments finds it compiled."""
        cache = self._dispatcher._cache
        if not hasattr(cache, "_cache_file"):
            return False
        types_of = tuple(map(numba.typeof, arguments))
        key = cache._index_key(types_of, self._dispatcher.targetctx.codegen())
        return key in cache._cache_file._load_index()


def compiled_player(state: Any) -> CompiledFunction:
    """Return `sim.run.play_runs` for states like this one."""
    return _compiled(play_runs, structure_of(state))


def compiled_drawer(rule: Any) -> CompiledFunction:
    """Return `sim.draw_worlds.draw_from` for rules like this one."""
    return _compiled(draw_from, structure_of(rule))


def compiled_replayer(state: Any) -> CompiledFunction:
    """Return `evaluation.replay.replay_rounds` for states like this one."""
    return _compiled(replay_rounds, structure_of(state))


def compiled_reader(state: Any) -> CompiledFunction:
    """Return `evaluation.reading.read_rounds` for states like this one."""
    return _compiled(read_rounds, structure_of(state))


@cache
def _compiled(function: Callable[..., Any], structure: Structure) -> CompiledFunction:
    return CompiledFunction(function, structure)


def compiled_choices(state: Any) -> Callable[..., None]:
    """Compile `policies.draw.choices` for states like this one, now or from the cache on disk.

    Returns `write(state, t, eligible, rng, draws, shares)`, which fills `shares`, to the byte as
    the plain function does. It holds no lock of Python's, so it may run in a worker thread, but
    each state has one scratch space: one call at a time for one state. Compiled code reads the
    numbers of SFC64 in place: `rng` is np.random.Generator(np.random.SFC64(seed)).
    """
    _learn_kernels()
    state_type: type = type(state)
    writer = _dispatcher(share_writer(state), compiled_folder(structure_of(state)))
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


def compiled_values(state: Any) -> Callable[..., None] | None:
    """Compile the `value_verb_of` states like this one: `write(state, t, values)`.

    Returns None where such a state has none.
    """
    verb = value_verb_of(type(state))
    if verb is None:
        return None
    _learn_kernels()
    plain = verb.dispatch(type(state))
    writer: Callable[..., None] = _dispatcher(plain, compiled_folder(structure_of(state)))
    _compile(writer, type(state), (state, 0, np.zeros(1)))
    return writer


def _learn_kernels() -> None:
    """Let compiled code call every kernel that there is by now."""
    for function in KERNELS:
        if id(function) not in _known:
            _known.add(id(function))
            register_jitable(**_OPTIONS)(function)


def _compile(dispatcher: Any, state_type: type, arguments: tuple[Any, ...]) -> None:
    """Compile for the types of these arguments, or load what was compiled before."""
    try:
        with global_compiler_lock, _indices_from_the_start(), _kernels_inside_their_callers():
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


@contextmanager
def _kernels_inside_their_callers() -> Iterator[None]:
    """Let numba compile kernels into their callers only.

    Left alone it also optimises every kernel by itself, makes machine code of it, and two entry
    points that nobody calls: half of all its work.
    """
    options_class: Any = CPUTargetOptions
    context_class: Any = CPUContext
    stack: Any = ConfigStack
    finalize, get_executable = options_class.finalize, context_class.get_executable

    def without_entries(self: Any, flags: Any, options: Any) -> None:
        finalize(self, flags, options)
        if options.get("forceinline") and stack().top_or_none() is not None:
            flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True

    def without_machine_code(self: Any, library: Any, description: Any, env: Any) -> Any:
        flags = stack().top_or_none()
        if flags is None or not flags.no_cpython_wrapper:
            return get_executable(self, library, description, env)
        library._optimize_final_module = library._finalize_final_module = _do_nothing
        library.finalize()
        library._finalized = True
        return [].append  # something callable of its own: numba finds the kernel by it

    options_class.finalize = without_entries
    context_class.get_executable = without_machine_code
    try:
        yield
    finally:
        options_class.finalize = finalize
        context_class.get_executable = get_executable


def _do_nothing() -> None:
    """Stand for a step of numba that a kernel does not need."""


def _explained(state_type: type, error: NumbaError) -> str:
    """Return one sentence that says why a policy cannot be compiled."""
    text = str(error)
    what = f"the policy of {state_type.__name__} cannot be compiled"
    if "NRT required" in text or "returning of array" in text:
        return f"{what}, because it makes a new array in a verb: keep scratch arrays in its state"
    reason = next((line.strip() for line in text.splitlines()[1:] if line.strip()), text)
    return f"{what} ({reason}): run it with compiled=False, or use loops, math and arrays only"


def _load_without_scipy() -> None:
    """Load what numba would import SciPy for, only to see whether it can.

    Where linear algebra is compiled, numba looks again.
    """
    before = linalg.ensure_blas

    def ensure_blas() -> None:
        if find_spec("scipy") is None:
            raise ImportError

    linalg.ensure_blas = ensure_blas
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = before


_load_without_scipy()


def _dispatch_verb(verb: Any) -> None:
    @overload(verb, strict=False, jit_options=_OPTIONS)
    def implementation(state: Any, *_: Any) -> Callable[..., Any] | None:
        if not hasattr(state, "instance_class"):
            return None
        chosen: Callable[..., Any] = verb.dispatch(state.instance_class)
        return chosen


for _verb in (*COMPILED, draw_knots):
    _dispatch_verb(_verb)


@overload(write_shares, strict=False, jit_options=_OPTIONS)
def _write_shares(state: Any, *_: Any) -> Callable[..., None]:
    return share_writer_of(state.instance_class)


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
