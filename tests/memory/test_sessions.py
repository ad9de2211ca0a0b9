"""Transcripts become documents whose chunks point into the JSONL; OpenClaw's answers are vectors."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import world
from tests.commands import Run
from workbench.errors import InputError
from workbench.memory.embedding import named
from workbench.memory.files import GoneError
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LineChunker
from workbench.memory.sync import Summary, index_folder
from workbench.retrieval.pipeline import search
from workbench.systems import openclaw
from workbench_plugins.openclaw.sessions import Pending, Sessions, Thresholds, Transcript, message, messages

META = {"type": "session", "id": "s"}


def said(role: str, content: Any) -> dict[str, Any]:
    """A record of something that was said."""
    return {"type": "message", "message": {"role": role, "content": content}}


def jsonl(*records: Any) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in records)


def read(folder: Path, text: str | bytes) -> tuple[Transcript, list[int]]:
    """A transcript of this text, and its broken lines."""
    (folder / "s.jsonl").write_bytes(text if isinstance(text, bytes) else text.encode())
    sessions = Sessions(folder)
    return sessions.read("sessions/s.jsonl"), sessions.broken["sessions/s.jsonl"]


# Text


PARTS = [{"type": "image", "data": "x"}, {"type": "text", "text": "a\n\nb"}, {"type": "text", "text": "c"}]
SAYS = [
    (said("user", "tea?"), "User: tea?"),
    (said("assistant", PARTS), "Assistant: a b c"),
    (said("user", "half \ud83d of a pair"), "User: half \ufffd of a pair"),
]
SAYS_NOTHING = [
    said("user", [{"type": "text"}, "loose", None, {"type": "text", "text": 1}]), said("user", PARTS[1]),
    said("user", None), said("user", " \n\t"), said("system", "rules"), said("toolResult", "42"),
    {"type": "message", "message": "tea"}, said("user", "x") | {"type": "custom"}, [], None, 3,
]  # fmt: skip


@pytest.mark.parametrize(("record", "line"), [*SAYS, *((one, "") for one in SAYS_NOTHING)])
def test_what_a_record_says(record: Any, line: str) -> None:
    assert message(record) == line


def test_lines_that_hold_no_json_are_passed_over_and_named(tmp_path: Path) -> None:
    separated = json.dumps(said("user", "a\u2028b"), ensure_ascii=False) + "\r\n"
    latin = b'{"type":"message","message":{"role":"user","content":"caf\xe9"}}\n\xff\n'
    text = jsonl(META) + "{broken\n\n" + separated + "[" * 100_000 + "\n"
    transcript, broken = read(tmp_path, text.encode() + latin)
    assert (transcript.text, transcript.line_map) == ("User: a b\nUser: caf\ufffd", (4, 6))
    assert broken == [2, 5, 7]


def test_a_last_line_that_is_being_written_is_not_broken() -> None:
    whole = jsonl(said("user", "tea"), said("assistant", "a cup")).encode()
    for cut in range(len(whole)):
        texts, broken = messages(io.BytesIO(whole[:cut]))
        assert broken == []
        assert "User: tea\nAssistant: a cup".startswith("\n".join(texts.values()))


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_nothing_in_a_file_stops_the_reading(lines: list[bytes]) -> None:
    texts, broken = messages([line + b"\n" for line in lines])
    assert not texts.keys() & set(broken)


def test_passages_point_into_the_jsonl(tmp_path: Path) -> None:
    one, other, long = said("user", "a" * 20), said("assistant", "b" * 20), said("user", "c" * 70)
    transcript, _ = read(tmp_path, jsonl(META, one, META, other, META, META, long))
    passages = Sessions(tmp_path).cut(transcript, LineChunker(tokens=14, overlap=0))
    assert [(one.start_line, one.end_line) for one in passages] == [(2, 2), (4, 4), (7, 7), (7, 7)]
    empty, _ = read(tmp_path, jsonl(META))
    assert Sessions(tmp_path).cut(empty, LineChunker()) == []


# A folder of transcripts as a source


def test_the_transcripts_of_a_folder_are_its_jsonl_files(tmp_path: Path) -> None:
    world.write(tmp_path, {"b.jsonl": "{}\n", "a.jsonl": "", "c.json": "{}", "old/d.jsonl": "{}"})
    stamps = Sessions(tmp_path).stamps()
    assert list(stamps) == ["sessions/a.jsonl", "sessions/b.jsonl"]
    assert stamps["sessions/b.jsonl"] == (3, (tmp_path / "b.jsonl").stat().st_mtime_ns)


def test_a_link_is_refused_and_a_file_that_has_gone_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("{}\n", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(InputError, match=r"sessions/link\.jsonl is a symbolic link"):
        Sessions(tmp_path).read("sessions/link.jsonl")
    with pytest.raises(GoneError):
        Sessions(tmp_path).read("sessions/gone.jsonl")
    with pytest.raises(InputError, match=r"none of sessions cannot be read: No such file"):
        Sessions(tmp_path / "none").stamps()


@pytest.fixture
def wren(tmp_path: Path) -> Path:
    """A folder with the toy world's memory, and one transcript beside it."""
    world.write(tmp_path / "memory_of_wren")
    asked, answered = said("user", "Where is the bike?"), said("assistant", "The brake is off the bike hub.")
    talk = jsonl(META, asked, META, answered)
    world.write(tmp_path / "sessions", {"monday.jsonl": talk})
    return tmp_path


def indexed(wren: Path) -> Summary:
    sources = [Sessions(wren / "sessions")]
    return index_folder(
        wren / "memory_of_wren",
        world.EMBEDDER,
        options=Options(index_path=wren / "index.sqlite", sources=sources),
    )


def opened(wren: Path) -> MemoryIndex:
    return open_index(wren / "memory_of_wren", world.EMBEDDER, index_path=wren / "index.sqlite")


def test_a_search_finds_what_was_said_and_where(wren: Path) -> None:
    indexed(wren)
    with opened(wren) as index:
        found = [one.chunk for one in search("brake", openclaw.THREE_FIXES, index).results]
    (chunk,) = (one for one in found if one.source == "sessions")
    assert chunk.location == "sessions/monday.jsonl:2-4"
    assert "Assistant: The brake is off the bike hub." in chunk.text


def test_transcripts_are_synced_like_notes(wren: Path) -> None:
    assert "sessions/monday.jsonl" in indexed(wren).new
    assert indexed(wren).unchanged == len(world.NOTES) + 1
    with (wren / "sessions" / "monday.jsonl").open("a", encoding="utf-8") as file:
        file.write(jsonl(said("user", "Thank you, a cup of tea now.")))
    assert indexed(wren).changed == ["sessions/monday.jsonl"]
    (wren / "sessions" / "monday.jsonl").unlink()
    assert indexed(wren).deleted == ["sessions/monday.jsonl"]


def test_the_command_indexes_transcripts_and_names_their_broken_lines_once(
    run: Run, wren: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named, "embedder_named", lambda *_: world.EMBEDDER)
    with (wren / "sessions" / "monday.jsonl").open("a", encoding="utf-8") as file:
        file.write("no JSON\n")
    given = (wren / "memory_of_wren", "--index", wren / "i.sqlite", "--sessions", wren / "sessions")
    first, second = run("index", *given), run("index", *given)
    assert (first.code, first.err) == (0, "left out: sessions/monday.jsonl:5 is not JSON.\n")
    assert "Indexed 7 files" in first.out
    assert (second.code, second.err) == (0, "")


# How much has come


@pytest.mark.parametrize(
    ("pending", "thresholds", "enough"),
    [
        (Pending(bytes=99_999, messages=49), Thresholds(), False),
        (Pending(bytes=100_000), Thresholds(), True),
        (Pending(messages=50), Thresholds(), True),
        (Pending(bytes=1), Thresholds(bytes=0), True),
        (Pending(), Thresholds(bytes=0, messages=-1), False),
    ],
)
def test_enough_has_come(pending: Pending, thresholds: Thresholds, enough: bool) -> None:
    assert pending.enough(thresholds) is enough


def test_only_what_is_new_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text("{}\n" * 4)
    first = Pending().now(file, Thresholds())
    file.write_text("{}\n" * 6)
    assert (first.messages, first.now(file, Thresholds()).messages) == (4, 6)
    assert Pending(size=12).now(file, Thresholds()) == Pending(18, 6, 2)
