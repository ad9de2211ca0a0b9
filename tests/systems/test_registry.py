"""Systems, fusions and specimens of other packages: registered, listed and run like the workbench's own."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

import workbench as wb
from tests.commands import Run
from tests.installed import Install
from workbench import registry as extensions
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.registry import ExtensionWarning
from workbench.retrieval.columns import Numbers
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.fusion import Fusion
from workbench.systems.catalogue import ON_A_SERVER, SYSTEMS
from workbench_plugins.engines.museum import SPECIMENS, specimen
from workbench_plugins.engines.presets import ENGINES, Engine, engine_pipeline
from workbench_plugins.engines.whose_fusion import EXAMPLE, degenerate_lists, whose_fusion
from workbench_plugins.engines.widget import FusionLab
from workbench_plugins.explore.explorer import QuestionExplorer
from workbench_plugins.explore.microscope import asked

SHIPPED = SYSTEMS["openclaw-2026.2.13"]
MINE = replace(SHIPPED.with_stage(Limit(2)), name="mine")

pytestmark = pytest.mark.usefixtures("nothing_registered")


@dataclass(frozen=True)
class Squares(Fusion):
    description: ClassVar[str] = "score = Σ 1 / rank²"

    def part(self, of: Numbers, leg: str) -> Any:
        return 1 / (of[f"{leg}_rank"] * of[f"{leg}_rank"])


SQUARES = Engine("squares", Squares(), SHIPPED.source)

PACKAGE = """
from dataclasses import replace
import workbench as wb

def add():
    shipped = wb.SYSTEMS["openclaw-2026.2.13"]
    wb.register(replace(shipped, name="theirs"))
"""
LATE_FAILURE = f"{PACKAGE}\nadd()\nraise RuntimeError('no such luck')\n"


# what is registered is listed and run


def test_a_registered_system_is_listed_last_found_and_run(run: Run, toy: MemoryIndex) -> None:
    before = list(SYSTEMS)
    wb.register(MINE)
    assert list(SYSTEMS) == [*before, "mine"]
    assert len(SYSTEMS) == len(before) + 1
    assert wb.system("mine") is MINE
    assert SYSTEMS.of_this_process == ("mine",)
    assert len(wb.search("rooibos tea bike", wb.system("mine"), toy).results) <= 2
    assert [one["name"] for one in run("systems", "--json").json()] == [*before, *ON_A_SERVER, "mine"]
    assert "mine" in QuestionExplorer(toy, "rooibos tea", link=False).options["left"]
    assert any("mine" in way.systems for way in asked("rooibos tea", toy))


def test_a_registered_fusion_is_compared_and_offered(run: Run) -> None:
    wb.register(SQUARES, engine_pipeline(SQUARES))
    assert [one.engine.name for one in whose_fusion(*EXAMPLE).orders][-1] == "squares"
    assert "squares" in run("fusion").out
    lab = FusionLab(EXAMPLE, link=False)
    lab.method = "squares"
    assert lab.fusion == Squares()
    assert "squares" not in [one.engine for one in degenerate_lists()]
    assert wb.system("engine-squares")["fusion"] == Squares()


def test_a_registered_specimen_is_shown_in_the_museum(run: Run) -> None:
    wb.register(replace(specimen("qdrant-k2"), name="mine-k2"))
    assert "mine-k2" in run("museum").out
    assert run("museum", "mine-k2", "--json").json()[0]["shows"]


# what is refused


def test_a_name_that_is_taken_is_refused_and_what_was_there_stays() -> None:
    for taken in (replace(MINE, name=SHIPPED.name), replace(SQUARES, name="rrf-60")):
        with pytest.raises(InputError, match=rf"There is (a system|an? engine) '{taken.name}' already"):
            wb.register(taken)
    assert SYSTEMS["openclaw-2026.2.13"] is SHIPPED
    wb.register(MINE)
    with pytest.raises(InputError, match="There is a system 'mine' already"):
        wb.register(MINE.with_stage(Limit(3)))
    assert wb.system("mine") is MINE


def test_the_same_thing_again_changes_nothing() -> None:
    wb.register(MINE, SQUARES)
    listed = list(SYSTEMS), list(ENGINES)
    wb.register(replace(MINE), replace(SQUARES))
    assert (list(SYSTEMS), list(ENGINES)) == listed


def test_all_things_of_one_call_are_added_or_none() -> None:
    with pytest.raises(InputError, match="'rrf-60' already"):
        wb.register(MINE, SQUARES, replace(SQUARES, name="rrf-60"))
    assert "mine" not in SYSTEMS
    assert "squares" not in ENGINES


@pytest.mark.parametrize("name", ["", "two words", "-flag", "a/b", "x@y", "[red]", "é", "a\n"])
def test_a_name_that_cannot_be_typed_in_a_command_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a system"):
        wb.register(replace(MINE, name=name))


def test_a_name_that_would_be_read_as_a_file_is_refused() -> None:
    with pytest.raises(InputError, match="would be read as the name of a file"):
        wb.register(replace(MINE, name="mine.json"))


@pytest.mark.parametrize("thing", ["mine", SHIPPED.stages[0], None, Squares()])
def test_another_kind_of_thing_is_refused(thing: object) -> None:
    with pytest.raises(InputError, match="Register a system"):
        wb.register(thing)


def test_an_engine_without_a_fusion_is_refused() -> None:
    with pytest.raises(InputError, match=r"derived from workbench\.retrieval\.fusion\.Fusion"):
        wb.register(Engine("none", "rrf", SHIPPED.source))  # type: ignore[arg-type]


def test_every_name_of_the_workbench_could_be_registered() -> None:
    names = [*SYSTEMS, *ENGINES, *SPECIMENS]
    assert [name for name in names if not extensions.NAME.fullmatch(name)] == []


# installed packages


@pytest.mark.parametrize("source", [PACKAGE, f"{PACKAGE}\nadd()\n"], ids=["function", "module"])
def test_an_installed_package_adds_its_system(install: Install, run: Run, source: str) -> None:
    install("theirs", source, "" if source.endswith("add()\n") else ":add")
    assert wb.system("theirs").name == "theirs"
    assert SYSTEMS.of_this_process == ()
    assert "theirs" in [one["name"] for one in run("systems", "--json").json()]


def test_a_name_of_the_workbench_is_found_without_loading_a_package(install: Install) -> None:
    install("theirs", "raise AssertionError('loaded')")
    assert wb.system("openclaw-2026.2.13") is SHIPPED
    assert "theirs" not in sys.modules


def test_packages_are_loaded_once_also_by_many_threads(install: Install) -> None:
    install("theirs", PACKAGE.replace("    shipped =", "    print('loaded')\n    shipped ="), ":add")
    seen: list[bool] = []
    threads = [threading.Thread(target=lambda: seen.append("theirs" in list(SYSTEMS))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(300)
    assert seen == [True] * 8


BROKEN = {
    "an import that fails": ("import no_such_module_at_all", ""),
    "a syntax error": ("def", ""),
    "an error after registering": (LATE_FAILURE, ""),
    "an end of the process": ("raise SystemExit(3)", ""),
    "an interruption": ("raise KeyboardInterrupt", ""),
    "a missing function": ("", ":add"),
    "no function": ("add = 3", ":add"),
    "a name that is taken": (PACKAGE.replace("theirs", "bm-head"), ":add"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_package_is_named_once_and_breaks_nothing_else(
    install: Install, run: Run, kind: str
) -> None:
    install("a-broken", *BROKEN[kind])
    install("theirs", PACKAGE.replace('"theirs"', '"others"'), ":add")
    listed = run("systems", "--json")
    assert listed.code == 0
    names = [one["name"] for one in listed.json()]
    assert "openclaw-2026.2.13" in names
    assert "others" in names
    assert "theirs" not in names
    assert len(listed.err.splitlines()) == 1
    assert listed.err.startswith("The extension a-broken (a_broken")
    assert run("systems").err == ""


def test_an_unknown_name_tells_of_the_package_that_does_not_load(install: Install) -> None:
    install("a-broken", "raise RuntimeError('no such luck')")
    with pytest.warns(ExtensionWarning, match="a-broken"), pytest.raises(InputError) as caught:
        wb.system("theirs")
    assert "The extension a-broken (a_broken) does not load" in caught.value.remedy
    assert "RuntimeError: no such luck" in caught.value.remedy


@pytest.mark.parametrize(
    "name", ["basic-memory", "basicmemory", "Basic Memory", "basicmachines-co/basic-memory"]
)
def test_a_product_is_answered_with_its_systems(name: str) -> None:
    with pytest.raises(InputError) as raised:
        wb.system(name)
    assert "; those of basicmachines-co/basic-memory are bm-rrf, bm-" in raised.value.problem


@pytest.mark.parametrize("name", ["openclaw", "elasticsearch", "nosuch"])
def test_a_name_is_answered_with_the_nearest_ones(name: str) -> None:
    with pytest.raises(InputError, match="; the nearest are "):
        wb.system(name)
