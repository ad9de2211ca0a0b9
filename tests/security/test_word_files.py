"""The file of words beside an index may come from elsewhere: it is made anew, or named in one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests import world
from tests.commands import Run
from workbench.memory.store.sqlite.database import checksum_vfs
from workbench.memory.store.sqlite.location import words_file

ENDLESS = "WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT"
DAMAGED = "is damaged: it has other bytes than were written"
Change = Callable[[Path], object]


def statements(*every: str) -> Change:
    """Changes the content, with checksums that fit it."""

    def change(file: Path) -> None:
        db = apsw.Connection(str(file), vfs=checksum_vfs())
        for one in every:
            db.execute(one)
        db.close()

    return change


def replaced_by(make: Change) -> Change:
    """Puts something else into the file's place."""

    def change(file: Path) -> None:
        file.unlink()
        make(file)

    return change


MADE_ANEW: dict[str, Change] = {
    "view that does not end": statements(
        "DROP TABLE terms", f"CREATE VIEW terms AS {ENDLESS} n AS id, 'tea' AS term FROM a"
    ),
    "trigger": statements("CREATE TRIGGER t AFTER INSERT ON state BEGIN DELETE FROM passages; END"),
    "rows far away": statements("UPDATE files SET rows = x'ffffffffffffff7f'"),
    "no lengths": statements("UPDATE files SET chunk_lengths = x''"),
    "deep state": statements("UPDATE state SET value = replace(hex(zeroblob(99999)), '0', '[')"),
    "pipe": replaced_by(os.mkfifo),
    "link": replaced_by(lambda file: file.symlink_to(file.with_name("outside"))),
    "sparse file": replaced_by(lambda file: file.touch() or os.truncate(file, 5_000_000_000)),  # type: ignore[func-returns-value]
}
REFUSED: dict[str, Change] = {
    "odd postings": statements("UPDATE postings SET texts = x'ff'"),
    "means of one byte": statements("UPDATE means SET vectors = x'00'"),
    "no means": statements("DELETE FROM means"),
    "odd payload": statements("UPDATE passages SET payload = x'00'"),
    "large means": statements("UPDATE means SET vectors = zeroblob(150000000) WHERE file = 1"),
}


@pytest.fixture
def command(tmp_path: Path, run: Run) -> list[object]:
    """A search that reads the file of words."""
    memory, index = world.write(tmp_path / "memory_of_wren"), tmp_path / "index.sqlite"
    assert run("index", memory, "--index", index).code == 0
    return ["search", "a cup of tea", "-m", memory, "--index", index, "-s", "recommended", "--json"]


@pytest.mark.parametrize("attack", [*MADE_ANEW, *REFUSED])
def test_a_forged_file_of_words_ends_in_the_same_answer_or_in_one_sentence(
    tmp_path: Path, run: Run, command: list[object], attack: str
) -> None:
    sound = run(*command)
    assert sound.code == 0
    (MADE_ANEW | REFUSED)[attack](words_file(tmp_path / "index.sqlite"))
    outcome = run(*command)
    if attack in MADE_ANEW:
        assert (outcome.code, outcome.out) == (0, sound.out)
        return
    assert (outcome.code, outcome.out, DAMAGED in outcome.err) == (3, "", True), outcome
    words_file(tmp_path / "index.sqlite").unlink()
    assert run(*command).out == sound.out
