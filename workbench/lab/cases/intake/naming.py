"""Names for case files that nobody has to think of: from the question, and never that of another file."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.errors import InputError
from workbench.lab.cases.files import save_case
from workbench.lab.cases.model import SUFFIX, Case

LONGEST = 50
MOST_CASES = 100
"""Cases in one folder that are saved without a name of the user's own."""


def slug(question: str) -> str:
    """A file name from the words of a question, in ASCII.

    >>> slug("Where is ../../the TEA?"), slug("茶")
    ('where-is-the-tea', 'question')
    """
    words = re.findall(r"[a-z0-9]+", question[:1_000].lower())
    return "-".join(words)[:LONGEST].strip("-") or "question"


def save_beside(case: Case, folder: Path) -> Path:
    """Saves a case in a folder under a name from its question, and never over another file.

    Raises InputError for a folder that does not exist or has 100 cases already, StorageError if it cannot be
    written.
    """
    if not folder.is_dir():
        raise InputError(f"The folder {folder} does not exist.", "Make it, or choose another one.")
    names = {one.name for one in folder.iterdir()}
    if sum(one.endswith(SUFFIX) for one in names) >= MOST_CASES:
        raise InputError(f"{folder} has {MOST_CASES} cases already.", "Move some of them elsewhere.")
    base = slug(case.questions[0].question)
    numbered = (f"{base}-{number}{SUFFIX}" for number in range(2, MOST_CASES + len(names) + 3))
    name = next(one for one in (f"{base}{SUFFIX}", *numbered) if one not in names)
    return save_case(case, folder / name)
