"""How OpenClaw's releases index a memory: which files they list, and how they cut each file."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.memory.chunking import Chunker, LineChunker, sizes_in
from workbench.memory.embedding.providers.limits import LONGEST_CHARACTER, USUAL_LONGEST, LimitedChunker
from workbench.memory.paths import HEADS, FileRules
from workbench.memory.sources import Indexing
from workbench.records import Passage
from workbench.systems.openclaw.annotations import ROOT_FILES, without_annotations
from workbench.systems.openclaw.chunking import EntryChunker, JulyChunker, WeightedChunker

FEBRUARY_FILES = FileRules(HEADS, anywhere=False, every_folder=True)
"""Source: openclaw 2026.2.13, src/memory/internal.ts, listMemoryFiles."""

JULY_FILES = FileRules(("MEMORY.md",), anywhere=False, every_folder=True)
"""Source: openclaw 2026.7.1, packages/memory-host-sdk/src/host/internal.ts, listMemoryFiles."""

SEPTEMBER_FILES = FileRules(ROOT_FILES, anywhere=False, every_folder=True)
"""Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/internal.ts, listMemoryFiles."""


@dataclass(frozen=True)
class UnannotatedChunker:
    """Removes the annotations from a text, and then cuts the text with another chunker."""

    chunker: Chunker

    @property
    def name(self) -> str:
        return f"{self.chunker.name} without annotations"

    def chunk(self, text: str) -> list[Passage]:
        """The passages of the text without its annotations."""
        return self.chunker.chunk(without_annotations(text))


@dataclass(frozen=True)
class SeptemberChunker(WeightedChunker):
    """Cuts as 2026.9.6 does: it removes annotations, and cuts the root MEMORY.md and USER.md by entry.

    Transcripts keep their annotations. Source: openclaw 2026.9.6,
    extensions/memory-core/src/memory/manager-index-preparation.ts.
    """

    @property
    def name(self) -> str:
        return f"openclaw-2026.9.6-by-file tokens={self.tokens} overlap={self.overlap}"

    def of_file(self, path: str) -> Chunker:
        """The chunker of one file of the memory."""
        kind = EntryChunker if path in ROOT_FILES else WeightedChunker
        return UnannotatedChunker(kind(self.tokens, self.overlap))


FEBRUARY = Indexing(
    "openclaw-2026.2.13", LimitedChunker(LineChunker(), USUAL_LONGEST), FEBRUARY_FILES, ties_by_row=True
)
JULY = Indexing(
    "openclaw-2026.7.1", LimitedChunker(JulyChunker(), USUAL_LONGEST), JULY_FILES, ties_by_row=True
)
SEPTEMBER = Indexing("openclaw-2026.9.6", SeptemberChunker(), SEPTEMBER_FILES, ties_by_row=True)

INDEXINGS = (FEBRUARY, JULY, SEPTEMBER)

KINDS = (LineChunker, JulyChunker, WeightedChunker, EntryChunker, SeptemberChunker)


def chunker_named(name: str) -> Chunker | None:
    """The chunker that has this name, as an index keeps it; None for one that is not OpenClaw's.

    >>> chunker_named("openclaw-2026.2.13 tokens=200 overlap=40")
    LineChunker(tokens=200, overlap=40)
    """
    sizes = sizes_in(name)
    if sizes is None:
        return None
    plain, _, most = name.partition(" bytes=")
    limit = int(most) if most.isdecimal() else 0
    for kind in KINDS:
        made: Chunker = kind(*sizes)
        limited = LimitedChunker(made, limit) if limit >= LONGEST_CHARACTER else made
        if made.name == plain and limited.name == name:
            return limited
    return None
