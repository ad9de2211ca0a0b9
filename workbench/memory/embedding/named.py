"""Embedders by name: a local model, or one of those that guests add, such as `openai/MODEL`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.errors import InputError
from workbench.memory.embedding.engines import ModelVariant
from workbench.memory.embedding.local import Embedder, LocalEmbedder, Reading, Windowed
from workbench.registry import Registry, registrar


@dataclass(frozen=True)
class EmbedderKind:
    """A kind of embedder that computes elsewhere: `name` is what comes before the `/` of its models.

    `named` makes the embedder of a whole name. `remembered` makes the one that an index names, from its name,
    revision and dimensions.
    """

    name: str
    named: Callable[[str], Embedder]
    remembered: Callable[[str, str, int], Embedder]


EMBEDDERS = Registry[EmbedderKind]("embedder", (), "Or name a local model.")
registrar.register(EmbedderKind, EMBEDDERS.add)


def embedder_named(
    name: str,
    reading: Reading | None = None,
    download: bool = False,
    variant: ModelVariant | None = None,
    usual: Reading | None = None,
) -> Embedder:
    """The embedder of that name: `kind/model` for a kind of EMBEDDERS, or a local model.

    `reading`, `download` and `variant` are for local models; `usual` is their reading when none is given.
    Raises InputError for an empty name, and for choices that only local models have.
    """
    if not name.strip():
        raise InputError("The name of the model is empty.", "Use --model all-MiniLM-L6-v2, or leave it out.")
    kind = EMBEDDERS.get(name.partition("/")[0])
    if kind is None:
        chosen = reading or usual or Windowed()
        return LocalEmbedder(name, chosen, download=download, variant=variant or ModelVariant())
    embedder = kind.named(name)
    if reading is not None:
        raise InputError(
            f"{name} has no reading {reading.name!r}.", "Only local models have one: leave --reading out."
        )
    if variant is not None and variant != ModelVariant():
        raise InputError(
            f"{name} computes its vectors elsewhere, so its precision is not yours to choose.",
            "Only local models have one: leave --precision and --backend out.",
        )
    return embedder


def remembered(name: str, revision: str, dimensions: int) -> Embedder | None:
    """The embedder elsewhere that made an index; None when it was a local model.

    Raises InputError when that embedder now means another one.
    """
    kind = EMBEDDERS.get(name.partition("/")[0]) if "/" in name else None
    return None if kind is None else kind.remembered(name, revision, dimensions)
