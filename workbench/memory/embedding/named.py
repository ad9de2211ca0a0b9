"""Embedders by name: a local model, or one of those that features add, such as `openai/MODEL`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.errors import InputError
from workbench.memory.embedding.local import Embedder, LocalEmbedder
from workbench.registry import Registry


@dataclass(frozen=True)
class EmbedderKind:
    """A kind of embedder that computes elsewhere: `name` is what comes before the `/` of its models.

    `named` makes the embedder of a whole name. `remembered` makes the one that an index names, from its name,
    revision and dimensions.
    """

    name: str
    named: Callable[[str], Embedder]
    remembered: Callable[[str, str, int], Embedder]


EMBEDDERS = Registry[EmbedderKind](
    "embedder", lambda thing: isinstance(thing, EmbedderKind), see_all="Or name a local model."
)


def embedder_named(name: str) -> Embedder:
    """The embedder of that name: `kind/model` for a kind of EMBEDDERS, or a local model.

    Raises InputError for an empty name.
    """
    if not name.strip():
        raise InputError("The name of the model is empty.", "Use --model all-MiniLM-L6-v2, or leave it out.")
    kind = EMBEDDERS.get(name.partition("/")[0])
    return LocalEmbedder(name) if kind is None else kind.named(name)


def remembered(name: str, revision: str, dimensions: int) -> Embedder | None:
    """The embedder that made an index and computes elsewhere; None for a local model.

    Raises InputError when that name now means another embedder.
    """
    kind = EMBEDDERS.get(name.partition("/")[0]) if "/" in name else None
    return None if kind is None else kind.remembered(name, revision, dimensions)
