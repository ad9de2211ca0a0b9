"""Writes the reference pages from the code: commands.md and systems.md in this folder.

python -m docs.reference
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main
import yaml

from benchmarks import languages
from benchmarks.recording.shipped import Asked, ours, random_lists
from tests.fusion_packages import pairs
from workbench import cli
from workbench.cli.app import app
from workbench.cli.entry import OWN_MISTAKE
from workbench.errors import InputError, ProviderError, StorageError
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import counted
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.diagnose.findings import Finding, lint, lint_on
from workbench_plugins.doctor.faults import Fault, faults, held_by
from workbench_plugins.engines.museum import SPECIMENS, Side, SmallSearch, Specimen
from workbench_plugins.engines.presets import ENGINES, fuse
from workbench_plugins.engines.shipped_fusions import PIPELINES

HERE = Path(__file__).parent
RENEW = "python -m docs.reference"
EXIT_CODES = {
    0: "yes: the command did what it was asked",
    1: "no: nothing was returned, the file is not among the results, or something is not installed",
    InputError.exit_code: "the input cannot be used",
    StorageError.exit_code: "the storage fails (disk full, locked, damaged); nothing stored is lost",
    ProviderError.exit_code: "an embedding provider fails",
    OWN_MISTAKE: "a mistake in the workbench",
    130: "interrupted with Ctrl-C",
}
NOTES = {
    "MEMORY.md": "# Memory\n\nThe family drinks green tea in the morning.\n",
    "memory/bike.md": "# Bike\n\nThe bike has a flat tyre, number 4711.\n",
}
QUESTIONS = """\
questions: [{question: green tea, target: MEMORY.md, kind: direct}]
controls: [{question: a boat in the harbour}]
"""
ASKED = "green tea"
SHOWN: Mapping[str, tuple[str, ...]] = {
    "search": ("search", ASKED),
    "explain": ("explain", ASKED, "--target", "MEMORY.md"),
    "compare": ("compare", "openclaw-2026.2.13", "openclaw-2026.9.6", "--question", ASKED),
    "evaluate": ("evaluate", "--questions", "questions.yaml", "--system", "openclaw-2026.2.13"),
    "systems": ("systems",),
    "systems NAME": ("systems", "openclaw-2026.2.13+or"),
    "systems A B": ("systems", "openclaw-2026.2.13", "openclaw-2026.2.13+or"),
    "index": ("index", "notes", "--rebuild"),
    "index --list": ("index", "--list"),
    "doctor": ("doctor",),
}
"""The commands whose JSON the page describes, with the arguments that it is taken from."""

SHIPPED = (
    "The real package gets our legs' lists where its own retrievers, store or index would be, and answers "
    "with its defaults: 77 pairs of lists of the sample memory's questions, and 200 random pairs "
    "with ties, gaps, empty and single lists. Left out are lists with equal scores for Qdrant, and cosines "
    "at exactly the threshold for mem0. Where the order differs, scores are equal but for rounding."
)

NEWEST = (
    "What npm and PyPI had on {asked}. The tables above say for which releases each sentence about "
    "another project was checked; a newer release may differ."
)

READ = (
    "Products that are no packages of npm or PyPI, so that no registry was asked for their newest version: "
    "what was read, and what is known of a later version."
)

RELEASES = (
    "The released packages answered through their own tools; QMD by its function searchFTS alone. A list is "
    "equal with the same rows, in the same order but for equal scores, and scores within 1e-6. *Order of "
    "forms*: Basic Memory keeps the searchable forms of a title, a permalink and a path in a set, and writes "
    "them in the order that Python's hash seed gives in that process. Phrases reach from one form into the "
    "next, and PostgreSQL's ts_rank counts positions, so the release itself answers otherwise under another "
    "seed. These lists have the recorded scores with the forms in the recorded order, or in one that was "
    "tried. *Tied at the end*: only rows with the page's last score differ, which follow the order of "
    "indexing. Of the others, the list of the vault differs by 1.03e-6 in a cosine, and the two of thirty "
    "notes have scores that none of 16 orders gave."
)

LANGUAGES = (
    "24 notes and 30 questions in each language, and all of them in one memory. The best fix of each system "
    "is a model that learned the language; the paired difference says what it brings. `python -m "
    "benchmarks.languages tests/records/languages.json` measures it again."
)


def heading(title: str, description: str) -> list[str]:
    """The first lines of a generated page."""
    return [f"# {title}", "", f"{description} This page is generated: `{RENEW}` writes it anew.", ""]


def row(*cells: str) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def root_command() -> Any:
    """The command line with all of its commands loaded."""
    root: Any = typer.main.get_command(app)
    _load_commands(root)
    return root


def _load_commands(group: Any) -> None:
    group.commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    for command in group.commands.values():
        if hasattr(command, "commands"):
            _load_commands(command)


def commands_page() -> str:
    """Every command with its arguments and options, the exit codes, what `--json` prints, and the tables."""
    root = root_command()
    lines = heading("Commands", "Every command of `workbench`, and what `--json` prints.")
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [row(str(code), meaning) for code, meaning in sorted(EXIT_CODES.items())]
    lines += ["", "A failure prints one message on stderr: what is wrong, and what to do.", ""]
    lines += ["## Options before the command", "", *_parameters(root)]
    for path, command in sorted(_commands(root)):
        lines += [f"## {path}", "", " ".join(command.help.split()), ""]
        lines += ["```", f"workbench {path} {_usage(command)}".rstrip(), "```", "", *_parameters(command)]
    # The rest is described by hand. tests/docs and tests/views/test_frames.py compare it with real values.
    described = (HERE / "commands.md").read_text(encoding="utf-8").partition(BY_HAND)[2]
    return "\n".join([*lines, *_json()]) + f"\n{BY_HAND}{described}"


def _json() -> Iterator[str]:
    """The keys and types of the JSON that commands print, read from real answers."""
    yield from ("# JSON", "", "What `--json` prints: each key with its type.")
    yield from ("`[]` stands for any element of a list. A number that is absent is null.", "")
    for name, data in answers().items():
        yield from (f"## JSON of {name}", "", "| key | type |", "|---|---|")
        yield from (row(f"`{key}`", types) for key, types in sorted(shape(data).items()))
        yield ""


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _usage(command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    names = [one.name.upper().replace("_", "-") for one in arguments]
    shown = [name if one.required else f"[{name}]" for name, one in zip(names, arguments, strict=True)]
    return " ".join([*shown, *(["[OPTIONS]"] if len(arguments) < len(command.params) else [])])


def _parameters(command: Any) -> list[str]:
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    if not shown:
        return []
    rows = [row(_names(one), " ".join((one.help or "").split()), _default(one)) for one in shown]
    return ["| option | meaning | default |", "|---|---|---|", *rows, ""]


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper().replace('_', '-')}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    value = parameter.default
    plain = isinstance(value, str | int | float | Path) and not isinstance(value, bool) and value != ""
    return f"`{value}`" if plain else ""


def fusions_table() -> Iterator[str]:
    """The engines against their packages: how many lists were compared, and by how much they differ."""
    record = json.loads(gzip.decompress((HERE.parent / "tests" / "records" / "fusions.json.gz").read_bytes()))
    yield from ("| fusion | run against | lists | largest difference |", "|---|---|---|---|")
    for name, engine in ENGINES.items():
        if name not in record:
            yield row(f"`{name}`", f"from its source, not run: {replace(engine.source, note='')}", "", "")
            continue
        lists = [
            (dict(one), {hit.id: hit.score for hit in fuse(engine.fusion, *map(dict, pair))})
            for pair, one in zip(pairs(), record[name]["lists"], strict=True)
            if one is not None
        ]
        far = [abs(score - ours[one]) for theirs, ours in lists for one, score in theirs.items()]
        largest = max((one for one in far if not math.isnan(one)), default=math.nan)
        told = "orders only" if math.isnan(largest) else f"{largest:.1g}"
        yield row(f"`{name}`", record[name]["package"], str(len(lists)), told)


def shipped_table() -> Iterator[str]:
    """The products against their packages: answers, how many have the same order, the largest difference."""
    record = json.loads(gzip.decompress((HERE.parent / "tests" / "records" / "shipped.json.gz").read_bytes()))
    asked = [*(Asked(*one) for one in record["lists"]), *random_lists()]
    yield from (
        "| system | run against | answers | same order | largest difference |",
        "|---|---|---|---|---|",
    )
    for one in PIPELINES:
        if one.name not in record["systems"]:
            yield row(
                f"`{one.name}`", f"from its source, not run: {replace(one.source, note='')}", "", "", ""
            )
            continue
        theirs = record["systems"][one.name]
        both = [
            (dict(mine), dict(their))
            for lists, their in zip(asked, theirs["answers"], strict=True)
            if their is not None
            for mine in [ours(one.name, lists)]
        ]
        same = sum([*mine] == [*their] for mine, their in both)
        far = [abs(mine[it] - score) for mine, their in both for it, score in their.items() if it in mine]
        largest = max((one for one in far if not math.isnan(one)), default=math.nan)
        told = "orders only" if math.isnan(largest) else f"{largest:.1g}"
        yield row(f"`{one.name}`", theirs["package"], str(len(both)), str(same), told)


def newest_releases() -> Any:
    """The newest release of each package, as its registry had it, and the one that was compared."""
    return yaml.safe_load((HERE.parent / "tests" / "records" / "newest.yaml").read_text(encoding="utf-8"))


def recorded_releases() -> Iterator[tuple[str, str]]:
    """For each recorded fusion and system: the package with its release, and `fusion` or `system`."""
    records = HERE.parent / "tests" / "records"
    for kind, file in (("fusion", "fusions.json.gz"), ("system", "shipped.json.gz")):
        record = json.loads(gzip.decompress((records / file).read_bytes()))
        yield from ((one["package"], kind) for one in record.get("systems", record).values())


def newest_table() -> Iterator[str]:
    """The release of each package that was compared, what of it, and the newest one with its date."""
    ran = Counter(recorded_releases())
    yield from ("| package | compared | what was compared | newest | of | |", "|---|---|---|---|---|---|")
    for one in newest_releases()["packages"]:
        counts = ((kind, ran[f"{one['name']} {one['compared']}", kind]) for kind in ("fusion", "system"))
        how = one.get("how") or ", ".join(counted(number, kind) for kind, number in counts if number)
        state = "the newest" if one["newest"] == one["compared"] else "**a newer one is not compared**"
        yield row(
            f"{one['name']} ({one['registry']})", one["compared"], how, one["newest"], f"{one['of']}", state
        )


def read_table() -> Iterator[str]:
    """The products whose source or documentation was read, with the version, and what a later one has."""
    yield from ("| product | read | later |", "|---|---|---|")
    yield from (row(one["name"], one["version"], one["later"]) for one in newest_releases()["read"])


def records_table() -> Iterator[str]:
    """Whole releases against our systems: equal lists, and the cause of each other one.

    tests/systems/test_basic_memory_records.py asks every question again, and counts the same.
    """
    told = yaml.safe_load((HERE.parent / "tests" / "records" / "compared.yaml").read_text(encoding="utf-8"))
    yield from ("| record | notes | system | lists | equal | order of forms | tied at the end | other |",)
    yield "|---|---|---|---|---|---|---|---|"
    for one in told:
        lists, equal, forms, tied = (one.get(name, 0) for name in ("lists", "equal", "forms", "tied"))
        counts = f"{lists}", f"{equal} ({equal / lists:.1%})", f"{forms}", f"{tied}"
        yield row(
            one["record"], one["folder"], f"`{one['system']}`", *counts, f"{lists - equal - forms - tied}"
        )


def languages_table() -> Iterator[str]:
    """What `python -m benchmarks.languages` measured last."""
    record = HERE.parent / "tests" / "records" / "languages.json"
    yield from languages.table(json.loads(record.read_text(encoding="utf-8")))


def found_in(side: Side) -> dict[str, Finding | Fault]:
    """What lint and the doctor say about one side of a specimen, by sentence; they are told no name.

    That a parameter changes nothing is left out: one question tells little about that.
    """
    if side.pipeline is None:
        return {}
    found: list[Finding | Fault] = [*lint(side.pipeline)]
    if isinstance(side.answer, SmallSearch):
        with side.answer.opened() as index:
            held = held_by(index)
            assert held is not None  # a small memory is a store of ours
            found += [*lint_on(side.pipeline, index, [side.answer.question]), *faults(held, index.embedder)]
    return {one.description: one for one in found if one.kind != "dead parameter"}


def named_by(specimen: Specimen) -> list[Finding | Fault]:
    """The findings that the shipped side has and the fixed one has not."""
    shipped, fixed = map(found_in, specimen.sides)
    return [one for description, one in shipped.items() if description not in fixed]


def specimens_tables() -> Iterator[str]:
    """Each specimen with the findings that name it, and each of these findings with its public issues."""
    named = {name: named_by(one) for name, one in SPECIMENS.items()}
    yield from ("| specimen | reported in | named by |", "|---|---|---|")
    for name, found in sorted(named.items()):
        kinds = ", ".join(dict.fromkeys(one.kind for one in found))
        yield row(f"`{name}`", SPECIMENS[name].references[0], kinds or "no finding")
    yield from ("", "| finding | what it says | resembles |", "|---|---|---|")
    every = {one.kind: one for found in named.values() for one in found}
    for kind, one in sorted(every.items()):
        yield row(kind, one.description, one.issue if isinstance(one, Finding) else "`workbench doctor`")


def systems_page() -> str:
    """Every system: its source, what is simplified, and its stages or its changes to an earlier one."""
    lines = heading(
        "Systems", "Every system with its source and its stages, or its changes to an earlier one."
    )
    noted: dict[str, str] = {}
    for one in SYSTEMS.values():
        lines += [f"## {one.name}", "", f"Source: {replace(one.source, note='')}", ""]
        if note := one.source.note:
            first = noted.setdefault(note, one.name)
            lines += [f"Simplified: {note}" if first == one.name else f"Simplified as `{first}` is.", ""]
        lines += [*(_changes(one) if one.changes else _stages(one)), ""]
    lines += ["## Fusions against their packages", "", *fusions_table(), ""]
    lines += ["## Products against their packages", "", SHIPPED, "", *shipped_table(), ""]
    lines += ["## Releases against their records", "", RELEASES, "", *records_table(), ""]
    asked = NEWEST.format(**newest_releases())
    lines += ["## Newest releases", "", asked, "", *newest_table(), "", READ, "", *read_table(), ""]
    lines += ["## Languages", "", LANGUAGES, "", *languages_table(), ""]
    lines += ["## Specimens, and what names them", "", *specimens_tables(), ""]
    return "\n".join(lines).rstrip() + "\n"


def _changes(one: Pipeline) -> Iterator[str]:
    yield from ("| change | stage | why |", "|---|---|---|")
    for change in one.changes:
        yield row(change.name, f"`{change.stage.slot}`: {change.stage.description}", change.why)


def _stages(one: Pipeline) -> Iterator[str]:
    yield from ("| slot | what the stage does |", "|---|---|")
    for stage in one.stages:
        yield row(f"`{stage.slot}`", stage.description)


def answers() -> dict[str, Any]:
    """What the commands of SHOWN print with --json, in a folder with two short notes."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in NOTES.items():
            path = Path("notes", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        Path("questions.yaml").write_text(QUESTIONS, encoding="utf-8")
        with mock.patch.dict(os.environ, {"WORKBENCH_HOME": str(Path(folder, "home"))}):
            _printed("index", "notes")
            return {
                name: json.loads(_printed(*_with_memory(words), "--json")) for name, words in SHOWN.items()
            }


def _with_memory(words: tuple[str, ...]) -> tuple[str, ...]:
    asks = words[0] in ("search", "explain", "compare", "evaluate", "doctor")
    return (*words, "--memory", "notes") if asks else words


def _printed(*words: str) -> str:
    given = mock.patch.object(sys, "argv", ["workbench", *words])
    with given, contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        cli.main()
    return out.getvalue()


def shape(data: Any, key: str = "") -> dict[str, str]:
    """The types of every key, by its path; several types of one key are joined.

    >>> shape([{"a": 1, "b": [0.5]}, {"a": None, "b": []}])
    {'[].a': 'integer or null', '[].b': 'list', '[].b[]': 'number'}
    """
    found: dict[str, set[str]] = {}
    for path, kind in _kinds(data, key):
        found.setdefault(path, set()).add(kind)
    return {path: " or ".join(sorted(kinds)) for path, kinds in found.items()}


def _kinds(data: Any, key: str) -> Iterator[tuple[str, str]]:
    if key and not isinstance(data, dict):
        yield key, KINDS[type(data)]
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _kinds(value, f"{key}.{name}" if key else name)
    elif isinstance(data, list):
        for value in data:
            yield from _kinds(value, f"{key}[]")


BY_HAND = "# JSON of diagnose\n"
"""The heading with which the last part of commands.md begins, which is written by hand."""
KINDS = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    type(None): "null",
    list: "list",
}

PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "systems.md": systems_page,
}


def main() -> None:
    """Writes all pages."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
        print(f"docs/{name}: {len((HERE / name).read_text(encoding='utf-8').splitlines())} lines")


if __name__ == "__main__":
    main()
