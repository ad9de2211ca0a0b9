"""Every file format that is read is bounded: a hostile file gets a message, in bounded time and memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.commands import Run
from tests.conftest import SAMPLE
from workbench.errors import InputError
from workbench.measure.questions import load_questions
from workbench.retrieval.query import check_question
from workbench_plugins.automem.frontmatter import front_matter
from workbench_plugins.engines.whose_fusion import read_lists, whose_fusion
from workbench_plugins.openclaw import config_values as configuration
from workbench_plugins.openclaw import sessions
from workbench_plugins.openclaw.sessions import Sessions
from workbench_plugins.runs.collections import load

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)
"""A billion of terms in twelve lines."""


def read_front_matter(file: Path) -> object:
    return front_matter(file.name, file.read_bytes().decode(errors="replace"))


def read_transcript(file: Path) -> object:
    return Sessions(file.parent).read(f"sessions/{file.name}")


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "front matter": ("a.md", read_front_matter),
    "questions": ("questions.yaml", load_questions),
    "transcript": ("a.jsonl", read_transcript),
    "configuration": ("openclaw.json", configuration.load),
    "LoCoMo": ("locomo.json", load),
    "corrections": ("fixes.json", lambda file: load(file.with_name("empty.json"), file)),
    "lists": ("lists.json", read_lists),
}

readers = pytest.mark.parametrize(("name", "read"), READERS.values(), ids=list(READERS))


def check(folder: Path, name: str, read: Callable[[Path], object], data: bytes) -> None:
    """Reads a file with these bytes: any error is an InputError with a bounded message."""
    (folder / "empty.json").write_text("[]")
    (folder / name).write_bytes(data)
    said = ""
    try:
        read(folder / name)
    except InputError as error:
        said = str(error)
    assert len(said) < 2_000


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "deep and closed": b"[" * 50_000 + b"]" * 50_000,
    "deep YAML": b"---\na: " + b"[" * 50_000 + b"\n---\n",
    "aliases": f"---\n{BOMB}\n---\n".encode(),
    "aliases in questions": f"{BOMB}\nquestions: [{{question: a, target: b.md}}]\n".encode(),
    "no date": b"---\ndate: 2026-13-45\n---\n",
    "date as a question": b"questions: [{question: 2026-02-13, target: b.md}]",
    "no date as a question": b"questions: [{question: 2026-13-45, target: b.md}]",
    "half a character": b'questions: [{question: "a \\ud800", target: b.md}]',
    "long question": b"questions: [{question: %s, target: b.md}]" % (b"x" * 100_000),
    "many digits": b'[{"qa": [], "conversation": {"session_%s": []}}]' % (b"1" * 5_000),
    "not UTF-8": b'{"a": "\xe9"}',
    "NUL": b"\0" * 1_000,
    "infinite": b'{"vector": {"a": 1e999}, "keyword": {"a": NaN}}',
    "large": b"x" * 3_000_000,
    "large list": b"[" + b"1," * 1_000_000 + b"1]",
    "one long string": b'"' + b"a" * 240_000 + b'"',
}


@readers
@pytest.mark.parametrize("data", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_file_gets_a_message_in_time(
    tmp_path: Path, name: str, read: Callable[[Path], object], data: bytes
) -> None:
    check(tmp_path, name, read, data)


KEYS = ["questions", "controls", "question", "target", "kind", "conversation", "qa", "evidence", "category"]
KEYS += ["session_1", "session_1_date_time", "dia_id", "speaker", "text", "question_id", "correct_evidence"]
KEYS += ["type", "message", "role", "content", "tags", "importance", "date", "vector", "keyword", "agents"]
WORDS = ["message", "user", "text", "D1:1", "2026-02-13", "2026-13-45", "locomo_0_qa0", "<<", "\ud800", ""]

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5)
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=20,
)


def as_yaml(tree: Any) -> bytes:
    """The tree as YAML; nothing if YAML cannot write it."""
    with suppress(UnicodeEncodeError, yaml.YAMLError):
        return yaml.safe_dump(tree, allow_unicode=True).encode()
    return b""


contents = {
    "bytes": st.binary(max_size=200),
    "JSON": trees.map(lambda tree: json.dumps(tree).encode()),
    "JSON lines": trees.map(lambda tree: json.dumps([tree]).encode() + b"\n"),
    "YAML": trees.map(as_yaml),
    "front matter": trees.map(lambda tree: b"---\nkey: 1\n" + as_yaml(tree) + b"---\n"),
}


@readers
@pytest.mark.parametrize("content", contents.values(), ids=list(contents))
@quick
@given(data=st.data())
def test_any_content_gets_a_message(
    tmp_path: Path, name: str, read: Callable[[Path], object], content: Any, data: st.DataObject
) -> None:
    check(tmp_path, name, read, data.draw(content))


session = {"session_1": st.lists(trees, max_size=2), "session_1_date_time": scalars}
question = {"question": scalars, "category": scalars, "evidence": trees}
conversations = st.fixed_dictionaries(
    {
        "conversation": st.fixed_dictionaries(session),
        "qa": st.lists(st.fixed_dictionaries(question), max_size=2),
    }
)


@quick
@given(rows=st.lists(conversations, max_size=2))
def test_any_conversation_of_the_right_form_gets_a_message(tmp_path: Path, rows: list[Any]) -> None:
    check(tmp_path, "locomo.json", load, json.dumps(rows).encode())
    with suppress(InputError):
        found = load(tmp_path / "locomo.json")
        "".join([one.body for one in found.documents] + [one.text for one in found.questions]).encode()


def test_a_transcript_of_more_than_100_mb_is_refused_and_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.jsonl").open("wb") as file:
        file.truncate(sessions.LARGEST_TRANSCRIPT + 1)
    with pytest.raises(InputError, match="a transcript has at most 100 MB"):
        read_transcript(tmp_path / "a.jsonl")


def test_only_the_beginning_of_a_long_line_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LONGEST_LINE", 100)
    said = b'{"type": "message", "message": {"role": "user", "content": "%s"}}\n'
    (tmp_path / "a.jsonl").write_bytes(said % b"one" + said % (b"x" * 1_000) + said % b"two" + b'{"open')
    found = Sessions(tmp_path)
    assert found.read("sessions/a.jsonl").text == "User: one\nUser: two"
    assert found.broken == {"sessions/a.jsonl": [2]}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("x" * 100_000, "100,000 characters"),
        ("tea " * 100_000, "100,000 words"),
        ("tea " * 1_001, "1,001 words"),
        ("tea," * 250_000, "takes at most 1,000"),
        ("cafe\u0301" * 200_000, "takes at most 1,000"),
        ("a-b_c.d" * 100_000, "takes at most 1,000"),
        ("tea \ud800", "not UTF-8"),
    ],
)
def test_a_long_question_is_refused(question: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        check_question(question)
    with suppress(UnicodeEncodeError):
        (tmp_path / "q.yaml").write_text(f"questions: [{{question: '{question}', target: a.md}}]")
        with pytest.raises(InputError, match=said):
            load_questions(tmp_path / "q.yaml")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["explain", "tea", "-m", "SAMPLE", "-t", "loop"], "Not in the index"),
        (["explain", "tea", "-m", "SAMPLE", "-t", "\udcff"], "is not UTF-8"),
        (["search", "tea", "-m", "SAMPLE", "--index", "a" * 300], "File name too long"),
        (["index", "SAMPLE", "--index", "a" * 300], "File name too long"),
        (["runs", "compare", "run.trec", "--qrels", "qrels.txt"], "is no judgement"),
        (["runs", "import", "run.jsonl", "-o", "out.trec"], "cannot be a field of TREC's form"),
    ],
    ids=["link loop", "bytes", "long index", "long new index", "digits", "surrogates"],
)
def test_an_odd_argument_or_value_gets_a_message_and_no_traceback(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("run.trec").write_text("1 Q0 a 1 0.5 me\n")
    Path("qrels.txt").write_text(f"1 0 a {'9' * 5000}\n")
    Path("run.jsonl").write_text('{"question": "\\ud800", "results": ["a"]}\n')
    ended = run(*(SAMPLE if word == "SAMPLE" else word for word in words))
    assert problem in " ".join((ended.out + ended.err).split())
    assert "mistake in the workbench" not in ended.err


def test_a_score_beyond_every_number_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lists.json"
    file.write_text(f'{{"vector": {{"a": 1{"0" * 400}}}, "keyword": {{"b": 1}}}}', encoding="utf-8")
    with pytest.raises(InputError, match="vector"):
        whose_fusion(*read_lists(file))
