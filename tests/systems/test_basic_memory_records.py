"""Basic Memory's rows and lists against release 0.23.2, which has observations and relations in its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import PROJECT, recorded_folder
from tests.run_records import load, replayed
from workbench_plugins.basic_memory.notes import Note, rows_beside
from workbench_plugins.basic_memory.rows import Block, Named, observation, relations

RECORDS = PROJECT / "tests" / "records"


@pytest.mark.parametrize(
    ("record", "system", "folder", "lists", "equal"),
    [
        ("0.23.2-notes", "bm-head", "notes", 240, 240),
        ("0.23.2", "bm-head", "odd", 390, 377),
        ("0.23.2-vault", "bm-head", "vault", 495, 489),
        ("0.24.1", "bm-0.24.1", "notes", 240, 239),
        ("0.24.1", "bm-0.24.1", "odd", 390, 370),
        ("0.24.1-vault", "bm-0.24.1", "vault", 495, 488),
        ("0.23.2-postgres", "bm-pg-0.23.2", "thirty", 225, 214),
        ("0.24.1-postgres", "bm-pg-0.24.1", "thirty", 225, 215),
    ],
)
def test_so_many_lists_are_the_recorded_ones(
    record: str, system: str, folder: str, lists: int, equal: int, tmp_path: Path
) -> None:
    """Two causes make the difference: the order of a title's and a path's forms, and equal ranks at a cut."""
    folders = {folder: recorded_folder(folder, tmp_path)}
    file = RECORDS / f"basic_memory-{record}.json.gz"
    compared = list(replayed(load(file), system, folders, "", None))
    different = [one for one in compared if one.difference]
    assert (len(compared), len(compared) - len(different)) == (lists, equal)
    assert not any(one.asked.arguments == "vector" for one in different)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[cat] two\nlines", ("cat", "two")),
        ("[1] digit (here)", ("1", "digit")),
        ("one #tag, x", ("note", "one #tag, x")),
        ("[cat](u) link #l", ("note", "[cat](u) link #l")),
        ("[m] (only a context)", None),
        ("[cat]nospace", None),
        ("[x] done #tag", None),
        ("[?] open", None),
        ("a#tag (#tag)", None),
    ],
)
def test_what_an_observation_is(text: str, found: tuple[str, str] | None) -> None:
    assert observation(Block(text, True, False)) == found
    assert observation(Block(text, True, True)) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("rel [[A]] (why)", [("rel", "A")]),
        ("'two words' [[A]]", [("two words", "A")]),
        ("two words [[A]]", [("links_to", "A")]),
        ("rel [[A]] and more", [("links_to", "A")]),
        ("rel [[A]] and [[B]]", [("links_to", "A"), ("links_to", "B")]),
        ("rel [[a [[b]] c]]", [("links_to", "a [[b]] c")]),
        ("rel [[]] or [[open", []),
    ],
)
def test_what_a_relation_is(text: str, found: list[tuple[str, str]]) -> None:
    assert relations(Block(text, True, False)) == found


def test_a_link_means_a_note_by_its_title_its_path_or_its_permalink() -> None:
    names = [Named("Tea", "main/tea", "Tea.md"), Named("Deep Cup", "main/sub/cup", "sub/cup.md")]
    links = "- a [[Tea]]\n- b [[tea]]\n- c [[Deep Cup|cup]]\n- d [[sub/cup]]\n- e [[cup]]\n"
    body = f"{links}\n```\n- f [[Tea]]\n```\n"
    rows = rows_beside(names, [body, ""], "main")
    assert [(row.title, row.permalink) for row in rows] == [
        ("Tea -> Tea", "main/tea/a/main/tea"),
        ("Tea", "main/tea/b/tea"),  # its own name in other letters is not found
        ("Tea -> Deep Cup", "main/tea/c/main/sub/cup"),
        ("Tea -> Deep Cup", "main/tea/d/main/sub/cup"),
        ("Tea", "main/tea/e/cup"),
    ]


def test_links_by_path_and_several_notes_of_one_title() -> None:
    names = [Named("Dup", "main/dup", "Dup.md"), Named("Dup", "main/a/dup", "a/Dup.md")]
    names += [Named("Titled", "own/one", "a/file.md")]
    body = "- b [[Dup]]\n- c [[a/Dup]]\n- d [[main/own/one]]\n- e [[a/file|shown]]\n- f [[shot.png]]\n"
    links = "\n[g](file.md) [h](../Dup.md#x) [i](https://x.example) [j](none.md) \\[[k]] `[[l]]`\n"
    ends = ["b/dup", "c/main/a/dup", "d/own/one", "e/own/one", "f/shot"]
    rows = [row.permalink for row in rows_beside(names, ["", "", body], "main")]
    assert rows == [f"own/one/{end}" for end in ends]
    rows = [row.permalink for row in rows_beside(names, ["", "", body + links], "main", "0.24.1")]
    ends += ["links-to/own/one", "links-to/main/dup", "links-to/none"]
    assert rows == [f"own/one/{end}" for end in ends]


def test_the_same_observation_is_one_row() -> None:
    row = Note("k: a/b...", "a/b\na\nb", "a/b", "main/n/observations/k/a/b")
    assert rows_beside([Named("N", "main/n", "n.md")], ["- [k] a/b\n- [k] a/b\n"], "main") == [row]
