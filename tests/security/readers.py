"""Readers of a store that hang, crash or fail, for a process of their own."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterable
from pathlib import Path

from tests.security.forged_stores import nested


def computes(path: Path) -> Iterable[bytes]:
    """Looks at no clock and at no signal."""
    return [bytes(hash(nested(60)))]


def waits(path: Path) -> Iterable[bytes]:
    threading.Event().wait()
    return []


def crashes(path: Path) -> Iterable[bytes]:
    os.kill(os.getpid(), signal.SIGSEGV)
    return []


def raises(path: Path) -> Iterable[bytes]:
    raise SystemError("boom")


def is_wrong(path: Path) -> Iterable[bytes]:
    raise AssertionError("ours")


def tells(path: Path) -> Iterable[bytes]:
    """What is in the file, and which variables there are."""
    yield json.dumps({"read": path.read_text(encoding="utf-8"), "variables": sorted(os.environ)}).encode()


def looks_around(path: Path) -> Iterable[bytes]:
    """Reads a file that is not the store."""
    yield path.with_name("outside").read_bytes()
