"""`workbench diagnose` and `workbench blame` on the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import pytest

import workbench as wb
from tests.commands import Run
from tests.conftest import PROJECT
from tests.lab.diagnose.claims import merged, missed
from workbench.measure.blame import SHOWN_FLIPS
from workbench.measure.questions import load_questions

QUESTION = "how should I evaluate if a claim is actually true"
TARGET = "memory/protocols/falsification-first.md"
BACKUP = "memory/reference/backup-and-restore.md"
SHIPPED = "openclaw-2026.2.13"


pytestmark = pytest.mark.usefixtures("in_project", "embedded_once")


def test_the_answer_comes_first_and_the_five_parts_with_details(run: Run) -> None:
    asked = ("diagnose", QUESTION, "--target", TARGET, "-s", SHIPPED)
    printed = run(*asked).out.splitlines()
    begins = [
        "Cause: ",
        "Not returned: ",
        "Repair: --set ",
        "Price: 6 → ",
        "Try it: workbench ",
        "Found",
        "Note: This index differs from the one that openclaw-2026.2.13 makes (",
    ]
    assert [line[: len(begin)] for line, begin in zip(printed, begins, strict=True)] == begins
    outcome = run(*asked, "--details")
    assert outcome.out.splitlines()[: len(printed)] == printed
    assert (outcome.code, outcome.err) == (0, "")
    heads = "What happened", "Causes", "Fixes: the file is then in the answer", "The price", "As settings"
    places = [outcome.out.index(head) for head in heads]
    assert places == sorted(places)
    assert "--set f" in outcome.out


def working_forms(run: Run, question: str, target: str, system: str, tmp_path: Path) -> list[str]:
    """The forms in which the fixes of a page are written; each is used as a user would, and has to work.

    `system` may be a file of settings: content to paste is then merged into the whole file.
    """

    def found_with(*options: str) -> bool:
        answer = run("search", question, *options, "--json").json()["results"]
        return target in [one["path"] for one in answer]

    page = run("diagnose", question, "--target", target, "--system", system, "--json").json()
    forms = []
    told = any(one.startswith("Paste the JSON") for one in page["price"]["says"])
    assert told == any(fix["paste"] for fix in page["fixes"])
    with wb.open("sample_memory") as index:
        for fix in page["fixes"]:
            assert fix["verified"], fix["setting"]
            if fix["set"]:
                named = () if fix["set"].startswith("--system") else ("--system", system)
                assert found_with(*named, *fix["set"].split()), fix["set"]
            names: dict[str, Any] = {}  # as in an empty notebook
            exec(compile(fix["python"], "fix", "exec"), names)
            assert target in wb.search(question, names["pipeline"], index).paths(), fix["python"]
            if fix["paste"]:
                own = json.loads(Path(system.partition("#")[0]).read_text(encoding="utf-8"))
                pasted = tmp_path / "pasted.json"
                pasted.write_text(json.dumps(merged(own, fix["paste"])), encoding="utf-8")
                agent = system.partition("#")[2]
                assert found_with("--system", f"{pasted}#{agent}" if agent else str(pasted)), fix["paste"]
            forms += [form for form in ("set", "python", "paste") if fix[form]]
    return forms


@pytest.mark.parametrize("system", [SHIPPED, "openclaw-2026.9.6", "recommended"])
def test_every_fix_works_in_each_form_in_which_it_is_written(run: Run, system: str, tmp_path: Path) -> None:
    assert working_forms(run, *missed_by(system), system, tmp_path)


def missed_by(system: str) -> tuple[str, str]:
    """The first labelled question of the sample memory that a system does not answer, with its target."""
    labelled = load_questions(PROJECT / "sample_memory" / "questions.yaml")
    with wb.open("sample_memory") as index:
        first = next(missed(wb.system(system), index, labelled))
    return first.question, first.target


FEBRUARY, SEPTEMBER = "agents.defaults.memorySearch", "memory.search"


@pytest.mark.parametrize(
    ("release", "form", "own"),
    [
        ("2026.2.13", FEBRUARY, {}),
        ("2026.2.13", FEBRUARY, {"hybrid": {"enabled": True}, "minScore": 0.35, "maxResults": 6}),
        ("2026.2.15", FEBRUARY, {"hybrid": {"mmr": {"enabled": True}}, "minScore": 0.4}),
        ("2026.9.6", SEPTEMBER, {"maxResults": 6}),
    ],
)
def test_the_json_works_when_it_is_pasted_beside_other_settings(
    run: Run, tmp_path: Path, release: str, form: str, own: dict[str, Any]
) -> None:
    file = settings_file(tmp_path, release, form, own)
    assert "paste" in working_forms(run, *missed_by(str(file)), str(file), tmp_path)


def settings_file(folder: Path, release: str, form: str, query: dict[str, Any]) -> Path:
    """An openclaw.json of a release with these settings of the search."""
    tree: dict[str, Any] = {"query": query}
    for key in reversed(form.split(".")):
        tree = {key: tree}
    file = folder / "openclaw.json"
    file.write_text(json.dumps({"meta": {"lastTouchedVersion": release}, **tree}), encoding="utf-8")
    return file


def test_json_that_something_else_in_the_file_outdoes_is_not_printed(run: Run, tmp_path: Path) -> None:
    file = settings_file(tmp_path, "2026.2.13", FEBRUARY, {})
    tree = json.loads(file.read_text(encoding="utf-8"))
    tree["agents"]["list"] = [{"id": "ann", "memorySearch": {"query": {"minScore": 0.36}}}]
    file.write_text(json.dumps(tree), encoding="utf-8")
    outcome = run("diagnose", QUESTION, "-t", TARGET, "-s", f"{file}#ann", "--json").json()
    floors = [one for one in outcome["fixes"] if one["setting"] == "query.minScore"]
    assert all(one["paste"] is None for one in floors)
    assert working_forms(run, QUESTION, TARGET, f"{file}#ann", tmp_path)


def test_a_release_without_a_setting_that_helps_says_so(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text('{"meta": {"lastTouchedVersion": "2026.9.6"}}', encoding="utf-8")
    asked = "code-switching and register in sociolinguistics"
    target = "memory/protocols/audience-calibration.md"
    outcome = run("diagnose", asked, "-t", target, "--config", file, "--details")
    assert "No single setting of openclaw-2026.9.6@openclaw.json that was tried does it" in " ".join(
        outcome.out.split()
    )


OUTSIDE = [
    ("home/plan.md", "home/plan.md", "home"),
    ("sub/plan.md", "work/sub/plan.md", "work/sub"),
    ("bees.md", "work/other/bees.md", "work/other"),
    ("{root}/home/plan.md", "home/plan.md", "home"),
    ("../other/bees.md", "work/other/bees.md", "work/other"),
    ("../hive.md", "work/hive.md", "work/hive.md"),  # its folder has the memory in it
]


@pytest.mark.parametrize(("typed", "lies", "extra"), OUTSIDE)
def test_a_file_outside_the_searched_folder_is_named_with_the_command_that_reads_it(
    run: Run, tmp_path: Path, typed: str, lies: str, extra: str
) -> None:
    searched = tmp_path / "work" / "notes"
    where = ("-m", str(searched), "--index", str(tmp_path / "index"))
    for name in {"work/notes/tea.md", "work/more/tea.md", "home/other.md", *(lies for _, lies, _ in OUTSIDE)}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# Plan\n\nWe drink tea at nine.\n", encoding="utf-8")
    more, file = (tmp_path / "work/more").resolve(), (tmp_path / lies).resolve()
    target = typed.format(root=tmp_path)
    assert run("index", *where[1:], "--extra", more).code == 0
    outcome = run("diagnose", "tea at nine", "-t", target, *where)
    assert (outcome.code, outcome.out) == (2, "")
    first, remedy = outcome.err.strip().split("\n")
    assert first == f"{file} is there, but its folder is not part of this memory, {searched}."
    _, _, *told = run("explain", "tea at nine", "-t", target, *where).out.strip().split("\n")
    assert told == [first, remedy]
    command = remedy.strip().removeprefix("Read it with the others: workbench index ")
    assert command.endswith(f"--extra {more} --extra {(tmp_path / extra).resolve()}")
    assert run("index", *shlex.split(command)).code == 0
    with wb.open_index(searched, index_path=tmp_path / "index") as index:
        path = next(one for one in index.paths() if (searched / one).resolve() == file)
        assert "../more/tea.md" in index.paths()
    for spelled in (path, str(file)):
        assert f"\n{path}:1-" in run("explain", "tea at nine", "-t", spelled, *where).out


def test_a_link_in_the_memory_is_named_as_a_link_whether_it_works_or_not(run: Run, tmp_path: Path) -> None:
    notes, elsewhere = tmp_path / "notes", tmp_path / "tea.md"
    (notes / "memory").mkdir(parents=True)
    for file in (notes / "memory/milk.md", elsewhere):
        file.write_text("# Tea\n\nTea is at nine.\n", encoding="utf-8")
    (notes / "memory/works.md").symlink_to(elsewhere)
    (notes / "memory/broken.md").symlink_to(tmp_path / "nowhere.md")
    assert run("index", notes).code == 0
    for path in ("memory/works.md", "memory/broken.md"):
        told = run("diagnose", "tea at nine", "-t", path, "-m", notes).out.splitlines()
        assert told[0].startswith(f"Cause: index: {path} is a symbolic link; links are not followed")
        assert told[2] == "Repair, by hand: Put the file itself there, or remove the link."


@pytest.mark.parametrize(
    "typed",
    [
        *(f"{TARGET}{place}" for place in (":1-15", ":3", "#the-rule", " ")),
        *("falsification-first", "[[falsification-first#the rule|it]]", "Falsification-First.MD"),
        *("memory\\protocols\\falsification-first.md", f"../sample_memory/{TARGET}"),
    ],
)
def test_a_file_may_be_typed_as_a_search_or_a_link_names_it(run: Run, typed: str) -> None:
    explained = run("explain", QUESTION, "-t", typed, "-s", SHIPPED).out
    assert explained == run("explain", QUESTION, "-t", TARGET, "-s", SHIPPED).out


def test_a_sign_in_a_name_is_no_heading(run: Run, tmp_path: Path) -> None:
    (tmp_path / "C.md").write_text("# Tea\n\nTea is at nine.\n", encoding="utf-8")
    assert run("index", tmp_path).code == 0
    told = run("explain", "tea", "-t", "C# notes.md", "-m", tmp_path).out
    assert told.startswith("Not in the index: C# notes.md.")


def test_a_name_that_several_files_have_is_none_of_them(run: Run, tmp_path: Path) -> None:
    for name in ("a/plan.md", "b/Plan.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("# Tea\n\nTea is at nine.\n", encoding="utf-8")
    assert run("index", tmp_path).code == 0
    assert run("explain", "tea", "-t", "PLAN", "-m", tmp_path).out.startswith("Not in the index: PLAN.")


@pytest.mark.parametrize("typed", ["memory/café.md", "café.md"])
@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_an_accent_in_a_name_may_be_typed_in_both_forms_of_unicode(
    run: Run, tmp_path: Path, typed: str, forms: tuple[Literal["NFC", "NFD"], Literal["NFC", "NFD"]]
) -> None:
    stored = normalize(forms[0], "memory/café.md")
    (tmp_path / "memory").mkdir()
    (tmp_path / stored).write_text("# Tea\n\nTea is at nine.\n", encoding="utf-8")
    assert run("index", tmp_path).code == 0
    asked = ("tea at nine", "-t", normalize(forms[1], typed), "-m", tmp_path)
    assert f"{stored}:1-" in run("explain", *asked).out
    assert run("diagnose", *asked).err.startswith(f"{stored} is already the first file in the answer")


def test_another_memory_is_named_only_if_it_has_an_index(run: Run, tmp_path: Path) -> None:
    for name in ("notes/tea.md", "other/deep/bees.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("# Bees\n\nBees drink at nine.\n", encoding="utf-8")
    assert run("index", tmp_path / "notes").code == 0
    asked = ("diagnose", "bees at nine", "-t", "../other/deep/bees.md", "-m", tmp_path / "notes")
    assert "-m" not in run(*asked).err
    assert run("index", tmp_path / "other").code == 0
    options = run(*asked).err.partition("or search the memory that has it: ")[2].strip()
    assert options == f"-m {(tmp_path / 'other').resolve()} --target deep/bees.md"
    assert run("diagnose", "bees at nine", *shlex.split(options)).err.startswith(
        "deep/bees.md is already the first"
    )


def test_the_exit_code_says_whether_the_first_repair_was_tried_and_works(run: Run, tmp_path: Path) -> None:
    notes = {"a": "# Kettle\n\nThe kettle is red.\n", "b": "# Saw\n\nThe saw is in the shed.\n"}
    for name, text in {**notes, "c": "![[IMG_2041.png]]\n"}.items():
        (tmp_path / "notes").mkdir(exist_ok=True)
        (tmp_path / "notes" / f"{name}.md").write_text(text, encoding="utf-8")
    where = ("-m", str(tmp_path / "notes"), "--index", str(tmp_path / "index"))
    assert run("index", *where[1:]).code == 0
    asked = ("diagnose", "where is the saw", "-s", "openclaw-2026.2.13+or", *where)
    untried = run(*asked, "-t", "c.md")
    assert "Repair, by hand: write into the note what they show" in untried.out
    tried = run(*asked, "-t", "b.md", "--min-score", "0.99")
    assert "Repair: leave out --min-score 0.99" in tried.out
    assert (untried.code, tried.code) == (1, 0)


def test_an_unwanted_file_is_asked_for(run: Run) -> None:
    answer = run("search", QUESTION, "-s", "openclaw-2026.2.13+or", "--json").json()["results"]
    system = ("-s", "openclaw-2026.2.13+or", "--details")
    outcome = run("diagnose", QUESTION, "--unwanted", answer[-1]["path"], *system)
    assert outcome.code == 0
    assert "Fixes: the file is then not in the answer" in outcome.out


def test_blame_prints_shares_that_sum(run: Run) -> None:
    data = run("blame", "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf", "--json").json()
    assert sum(one["share"] for one in data["changes"]) == pytest.approx(data["difference"], abs=1e-9)
    text = run("blame", "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf", "--details").out
    assert "Shapley shares, exact" in text
    assert f"{len(data['flips']) - SHOWN_FLIPS} more questions; --json lists all." in text


def test_blame_of_one_system_twice_is_about_its_own_settings(run: Run) -> None:
    twice = run("blame", SHIPPED, SHIPPED, "--set", "floor.floor=0.2", "--json").json()
    assert [one["change"] for one in twice["changes"]] == ["floor"]
    assert twice["before"]["system"] == SHIPPED != twice["after"]["system"]
    both = run("blame", SHIPPED, f"{SHIPPED}+or", "--set", "floor.floor=0.2", "--json").json()
    assert [one["change"] for one in both["changes"]] == ["query"]
