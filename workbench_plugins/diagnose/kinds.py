"""The kinds of causes outside the stages: where each one is, what it says, and what repairs it."""

from __future__ import annotations

from workbench.contracts import Index
from workbench.memory.data_files import load_data
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.index_of_folder import index_command

KINDS = load_data(__file__, "kinds.toml")
"""Where each kind of cause is, what it says, and what repairs it."""
CERTAIN = ("not read", "empty", "no messages", "wordless", "new", "gone")
"""What is seen in the index and the folder, without a trial."""


def of_kind(kind: str, index: Index, evidence: str, works: bool | None = None) -> Cause:
    """The cause of a kind, in the words of KINDS; `works` is None if its repair was not tried.

    A command of the repair names the folder of the index, so that it can be pasted.
    """
    told = KINDS[kind]
    return Cause(
        (told["where"],),
        told["says"],
        told["repair"].replace("workbench index FOLDER", index_command(index)),
        evidence,
        verified=bool(works),
        refuted=works is False,
        certain=kind in CERTAIN,
    )
