"""Interfaces: an index that can be searched, a layout of it, and a running search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.records import Chunk, Document, Floats, Hits, MadeOtherwise, Query, Rows, Trace, Vector

if TYPE_CHECKING:
    from workbench.memory.sources import Indexing


class Layout(Protocol):
    """Another way to arrange an index: whole notes instead of chunks, or another full-text table.

    A layout is a frozen value. It keeps what it builds for as long as the index has the same generation.
    """

    @property
    def description(self) -> str: ...

    def of(self, index: Index) -> Index:
        """The index in this layout. Raises InputError for an index that cannot be arranged so."""


class Index(ABC):
    """What a search needs of an index. A subclass writes the six abstract methods; the others are optional.

    Every answer is ordered best first. Ties are ordered by chunk id.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of chunks."""

    @abstractmethod
    def keyword(self, query: Query, limit: int) -> Hits:
        """The best `limit` chunks that match the query, with the engine's own score of each."""

    @abstractmethod
    def vector(self, query: Vector, limit: int) -> Hits:
        """The nearest `limit` chunks, with their cosine distance: 0 to 2, smaller is better."""

    @abstractmethod
    def embed(self, question: str) -> Vector:
        """The unit vector of a question."""

    @abstractmethod
    def chunks(self, rows: Rows) -> Sequence[Chunk]:
        """The chunks of these rows, in their order."""

    @abstractmethod
    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order; none for a file that is not indexed."""

    # What an index may add

    def made_otherwise(self, indexing: Indexing) -> MadeOtherwise | None:
        """How this index differs from one that a release makes, and the command that makes such an index.

        None for an index that is made so, and for one that does not say.
        """
        return None

    @property
    def name(self) -> str:
        """The name of this index in messages."""
        return type(self).__name__

    @property
    def generation(self) -> int:
        """A number that changes whenever the index changes."""
        return 0

    def keyword_with(self, query: Query, limit: int, k1: float, b: float) -> Hits:
        """The answer of `keyword` with other constants of BM25.

        Raises InputError for an index whose engine fixes them.
        """
        raise InputError(
            f"The index {self.name} scores keywords with its engine's own k1 and b.",
            "Leave both as they are, or search a folder that `workbench index` has indexed.",
        )

    def nearest_of_each(self, queries: NDArray[np.float32], limit: int) -> list[Hits]:
        """The answers of `vector` to several questions, one unit vector in each row."""
        return [self.vector(query, limit) for query in queries]

    def compiled(self, query: Query) -> str:
        """The query in the language of this index, as a trace shows it."""
        texts = (f"{clause.text}*" if clause.prefix else clause.text for clause in query.clauses)
        return query.expression or f" {query.operator} ".join(texts)

    def paths(self) -> list[str]:
        """The paths of all indexed files, in order."""
        return sorted(one.path for one in self.documents() or ())

    @property
    def newly_read(self) -> int:
        """How many chunks a model has read to lay this index out."""
        return 0

    @property
    def left_out(self) -> Sequence[str]:
        """What of these chunks the model has not read, one sentence for each file."""
        return ()

    def documents(self) -> Sequence[Document] | None:
        """All documents with their whole text, by path; None for an index that keeps chunks only."""
        return None

    def snapshot(self) -> AbstractContextManager[object]:
        """One state of the index for everything that is asked within it."""
        return nullcontext()

    def laid_out(self, layout: Layout | None) -> Index:
        """This index in a layout; the index itself for None."""
        return self if layout is None else layout.of(self)


class Observer(Protocol):
    """A stage that reads texts, paths or front matter before it computes."""

    def observe(self, trace: Trace, context: Context) -> Mapping[str, Floats]:
        """What the stage reads of each candidate, by the name of its column."""


class Context(Protocol):
    """What a stage may ask for while it runs."""

    @property
    def index(self) -> Index: ...

    @property
    def limit(self) -> float:
        """How many results the pipeline returns at most."""

    def vector(self) -> Vector:
        """The question's vector, embedded when it is first asked for."""

    def observations(self, stage: Observer, trace: Trace) -> Mapping[str, Floats]:
        """What a stage reads of the candidates: from the index, or assumed where there is none."""
