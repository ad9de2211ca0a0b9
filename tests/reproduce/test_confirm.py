"""Releases as judges: what is installed and what is refused; the releases themselves run by hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
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

RELEASED = ("-s", "openclaw-2026.2.13")
CASES = PROJECT / "tests" / "cases"
CASE = CASES / "openclaw-16021.case.yaml"


LOCK = """{"packages": {"": {}, "node_modules/openclaw": {"version": "2026.3.7", "integrity": "x"},
 "node_modules/a/node_modules/@b/c": {"version": "1.2.3", "integrity": "x"},
 "node_modules/d": {"version": "1.0.0", "resolved": "git+https://host/d.git#12ab"}}}"""
LOCKED = f"case $2 in --package-lock-only) echo '{LOCK}' > package-lock.json; exit;; esac"
"""The part of a program npm that writes a lock file."""


def agreed(question: str, needed: Callable[[], Sequence[str]]) -> bool:
    """The consent of somebody who has seen what is installed."""
    return bool(needed())


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
        tmp_path,
        f"{LOCKED}\nmkdir -p node_modules/openclaw; echo 'npm error network down' >&2; exit 1",
        monkeypatch,
    )
    with pytest.raises(wb.InputError, match="could not be installed: npm error network down"):
        Installed("openclaw", "2026.3.7").install(agreed)
    assert list(cache.iterdir()) == []
    installer(tmp_path, "echo 'No matching version found for tslib@9' >&2; exit 1", monkeypatch)
    with pytest.raises(wb.InputError, match="could not be installed: No matching version found for tslib@9"):
        Installed("openclaw", "2026.3.7").install(agreed)


def test_a_release_that_does_not_exist_is_one_sentence(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = """[ "2026.2.9", "2026.2.12", "2026.2.13-beta.1", "2026.2.17", "2026.3.1" ]"""
    failing = f"[ $1 = view ] && echo '{known}' && exit; echo 'npm error notarget' >&2; exit 1"
    installer(tmp_path, failing, monkeypatch)
    wanted = r"^openclaw 2026.2.13 is not on npm.\s+The last release before it is --release 2026.2.12"
    with pytest.raises(wb.InputError, match=wanted):
        Installed("openclaw", "2026.2.13").install(agreed)
    assert list(cache.iterdir()) == []
    (cache / "openclaw-2026.2.12").mkdir()
    (cache / "openclaw-2026.3.1").mkdir()
    for version, until, near in (("2.13", "2.15", "2.12"), ("2.27", "3.7", "3.1")):
        one = Installed("openclaw", f"2026.{version}")
        assert one.install(agreed, f"2026.{until}").version == f"2026.{near}"


def test_an_install_that_succeeds_is_there_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer(tmp_path, f"{LOCKED}\n[ $1 = ci ] && mkdir -p node_modules/openclaw", monkeypatch)
    one = Installed("openclaw", "2026.3.7")
    one.install(agreed)
    assert [path.name for path in cache.iterdir()] == ["openclaw-2026.3.7"]
    one.install(lambda *_: pytest.fail("it is asked again"))


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
        "\uff12\uff10\uff12\uff16.9.6",
        "\u0662\u0660\u0662\u0666.\u0669.\u0666",
        "2026\uff0e9.6",
        "2026.9.6\u2028",
        "2026.9.6+build.1",
        "v2026.9.6",
        "^2026.9.6",
        "2026.9.6 || 1.0.0",
        "2026.9.6-beta",
        "2026.9.6-beta.1@npm:evil",
        "2026.9.6\0",
        "2026.9.6;id",
        " 2026.9.6",
        "-g2026.9.6",
        "--registry=http://host",
    ],
)
@pytest.mark.parametrize("case", ["openclaw-16021", "basic-memory-577"])
def test_a_release_is_a_version_and_nothing_else(cache: Path, run: Run, case: str, release: str) -> None:
    refused = run("case", "confirm", CASES / f"{case}.case.yaml", f"--release={release}", "--yes")
    assert (refused.code, refused.out, "is no version of" in refused.err) == (2, "", True)
    assert not cache.exists()


def test_what_is_installed_is_named_with_versions_before_it_is_asked(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[str] = []

    def refused(question: str, needed: Callable[[], Sequence[str]]) -> bool:
        named.extend(needed())
        return False

    installer(tmp_path, f"{LOCKED}\ntouch {tmp_path}/installed", monkeypatch)
    with pytest.raises(wb.InputError, match="is not installed"):
        Installed("openclaw", "2026.3.7").install(refused)
    assert named == ["@b/c@1.2.3", "d from git+https://host/d.git#12ab", "openclaw@2026.3.7"]
    assert not (tmp_path / "installed").exists()
    assert list(cache.iterdir()) == []


REPORT = """{"install": [{"metadata": {"name": "basic-memory", "version": "0.24.1"},
 "download_info": {"archive_info": {"hashes": {"sha256": "12ab"}}}}]}"""


def python_that(folder: Path, resolves: str) -> str:
    """A program python that makes environments, and resolves packages by this script."""
    file = folder / "python"
    script = f"""#!/bin/sh
[ "$2" = -c ] && exit
[ "$2" = venv ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && exit
case "$*" in *--require-hashes*) cp requirements.txt {folder}/asked; echo "$@" > {folder}/words; exit;; esac
{resolves}
for one in "$@"; do case $one in *report.json) echo '{REPORT}' > $one;; esac; done
"""
    file.write_text(script, encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def test_exactly_what_was_named_is_installed_by_its_hash(cache: Path, tmp_path: Path) -> None:
    python = python_that(tmp_path, "")
    Installed("basic-memory", "0.24.1", python=python).install(agreed)
    assert (tmp_path / "asked").read_text() == "basic-memory==0.24.1 --hash=sha256:12ab"
    assert "--only-binary :all: --no-deps --require-hashes" in (tmp_path / "words").read_text()


def test_no_source_package_runs_unless_the_user_says_so(cache: Path, tmp_path: Path) -> None:
    lacking = "ERROR: No matching distribution found for pybars3>=0.9.7"
    ran = tmp_path / "ran"
    script = f"""case "$*" in *"--no-binary pybars3"*) touch {ran};; *) echo '{lacking}' >&2; exit 1;; esac"""
    python = python_that(tmp_path, script)
    with pytest.raises(wb.InputError, match="needs pybars3, which has no wheel") as error:
        Installed("basic-memory", "0.24.1", python=python).install(agreed)
    assert "--from-source" in error.value.remedy
    installed = Installed("basic-memory", "0.24.1", python=python, from_source=True)
    asked: list[str] = []

    def told(question: str, needed: Callable[[], Sequence[str]]) -> bool:
        if question.startswith("Run the script of"):
            asked.append(question.split(",")[0])
            assert (needed(), ran.exists()) == (["pybars3"], False)
            return len(asked) > 1
        return agreed(question, needed)

    with pytest.raises(wb.InputError, match="is not installed"):
        installed.install(told)
    assert (ran.exists(), list(cache.iterdir())) == (False, [])
    installed.install(told)
    assert asked == ["Run the script of pybars3"] * 2
    assert (ran.exists(), installed.folder.is_dir()) == (True, True)
    listed = (tmp_path / "asked").read_text()
    assert listed == "--no-binary pybars3\nbasic-memory==0.24.1 --hash=sha256:12ab"
    assert "--only-binary :all:" in (tmp_path / "words").read_text()


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
    cut = replace(found, other_chunks="The notes are cut otherwise. Cut them anew.")
    assert cut.description == (
        "openclaw 2026.3.7 and x differ in 1 of 1 list. The chunks can be the reason. The notes are cut "
        "otherwise. Cut them anew."
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


@pytest.mark.usefixtures("in_project")
def test_bisect_of_a_case_that_holds_says_that_there_is_nothing_to_look_for(run: Run, tmp_path: Path) -> None:
    case, note = tmp_path / "holds.case.yaml", "memory/recipes/gluten-free-bread.md"
    made = run("case", "new", "backup and restore", "--not-found", note, *RELEASED, "--out", case)
    ran = run("case", "bisect", case, "--ours")
    assert (made.code, ran.code) == (0, 0)
    assert ran.out.strip() == "The case holds on every release; there is nothing to look for."
