"""The attacks of docs/security.md, run on the command line: CPU seconds, peak memory, and how each ended.

`python -m benchmarks.attacks [WORD …]` runs all, or those whose names contain a word; with `--write`, it also
writes what it measured into docs/security.md. It needs Linux, the installed `workbench`, 500 MB of free disk,
and some minutes. Sparse files stand for the large ones. Each attack is a process of its own, with an empty
cache, a key in each variable and no other address. The exit code is 1 if one does not end as expected.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from benchmarks.starting import HERE, as_typed

MOST_SECONDS = 600
GOOD = """case: 1
system: openclaw-2026.2.13
questions:
- question: tea
  expect: {found: memory/tea.md}
model: {name: toy, dimensions: 1, axes: {tea: [tea]}}
memory:
  notes:
  - {path: memory/tea.md, text: Tea is in the pot.}
"""
BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)
DEEP = "[" * 50_000
TRACE = "open(__file__ + '.ran', 'w').close()\n"
LINE = '{"question": "q%d", "results": [%s]}\n'


class Attack(NamedTuple):
    """A hostile input, the command that gets it, and how the command must end.

    `prepare` writes the input into an empty folder, in which the command then runs. `said` must be in what
    it prints. A command with `until` is ended with SIGTERM when it has printed that text.
    """

    name: str
    prepare: Callable[[Path], object]
    command: tuple[str, ...]
    code: int
    said: str
    until: str = ""


class Ended(NamedTuple):
    """What a command took and printed; `megabytes` is its peak memory.

    `cpu` has the seconds of its processes; other work on the machine lengthens those of the clock.
    """

    code: int
    cpu: float
    megabytes: float
    told: str


def case_with(old: str, new: str) -> Callable[[Path], object]:
    """Writes the good case with one part replaced."""
    return lambda folder: (folder / "a.case.yaml").write_text(GOOD.replace(old, new))


def written(name: str, text: str) -> Callable[[Path], object]:
    """Writes one file."""
    return lambda folder: (folder / name).write_text(text)


def sparse(path: Path, size: int) -> None:
    """Makes a file of this size that takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def large(name: str, size: int) -> Callable[[Path], object]:
    """Writes one file of zeros."""
    return lambda folder: sparse(folder / name, size)


def pipe_as_configuration(folder: Path) -> None:
    os.mkfifo(folder / "openclaw.json")
    case_with("openclaw-2026.2.13", "{openclaw: {file: openclaw.json}}")(folder)


def collected_pipe(folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_mine.py").write_text("def test_mine():\n    pass\n")
    os.mkfifo(folder / "pipe.case.yaml")


def overlapping(folder: Path) -> None:
    text = GOOD.replace("Tea is in the pot.", f"'{'tea ' * 1_000_000}'")
    (folder / "a.case.yaml").write_text(text + "  chunker: {tokens: 100000, overlap: 99999}\n")


def large_folder(folder: Path) -> None:
    for number in range(200):
        sparse(folder / "notes" / "memory" / f"{number}.md", 7_500_000)
    (folder / "a.case.yaml").write_text(GOOD.partition("memory:\n")[0] + "memory: {folder: notes}\n")


def run_of_100_mb(folder: Path) -> None:
    with (folder / "run.jsonl").open("w") as file:
        for question in range(2_000):
            results = (f'{{"id": "memory/{number}.md", "score": 0.5}}' for number in range(1_200))
            file.write(LINE % (question, ", ".join(results)))


def hostile_notes(folder: Path) -> None:
    notes = folder / "memory"
    notes.mkdir()
    (notes / "tea.md").write_text("Tea is in the pot.\n")
    (notes / "deep.md").write_text(f"---\na: {DEEP}\n---\nTea.\n")
    (notes / "bomb.md").write_text(f"---\n{BOMB}\n---\nTea.\n")
    (notes / "\x1b]0;title\x07\u202egnp.md").write_text("Tea.\n")
    (folder.parent / "outside.md").write_text("What nobody may read.\n")
    (notes / "out.md").symlink_to(folder.parent / "outside.md")
    (notes / "loop.md").symlink_to("loop.md")
    (notes / "up").symlink_to("..")
    os.mkfifo(notes / "pipe.md")


def modules(folder: Path) -> None:
    (folder / "memory").mkdir()
    (folder / "memory" / "tea.md").write_text("Tea is in the pot.\n")
    for name in ("yaml", "numpy", "typer", "voila", "jupyterlab", "sitecustomize", "jupyter_config"):
        (folder / f"{name}.py").write_text(TRACE)


def judged_run(grade: str) -> Callable[[Path], object]:
    """Writes a run, and a judgement with this grade."""

    def write(folder: Path) -> None:
        (folder / "run.trec").write_text("1 Q0 a 1 0.5 me\n")
        (folder / "qrels.txt").write_text(f"1 0 a {grade}\n")

    return write


NOBODY = "http://127.0.0.1:9"
"""An address at which nothing listens: an attack that reaches it ends otherwise than expected."""
CONFIGURED = {
    "meta": {"lastTouchedVersion": "2026.2.13"},
    "agents": {
        "defaults": {"workspace": "/etc", "memorySearch": {"provider": "openai", "extraPaths": ["/etc"]}}
    },
}
CALIBRATION = f"""system: openclaw-2026.2.13
model: m
memory: m
rerank: cohere:m@{NOBODY}
thresholds: {{floor: 0.2}}
promise: None.
"""
SPANS = [
    {"type": "RETRIEVER", "input": {"query": "tea"}, "output": [{"id": "a", "score": 0.5}]},
    {"type": "RETRIEVER", "input": {"query": "tea"}, "output": [{"id": "a", "score": "x"}]},
    {"type": "RETRIEVER", "attributes": [{"key": "a", "value": {"arrayValue": 5}}]},
]


def with_notes(name: str, text: str) -> Callable[[Path], object]:
    """Writes one file, and a memory beside it."""

    def write(folder: Path) -> None:
        (folder / "memory").mkdir()
        (folder / "memory" / "tea.md").write_text("Tea is in the pot.\n")
        (folder / name).write_text(text)

    return write


def pipe(name: str) -> Callable[[Path], object]:
    """A named pipe in place of a file."""
    return lambda folder: os.mkfifo(folder / name)


def store(kind: str, change: Callable[[Path], object]) -> Callable[[Path], object]:
    """A sound store of a kind in the folder `store`, and then a change of it."""

    def write(folder: Path) -> None:
        from tests.security.hostile_stores import sound  # with a model, in the process that prepares

        change(sound(kind, folder / "store"))

    return write


def billion_vectors(place: Path) -> None:
    file = place / "index.faiss"
    file.write_bytes(b"IxF2" + struct.pack("<iq", 384, 10**9) + file.read_bytes()[16:])


def endless(place: Path) -> None:
    db = apsw.Connection(str(place))
    db.execute("DROP TABLE entity")
    columns = "1 AS id, 1 AS project_id, 'a' AS file_path, 'b' AS checksum"
    rows = "WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a)"
    db.execute(f"CREATE VIEW entity AS {rows} SELECT {columns} FROM a")
    db.close()


def key_of_years_in(place: Path) -> None:
    from tests.security.forged_stores import key_of_years

    (place / "index.pkl").write_bytes(key_of_years())


def with_answers(id_: str) -> Callable[[Path], object]:
    """Writes a question, and saved answers in which an id is this."""

    def write(folder: Path) -> None:
        (folder / "q.yaml").write_text("questions: [{question: tea, target: memory/tea.md, kind: direct}]\n")
        saved = {"id": "tea", "question": "tea", "results": [{"id": id_, "score": 0.5}]}
        (folder / "a.jsonl").write_text(json.dumps(saved) + "\n")

    return write


def names_a_folder(place: Path) -> None:
    db = apsw.Connection(str(place))
    db.execute("UPDATE meta SET value = '/etc' WHERE key = 'folder'")
    db.close()


def damaged_log(store: Path) -> None:
    """Leaves a -wal beside an index, as a killed program does, with one changed bit."""
    from workbench.memory.store.sqlite.database import checksum_vfs

    real = store.resolve()
    log = real.with_name(f"{real.name}-wal")
    db = apsw.Connection(str(real), vfs=checksum_vfs())
    db.execute("UPDATE meta SET value = value || '/notes' WHERE key = 'folder'")
    left, entries = real.read_bytes(), bytearray(log.read_bytes())
    db.close()
    entries[len(entries) // 2] ^= 1
    real.write_bytes(left)
    log.write_bytes(entries)


def as_pipe(name: str) -> Callable[[Path], object]:
    """Puts a named pipe into the place of a store's file."""

    def change(place: Path) -> None:
        file = place / name if name else place
        file.unlink()
        os.mkfifo(file)

    return change


CASE = ("case", "run", "a.case.yaml")
COMPARE = ("runs", "compare", "run.trec", "run.trec", "--qrels", "qrels.txt")
IMPORT = ("runs", "import", "run.jsonl", "-o", "out.trec")
MANY = ", ".join(["or"] * 100_000)
AXES = ", ".join(f"a{number}: [w{number}]" for number in range(8_192))

ATTACKS = [
    Attack("a FIFO as a case", lambda folder: os.mkfifo(folder / "a.case.yaml"), CASE, 2, "not a plain file"),
    Attack("a FIFO beside a case", pipe_as_configuration, CASE, 2, "not a plain file"),
    Attack("a FIFO that pytest collects", collected_pipe, ("pytest",), 0, "1 passed"),
    Attack(
        "100,000 changes",
        case_with("openclaw-2026.2.13", f"{{name: openclaw-2026.2.13, changes: [{MANY}]}}"),
        CASE, 2, "at most 100",
    ),
    Attack("overlap 99,999 of 100,000 tokens", overlapping, CASE, 2, "cut into more than 100,000"),
    Attack(
        "8,192 axes", case_with("dimensions: 1, axes: {tea: [tea]}", f"dimensions: 8192, axes: {{{AXES}}}"),
        CASE, 2, "at most 64",
    ),
    Attack("a folder of 1.5 GB", large_folder, CASE, 2, "more than 20,000,000"),
    Attack("a case of 1.5 GB", large("a.case.yaml", 1_500_000_000), CASE, 2, "more than 20,000,000"),
    Attack("a case with deep YAML", written("a.case.yaml", f"case: 1\na: {DEEP}\n"), CASE, 2, "30 levels"),
    Attack("a case with an alias bomb", written("a.case.yaml", f"case: 1\n{BOMB}\n"), CASE, 2, "alias"),
    Attack(
        "questions with an alias bomb", written("q.yaml", BOMB),
        ("evaluate", "-m", str(HERE / "sample_memory"), "-q", "q.yaml"), 2, "alias",
    ),
    Attack(
        "questions of 1.5 GB", large("q.yaml", 1_500_000_000),
        ("evaluate", "-m", str(HERE / "sample_memory"), "-q", "q.yaml"), 2, "more than 2,000,000",
    ),
    Attack(
        "an openclaw.json of 1.5 GB", large("openclaw.json", 1_500_000_000),
        ("--config", "openclaw.json", "config"), 2, "more than 250,000",
    ),
    Attack(
        "a LoCoMo of 1.5 GB", large("locomo.json", 1_500_000_000),
        ("runs", "convert", "locomo.json", "--from", "locomo", "-o", "out"), 2, "more than 50,000,000",
    ),
    Attack("a run of 100 MB", run_of_100_mb, IMPORT, 0, "2,400,000"),
    Attack("a run in one line of 100 MB", large("run.jsonl", 100_000_000), IMPORT, 2, "more than 10,000,000"),
    Attack("a grade of 5,000 digits", judged_run("9" * 5_000), COMPARE, 2, "is no judgement"),
    Attack("nDCG@0", judged_run("1"), (*COMPARE, "--measure", "nDCG@0"), 2, "nDCG@0"),
    Attack(
        "a question of 100 kB", hostile_notes, ("search", "tea " * 25_000, "-m", "."), 2, "at most 1,000"
    ),
    Attack("a note of 1.5 GB", large("memory/a.md", 1_500_000_000), ("index", "."), 2, "10 MB"),
    Attack(
        "a transcript of 1.5 GB", large("sessions/a.jsonl", 1_500_000_000),
        ("index", str(HERE / "sample_memory"), "--sessions", "sessions"), 2, "at most 100 MB",
    ),
    Attack("a hostile notes folder", hostile_notes, ("index", ".", "--skip"), 0, "Indexed 4 files"),
    Attack(
        "a calibration with an address", with_notes("a.calibration.yaml", CALIBRATION),
        ("search", "tea", "-m", ".", "-s", "a.calibration.yaml"), 2, "which you have not named",
    ),
    Attack(
        "a calibration in a case",
        case_with("openclaw-2026.2.13", "{name: openclaw-2026.2.13, settings: [calibration=/etc/a.yaml]}"),
        CASE, 2, "names a file",
    ),
    Attack(
        "an openclaw.json with a model and folders", with_notes("openclaw.json", json.dumps(CONFIGURED)),
        ("--config", "openclaw.json", "index"), 2, "which you have not named",
    ),
    Attack(
        "an index that names a folder", store("ours", names_a_folder),
        ("doctor", "store/index.sqlite"), 1, "which was not read",
    ),
    Attack(
        "a release that is an alias", case_with("toy", "toy"),
        ("case", "confirm", "a.case.yaml", "--release", "npm:evil@1.0.0", "--yes"), 2, "is no version of",
    ),
    Attack(
        "a calibration that is a pipe", pipe("a.calibration.yaml"), ("systems", "a.calibration.yaml"),
        2, "not a plain file",
    ),
    Attack("a run that is a pipe", pipe("run.jsonl"), IMPORT, 2, "not a plain file"),
    Attack("a report that is a pipe", pipe("r.md"), ("reproduce", "r.md"), 2, "not a plain file"),
    Attack(
        "a store's file that is a pipe", store("qdrant", as_pipe("meta.json")), ("doctor", "store/qdrant"),
        2, "not a plain file",
    ),
    Attack(
        "a pipe beside a store's file", store("openclaw", lambda one: os.mkfifo(f"{one}-wal")),
        ("search", "tea", "-m", "store/main.sqlite"), 2, "not a plain file",
    ),
    Attack(
        "a FAISS header with a billion vectors", store("faiss", billion_vectors), ("doctor", "store/faiss"),
        2, "more than there are",
    ),
    Attack(
        "a pickle of 13 bytes that asks for 4 GB",
        store("faiss", lambda one: (one / "index.pkl").write_bytes(b"\x80\x02r\xff\xff\xff\x0fN.")),
        ("doctor", "store/faiss"), 2, "store/faiss",
    ),
    Attack(
        "a sparse store of 5 GB", store("faiss", lambda one: os.truncate(one / "index.faiss", 5 * 10**9)),
        ("doctor", "store/faiss"), 2, "more memory",
    ),
    Attack(
        "a view that recurses", store("basic-memory", endless), ("doctor", "store/memory.db"),
        2, "no store that the doctor knows",
    ),
    Attack(
        "a pickle whose one key takes years to hash", store("faiss", key_of_years_in),
        ("doctor", "store/faiss"), 2, "takes too long to read",
    ),
    Attack(
        "half a character in the answers of a gate", with_answers("\ud800"),
        ("runs", "gate", "-m", str(HERE / "sample_memory"), "-q", "q.yaml", "--against", "a.jsonl"), 2, "",
    ),
    Attack(
        "a report of 1 MB of one pattern", written("r.md", "a-" * 500_000), ("reproduce", "r.md"),
        10, "something was misread",
    ),
    Attack(
        "a report of 1 MB of images that do not end", written("r.md", "![" * 500_000), ("reproduce", "r.md"),
        10, "If you know it",
    ),
    Attack(
        "1 MB of blank lines in front matter, redacted",
        case_with("Tea is in the pot.", '"---\\na: b' + "\\n" * 500_000 + '---\\ntea"'),
        ("case", "redact", "a.case.yaml"), 0, "redacted",
    ),
    Attack(
        "questions with a value that is none of its kind", written("q.yaml", "questions: [!!timestamp x]"),
        ("evaluate", "-m", str(HERE / "sample_memory"), "-q", "q.yaml"), 2, "it is no timestamp",
    ),
    Attack(
        "a calibration with a number of 90,000 digits", written("a.calibration.yaml", "a: " + "9" * 90_000),
        ("systems", "a.calibration.yaml"), 2, "more than 4,000 digits",
    ),
    Attack(
        "a -wal with one changed bit", store("ours", damaged_log), ("doctor", "store/index.sqlite"),
        1, "-wal: its entry",
    ),
    Attack(
        "odd spans among good ones", written("s.json", json.dumps(SPANS)), ("runs", "traces", "s.json"),
        0, "cannot be read: 2",
    ),
    Attack(
        "a case without dimensions", case_with("dimensions: 1, ", ""), CASE, 0, "every expectation holds"
    ),
    Attack(
        "a case with other dimensions", case_with("dimensions: 1, ", "dimensions: 7, "), CASE,
        2, "makes vectors of 1 numbers",
    ),
    Attack("modules beside the notes, `index`", modules, ("index", "."), 0, ""),
    Attack(
        "modules beside the notes, `explore`", modules,
        ("explore", ".", "--no-browser", "--port", "0"), 143, "", "http://",
    ),
    Attack(
        "modules beside the notes, `lab`", modules,
        ("lab", "-m", ".", "--to", "copies", "--no-browser", "--port", "0"), 143, "", "http://",
    ),
]  # fmt: skip


def prepare(attack: Attack, folder: Path) -> None:
    """Writes the input in a process of its own: what that takes is no part of what the command takes."""
    child = os.fork()
    if child == 0:
        done = 1
        try:
            attack.prepare(folder)
            done = 0
        finally:
            os._exit(done)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"{attack.name} cannot be prepared")


def started(attack: Attack, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """The command of an attack, with its output in `log` and a cache of its own."""
    program = [sys.executable, "-P", "-m", "workbench", *attack.command]
    if attack.command == ("pytest",):
        program = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = as_typed(
        XDG_CACHE_HOME=str(folder.parent / "cache"),
        PYTHONPATH=str(HERE),
        OPENAI_API_KEY="sk-0123456789abcdef",
        WORKBENCH_RERANK_KEY="sk-0123456789abcdef",
    )
    with log.open("wb") as out:
        return subprocess.Popen(
            program,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def ended(attack: Attack, folder: Path) -> Ended:
    """Runs an attack; its process is ended after MOST_SECONDS."""
    log, began, stopped = folder.parent / "log", time.monotonic(), False
    process = started(attack, folder, log)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - began > MOST_SECONDS:
            os.killpg(process.pid, signal.SIGKILL)
        if attack.until and not stopped and attack.until in log.read_text(errors="replace"):
            process.terminate()
            stopped = True
        time.sleep(0.02)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime
    return Ended(code, cpu, used.ru_maxrss / 1024, log.read_text(errors="replace"))


def problems(attack: Attack, got: Ended, folder: Path) -> list[str]:
    """How an attack ended otherwise than it must."""
    told = " ".join(got.told.split())
    checks = {
        f"exit code {got.code} instead of {attack.code}": got.code != attack.code,
        f"{attack.said!r} is not in: {told[-300:]}": attack.said not in told,
        "it printed a traceback": "Traceback" in told or "mistake in the workbench" in told,
        "it printed a control character": any(one < " " and one not in "\n\r\t" for one in got.told),
        "a module of the folder ran": any(folder.glob("*.ran")),
    }
    return [text for text, wrong in checks.items() if wrong]


def row(attack: Attack, got: Ended) -> str:
    """A row of the table in docs/security.md."""
    return f"| {attack.name} | {got.code} | {got.cpu:.1f} | {got.megabytes:.0f} |"


PAGE = HERE / "docs" / "security.md"
BEGIN, END = "<!-- measured: python -m benchmarks.attacks --write -->", "<!-- end of what was measured -->"


def write(measured: dict[str, str], failed: int) -> None:
    """Puts the rows into docs/security.md; attacks that were not run again keep theirs.

    Raises SystemExit if one ended wrongly: its row would not say so.
    """
    if failed:
        raise SystemExit("Nothing is written: an attack ended wrongly.")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    known, _, after = rest.partition(END)
    every = {one.split(" | ")[0].removeprefix("| "): one for one in known.splitlines() if one[:2] == "| "}
    rows = [found for one in ATTACKS if (found := (every | measured).get(one.name))]
    head = f"{len(rows)} attacks, each a process of its own; 0 ended otherwise than they must."
    table = ["| attack | exit code | CPU s | peak MB |", "|---|---|---|---|", *rows]
    text = "\n".join([BEGIN, "", head, "", *table, "", END])
    PAGE.write_text(f"{before}{text}{after}", encoding="utf-8")


def main(words: list[str]) -> int:
    """Prints a row for each attack, and below it what is wrong."""
    named = [one for one in words if one != "--write"]
    chosen = [one for one in ATTACKS if not named or any(word in one.name for word in named)]
    failed, rows = 0, dict[str, str]()
    for attack in chosen:
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home) / "given"
            folder.mkdir()
            prepare(attack, folder)
            got = ended(attack, folder)
            wrong = problems(attack, got, folder)
        print(f"{attack.name:47} {got.cpu:6.1f} CPU s {got.megabytes:6.0f} MB  exit {got.code}", flush=True)
        failed += bool(wrong)
        rows[attack.name] = row(attack, got)
        print(*(f"    {text}\n" for text in wrong), sep="", end="", flush=True)
    print(f"{len(rows)} attacks, {failed} ended wrongly")
    if "--write" in words:
        write(rows, failed)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
