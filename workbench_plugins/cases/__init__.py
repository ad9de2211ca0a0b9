"""Cases: a failure of memory search as one file, which can be run, redacted, shrunk and reported."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

SUFFIX = ".case.yaml"
BEGINNING = 65_536
"""Bytes in which a case file states that it is one."""
FIRST_KEY = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:[ \t]*(?:#[^\n]*)?|---[ \t]*)\r?\n)*case[ \t]*:[ \t]*\d")


def is_case(file: Path) -> bool:
    """Whether a file is a plain one that begins with the key of a case, as in `case: 1`."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # a named pipe would wait for its writer
    except OSError:
        return False
    with os.fdopen(handle, "rb") as opened:
        plain = stat.S_ISREG(os.fstat(handle).st_mode)
        return plain and FIRST_KEY.match(opened.read(BEGINNING)) is not None
