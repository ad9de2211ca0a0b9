"""Whether the -wal file beside a database is as SQLite wrote it.

SQLite reads the entries of a -wal file up to the first whose checksum does not fit, and leaves out the rest
without an error. Format: https://sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.memory.files import open_named

HEADER_BYTES, ENTRY_BYTES = 32, 24
MAGIC = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""The first number of the file, which says the order of the bytes that the checksums are computed from."""
SETTLED_SECONDS = 0.05
"""What a program is writing at the moment is looked at again after this time."""

Numbers = NDArray[np.uint32]


class Log(NamedTuple):
    """The header of a -wal file."""

    order: str
    page_size: int
    salts: tuple[int, int]
    checksum: Numbers


def log_problems(database: Path) -> list[str]:
    """What is wrong with the -wal file of a database; nothing if there is none, or if it is as written."""
    real = database.resolve()
    file = real.with_name(f"{real.name}-wal")
    found = _problem(file)
    if found:
        time.sleep(SETTLED_SECONDS)
        found = found if _problem(file) == found else ""
    return [f"{file.name}: {found}; what was written last is left out"] if found else []


def _problem(file: Path) -> str:
    if not file.is_file():
        return ""
    with open_named(file) as opened:
        head = opened.read(HEADER_BYTES)
        if len(head) < HEADER_BYTES:
            return ""
        log = _header(head)
        if log is None:
            return "its header does not fit its checksum"
        return _wrong_entry(log, opened)


def _header(head: bytes) -> Log | None:
    """The header; None if it is not as SQLite writes one."""
    magic, _, size, _, *salts, first, second = struct.unpack(">8I", head)
    order = MAGIC.get(magic)
    if order is None or size not in (1 << power for power in range(9, 17)):
        return None
    checksum = _checksum(np.zeros(2, np.uint32), head[:24], order)
    return Log(order, size, (salts[0], salts[1]), checksum) if [*checksum] == [first, second] else None


def _wrong_entry(log: Log, opened: BinaryIO) -> str:
    """The first entry of this log that does not fit its checksum; entries of the log before it may follow."""
    checksum = log.checksum
    for number, (head, page) in enumerate(_entries(opened, log.page_size), 1):
        first, second, *written = struct.unpack(">4I", head[8:])
        checksum = _checksum(checksum, head[:8] + page, log.order)
        if (first, second) == log.salts and [*checksum] == written:
            continue
        rest = [head, *(one for one, _ in _entries(opened, log.page_size))]
        ours = any(log.salts[0] == first or log.salts[1] == second for first, second in map(_salts, rest))
        return f"its entry {number:,} does not fit its checksum" if ours else ""
    return ""


def _entries(opened: BinaryIO, page_size: int) -> Iterator[tuple[bytes, bytes]]:
    """Each whole entry: its head and its page."""
    while len(entry := opened.read(ENTRY_BYTES + page_size)) == ENTRY_BYTES + page_size:
        yield entry[:ENTRY_BYTES], entry[ENTRY_BYTES:]


def _salts(head: bytes) -> tuple[int, int]:
    first, second = struct.unpack(">2I", head[8:16])
    return first, second


def _checksum(before: Numbers, data: bytes, order: str) -> Numbers:
    """The checksum of the data, whose length is a multiple of 8, after what was summed before.

    SQLite adds pair by pair: s0 += x0 + s1; s1 += x1 + s0. This is the same sum, whole, modulo 2**32.
    """
    pairs = np.frombuffer(data, order).astype(np.uint32).reshape(-1, 2)
    weights, carried = _weights(len(pairs))
    added: Numbers = (weights * pairs[:, None, :]).sum(axis=(0, 2), dtype=np.uint32)
    return added + carried @ before


@cache
def _weights(pairs: int) -> tuple[Numbers, Numbers]:
    """What each pair of that many counts for both sums, (pairs, 2, 2), and what the sums before it do."""
    step, added = np.array([[1, 1], [1, 2]], np.uint32), np.array([[1, 0], [1, 1]], np.uint32)
    weights, power = np.empty((pairs, 2, 2), np.uint32), np.eye(2, dtype=np.uint32)
    for pair in reversed(range(pairs)):
        weights[pair], power = power @ added, power @ step
    return weights, power
