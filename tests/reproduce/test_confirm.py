"""Releases as judges: what is installed and what is refused; the releases themselves run by hand."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.commands import Run
from tests.conftest import PROJECT
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.released import confirming
from workbench_plugins.cases.released.embeddings import served
from workbench_plugins.cases.released.installing import Installed
from workbench_plugins.cases.released.openclaw_gateway import configuration
from workbench_plugins.cases.running import pipeline_of_case

CASES = PROJECT / "tests" / "cases"
CASE = CASES / "openclaw-16021.case.yaml"


def installer(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program npm that does what the script says."""
    (folder / "npm").write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "releases"


def test_an_install_that_fails_half_way_leaves_the_cache_as_before(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer(
        tmp_path, "mkdir -p node_modules/openclaw; echo 'npm error network down' >&2; exit 1", monkeypatch
    )
    with pytest.raises(wb.InputError, match="could not be installed: npm error network down"):
        Installed("openclaw", "2026.3.7").install(lambda _: True)
    assert list(cache.iterdir()) == []
    installer(tmp_path, "echo 'No matching version found for tslib@9' >&2; exit 1", monkeypatch)
    with pytest.raises(wb.InputError, match="could not be installed: No matching version found for tslib@9"):
        Installed("openclaw", "2026.3.7").install(lambda _: True)


def test_a_release_that_does_not_exist_is_one_sentence(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = """[ "2026.2.9", "2026.2.12", "2026.2.13-beta.1", "2026.2.17", "2026.3.1" ]"""
    failing = f"[ $1 = view ] && echo '{known}' && exit; echo 'npm error notarget' >&2; exit 1"
    installer(tmp_path, failing, monkeypatch)
    wanted = r"^openclaw 2026.2.13 is not on npm.\s+The last release before it is --release 2026.2.12"
    with pytest.raises(wb.InputError, match=wanted):
        Installed("openclaw", "2026.2.13").install(lambda _: True)
    assert list(cache.iterdir()) == []
    (cache / "openclaw-2026.2.12").mkdir()
    (cache / "openclaw-2026.3.1").mkdir()
    for version, until, near in (("2.13", "2.15", "2.12"), ("2.27", "3.7", "3.1")):
        one = Installed("openclaw", f"2026.{version}")
        assert one.install(lambda _: True, f"2026.{until}").version == f"2026.{near}"


def test_an_install_that_succeeds_is_there_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer(tmp_path, "mkdir -p node_modules/openclaw", monkeypatch)
    one = Installed("openclaw", "2026.3.7")
    one.install(lambda _: True)
    assert [path.name for path in cache.iterdir()] == ["openclaw-2026.3.7"]
    one.install(lambda _: pytest.fail("it is asked again"))


@pytest.mark.parametrize(
    "release",
    [
        "npm:evil@1.0.0",
        "file:../evil",
        "http://host/evil.tgz",
        "../evil",
        "latest",
        "2026",
        "1.0 --x",
        "1.0\n",
    ],
)
@pytest.mark.parametrize("case", ["openclaw-16021", "basic-memory-577"])
def test_a_release_is_a_version_and_nothing_else(cache: Path, run: Run, case: str, release: str) -> None:
    refused = run("case", "confirm", CASES / f"{case}.case.yaml", "--release", release, "--yes")
    assert (refused.code, refused.out, "is no version of" in refused.err) == (2, "", True)
    assert not cache.exists()


def test_what_is_installed_is_named_with_versions_before_it_is_asked(cache: Path) -> None:
    asked: list[str] = []
    for package, version in (("openclaw", "2026.9.6"), ("basic-memory", "0.24.1")):
        with pytest.raises(wb.InputError, match="is not installed"):
            Installed(package, version).install(lambda question: bool(asked.append(question)))
    assert re.search(r"openclaw@2026\.9\.6, node-\S+@24\.\d+\.\d+ and what they need\?$", asked[0])
    assert "basic-memory==0.24.1, pysqlite3-binary==0.5.4.post2 and what they need?" in asked[1]


def test_no_source_package_runs_unless_the_user_says_so(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = tmp_path / "python"
    lacking = "ERROR: No matching distribution found for pybars3>=0.9.7"
    script = f"""#!/bin/sh
[ "$1" = -I ] && exit
[ "$2" = venv ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && exit
case "$*" in *--only-binary*) echo '{lacking}' >&2; exit 1;; esac
"""
    pip.write_text(script, encoding="utf-8")
    pip.chmod(0o755)
    with pytest.raises(wb.InputError, match="needs pybars3, which has no wheel") as error:
        Installed("basic-memory", "0.24.1", python=str(pip)).install(lambda _: True)
    assert "--from-source" in error.value.remedy
    installed = Installed("basic-memory", "0.24.1", python=str(pip), from_source=True)
    installed.install(lambda question: "run scripts" in question)
    assert installed.folder.is_dir()


def test_nothing_is_installed_without_consent_or_offline(cache: Path, run: Run) -> None:
    refused = run("case", "confirm", CASE, "--release", "2026.3.7")
    assert (refused.code, "openclaw 2026.3.7 is not installed." in refused.err) == (2, True)
    offline = run("case", "confirm", CASE, "--release", "2026.3.7", "--offline")
    assert (offline.code, "Offline, and missing: openclaw 2026.3.7 from npm" in offline.err) == (2, True)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("case", "release", "judged"),
    [
        ("openclaw-16021", "2026.2.12", ("openclaw", "2026.2.12", "openclaw-2026.2.13")),
        ("openclaw-16021", "2026.8.1", ("openclaw", "2026.8.1", "openclaw-2026.7.1")),
        ("openclaw-33757", "", ("openclaw", "2026.2.27", "openclaw-2026.2.27")),
        ("openclaw-115001", "2026.9.6", ("openclaw", "2026.9.6", "openclaw-2026.9.6-trigram")),
        ("basic-memory-577", "0.23.2", ("basic-memory", "0.23.2", "bm-head")),
        ("basic-memory-577", "0.24.1", ("basic-memory", "0.24.1", "bm-0.24.1")),
    ],
)
def test_our_system_for_a_release_is_the_newest_that_is_not_newer(
    case: str, release: str, judged: tuple[str, str, str]
) -> None:
    file = CASES / f"{case}.case.yaml"
    asked = load_case(file).case
    own = pipeline_of_case(asked.system, file.parent)
    judge = confirming.release_of(asked, own, release)
    assert (judge.package, judge.version, judge.ours.name) == judged


def test_a_difference_is_told_and_a_rounding_is_none() -> None:
    ours, close = (("a.md:1-1", 0.5), ("b.md:1-1", 0.4)), (("a.md:1-1", 0.50005), ("b.md:1-1", 0.4))
    assert confirming.Side("tea", ours, close).same
    assert not confirming.Side("tea", ours, ours[:1]).same
    assert not confirming.Side("tea", ours, ours[::-1]).same
    found = confirming.Confirmation("openclaw", "2026.3.7", "x", (confirming.Side("tea", ours, ours[:1]),))
    assert (
        found.description
        == "openclaw 2026.3.7 and x differ in 1 of 1 list: our model of the release is wrong."
    )
    held = confirming.Confirmation("a", "1", "x", (confirming.Side("tea", ours, close, False),))
    assert held.description.endswith("scores within 0.0001. Expectations that hold on it: 0 of 1.")


def test_the_server_gives_the_vectors_of_a_case_and_refuses_other_texts() -> None:
    case = load_case(CASE).case
    embedder = confirming.CaseVectors(case, CASES)
    with served(embedder=embedder) as server:
        (vector,) = server.vectors([case.questions[0].question + "\n"])
        assert np.allclose(vector, [1, 0])
        with pytest.raises(wb.InputError, match="no other text can be compared"):
            server.vectors(["another text"])


@pytest.mark.parametrize(("version", "newer"), [("2026.3.7", False), ("2026.9.6", True), ("2026.10.1", True)])
def test_the_settings_stand_where_the_release_reads_them(version: str, newer: bool) -> None:
    made: dict[str, Any] = configuration(Path("notes"), "http://127.0.0.1", 1, "", version)
    assert ("memory" in made) == newer
    assert ("memorySearch" in made["agents"]["defaults"]) == (not newer)


@pytest.mark.parametrize(
    ("path", "place"),
    [(one, one) for one in ("MEMORY.md", "memory/a/b.md")]
    + [(one, f"{confirming.OUTSIDE}{one}") for one in ("docs/a.md", "README.md", "memoryless.md")],
)
def test_a_note_outside_of_memory_is_where_openclaw_reads_it(path: str, place: str) -> None:
    assert (confirming.where_read(path), place.removeprefix(confirming.OUTSIDE)) == (place, path)


def test_bisect_names_the_first_bad_and_the_first_good_release(run: Run) -> None:
    ran = run("case", "bisect", CASES / "openclaw-46671.case.yaml", "--ours")
    assert ran.code == 1
    assert "first bad: 2026.2.13" in ran.out
    assert "first good: 2026.2.27" in ran.out
