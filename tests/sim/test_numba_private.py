"""What `sim/compiled.py` uses of numba and llvmlite is still what we think it is.

Much of it is private to numba, so pyproject.toml bounds its version. Each assertion says what to
look at when a newer numba breaks it; when all hold, the bound may be raised.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numba.core.config
import numpy as np
import pytest
from llvmlite import ir
from numba.core import cgutils, codegen, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.extending import register_jitable
from numba.np import arrayobj

from foretell.kernel import uniform
from foretell.policies.verbs import COMPILED, IGNORABLE, ignore
from foretell.sim import compiled
from foretell.types import Floats

pytestmark = pytest.mark.compiled

njit: Any = numba.njit
typeof: Any = numba.typeof
datamodel: Any = importlib.import_module("numba.core.datamodel")
lock: Any = global_compiler_lock
fix_integer_index: Any = arrayobj.fix_integer_index

WORDS = 4
MASK = 2**64 - 1


class OwnState(NamedTuple):
    counts: Floats


def take(values: Floats, index: int) -> float:
    return values[index]


def make_array(size: int) -> float:
    return np.zeros(size)[0]


def twice(value: float) -> float:
    return 2.0 * value


def state_words(bits: np.random.SFC64) -> list[int]:
    """Read the state as compiled code does: four words behind a pointer."""
    pointer = ctypes.cast(bits.ctypes.state_address, ctypes.POINTER(ctypes.c_uint64))
    return [pointer[word] for word in range(WORDS)]


def test_indices_go_through_fix_integer_index(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(inspect.signature(fix_integer_index).parameters)
    assert found == ["context", "builder", "idxty", "idx", "size"], (
        f"fix_integer_index takes {found}: let `as_it_is` in `_indices_from_the_start` take these"
    )
    calls: list[Any] = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return fix_integer_index(*arguments)

    monkeypatch.setattr(arrayobj, "fix_integer_index", counted)
    njit(take).compile((types.float64[::1], types.int64))
    assert calls, (
        "a[i] no longer calls arrayobj.fix_integer_index: look for what wraps negative indices in "
        "numba.np.arrayobj.basic_indexing, and replace that instead"
    )
    assert calls[0][2].signed, "its third argument is no longer the type of the index"


def test_indices_are_taken_as_they_are_only_while_we_compile() -> None:
    values = np.arange(5.0)
    with compiled._indices_from_the_start():
        assert arrayobj.fix_integer_index is not fix_integer_index
        plain = njit(take)
        plain.compile((types.float64[::1], types.int64))
    assert arrayobj.fix_integer_index is fix_integer_index
    assert [plain(values, index) for index in range(5)] == values.tolist()
    wrapping = njit(take)
    wrapping.compile((types.float64[::1], types.int64))
    lengths = [len(one.inspect_asm(one.signatures[0])) for one in (plain, wrapping)]
    assert lengths[0] < lengths[1], (
        "indices are tried for < 0 although fix_integer_index was replaced: see basic_indexing in "
        "numba.np.arrayobj"
    )


def test_the_option_nrt_forbids_new_arrays_and_says_so() -> None:
    njit(**compiled._OPTIONS)(twice)(1.0)
    with pytest.raises(NumbaError) as refused:
        njit(**compiled._OPTIONS)(make_array)(3)
    assert "makes a new array" in compiled._explained(OwnState, refused.value), (
        "numba says in other words that there is no room for a new array: `_explained` in "
        "sim/compiled.py looks for its words"
    )


def test_the_option_forceinline_inlines() -> None:
    function = njit(**compiled._OPTIONS)(twice)
    function(1.0)
    assert "alwaysinline" in function.inspect_llvm(function.signatures[0]), (
        "the option `forceinline` no longer marks a function alwaysinline: see "
        "numba.core.options and numba.core.lowering; without it states are passed array by array"
    )


def test_the_lock_of_the_compiler_is_a_context() -> None:
    with lock:
        assert lock.is_locked(), "numba.core.compiler_lock changed its lock"


def test_the_type_of_a_state_names_its_class() -> None:
    found = typeof(OwnState(np.zeros(2)))
    assert found.instance_class is OwnState, (
        "numba's type of a NamedTuple no longer has `instance_class`: `_dispatch_verb` reads it "
        "to choose the verb of a policy"
    )


def test_a_verb_may_be_a_function_with_more_parameters_than_it_is_called_with() -> None:
    class State(NamedTuple):
        counts: Floats

    verbs = [verb for verb in IGNORABLE if verb in COMPILED]
    ignore(State, *verbs)
    state = State(np.zeros(2))
    for verb in verbs:
        arguments = [1] * (len(inspect.signature(verb.dispatch(object)).parameters) - 1)

        def call(state: Any, arguments: Any, verb: Any = verb) -> None:
            verb(state, *arguments)

        njit(**compiled._OPTIONS)(call)(state, tuple(arguments))


def test_a_generator_holds_a_pointer_to_the_state_of_its_bits() -> None:
    rng = np.random.Generator(np.random.SFC64(1))
    assert typeof(rng) is types.NumPyRandomGeneratorType("NumPyRandomGeneratorType"), (
        "numba's type of a Generator changed: `_uniform` reads its `bit_generator`"
    )
    fields = datamodel.default_manager[typeof(rng.bit_generator)]._fields
    assert "state" in fields, (
        f"the data model of a bit generator has {fields}, and no `state`: `_next_uniform` reads "
        f"this address"
    )
    assert callable(cgutils.create_struct_proxy), "cgutils.create_struct_proxy is gone"
    assert str(ir.IntType(64).as_pointer()) in ("i64*", "ptr"), (
        "llvmlite writes pointers another way: see the gep and load of `_next_uniform`"
    )


def test_sfc64_has_four_words_of_state_in_the_order_that_is_read() -> None:
    bits = np.random.SFC64(7)
    held = [int(word) for word in bits.state["state"]["state"]]
    assert state_words(bits) == held, (
        "NumPy keeps the state of SFC64 in another layout than a, b, c, counter: `_next_uniform` "
        "reads and writes these four words in place"
    )
    a, b, c, count = held
    drawn = (a + b + count) & MASK
    expected = [
        b ^ b >> 11,
        (c + (c << 3)) & MASK,
        ((c << 24 & MASK | c >> 40) + drawn) & MASK,
        (count + 1) & MASK,
    ]
    assert np.random.Generator(bits).random() == (drawn >> 11) * 2.0**-53, (
        "SFC64 draws other numbers, or random() makes another double of them"
    )
    assert state_words(bits) == expected, "SFC64 advances in another way than `_next_uniform`"


def test_compiled_numbers_are_those_of_the_generator_and_leave_its_state() -> None:
    compiled._learn_kernels()

    def draw(rng: np.random.Generator) -> float:
        return uniform(rng)

    function: Callable[..., float] = njit(**compiled._OPTIONS)(draw)
    ours, theirs = (np.random.Generator(np.random.SFC64(11)) for _ in range(2))
    assert [function(ours) for _ in range(500)] == [theirs.random() for _ in range(500)]
    assert str(ours.bit_generator.state) == str(theirs.bit_generator.state)


@pytest.mark.parametrize(
    ("context", "made"), [(compiled._kernels_inside_their_callers, 1), (nullcontext, 2)]
)
def test_kernels_are_compiled_into_their_callers_only(
    context: Callable[[], Any], made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished: list[str] = []
    library: Any = codegen.JITCodeLibrary
    finish = library._finalize_specific

    def watched(self: Any) -> None:
        finished.append(self.name)
        finish(self)

    monkeypatch.setattr(library, "_finalize_specific", watched)
    mark: Any = register_jitable
    inner = mark(**compiled._OPTIONS)(lambda value: 3.0 * value)

    def outer(value: float) -> float:
        return inner(value) + 1.0

    function = njit(**compiled._OPTIONS)(outer)
    with lock, context():
        function.compile((types.float64,))
    assert function(2.0) == 7.0
    assert len(finished) == made, (
        f"machine code was made of {finished}: see the flags and steps that "
        f"`_kernels_inside_their_callers` sets, in numba.core.typed_passes and codegen"
    )


def test_what_numba_has_on_disk_is_known_before_it_is_loaded(tmp_path: Path) -> None:
    def known() -> compiled.CompiledFunction:
        function = compiled.CompiledFunction.__new__(compiled.CompiledFunction)
        function._dispatcher = compiled._dispatcher.__wrapped__(twice, tmp_path / "known")
        function._subject, function.ready = OwnState, False
        return function

    first = known()
    assert not first.is_on_disk(1.0), "numba's cache says that it holds what was never compiled"
    assert first(1.0) == 2.0
    assert known().is_on_disk(1.0), (
        "what was compiled is not in numba's index: `is_on_disk` reads it as "
        "numba.core.caching.IndexDataCacheFile does"
    )
    assert not known().is_on_disk(1)


def test_the_cache_is_where_the_setting_said_when_the_function_was_made(tmp_path: Path) -> None:
    config: Any = numba.core.config
    before = config.CACHE_DIR
    made = compiled._dispatcher.__wrapped__(twice, tmp_path / "cache")
    assert before == config.CACHE_DIR
    assert Path(made.stats.cache_path).is_relative_to(tmp_path / "cache"), (
        "numba no longer reads config.CACHE_DIR when a function is decorated: see the locators in "
        "numba.core.caching, and `_dispatcher` in sim/compiled.py"
    )
    made.compile((types.float64,))
    assert list((tmp_path / "cache").rglob("*.nbi")), "nothing was written to the cache"
    again = compiled._dispatcher.__wrapped__(twice, tmp_path / "cache")
    again.compile((types.float64,))
    assert again.stats.cache_hits, "what was compiled is not found again"
