"""The contract of a store: what an index keeps its documents, chunks and vectors in.

SQLite is the first store. Another one subclasses `IndexStore` and passes the suite in
`tests/contracts/store_contract.py`; no module outside `memory/store/` changes for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from workbench.memory.paths import FileRules
from workbench.memory.store.postings import PostingsSource
from workbench.memory.store.values import Cached, Settings, Stamp
from workbench.records import Chunk, Document, Hits, Passage, Query, Rows, Vector


class ServerTexts(ABC):
    """Texts that an engine other than FTS5 searches with its own full-text functions."""

    @abstractmethod
    def search(self, function: str, text: str, rank: str, limit: int) -> Hits:
        """The texts that match what `function` makes of `text`, by the ranking function `rank`.

        Rows are the places of the texts; ties are in the order of their keys. Raises InputError for a text
        that the engine cannot read.
        """

    @abstractmethod
    def read_as(self, function: str, text: str) -> str:
        """What the engine makes of a text; empty if nothing of it is searched for."""


class IndexStore(ABC):
    """An open store, for one thread at a time.

    Rows are positive whole numbers. A row belongs to one chunk until that chunk is deleted. Raw numbers are
    the engine's own; `Hits.larger_is_better` states their direction. Hits come best first, ties by chunk id.
    Raises StorageError when the store cannot be read or written, and InputError for input that it refuses.
    """

    engine: ClassVar[str] = ""
    """The engine that searches: sqlite, postgresql or milvus; empty for one that does not say."""

    # The state

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of this store in messages: a path, or an address without its password."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The model and the chunker that the index was made with."""

    @property
    @abstractmethod
    def generation(self) -> int:
        """A number that grows with every change."""

    # How the folder was read

    @property
    @abstractmethod
    def folder(self) -> str:
        """The memory's folder; empty in an index that does not say."""

    @abstractmethod
    def describe(
        self, folder: str | None = None, file_rules: FileRules | None = None, ties_by_row: bool | None = None
    ) -> None:
        """Keeps how the folder was read; None leaves a value as it is.

        With `ties_by_row`, hits with equal numbers come in the order in which they were stored.
        """

    @property
    @abstractmethod
    def file_rules(self) -> FileRules:
        """Which files of the folder are indexed."""

    # Connections and transactions

    @property
    @abstractmethod
    def writable(self) -> bool:
        """Whether the store can be written."""

    @property
    @abstractmethod
    def replaced(self) -> bool:
        """Whether the index has been rebuilt since this store was opened, so that it must be opened again."""

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether a block of `reading` or `writing` is open."""

    @abstractmethod
    def reopened(self) -> Self:
        """The store of the latest build, opened anew; this one is not closed."""

    @abstractmethod
    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        """Stops a search inside the block that takes more seconds. Raises InputError then."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """One state of the store for all reads inside the block, whatever other processes write meanwhile."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """One transaction: all writes inside the block are kept, or none. Blocks nest."""

    @abstractmethod
    def close(self) -> None:
        """Closes the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of chunks."""

    @abstractmethod
    def stamps(self) -> dict[str, Stamp]:
        """Every indexed file's stamp, by path."""

    @abstractmethod
    def documents(self) -> list[Document]:
        """All indexed documents, by path."""

    @abstractmethod
    def chunks(self, rows: Rows) -> list[Chunk]:
        """The chunks of these rows, in their order."""

    @abstractmethod
    def rows_of(self, path: str) -> Rows:
        """The rows of a file's chunks, in the file's order; none for a file that is not indexed."""

    @abstractmethod
    def keys(self) -> list[str]:
        """All chunk ids, in row order."""

    @abstractmethod
    def matrix(self) -> tuple[Rows, NDArray[np.float32]]:
        """All rows and their unit vectors, in row order: shapes (n,) and (n, dimensions)."""

    # Searching

    @abstractmethod
    def compiled(self, query: Query) -> str:
        """The query in the engine's own language."""

    @abstractmethod
    def keyword(self, query: Query, limit: int) -> Hits:
        """The best `limit` chunks that match a query, with the engine's own score of each."""

    def nearest_by_engine(self, query: Vector, limit: int) -> Hits | None:
        """The nearest chunks as the engine itself finds them, with cosine distances.

        None if this store leaves that to an exact scan of `matrix`.
        """
        return None

    def postings(self) -> PostingsSource | None:
        """What a keyword search in memory reads; None for a store that does not give its postings."""
        return None

    def text_table(self, keys: Sequence[str], texts: Sequence[str], config: str) -> ServerTexts | None:
        """A temporary full-text table of these texts on the store's server; None for a store without one.

        `config` is the server's name for a language.
        """
        return None

    # Writing

    @abstractmethod
    def replace(self, document: Document, passages: Sequence[Passage], cached: Sequence[Cached]) -> None:
        """Stores the document with exactly these passages and vectors, in one transaction."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Removes a document and its chunks."""

    @abstractmethod
    def restamp(self, looks: Mapping[str, tuple[int, int]]) -> None:
        """Sets the size and time of unchanged documents."""

    # The embedding cache

    @abstractmethod
    def cached(self, settings: Settings, role: str, hashes: Iterable[str]) -> dict[str, Cached]:
        """The known vectors of these text hashes, for the model and revision of `settings`."""

    @abstractmethod
    def forget_removed_texts(self) -> None:
        """Removes the vectors of texts that are no longer in the index."""

    @abstractmethod
    def remember(self, settings: Settings, role: str, found: Mapping[str, Cached]) -> None:
        """Keeps vectors by model, revision, role, and the hash of their exact text."""


class IndexPlace(ABC):
    """Where the index of one memory is kept: it opens the store, updates it, and rebuilds it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of this place in messages: a path, or an address without its password."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is an index at this place."""

    @abstractmethod
    def alone(self, wait: float) -> AbstractContextManager[None]:
        """Keeps other writers out of the block; raises StorageError after `wait` seconds of waiting."""

    @abstractmethod
    def open(self) -> IndexStore:
        """The store, for reading. Raises InputError when there is none, or one of another version."""

    @property
    @abstractmethod
    def scratch(self) -> Path | None:
        """The folder for temporary files; None for the system's own."""

    @abstractmethod
    def updating(self) -> AbstractContextManager[IndexStore]:
        """The store, for writing inside the block; it takes over the vectors of unfinished rebuilds."""

    @abstractmethod
    def rebuilding(self, settings: Settings) -> AbstractContextManager[IndexStore]:
        """A new, empty store that replaces the old one at the end of the block.

        Known vectors are taken over. If the block fails, the old store stays as it was.
        """

    @abstractmethod
    def stored_sources(self) -> set[str]:
        """The names of the sources that the index holds; none for an index that cannot be read."""
