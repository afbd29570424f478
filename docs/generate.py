"""Make the generated tables of the documentation again: `python docs/generate.py`.

A table stands between two marks, `<!-- name -->` and `<!-- /name -->`; the text around it is
written by hand.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from foretell.cli import cli
from foretell.cli.spec_fields import SpecField, part_fields, spec_fields
from foretell.field_texts import field_texts
from foretell.policies import policy_markdown, policy_table, registered_policies
from foretell.service.http.metric_catalogue import metrics_markdown
from foretell.service.http.routes import OPERATIONS
from foretell.service.log.chain import Chain
from foretell.service.log.record import stored_row
from foretell.service.model.events import Decided, stamp
from foretell.service.setting_info import settings_markdown
from foretell.studies.leaderboard.board import load_leaderboard
from foretell.studies.leaderboard.report import leaderboard_markdown
from foretell.worlds import (
    Scenario,
    delays,
    interpolation,
    random_walk,
    redraws,
    rewards,
    shifts,
    theta_lines,
    theta_redraws,
    theta_steps,
    theta_walk,
)
from foretell.worlds.changes import Stationary
from foretell.worlds.theta_changes import ConstantTheta

DOCS = Path(__file__).parent
EXAMPLE_SEQ = stamp(1_794_867_099_797_951)
EXAMPLE = Decided(
    config=1,
    action=2,
    propensity=0.25,
    mode_index=0,
    eligible=4,
    nonce=0x0123456789ABCDEF,
    state=stamp(1_794_867_099_797_166),
    key="visit-7f3a",
    request=bytes.fromhex("8badf00d8badf00d"),
)
"""The decision that the page on the format of the log shows."""
LAW = [[0.7, 0.3], [0.4, 0.6]]
PARTS: dict[str, dict[str, msgspec.Struct]] = {
    "How the law changes": {
        "ft.Scenario(law=…, theta=…)": Stationary(),
        "ft.shifts(at=[2000, 4000])": shifts(at=[2000, 4000]),
        "ft.redraws(every=1000, count=1)": redraws(every=1000, count=1),
        "ft.interpolation([(5000, law)])": interpolation([(5000, LAW)]),
        "ft.random_walk(spread=0.1)": random_walk(spread=0.1),
    },
    "How theta changes": {
        "ft.Scenario(law=…, theta=…)": ConstantTheta(),
        "ft.theta_steps([(3000, [0.4, 0.9])])": theta_steps([(3000, [0.4, 0.9])]),
        "ft.theta_lines([(5000, [0.4, 0.9])])": theta_lines([(5000, [0.4, 0.9])]),
        "ft.theta_redraws(every=2000, count=1)": theta_redraws(every=2000, count=1),
        "ft.theta_walk(spread=0.1)": theta_walk(spread=0.1),
    },
    "When it changes": {"ft.shifts(hazard=0.001)": shifts(at=[2000]).when},
    "When rewards arrive": {
        "500": delays.ConstantDelay(500),
        "ft.delays.UniformDelay(0, 1000)": delays.UniformDelay(0, 1000),
        "ft.delays.GeometricDelay(500)": delays.GeometricDelay(500),
        "ft.delays.GammaDelay(500, shape=4)": delays.GammaDelay(500, shape=4),
        "ft.delays.LogNormalDelay(300, sigma=1)": delays.LogNormalDelay(300, sigma=1),
        "ft.delays.ParetoDelay(1.5, scale=250)": delays.ParetoDelay(1.5, scale=250),
        "ft.delays.TableDelay((1, 7, 30))": delays.TableDelay((1, 7, 30)),
        "ft.delays.NeverDelay()": delays.NeverDelay(),
        "ft.delays.ByRewardDelay(high, low)": delays.ByRewardDelay(
            delays.GeometricDelay(100), delays.ConstantDelay(900)
        ),
    },
    "What a reward is": {
        "ft.rewards.Bernoulli()": rewards.Bernoulli(),
        "ft.rewards.Beta(low=0, high=100)": rewards.Beta(low=0, high=100),
        "ft.rewards.Fixed()": rewards.Fixed(),
        "ft.rewards.Gaussian(sigma=2)": rewards.Gaussian(sigma=2),
    },
}
"""An example of every part of a scenario, as it is written."""
HEAT_MAP = (
    "![Regret by that of the best fixed window, policy by scenario](images/leaderboard-heat.svg)"
)


def tables() -> dict[str, tuple[Path, str]]:
    """Return every generated table by the name of its marks, with its page."""
    made = {
        "policies": (DOCS / "policies" / "index.md", policy_markdown()),
        "settings": (DOCS / "live.md", settings_markdown()),
        "commands": (DOCS / "reference" / "commands.md", commands_markdown()),
        "metrics": (DOCS / "reference" / "metrics.md", metrics_markdown()),
        "routes": (DOCS / "reference" / "api.md", routes_markdown()),
        "record": (DOCS / "explanation" / "log-format.md", record_markdown()),
    }
    for row in policy_table(shipped=True):
        page = DOCS / "policies" / f"{row.name}.md"
        made[f"parameters of {row.name}"] = (page, policy_parameters_markdown(row.name))
    made["scenario parts"] = (DOCS / "reference" / "scenario-parts.md", scenario_parts_markdown())
    made["leaderboard"] = (DOCS / "leaderboard.md", _leaderboard())
    made["live benchmarks"] = (DOCS / "benchmarks.md", _live_benchmarks())
    return made


def _leaderboard() -> str:
    """Return the tables of the leaderboard, or that they are still to be made."""
    if (DOCS / "leaderboard.json").is_file():
        return f"{HEAT_MAP}\n\n{leaderboard_markdown(load_leaderboard(DOCS))}"
    return "No numbers yet for this set of policies and scenarios: `make leaderboard` makes them.\n"


def _live_benchmarks() -> str:
    """Return the table of the last run of the benchmarks of the service that was kept."""
    sys.path.insert(0, str(DOCS.parent))  # they are not part of the package
    from benchmarks.history import LIVE

    return LIVE.markdown()


def commands_markdown() -> str:
    """Return every command with its options."""
    return "\n".join(_command(name, command) for name, command in _commands("foretell", cli))


def _commands(prefix: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None  # noqa: S101  (the group lists it)
        if isinstance(command, click.Group):
            yield from _commands(f"{prefix} {name}", command)
        else:
            yield f"{prefix} {name}", command


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *(one.make_metavar(context) for one in _arguments(command))])
    rows = [one.get_help_record(context) for one in command.params if isinstance(one, click.Option)]
    options = [
        f"| `{flag.replace('|', chr(92) + '|')}` | {' '.join(words.split())} |"
        for flag, words in filter(None, rows)
    ]
    table = ["| option | what it does |", "|---|---|", *options, ""] if options else []
    summary = (command.help or "").partition("\n\n")[0].replace("\n", " ").strip()
    return "\n".join([f"## `{usage}`", "", summary, "", *table])


def _arguments(command: click.Command) -> list[click.Argument]:
    return [one for one in command.params if isinstance(one, click.Argument)]


def policy_parameters_markdown(name: str) -> str:
    """Return what can be set of a policy as a table."""
    spec = registered_policies()[name].spec
    fields = spec_fields(spec)
    if not fields:
        return f"`ft.{spec.__name__}()`, or `{name}` as text. It has no parameters.\n"
    written = f"{name}({fields[0].name}=…)"
    return f"`ft.{spec.__name__}(…)`, or `{written}` as text.\n\n{_fields_table(fields)}"


def scenario_parts_markdown() -> str:
    """Return what can be set of a scenario and of each of its parts, as tables."""
    meanings = field_texts(Scenario)
    rows = [
        (f"`{one.name}`", f"`{one.default!r}`", meanings[one.name])
        for one in dataclasses.fields(Scenario)
    ]
    lines = [
        "## The scenario",
        "",
        "`ft.Scenario(…)`: `theta`, and either `law` or `segments`.",
        "",
    ]
    lines += _markdown_table(("field", "default", "meaning"), rows)
    for heading, parts in PARTS.items():
        lines += ["", f"## {heading}"]
        for written, example in parts.items():
            config, fields = example.__struct_config__, part_fields(example)
            tag = f'{config.tag_field} = "{config.tag}"' + ", …" * bool(fields)
            file = f" In a study file: `{{ {tag} }}`." if config.tag else ""
            summary = " ".join((type(example).__doc__ or "").partition("\n\n")[0].split())
            title = f"### `{type(example).__name__}`"
            lines += ["", title, "", f"{summary} For instance `{written}`.{file}", ""]
            lines.append(_fields_table(fields).rstrip() if fields else "It has no parameters.")
    return "\n".join(lines) + "\n"


def _fields_table(fields: list[SpecField]) -> str:
    rows = [
        (
            f"`{one.name}`",
            f"`{one.kind}`",
            f"`{one.default}`" if one.default else "has to be given",
            one.values,
            one.meaning,
        )
        for one in fields
    ]
    columns = ("field", "type", "default", "values", "meaning")
    return "\n".join(_markdown_table(columns, rows)) + "\n"


def _markdown_table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [columns, ("---",) * len(columns), *rows]
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines]


def routes_markdown() -> str:
    """Return every operation of the service as a table."""
    rows = ["| operation | scope | what it does |", "|---|---|---|"]
    rows += [
        f"| `{one.method} {one.path.replace(':unit}', '}')}` "
        f"| {one.scope or 'no key'} | {one.summary} |"
        for one in OPERATIONS
    ]
    return "\n".join(rows) + "\n"


def record_markdown() -> str:
    """Return a decision of campaign 7 as it is stored: its body in hex, and the row around it."""
    row = stored_row(EXAMPLE_SEQ, 7, 0, EXAMPLE)
    fields = [("tag", Decided.__struct_config__.tag)]
    fields += [(name, getattr(EXAMPLE, name)) for name in Decided.__struct_fields__]
    pieces = [(name, value, msgspec.msgpack.encode(value)) for name, value in fields]
    head = bytes([0x90 + len(pieces)])
    if head + b"".join(piece for _, _, piece in pieces) != row.body:
        raise SystemExit("the body is not its fields in order: describe the format again")
    lines = ["| bytes of the body | field | value |", "|---|---|---|"]
    lines.append(f"| `{head.hex()}` | | an array of {len(pieces)} |")
    lines += [
        f"| `{piece.hex(' ')}` | `{name}` | {_shown(value)} |" for name, value, piece in pieces
    ]
    lines += ["", f"Together {len(row.body)} bytes. The row in SQLite:", ""]
    lines += ["| column | value |", "|---|---|", f"| `seq` | {row.seq} |"]
    lines += [
        f"| `campaign` | {row.campaign} |",
        "| `decision` | NULL: a decision is about itself |",
    ]
    lines += [f"| `body` | `{row.body.hex()}` |", f"| `checksum` | {row.checksum} |", ""]
    chain = Chain()
    chain.add(row)
    lines.append(f"Its link, if it is the first of its stream: `{chain.link.hex()}`")
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    return f"`{value.hex()}` in hex" if isinstance(value, bytes) and value else f"`{value!r}`"


def replaced(text: str, name: str, table: str) -> str:
    """Put the table between its marks."""
    first, last = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if first not in text or last not in text:
        raise SystemExit(f"the page has no marks {first.strip()} and {last}: put them in")
    before, after = text.split(first, maxsplit=1)[0], text.split(last)[1]
    return f"{before}{first}\n{table}\n{last}{after}"


def main() -> None:
    """Write every page whose table has changed."""
    for name, (page, table) in tables().items():
        text = page.read_text(encoding="utf-8")
        fresh = replaced(text, name, table)
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            print(f"made {page.name} again")


if __name__ == "__main__":
    sys.exit(main())
