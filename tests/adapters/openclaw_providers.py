"""OpenClaw 2026.2.12 and 2026.2.13: limits of embedding providers, and the settings of memory search."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.adapters import Case, Given, adapts, adapts_every
from tests.adapters.openclaw_february import FEBRUARY, content
from workbench.memory.files import content_hash
from workbench.memory.sources import within
from workbench.records import Passage
from workbench_plugins.openclaw.config import configured
from workbench_plugins.openclaw.config_values import FEBRUARY_FORM, at, below, nested
from workbench_plugins.providers.clients import retryable
from workbench_plugins.providers.embedder import batches, longest


@adapts("embedding-limits", *FEBRUARY)
def embedding_limits(given: Given) -> Any:
    if "text_generator" not in given:
        return longest(given["id"], given["model"])
    text = "".join(map(_term, given["text_generator"].split(" + ")))
    parts = within(Passage(text, *given["lines"], content_hash(text)), given["provider"]["maxInputTokens"])
    return {
        "byteLengths": [len(part.text.encode()) for part in parts],
        "lines": [[part.start_line, part.end_line] for part in parts],
    }


def _term(recipe: str) -> str:
    return "\n" if recipe == r"'\n'" else content({"content_generator": recipe})


@adapts("embedding-batches", *FEBRUARY)
def embedding_batches(given: Given) -> list[list[int]]:
    return [list(one) for one in batches(given["chunkByteSizes"], given["maxBytesPerBatch"])]


@adapts("retryable-error", *FEBRUARY)
def retryable_error(given: Given) -> bool:
    return retryable(given["message"])


LATER = (
    "query.hybrid.mmr", "query.hybrid.temporalDecay", "store.fts", "sync.sessions.postCompactionForce",
)  # fmt: skip
"""Keys, with their subkeys, that February did not have."""

WHOLE: Mapping[frozenset[str], str] = {
    frozenset({"extraPaths"}): "extraPaths",
    frozenset({"sources"}): "sources",
    frozenset({"sources", "experimental"}): "sources",
    frozenset({"store"}): "store",
}
"""Which setting a case is about, by the keys that it sets, where it is about one."""


@adapts_every("config")
def config(case: Case) -> Any:
    """The settings that the case expects: all of them, some by name, or the one that it sets."""
    if not case.version.startswith(FEBRUARY):
        raise LookupError(f"no settings of {case.version}")
    given = case.input
    with patch.dict(os.environ, {"OPENCLAW_STATE_DIR": "/state"}):
        made = configured(given["config"], Path("openclaw.json"), given["agentId"], release="2026.2.13")
    if not made.search["enabled"]:
        return None
    settings = nested({key: value for key, value in made.search.items() if not below(key, LATER)})
    if made.provider in ("local", "none"):
        settings["remote"] = None
    settings["store"]["path"] = str(made.store)
    settings["extraPaths"] = made.extra_paths
    if isinstance(case.expected, Mapping) and case.expected.keys() <= settings.keys():
        return {key: settings[key] for key in case.expected}
    return settings[WHOLE[frozenset(at(given["config"], FEBRUARY_FORM, {}))]]
