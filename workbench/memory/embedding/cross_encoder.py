"""A cross-encoder on this machine: a model that reads a question and a text together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

from workbench.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


@dataclass(frozen=True)
class LocalCrossEncoder:
    """A cross-encoder of sentence-transformers, by its folder or by the name of one on this machine.

    torch is loaded with the first question. Raises InputError for a model that is not there.
    """

    name: str
    download: bool = field(default=False, compare=False)
    _lock: RLock = field(default_factory=RLock, init=False, repr=False, compare=False)

    @cached_property
    def model(self) -> CrossEncoder:
        """The loaded model."""
        for key, value in {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}.items():
            os.environ.setdefault(key, value)
        from sentence_transformers import CrossEncoder

        try:
            loaded: CrossEncoder = CrossEncoder(self.name, device="cpu", local_files_only=not self.download)
            return loaded
        except (OSError, ValueError) as error:
            raise InputError(
                f"The cross-encoder {self.name!r} cannot be loaded: {str(error).splitlines()[0]}",
                "Give the folder of a cross-encoder, or the name of one that is on this machine.",
            ) from None

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the question, larger is better."""
        if not texts:
            return []
        with self._lock:
            found = self.model.predict([(question, text) for text in texts], show_progress_bar=False)
        return [float(one) for one in found]
