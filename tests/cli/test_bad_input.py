"""What cannot be used is refused: exit code 2, what it is and what to do about it, and nothing changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import world
from tests.cli.test_cli import Place
from tests.commands import Outcome, Run, python
from workbench.memory.embedding.local import PACKAGED_IN, PACKAGED_MODEL, PACKAGED_SHA256, packaged_model
from workbench.memory.files import LONGEST_PATH
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker
from workbench.memory.store.contract import Settings
from workbench.memory.store.sqlite.store import Store
from workbench.memory.sync import index_folder

NOBODY = 65534
WINDOWED, CHUNKER = f"{PACKAGED_SHA256[:12]}/windowed", LineChunker().name


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The notes of `world` and their index, made once with the packaged model."""
    home = tmp_path_factory.mktemp("original")
    made = Place(world.write(home / "memory_of_wren"), home / "i.sqlite")
    index_folder(made.folder, options=Options(index_path=made.index))
    return made


@pytest.fixture
def place(original: Place, tmp_path: Path) -> Iterator[Place]:
    """A copy that a test may spoil; its index keeps its bytes, with a lock and vectors of words beside it."""
    made = Place(tmp_path / "wren" / "memory_of_wren", tmp_path / "index" / "i.sqlite")
    shutil.copytree(original.folder, made.folder)
    made.index.parent.mkdir()
    shutil.copy(original.index, made.index)
    yield made
    assert made.index.read_bytes() == original.index.read_bytes()
    beside = {f"{made.index.name}{end}" for end in ("", ".lock", ".words")}
    assert set(os.listdir(made.index.parent)) <= beside


def refuses(outcome: Outcome, *names: object) -> bool:
    """Asserts that a command ended with 2 and, on stderr, a line with all of `names` and then a remedy."""
    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
    problem, _, remedy = outcome.err.partition("\n")
    assert [name for name in names if str(name) not in problem] == []
    assert remedy.startswith("  ")
    assert remedy.strip()
    return True


# folders


@pytest.mark.parametrize("command", [["search", "tea"], ["explain", "tea", "-t", "MEMORY.md"], ["evaluate"]])
def test_a_missing_memory_is_refused(run: Run, place: Place, command: list[str]) -> None:
    questions = ["-q", place.folder.parent / "q.yaml"] if command == ["evaluate"] else []
    (place.folder.parent / "q.yaml").write_text("questions: [{question: tea, target: MEMORY.md}]")
    gone = place.folder / "gone"
    assert refuses(run(*command, *questions, "-m", gone, "--index", place.index), gone, "does not exist")


def test_a_missing_folder_is_refused_by_the_program_itself() -> None:
    assert refuses(python("-m", "workbench", "index", "no/such/folder"), "no/such/folder does not exist")


@pytest.mark.parametrize("command", [["index"], ["search", "tea", "-m"], ["doctor"]])
def test_the_folder_of_an_unknown_user_does_not_exist(run: Run, command: list[str]) -> None:
    folder = "~nobody-of-this-name/notes"
    assert refuses(
        run(*command, folder), "There is no" if command == ["doctor"] else "does not exist", folder
    )


def test_a_folder_that_lies_too_deep_is_left_out_and_the_others_are_read(run: Run, tmp_path: Path) -> None:
    root = world.write(tmp_path / "wren", {"memory/tea.md": "A cup of tea.\n"})
    above, name = os.open(root / "memory", os.O_RDONLY), "a" * 200
    for _ in range(LONGEST_PATH // len(name) + 1):
        os.mkdir(name, dir_fd=above)
        inside = os.open(name, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = inside
    os.close(above)
    outcome = run("index", root, "--index", tmp_path / "i.sqlite")
    assert outcome.code == 0
    assert "Indexed 1 file" in outcome.out + outcome.err
    assert "… lies too deep: its path is longer than this system reads." in outcome.err
    assert len(outcome.err) < 1_000


@pytest.mark.parametrize(
    ("folder", "problem"),
    [("gone", "does not exist"), ("MEMORY.md", "not a folder"), ("empty", "holds no Markdown")],
)
def test_what_is_no_folder_of_notes_is_refused(run: Run, place: Place, folder: str, problem: str) -> None:
    (place.folder / "empty").mkdir()
    outcome = run("index", place.folder / folder, "--index", place.index)
    assert refuses(outcome, place.folder / folder, problem)


def test_a_folder_that_lost_its_notes_keeps_its_index(run: Run, place: Place) -> None:
    shutil.rmtree(place.folder)
    place.folder.mkdir()
    assert refuses(run("index", place.folder, "--index", place.index), place.folder, "holds no Markdown")


@pytest.fixture
def closed(original: Place) -> Iterator[Place]:
    """A copy of the original in which access can be taken away, also from root, who becomes nobody."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        made = Place(home / "wren" / "memory_of_wren", home / "index" / "i.sqlite")
        shutil.copytree(original.folder, made.folder)
        made.index.parent.mkdir()
        made.index.parent.chmod(0o777)
        shutil.copy(original.index, made.index)
        try:
            yield made
        finally:
            if os.getuid() == NOBODY:
                os.setresuid(0, 0, 0)
            for path in [made.folder.parent, made.folder, *made.folder.rglob("*")]:
                path.chmod(0o755)


def without_access(path: Path) -> None:
    """Closes a path to this process: by its mode, which does not bind root."""
    path.chmod(0)
    if os.getuid() == 0:
        # What the command imports later may lie in the home of root.
        import fileinput  # noqa: F401

        import openvino  # noqa: F401
        import sentence_transformers  # noqa: F401

        os.setresuid(NOBODY, NOBODY, 0)


@pytest.mark.parametrize("inner", ["..", ".", "memory", "memory/tea.md"])
def test_what_may_not_be_read_is_refused(run: Run, closed: Place, inner: str) -> None:
    before = closed.index.read_bytes()
    (closed.folder / "memory" / "tea.md").touch()
    without_access((closed.folder / inner).resolve())
    named = closed.folder if inner == ".." else inner.removeprefix(".")
    assert refuses(run("index", closed.folder, "--index", closed.index, "--no-skip"), named)
    assert closed.index.read_bytes() == before


def test_a_file_that_may_not_be_read_can_be_skipped(run: Run, closed: Place) -> None:
    (closed.folder / "memory" / "tea.md").touch()
    without_access(closed.folder / "memory" / "tea.md")
    with tempfile.TemporaryDirectory() as home:
        index = shutil.copy(closed.index, home)
        outcome = run("index", closed.folder, "--index", index, "--json")
    assert (outcome.code, outcome.json()["unchanged"]) == (0, 5)
    assert "left out: memory/tea.md cannot be read" in outcome.err


def test_an_index_that_may_not_be_written_is_searched_all_the_same(run: Run, closed: Place) -> None:
    closed.index.chmod(0o444)
    without_access(closed.folder / "memory" / "tea.md")
    assert run("search", "rooibos tea", *closed.options).code == 0


# files


def _not_utf8(folder: Path) -> None:
    (folder / "memory" / "odd.md").write_bytes("# Caf\xe9\n".encode("latin-1"))


def _large(folder: Path) -> None:
    with (folder / "memory" / "odd.md").open("wb") as file:
        file.truncate(50_000_000)


def _folder(folder: Path) -> None:
    (folder / "memory" / "odd.md").mkdir()


def _link(folder: Path) -> None:
    (folder.parent / "secret.txt").write_text("tea")
    (folder / "memory" / "odd.md").symlink_to(folder.parent / "secret.txt")


def _linked_folder(folder: Path) -> None:
    (folder.parent / "secret").mkdir()
    (folder / "memory" / "odd.md").symlink_to(folder.parent / "secret")


def _dangling_link(folder: Path) -> None:
    (folder / "memory" / "odd.md").symlink_to(folder.parent / "gone.md")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "memory" / "odd.md")


SPOILT = [
    pytest.param(_not_utf8, "not UTF-8: byte 5 is 0xe9", id="not UTF-8"),
    pytest.param(_large, "has 50 MB", id="50 MB"),
    pytest.param(_folder, "is a folder", id="folder"),
    pytest.param(_link, "is a symbolic link", id="link"),
    pytest.param(_linked_folder, "is a symbolic link", id="link to a folder"),
    pytest.param(_dangling_link, "is a symbolic link", id="dangling link"),
    pytest.param(_pipe, "is not a plain file", id="pipe"),
]


@pytest.mark.parametrize(("spoil", "problem"), SPOILT)
def test_a_file_that_cannot_be_used_is_refused_or_skipped(
    run: Run, place: Place, spoil: Callable[[Path], None], problem: str
) -> None:
    spoil(place.folder)
    for more in ([], ["--rebuild"]):
        options = ("--index", place.index, "--reading", "windowed", "--no-skip", *more)
        refused = run("index", place.folder, *options)
        assert refuses(refused, "memory/odd.md", problem)
        assert "--skip" in refused.err
    outcome = run("index", place.folder, "--index", place.index, "--json")
    assert (outcome.code, outcome.json()["unchanged"]) == (0, len(world.NOTES))
    assert "left out: memory/odd.md" in outcome.err
    assert problem in outcome.err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system refuses such names")
@pytest.mark.parametrize("skip", [False, True])
def test_a_file_name_that_is_not_utf8_is_refused_or_skipped(run: Run, place: Place, skip: bool) -> None:
    Path(os.fsdecode(os.fsencode(place.folder / "memory") + b"/caf\xe9.md")).write_text("tea")
    outcome = run("index", place.folder, "--index", place.index, *([] if skip else ["--no-skip"]))
    assert outcome.code == (0 if skip else 2)
    assert "caf" in outcome.err


# questions

BAD_QUESTIONS = [
    ("", "is empty"),
    (" \t\n", "is empty"),
    ("?! … --", "no letter and no digit"),
    pytest.param("tea " * 10_000, "10,000 words", id="10,000 words"),
]


@pytest.mark.parametrize(("question", "problem"), BAD_QUESTIONS)
def test_a_question_that_means_nothing_is_refused(
    run: Run, place: Place, question: str, problem: str
) -> None:
    for command in (["search"], ["explain", "--target", "MEMORY.md"]):
        assert refuses(run(*command, *place.options, "--", question), "The question", problem)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere arguments are Unicode")
def test_a_question_that_is_not_utf8_is_refused(place: Place) -> None:
    assert refuses(python("-m", "workbench", "search", b"caf\xe9", *place.options), "The question")


def test_an_unknown_system_is_refused_and_the_nearest_named(run: Run, place: Place) -> None:
    outcome = run("search", "tea", "--system", "openclaw-2026.2.31", *place.options)
    assert refuses(outcome, "'openclaw-2026.2.31'", "the nearest are openclaw-2026.")


# indexes


def _missing(file: Path) -> None:
    pass


def _text(file: Path) -> None:
    file.write_text("# Notes\nThese are not a database.\n" * 40)


def _empty(file: Path) -> None:
    file.touch()


def _other_program(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE chunks (id INTEGER, text TEXT)")
    db.close()


def _other_version(file: Path) -> None:
    with Store.create(file, Settings(PACKAGED_MODEL, WINDOWED, 384, CHUNKER)) as store:
        store.db.pragma("user_version", 99)


def _without_half(file: Path) -> None:
    Store.create(file, Settings(PACKAGED_MODEL, WINDOWED, 384, CHUNKER)).close()
    file.write_bytes(file.read_bytes()[:2048])


def made_with(
    model: str = PACKAGED_MODEL, revision: str = WINDOWED, chunker: str = CHUNKER
) -> Callable[..., None]:
    def make(file: Path) -> None:
        Store.create(file, Settings(model, revision, 384, chunker)).close()

    return make


FOREIGN = [
    pytest.param(_text, "is not a workbench index", id="text"),
    pytest.param(_empty, "is not a workbench index", id="empty file"),
    pytest.param(_other_program, "is not a workbench index", id="database of another program"),
]
UNFIT = [
    pytest.param(_other_version, "has schema version 99", id="version"),
    pytest.param(made_with(model="other"), "made with another model: other", id="model"),
    pytest.param(made_with(revision="0123/windowed"), "made with another model", id="weights"),
    pytest.param(made_with(revision=WINDOWED.replace("/", "/openvino-int8/")), "openvino", id="backend"),
    pytest.param(made_with(chunker="by paragraph"), "another chunker: by paragraph", id="chunker"),
    pytest.param(made_with(), "53aa51172d14/truncated", id="another reading than the one that is named"),
]


@pytest.mark.parametrize("more", [[], ["--rebuild"]], ids=["", "rebuild"])
@pytest.mark.parametrize(("make", "problem"), FOREIGN)
def test_a_file_that_is_no_index_is_not_indexed_into(
    run: Run, place: Place, tmp_path: Path, make: Callable[[Path], None], problem: str, more: list[str]
) -> None:
    file = tmp_path / "other.sqlite"
    make(file)
    before = file.read_bytes()
    assert refuses(run("index", place.folder, "--index", file, *more), file, problem)
    assert file.read_bytes() == before


def test_an_index_that_is_torn_in_half_is_damaged_and_only_a_rebuild_replaces_it(
    run: Run, place: Place, tmp_path: Path
) -> None:
    file = tmp_path / "other.sqlite"
    _without_half(file)
    before, where = file.read_bytes(), ("--index", file)
    for refused in (run("index", place.folder, *where), run("search", "tea", "-m", place.folder, *where)):
        assert (refused.code, refused.out) == (3, "")
        assert f"The index {file} is damaged" in refused.err
        assert f"workbench index {place.folder} --index {file} --rebuild" in refused.err
    assert file.read_bytes() == before
    assert run("index", place.folder, *where, "--rebuild").code == 0
    assert run("search", "tea", "-m", place.folder, *where).code == 0


NOT_SEARCHED = [
    *FOREIGN,
    pytest.param(_missing, "no index at", id="missing"),
    pytest.param(_other_version, "schema version 99", id="version"),
    pytest.param(made_with(model="toy", revision="abc"), "model", id="toy"),
    pytest.param(made_with(revision="0123/windowed"), "model", id="weights"),
]


@pytest.mark.parametrize(("make", "problem"), NOT_SEARCHED)
def test_an_index_that_does_not_fit_is_not_searched(
    run: Run, place: Place, tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    file = tmp_path / "other.sqlite"
    make(file)
    assert refuses(run("search", "tea", "--memory", place.folder, "--index", file), file, problem)


@pytest.mark.parametrize(("make", "problem"), UNFIT)
def test_an_index_made_otherwise_is_left_as_it_is(
    run: Run, place: Place, tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    file = tmp_path / "other.sqlite"
    make(file)
    before = file.read_bytes()
    named = ["--reading", "truncated"] if "truncated" in problem else []
    outcome = run("index", place.folder, "--index", file, *named)
    assert refuses(outcome, file, problem)
    assert "--rebuild" in outcome.err
    assert file.read_bytes() == before


def test_a_folder_as_index_is_refused(run: Run, place: Place) -> None:
    assert refuses(run("index", place.folder, "--index", place.folder), place.folder)


# models


@pytest.fixture
def _false_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package by the model's name, whose weights are not the published ones."""
    files = {"__init__.py": "", "model/model.safetensors": "tampered", "model/tokenizer.json": "{}"}
    world.write(tmp_path / "site" / PACKAGED_IN, files)
    monkeypatch.syspath_prepend(tmp_path / "site")


@pytest.mark.usefixtures("_false_weights")
class TestFalseWeights:
    """With weights that are not the published ones."""

    def test_nothing_is_searched_changed_or_begun(self, run: Run, place: Place, tmp_path: Path) -> None:
        searched = run("search", "never asked before", *place.options)
        assert refuses(searched, "model.safetensors", "not the published")
        (place.folder / "memory" / "bike.md").unlink()
        world.write(place.folder, {"memory/new.md": "A new cup."})
        for file in (place.index, tmp_path / "fresh.sqlite"):
            indexed = run("index", place.folder, "--index", file)
            assert refuses(indexed, "model.safetensors", "not the published")
        assert not (tmp_path / "fresh.sqlite").exists()

    def test_the_doctor_says_so(self, run: Run, place: Place) -> None:
        outcome = run("doctor", *place.options, "--json")
        (model,) = [one for one in outcome.json() if one["what"] == "model"]
        assert (outcome.code, model["fine"]) == (1, False)
        assert "not the published" in model["says"]


def test_a_model_that_cannot_be_used_is_refused(run: Run, place: Place, tmp_path: Path) -> None:
    none, mine = tmp_path / "no_model", tmp_path / "mine"
    none.mkdir()
    shutil.copytree(packaged_model(), mine, ignore=shutil.ignore_patterns("tokenizer.json", "vocab.txt"))
    for option, value, *problem in (
        ("--model", none, none, "cannot be loaded"),
        ("--model", mine, mine, "cannot be loaded: it has no tokenizer.json"),
        ("--model", "", "--model is empty"),
        ("--model", " ", "--model is empty"),
        ("--reading", "skimmed", "'skimmed'"),
    ):
        outcome = run("index", place.folder, "--index", tmp_path / "fresh.sqlite", option, value)
        assert refuses(outcome, *problem)
        assert not (tmp_path / "fresh.sqlite").exists()


# labelled questions


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("questions: [", "is not valid YAML"),
        ("questions:\n\t- question: tea", "is not valid YAML: line 2: a tab"),
        ("- tea", "no `questions:` list"),
        ("", "no `questions:` list"),
        ("questions: []", "this list is empty"),
        ("questions:", "nothing stands after `questions`"),
        ("questions: [{question: tea}]", "target"),
        ("questions: [{question: '', target: MEMORY.md}]", "question"),
        ("questions: [{question: tea, target: MEMORY.md, sort: x}]", "sort"),
        ("questions: [{question: tea, target: MEMORY.md}]\ncontrol: []", "control"),
        ("questions: [{question: café, target: MEMORY.md}]", "q.yaml"),
    ],
)
def test_questions_that_cannot_be_used_are_refused(
    run: Run, place: Place, tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "q.yaml"
    assert refuses(run("evaluate", "-q", file, *place.options), file, "cannot be read: No such file")
    file.write_text(text, encoding="latin-1")
    assert refuses(run("evaluate", "-q", file, *place.options), file, problem)


@pytest.mark.parametrize("command", [["evaluate"], ["sweep", "openclaw-2026.2.13", "fusion.vector=0:1:3"]])
def test_an_address_has_no_questions_of_its_own_and_its_password_is_not_printed(
    run: Run, command: list[str]
) -> None:
    outcome = run(*command, "-m", "postgresql://me:hunter2@127.0.0.1:9/notes")
    assert outcome.code == 2
    assert "--questions FILE" in outcome.err
    assert "hunter2" not in outcome.err


def test_questions_that_may_not_be_read_are_refused(run: Run, closed: Place) -> None:
    file = world.write(closed.folder, {"q.yaml": ""}) / "q.yaml"
    without_access(file)
    assert refuses(run("evaluate", "--questions", file, *closed.options), file, "Permission denied")


def test_a_target_that_is_not_indexed_is_refused_and_the_nearest_named(
    run: Run, place: Place, tmp_path: Path
) -> None:
    (tmp_path / "q.yaml").write_text("questions: [{question: tea, target: memory/teas.md}]")
    outcome = run("evaluate", "-q", tmp_path / "q.yaml", *place.options)
    assert refuses(outcome, "memory/teas.md", "not in the index")
    assert "The nearest is memory/tea.md." in outcome.err
    assert "If the file is gone, take its questions out." in outcome.err
    (tmp_path / "q.yaml").write_text("questions: [{question: tea, target: memory/car.md}]")
    outcome = run("evaluate", "-q", tmp_path / "q.yaml", *place.options)
    assert refuses(outcome, "memory/car.md", "not in the index")
    assert "nearest" not in outcome.err  # all other files of that folder are as far away


# parameters


@pytest.mark.parametrize(
    "setting",
    [
        "limit.count=nan", "limit.count=inf", "limit.count=-1", "limit.count=six", "floor.floor=nan",
        "floor.floor=inf", "fusion.vector=nan", "fusion.vector=-3", "keyword_leg.depth.multiplier=nan",
        "vector_leg.depth.cap=2.5", "keyword_leg.depth.multiplier=-1", "keyword_leg.depth.cap=0",
        "vector_leg.depth.cap=-inf", "floor", "=", "query.maxResults=nan", "query.hybrid.vectorWeight=inf",
        "query.maxResults=2.5", "query.minScore=",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", [["search", "tea"], ["evaluate", "-s", "openclaw-2026.2.13"]], ids=len)
def test_a_parameter_that_cannot_be_used_is_refused(
    run: Run, place: Place, setting: str, command: list[str]
) -> None:
    refused = run(*command, *place.options, "--set", setting)
    assert refuses(refused, setting.partition("=")[0])
