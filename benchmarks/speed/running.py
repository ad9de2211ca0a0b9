"""One run: builds every subject at every size, asks each the same questions in turn, and starts it anew."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.speed.corpus import Asked, Corpus
from benchmarks.speed.ours import FIRST, HYBRID
from benchmarks.speed.report import Built, Search, SpeedReport
from benchmarks.speed.subject import Ask, Subject
from benchmarks.speed.syncing import synced
from benchmarks.speed.timing import Taken, taken
from workbench.errors import WorkbenchError, install_extra
from workbench.progress import progress

SIZES = (564, 10_000, 100_000)
QUESTIONS = 60
COLD_RUNS = 3
MOST_SYNCED = 100_000
"""Chunks. Folders of more notes are not synced: a million chunks are 100,000 files."""


def measure(
    subjects: Sequence[type[Subject]],
    sizes: Sequence[int] = SIZES,
    questions: int = QUESTIONS,
    seed: int = 1,
    *,
    sync: bool = True,
    cold: bool = True,
) -> SpeedReport:
    """A whole run. A peer that is not installed, or is too slow for a size, is skipped and named.

    `sync` also indexes folders of notes, `cold` also starts each system in processes of its own.
    """
    report = SpeedReport(machine())
    present = [one for one in subjects if not one.lacking()]
    for one in subjects:
        if one.lacking():
            report.skipped.append(
                f"{one.name}: {', '.join(one.lacking())} not installed. {install_extra(one.extra)}"
            )
    for chunks in sizes:
        corpus = Corpus(chunks, seed)
        asked = corpus.questions(questions)
        able = [one for one in present if chunks <= one.largest]
        report.skipped.extend(
            f"{one.name} at {chunks:,} chunks: {one.why_largest}." for one in present if one not in able
        )
        with built(able, corpus) as ready:
            report.searches.extend(interleaved(ready, chunks, asked))
            report.built.extend(_cold(one, asked[0]) if cold else one.built for one in ready)
        if sync and chunks > MOST_SYNCED:
            report.skipped.append(f"syncs of {chunks:,} chunks: folders have at most {MOST_SYNCED:,} here.")
        elif sync:
            report.synced.append(synced(corpus))
    return replace(report, machine={**report.machine, "load at the end": os.getloadavg()[0]})


class Ready(NamedTuple):
    """A subject that has indexed the corpus in its folder."""

    subject: Subject
    folder: Path
    built: Built


@contextmanager
def built(subjects: Sequence[type[Subject]], corpus: Corpus) -> Iterator[list[Ready]]:
    """Every subject with its index; the folders are gone at the end of the block."""
    _ = corpus.texts, corpus.vectors  # made now, so that no subject's time contains it
    with tempfile.TemporaryDirectory() as home, ExitStack() as open_ones:
        ready = []
        with progress(len(subjects), f"Indexing {corpus.chunks:,} chunks", "systems") as advance:
            for place, kind in enumerate(subjects):
                folder = Path(home) / str(place)
                folder.mkdir()
                ready.append(_build(kind(), folder, corpus))
                open_ones.callback(ready[-1].subject.close)
                advance()
        yield ready


def _build(subject: Subject, folder: Path, corpus: Corpus) -> Ready:
    spent = taken(lambda: subject.build(corpus, folder))
    on_disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    texts = corpus.text_bytes if subject.keeps_texts else 0
    beyond = (on_disk - texts) / corpus.chunks if subject.reopens else None
    return Ready(subject, folder, Built(subject.name, corpus.chunks, *spent, beyond))


def interleaved(ready: Sequence[Ready], chunks: int, asked: Sequence[Asked]) -> list[Search]:
    """Each question to every system in turn, so that a busy moment of the machine meets all of them.

    The system that begins is another one for each question. A hybrid search is also timed when its question
    is asked for the first time.
    """
    ways = [(one.subject, kind, ask) for one in ready for kind, ask in one.subject.asks.items()]
    for _, _, ask in ways:
        ask(asked[-1])  # what is loaded at the first question belongs to the cold start
    first = [(subject, FIRST, ask) for subject, kind, ask in ways if kind == HYBRID]
    return _in_turn(first, chunks, asked) + _in_turn(ways, chunks, asked)


def _in_turn(ways: Sequence[tuple[Subject, str, Ask]], chunks: int, asked: Sequence[Asked]) -> list[Search]:
    found = [Search(subject.name, kind, chunks, [], []) for subject, kind, _ in ways]
    with progress(len(asked), f"Searching {chunks:,} chunks", "questions") as advance:
        for number, question in enumerate(asked):
            for step in range(len(ways)):
                place = (number + step) % len(ways)
                subject, _, ask = ways[place]
                spent = _asked(subject, ask, question)
                found[place].wall_ms.append(1e3 * spent.wall)
                found[place].cpu_ms.append(1e3 * spent.cpu)
            advance()
    return found


def _asked(subject: Subject, ask: Ask, question: Asked) -> Taken:
    before = subject.served_seconds()
    spent = taken(lambda: ask(question))
    return spent._replace(cpu=spent.cpu + subject.served_seconds() - before)


def _cold(ready: Ready, question: Asked) -> Built:
    """With the shortest of several cold starts, and the largest memory."""
    if not ready.subject.reopens:
        return ready.built
    ready.subject.close()  # some allow one process at a time
    runs = [_start(ready, question) for _ in range(COLD_RUNS)]
    seconds, peaks = zip(*runs, strict=True)
    return replace(ready.built, cold_seconds=min(seconds), peak_mb=max(peaks))


def _start(ready: Ready, question: Asked) -> tuple[float, float]:
    given = {"text": question.text, "vector": question.vector.tolist(), "system": ready.subject.name}
    command = [sys.executable, "-m", "benchmarks.speed.child", str(ready.folder)]
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        out, error = child.communicate(json.dumps(given))
        passed = time.perf_counter() - started
    if child.returncode:
        raise ColdStartError(f"{ready.subject.name} does not start again:\n{error[-2000:]}", "See above.")
    answered = json.loads(out.splitlines()[-1])
    return passed - answered["after_seconds"], answered["peak_mb"]


class ColdStartError(WorkbenchError):
    """A system could not open its own index in a new process."""


def machine() -> dict[str, Any]:
    """Where a run takes place, and how busy this machine is."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "as each library likes"),
        "load at the beginning": os.getloadavg()[0],
    }
