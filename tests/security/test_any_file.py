"""Any change of a file of any kind ends in an answer or in one sentence, and never in a traceback.

A sound file of each kind is changed in one to three places: another value, a missing or a further key, or
other bytes. `FUZZ=2000 pytest tests/security/test_any_file.py` tries more than the 200 of every run.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.hostile import ended as forked
from tests import world
from tests.commands import Run
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench_plugins.calibrate.calibration_file import memory_of, model_of

EXAMPLES = int(os.environ.get("FUZZ", "200"))
CODES = (0, 1, 2, 3, 4, 10, 11, 12)

NUMBERS = st.sampled_from([0, 1, -1, 2, 0.5, -0.5, 1e9, 10**12, 2**63, 1e308, 10**400, math.inf, math.nan])
TEXTS = st.sampled_from(
    [
        *(
            "",
            " ",
            "tea",
            "a",
            "../..",
            "/",
            "memory/tea.md",
            "\0",
            "\ud800",
            "é\u202e",
            "@CASE@",
            "x" * 3_000,
        ),
        *("1e999", "recommended", "openclaw-2026.9.6", "cohere:m@http://127.0.0.1:9", "a=b", "[", "{", "-1"),
        *("floor.floor=x", "12:30"),
    ]
)
BYTES = [b"", b"\0", b"\xff", b"\n", b"[" * 2_000, b"{", b"}", b": ", b"&a *a", b"\xef\xbb\xbf"]
ODD = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(TEXTS, one, max_size=3),
    max_leaves=6,
)


def _places(value: Any) -> list[tuple[Any, ...]]:
    """Where the values of a tree are, the tree itself with them."""
    found: list[tuple[Any, ...]] = [()]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        found += [(key, *place) for place in _places(one)]
    return found


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """The value with other values, missing or further keys, in one to three places."""
    made = deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from(_places(made)[1:] or [("",)]))
        inner = made
        for key in above:
            inner = inner[key]
        if not isinstance(inner, dict | list):
            return draw(ODD)
        match draw(st.integers(0, 3)):
            case 0 if len(inner) > 1:
                del inner[last]
            case 1 if isinstance(inner, dict):
                inner[draw(TEXTS)] = draw(ODD)
            case 2 if isinstance(inner, list):
                inner.append(deepcopy(inner[last]))
            case _:
                inner[last] = draw(ODD)
    return made


@st.composite
def bytes_of(draw: st.DrawFn, text: str) -> bytes:
    """The text of a file with other bytes in some places."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        odd = draw(
            st.sampled_from(
                [b"", b"\0", b"\xff", b"\n", b"[" * 2_000, b"{", b"}", b": ", b"&a *a", b"\xef\xbb\xbf"]
            )
        )
        data[at : at + draw(st.integers(0, 4))] = odd
    return bytes(data)


def as_yaml(value: Any) -> str:
    return yaml.safe_dump(value, allow_unicode=False)


def as_lines(value: Any) -> str:
    return "\n".join(map(json.dumps, value if isinstance(value, list) else [value]))


class Kind(NamedTuple):
    """A kind of file: its name, a sound text, how its YAML is written, and the command that reads it.

    Without a way to write it, the text is that of the file itself.
    """

    name: str
    text: str
    write: Callable[[Any], str] | None
    command: Callable[[Path, Path], list[object]]
    slow: int = 1
    """How many times fewer changes are tried, since the command takes so much longer."""

    def written(self, value: Any) -> str:
        """A file with this value, or the sound one if its form has no such value."""
        if self.write is None:
            return self.text
        with suppress(ValueError, OverflowError):
            return self.write(value)
        return self.write(yaml.safe_load(self.text))


CASE = """case: 1
title: tea
system: {name: openclaw-2026.2.13, changes: [or], settings: [fusion.vector=0.5], limit: 3}
elsewhere: [{system: am-150, holds: true}]
questions:
- {question: tea, expect: {found: memory/tea.md, within: 2}}
- {question: sea, expect: {same_as: {name: bm-head}, scores: true}}
model: {name: toy, dimensions: 2, axes: {tea: [tea, pot], sea: [sea]}}
memory:
  notes:
  - {path: memory/tea.md, text: Tea is in the pot.}
  - {path: memory/sea.md, passages: [{lines: [1, 1], text: The sea., read: 0.5}]}
  chunker: {tokens: 50, overlap: 10}
"""
OPENCLAW = """meta: {lastTouchedVersion: 2026.2.13}
agents:
  list: [{id: main}]
  defaults:
    workspace: /nowhere
    memorySearch:
      provider: none
      query:
        maxResults: 3
        minScore: 0.2
        hybrid:
          vectorWeight: 0.6
          textWeight: 0.4
          mmr: {enabled: true, lambda: 0.5}
          temporalDecay: {enabled: true, halfLifeDays: 30}
      chunking: {tokens: 400, overlap: 80}
      extraPaths: [x]
      sources: [memory]
"""
CALIBRATION = """system: openclaw-2026.2.13
model: "@MODEL@"
memory: "@MEMORY@"
"on": ""
rerank: ""
thresholds: {floor: 0.2}
promise: None.
"""
QUESTIONS = """questions:
- {question: tea, target: memory/tea.md, kind: direct}
- {question: hub, target: memory/both.md, from_report: true}
controls: [{question: whales}]
"""
RUN = """- {id: a, question: tea, results: [{id: memory/tea.md, score: 0.5}, {id: b, score: 0.1}]}
- {id: b, question: hub, results: [[a, 0.2], b]}
"""
TREC = "1 Q0 a 1 0.5 me\n1 Q0 b 2 0.25 me\n2 Q0 a 1 0.5 me\n"
QRELS = "1 0 a 1\n2 0 b 2\n"
SPANS = """- {type: RETRIEVER, id: a, name: n, input: {query: tea}, output: [{id: a, score: 0.5}]}
- spanId: b
  status: {code: 2}
  attributes:
  - {key: openinference.span.kind, value: {stringValue: RETRIEVER}}
  - {key: input.value, value: {stringValue: tea}}
  - {key: retrieval.documents.0.document.id, value: {arrayValue: {values: [{intValue: 1}]}}}
"""
LISTS = "{vector: {a: 0.9, b: 0.5}, keyword: {b: 3.0, c: 1.0}}"
REPORT = """memory_search does not find memory/tea.md

OpenClaw 2026.2.13, `maxResults: 3`, `minScore: 0.35`, weights 0.7 and 0.3.
I ask "where is the tea" and expect memory/tea.md, but get nothing.

```json
{"results": [{"path": "memory/sea.md", "score": 0.41, "startLine": 1, "endLine": 2}],
 "memorySearch": {"query": {"maxResults": 3}}}
```

score 0.412 vector 0.5 keyword 0.1
"""
TRANSCRIPT = """- {type: session, id: s, timestamp: "2026-01-05T10:00:00Z"}
- type: message
  timestamp: "2026-01-05T10:00:00Z"
  message: {role: user, content: [{type: text, text: tea}]}
"""
NOTE = "---\ntitle: Tea\ntags: [a, b]\nimportance: 3\npermalink: x\n---\n# Tea\n\nTea is in the pot.\n"
LOCOMO = """- sample_id: c
  conversation:
    speaker_a: A
    speaker_b: B
    session_1_date_time: 1:56 pm on 8 May, 2023
    session_1: [{speaker: A, dia_id: "D1:1", text: tea}]
  qa: [{question: "tea?", answer: "yes", evidence: ["D1:1"], category: 1}]
"""


def index(folder: Path) -> list[object]:
    return ["-m", folder / "memory_of_wren", "--index", folder / "index.sqlite"]


def searched(file: Path, here: Path) -> list[object]:
    return ["search", "tea", *index(here), "-s", file]


def judged(file: Path, here: Path) -> list[object]:
    (here / "run.trec").write_text(TREC, encoding="utf-8")
    return ["runs", "compare", here / "run.trec", here / "run.trec", "--qrels", file]


def compared(file: Path, here: Path) -> list[object]:
    (here / "qrels.txt").write_text(QRELS, encoding="utf-8")
    return ["runs", "compare", file, file, "--qrels", here / "qrels.txt"]


def converted(file: Path, here: Path) -> list[object]:
    shutil.rmtree(here / "converted", ignore_errors=True)
    return ["runs", "convert", file, "--from", "locomo", "-o", here / "converted"]


def with_sessions(file: Path, here: Path) -> list[object]:
    memory = here / "memory_of_wren"
    return ["index", memory, "--index", here / "t.sqlite", "--sessions", file.parent, "--skip"]


def reproduced(file: Path, here: Path) -> list[object]:
    return ["reproduce", file, "-o", here / "p.case.yaml", "--force"]


def indexed(file: Path, here: Path) -> list[object]:
    return ["index", file.parent, "--index", here / "n.sqlite", "--skip"]


CORPUS = """- {_id: a, title: Tea, text: Tea is in the pot.}
- {_id: b, text: The sea.}
"""
ASKED = "- {_id: q, text: tea}\n"
JUDGED = "query-id\tcorpus-id\tscore\nq\ta\t1\n"
LONGMEMEVAL = """- question_id: q
  question: tea?
  question_type: direct
  answer_session_ids: [s]
  haystack_session_ids: [s, t]
  haystack_dates: ["2023/05/20 (Sat) 02:21", ""]
  haystack_sessions:
  - [{role: user, content: tea}]
  - []
"""
ANSWERS = """- {id: tea, question: tea, results: [{id: memory/tea.md, score: 0.5}]}
- {id: hub, question: hub, results: [[memory/both.md, 0.2], memory/tea.md]}
- {id: whales, question: whales, results: []}
"""


def collected(name: str) -> Callable[[Path, Path], list[object]]:
    """Converts a collection of which this file is a part, beside sound ones."""

    def command(file: Path, here: Path) -> list[object]:
        parts = {
            "corpus.jsonl": as_lines(yaml.safe_load(CORPUS)),
            "queries.jsonl": as_lines(yaml.safe_load(ASKED)),
            "qrels/test.tsv": JUDGED,
            "collection.tsv": "a\tTea is in the pot.\n",
            "queries.tsv": "q\ttea\n",
            "qrels.txt": "q 0 a 1\n",
        }
        folder = here / "collection"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(here / "converted", ignore_errors=True)
        for part, text in parts.items():
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_text(text, encoding="utf-8")
        (folder / name).unlink()
        if file.exists():
            os.link(file, folder / name)
        form = "trec" if name in ("collection.tsv", "queries.tsv", "qrels.txt") else "beir"
        return ["runs", "convert", folder, "--from", form, "-o", here / "converted"]

    return command


def of_longmemeval(file: Path, here: Path) -> list[object]:
    shutil.rmtree(here / "converted", ignore_errors=True)
    return ["runs", "convert", file, "--from", "longmemeval", "-o", here / "converted"]


def gated(file: Path, here: Path) -> list[object]:
    (here / "q.yaml").write_text(QUESTIONS, encoding="utf-8")
    return ["runs", "gate", *index(here), "-q", here / "q.yaml", "-s", "am-150", "--against", file]


KINDS = [
    *(
        Kind("corpus.jsonl", CORPUS, as_lines, collected("corpus.jsonl")),
        Kind("queries.jsonl", ASKED, as_lines, collected("queries.jsonl")),
        Kind("test.tsv", JUDGED, None, collected("qrels/test.tsv")),
        Kind("collection.tsv", "a\tTea.\nb\tSea.\n", None, collected("collection.tsv")),
        Kind("queries.tsv", "q\ttea\n", None, collected("queries.tsv")),
        Kind("longmemeval.json", LONGMEMEVAL, json.dumps, of_longmemeval),
        Kind("answers.jsonl", ANSWERS, as_lines, gated, 2),
        Kind("lint.jsonl", RUN, as_lines, lambda file, here: ["runs", "lint", file, *index(here)], 2),
    ),
    Kind("a.case.yaml", CASE, as_yaml, lambda file, _: ["case", "run", file]),
    Kind("b.case.yaml", CASE, as_yaml, lambda f, here: ["case", "redact", f, "-o", here / "r.case.yaml"]),
    Kind("openclaw.json", OPENCLAW, json.dumps, lambda file, _: ["config", file]),
    Kind("of_a_search.json", OPENCLAW, json.dumps, searched),
    Kind("a.calibration.yaml", CALIBRATION, as_yaml, searched),
    Kind("q.yaml", QUESTIONS, as_yaml, lambda f, here: ["evaluate", *index(here), "-q", f, "-s", "am-150"]),
    Kind("run.jsonl", RUN, as_lines, lambda f, here: ["runs", "import", f, "-o", here / "o.trec", "--force"]),
    Kind("run.trec", TREC, None, compared),
    Kind("qrels.txt", QRELS, None, judged),
    Kind("spans.json", SPANS, json.dumps, lambda f, here: ["runs", "traces", f, "-o", here / "o", "--force"]),
    Kind("lists.json", LISTS, json.dumps, lambda file, _: ["runs", "fusion", "--lists", file]),
    Kind("report.md", REPORT, None, reproduced, 8),
    Kind("s.jsonl", TRANSCRIPT, as_lines, with_sessions, 2),
    Kind("tea.md", NOTE, None, indexed, 2),
    Kind("locomo.json", LOCOMO, json.dumps, converted),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any")
    index_folder(world.write(folder / "memory_of_wren"), options=Options(index_path=folder / "index.sqlite"))
    return folder


@cache
def made_of(here: Path) -> dict[bytes, bytes]:
    """What stands in a sound calibration: the model and the memory of the index."""
    with open_index(here / "memory_of_wren", index_path=here / "index.sqlite") as opened:
        return {b"@MODEL@": model_of(opened).encode(), b"@MEMORY@": memory_of(opened).encode()}


def ended(run: Run, kind: Kind, here: Path, content: bytes) -> Any:
    """How the command ends for a file of this kind with this content."""
    given = here / "given"
    shutil.rmtree(given, ignore_errors=True)
    given.mkdir()
    for name, value in made_of(here).items():
        content = content.replace(name, value)
    (given / kind.name).write_bytes(content)
    return run(*kind.command(given / kind.name, here))


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.name)
def test_a_sound_file_is_read(run: Run, here: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    outcome = ended(run, kind, here, kind.written(yaml.safe_load(kind.text) if kind.write else None).encode())
    assert outcome.code in (0, 1, 10), outcome


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.name)
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(
    here: Path, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    os.mkfifo(tmp_path / kind.name)
    command = [str(one) for one in kind.command(tmp_path / kind.name, here)]
    outcome = forked(command, tmp_path / "log", most=60)
    if kind.command in (with_sessions, indexed):  # a folder is read without it
        assert outcome.code in (0, 2), outcome
        return
    assert outcome.code == 2, outcome
    assert "plain file" in outcome.told


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.name)
def test_any_file_ends_in_an_answer_or_in_one_sentence(
    run: Run, here: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    values = changed(yaml.safe_load(kind.text)) if kind.write else st.none()

    @settings(
        max_examples=max(1, EXAMPLES // kind.slow),
        deadline=None,
        database=None,
        derandomize="FUZZ" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(content=values.flatmap(lambda one: bytes_of(kind.written(one))))
    def any_content(content: bytes) -> None:
        outcome = ended(run, kind, here, content)
        assert outcome.code in CODES, (content, outcome.err[-1_500:])
        assert "Traceback" not in outcome.err

    any_content()


@pytest.mark.parametrize("place", ["id", "question", "result"])
def test_half_a_character_in_an_answer_ends_in_a_sentence_and_not_in_a_crash(
    here: Path, tmp_path: Path, place: str
) -> None:
    rows = yaml.safe_load(ANSWERS)
    if place == "result":
        rows[0]["results"][0]["id"] = "\ud800"
    else:
        rows[0][place] = "\ud800"
    (tmp_path / "answers.jsonl").write_text(as_lines(rows), encoding="utf-8")
    command = [str(one) for one in gated(tmp_path / "answers.jsonl", here)]
    outcome = forked(command, tmp_path / "log", most=60)
    assert outcome.code in (0, 1, 2), outcome
