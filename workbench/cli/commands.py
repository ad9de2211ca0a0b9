"""The table of all commands, and how a row becomes a command when it is asked for.

The commands are the application: `workbench/cli`, and the files `commands.py` of the features. These files
may import `workbench.cli` and other features. Only this table names them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.registry import FEATURES, Registry, has_feature, load

HEADINGS = ("Start", "Ask", "Measure", "Report", "Agent")
"""The headings of `workbench --help`, those of the first hour first."""


class Row(NamedTuple):
    """A command: its name, its heading or its group, a sentence, its function, and the extra that it needs.

    `case new` is the command `new` of the group `case`. A command whose heading is a group can be typed
    in the group and alone: `runs gate` is `gate`. Without a heading, `workbench --help` leaves a command out,
    and no sentence is needed. A row whose `where` has no function is a group.
    """

    name: str
    heading: str
    sentence: str
    where: str
    extra: str = ""

    @property
    def feature(self) -> str:
        """The feature that has the command; nothing for one of the library."""
        package, _, inside = self.where.partition(":")[0].partition(".")
        return inside.partition(".")[0] if package == FEATURES else ""

    @property
    def is_group(self) -> bool:
        return ":" not in self.where

    def function(self) -> Any:
        """The function of the command. Raises InputError if a feature or a package is not there."""
        return load(f"The command {self.name}", f"{self.where} [{self.extra}]" if self.extra else self.where)


ROWS = (
    Row(
        "lab", "Start", "Index the memory and open JupyterLab on the first notebook.", "workbench.cli.lab:lab"
    ),
    Row("index", "Start", "Index a memory, or list and remove indexes.", "workbench.cli.memory:index"),
    Row("search", "Ask", "Search a memory.", "workbench.cli.searching:search"),
    Row("explain", "Ask", "Explain why a file is in the answer or not.", "workbench.cli.searching:explain"),
    Row(
        "compare",
        "Ask",
        "Search the same question with several systems, and show the answers side by side.",
        "workbench.cli.searching:compare",
    ),
    Row(
        "evaluate",
        "Measure",
        "Run labelled questions: hits, MRR, and unanswerable ones without a result.",
        "workbench.cli.searching:evaluate",
    ),
    Row(
        "systems", "Measure", "List all systems, show one, or compare two.", "workbench.cli.searching:systems"
    ),
    Row("show", "", "", "workbench.cli.searching:show"),
    Row("diff", "", "", "workbench.cli.searching:diff"),
    Row(
        "serve",
        "Agent",
        "Serve a memory to an agent over MCP.",
        "workbench_plugins.agent.commands:serve",
        "agent",
    ),
    Row("watch", "", "", "workbench_plugins.agent.commands:watch", "agent"),
    Row(
        "memory-search",
        "",
        "",
        "workbench_plugins.agent.commands:memory_search",
        "agent",
    ),
    Row(
        "memory-get",
        "",
        "",
        "workbench_plugins.agent.commands:memory_get",
        "agent",
    ),
    Row(
        "calibrate",
        "Measure",
        "Set a system's threshold so that it keeps a promise about mistakes.",
        "workbench_plugins.calibrate.commands:calibrate",
    ),
    Row("case", "Report", "Cases: a failure as one file, which runs as a test.", "workbench_plugins.cases"),
    Row("case new", "", "", "workbench_plugins.cases.commands:new"),
    Row(
        "case export",
        "",
        "",
        "workbench_plugins.cases.commands:export",
    ),
    Row("case run", "", "", "workbench_plugins.cases.commands:run"),
    Row("case redact", "", "", "workbench_plugins.cases.commands:redact"),
    Row("case shrink", "", "", "workbench_plugins.cases.commands:shrink"),
    Row("case report", "", "", "workbench_plugins.cases.commands:report"),
    Row(
        "case confirm",
        "",
        "",
        "workbench_plugins.cases.released.commands:confirm",
    ),
    Row("case bisect", "", "", "workbench_plugins.cases.released.commands:bisect"),
    Row(
        "demo",
        "Ask",
        "Show a search that fails, why, and what would save it; without a model.",
        "workbench_plugins.cases.demo:demo",
    ),
    Row(
        "decode",
        "case",
        "Find the published formula that makes printed numbers.",
        "workbench_plugins.decode.commands:decode",
    ),
    Row(
        "diagnose",
        "Ask",
        "Find what loses a file, the nearest settings that bring it back, and their price.",
        "workbench_plugins.diagnose.commands:diagnose",
    ),
    Row(
        "blame",
        "Measure",
        "Say how much of the difference between two systems each change has.",
        "workbench_plugins.diagnose.commands:blame",
    ),
    Row(
        "sweep",
        "Measure",
        "Evaluate a system with many values of its parameters.",
        "workbench_plugins.diagnose.commands:sweep",
    ),
    Row(
        "lint",
        "Measure",
        "Look for settings that cannot work.",
        "workbench_plugins.diagnose.commands:lint",
    ),
    Row(
        "triage",
        "case",
        "Name the known symptom that is nearest to your words, and what to run.",
        "workbench_plugins.diagnose.commands:triage",
    ),
    Row(
        "doctor",
        "Start",
        "Check the installation, the index, or any store.",
        "workbench_plugins.doctor.commands:doctor",
    ),
    Row("indexes", "", "", "workbench_plugins.doctor.commands:indexes"),
    Row(
        "museum",
        "Measure",
        "Run specimens of public bugs, as shipped and fixed.",
        "workbench_plugins.engines.commands:museum",
    ),
    Row(
        "fusion",
        "runs",
        "Fuse the same two lists with every engine, and compare the orders.",
        "workbench_plugins.engines.commands:fusion",
    ),
    Row(
        "explore",
        "Start",
        "Open one page on your own notes, without code.",
        "workbench_plugins.explore.commands:explore",
        "lab",
    ),
    Row("config", "", "", "workbench_plugins.openclaw.commands:config"),
    Row(
        "reproduce",
        "Report",
        "Make a running case of a bug report as it was pasted.",
        "workbench_plugins.reproduce.commands:reproduce",
    ),
    Row("runs", "Report", "Runs: the results of other engines, beside ours.", "workbench_plugins.runs"),
    Row("runs import", "", "", "workbench_plugins.runs.commands:import_"),
    Row("runs traces", "", "", "workbench_plugins.runs.commands:traces"),
    Row("runs export", "", "", "workbench_plugins.runs.commands:export"),
    Row("runs compare", "", "", "workbench_plugins.runs.commands:compare"),
    Row("runs lint", "", "", "workbench_plugins.runs.commands:lint"),
    Row("runs blame", "", "", "workbench_plugins.runs.commands:blame"),
    Row("runs convert", "", "", "workbench_plugins.runs.commands:convert"),
    Row(
        "gate",
        "runs",
        "Compare today's answers with saved ones, for the CI of a team.",
        "workbench_plugins.runs.commands:gate",
    ),
)
"""The workbench's own commands, in the order in which they are listed below their headings."""


COMMANDS = Registry[Row]("command", lambda thing: isinstance(thing, Row), ROWS)
"""Every command: our own, and then those that packages register."""


def rows() -> dict[str, Row]:
    """The commands that are there, by name: those of a feature that was taken out are not."""
    there = {name: has_feature(name) for name in {one.feature for one in ROWS} - {""}}
    return {name: one for name, one in COMMANDS.items() if there.get(one.feature, True)}


def row_named(name: str) -> Row | None:
    """The row of a command, also of one whose feature is not there; None if there is none."""
    return COMMANDS.get(name)


def command_function(name: str) -> Any:
    """The function of one of our own commands. Raises InputError if a feature or a package is not there."""
    return COMMANDS[name].function()


def rows_of(group: str) -> dict[str, Row]:
    """The commands of a group by the name that is typed in it: its own, then those that can stand alone."""
    found = rows()
    own = {name.partition(" ")[2]: one for name, one in found.items() if name.startswith(f"{group} ")}
    return own | {name: one for name, one in found.items() if one.heading == group}
