"""Which policies there are, what each needs, and how one is named in text."""

from __future__ import annotations

import ast
import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from foretell.errors import InvalidInput, UnknownName
from foretell.html_table import html_table
from foretell.plugins import POLICIES, load_plugins
from foretell.policies.spec import Spec
from foretell.policies.verbs import begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Problem, RewardKind

SpecClass = TypeVar("SpecClass", bound=type[Spec])


@dataclass(frozen=True)
class Entry:
    """What the registry knows about a policy."""

    name: str
    spec: type[Spec]
    summary: str
    rewards: tuple[RewardKind, ...]
    """The kinds of reward it can learn from."""
    lab_only: bool
    """It needs what nobody knows outside a simulation (change points, undelayed rewards)."""
    undelayed: bool
    """The simulator gives it every reward at once."""
    stream: bool
    """It reads signals as a stream, so the order of arrival matters to it."""
    needs: tuple[str, ...] = ()
    """What must be known beforehand: "horizon", "window", "change points", …"""
    use: str = ""
    """When to use it, in a few words."""
    cost: str = ""
    """Its work per round, with K actions and S signals."""
    version: int = 1
    """Changes when the same rounds give another state: kept states are then made again."""


_entries: dict[str, Entry] = {}


def register(
    name: str,
    *,
    rewards: tuple[RewardKind, ...] = ("bounded", "gaussian"),
    lab_only: bool = False,
    undelayed: bool = False,
    stream: bool = False,
    needs: tuple[str, ...] = (),
    use: str = "",
    cost: str = "",
    version: int = 1,
) -> Callable[[SpecClass], SpecClass]:
    """Register a spec class under `name`: a class decorator, for our policies and for yours.

    The first line of the class's docstring is its summary. `needs`, `use` and `cost` are shown
    by `policy_table`: what the policy must be told, when to use it, and its
    work per round. `version` is raised by hand whenever the same rounds give a state with other
    bytes: a service then makes its states again from the log. The same name may be registered
    again by a class of the same name, so that a file can be reloaded.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise InvalidInput(
            f"a policy's name is lower-case words joined by dashes, got {name!r}: "
            f"for instance 'my-policy'"
        )

    def decorate(spec: SpecClass) -> SpecClass:
        if not (dataclasses.is_dataclass(spec) and issubclass(spec, Spec)):
            raise InvalidInput(
                f"a policy's spec must be a dataclass derived from foretell.Spec, "
                f"got {spec.__name__}: put @register above @dataclass(frozen=True)"
            )
        taken = _entries.get(name)
        here = (spec.__module__, spec.__qualname__)
        if taken is not None and (taken.spec.__module__, taken.spec.__qualname__) != here:
            raise InvalidInput(
                f"the policy name {name!r} is taken by {taken.spec.__qualname__}: choose another"
            )
        spec.name = name
        summary = (spec.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        _entries[name] = Entry(
            name,
            spec,
            summary,
            rewards,
            lab_only,
            undelayed,
            stream,
            tuple(needs),
            use,
            cost,
            version,
        )
        return spec

    return decorate


def registered_policies() -> dict[str, Entry]:
    """List every registered policy by name, those of installed packages too."""
    load_plugins(POLICIES)
    return dict(sorted(_entries.items()))


def entry(spec: Spec) -> Entry:
    """Return the registry's entry of a spec."""
    found = _entries.get(spec.name)
    if found is None or found.spec is not type(spec):
        raise InvalidInput(
            f"the spec {type(spec).__name__} is not registered: decorate it with @foretell.register"
        )
    return found


def policy(text: str | Spec) -> Spec:
    """Read a spec from its printed form; a spec is given back as it is.

    >>> policy("sw-ucb(window=800)").window
    800
    """
    if isinstance(text, Spec):
        return text
    if not isinstance(text, str):
        raise InvalidInput(
            f"a policy is named by a text or given as a spec, got {text!r}: "
            f"write for instance 'nsd-ucrl2(window=800)'"
        )
    match = re.fullmatch(r"\s*([A-Za-z0-9_-]+)\s*(?:\((.*)\))?\s*", text, flags=re.DOTALL)
    if match is None:
        raise InvalidInput(
            f"cannot read the policy {text!r}: write it as name(field=value, …), "
            f"for instance 'nsd-ucrl2(window=800)'"
        )
    name, arguments = match.group(1), match.group(2) or ""
    if name not in _entries:
        load_plugins(POLICIES)
    if name not in _entries:
        raise UnknownName.of("policy", name, _entries)
    spec = _entries[name].spec
    return spec(**_read_arguments(spec, name, arguments))


def start(spec: Spec, problem: Problem) -> Any:
    """Begin a registered policy, refusing a problem that it does not accept."""
    accepted = entry(spec).rewards
    if problem.rewards not in accepted:
        raise InvalidInput(
            f"{spec.name} learns from {' or '.join(accepted)} rewards only, "
            f"got {problem.rewards} ones: choose another policy"
        )
    return begin(spec, problem)


def _read_arguments(spec: type[Spec], name: str, arguments: str) -> dict[str, Any]:
    unreadable = InvalidInput(
        f"cannot read the fields {arguments!r} of {name}: write field=value, separated by commas"
    )
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
    except SyntaxError:
        raise unreadable from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise unreadable
    if call.args:
        raise InvalidInput(
            f"{name} takes its fields by name, got {ast.unparse(call.args[0])!r}: write field=value"
        )
    fields = [field.name for field in dataclasses.fields(spec)]
    values: dict[str, Any] = {}
    for keyword in call.keywords:
        word = keyword.arg or "**"
        if not fields:
            raise InvalidInput(f"{name} has no fields, got {word!r}: write {name} alone")
        if word not in fields:
            raise UnknownName.of("field", word, fields, f"of {name}")
        if word in values:
            raise InvalidInput(f"{name} has the field {word} twice: give it once")
        try:
            values[word] = ast.literal_eval(keyword.value)
        except ValueError:
            raise unreadable from None
    return values


class PolicyRow(NamedTuple):
    """One line of the table."""

    name: str
    summary: str
    needs: str
    """What it must be told beforehand, as words joined by commas."""
    cost: str
    """Its work per round, with K actions and S signals."""
    use: str
    """When to use it."""
    where: str
    """Where it runs: "lab" for what knows too much for real life, else "lab, live"."""


class PolicyTable(list[PolicyRow]):
    """The rows, which show themselves as a table in a notebook."""

    def _repr_html_(self) -> str:
        return html_table("Policies", PolicyRow._fields, self)


def policy_table(*, shipped: bool = False) -> PolicyTable:
    """Return a row for every registered policy, or only for those that come with foretell.

    >>> next(row.needs for row in policy_table() if row.name == "sw-ucb")
    'window'
    """
    return PolicyTable(
        PolicyRow(
            one.name,
            one.summary,
            ", ".join(one.needs) or "nothing",
            one.cost or "not stated",
            one.use or "not stated",
            "lab" if one.lab_only else "lab, live",
        )
        for one in registered_policies().values()
        if not shipped or one.spec.__module__.startswith("foretell.")
    )


def policy_markdown() -> str:
    """Return the table of the policies that come with foretell, as `docs/policies/index.md` has it.

    >>> print(policy_markdown().splitlines()[0])
    | policy | what it does | needs to be told | work per round | when to use it | where |
    """
    head = ("policy", "what it does", "needs to be told", "work per round", "when to use it")
    lines = [[*head, "where"], ["---"] * 6]
    for row in policy_table(shipped=True):
        lines.append([f"[`{row.name}`]({row.name}.md)", *row[1:]])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
