"""Languages of settings: how the users of a system write its settings, in files and as keys of `--set`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from workbench.errors import InputError
from workbench.registry import SETTINGS, Registry
from workbench.retrieval.pipeline import Pipeline


class Language(ABC):
    """A language of settings; `endings` are those of its files, whose names are names of systems.

    `reads_files` says whether the value of a key is the name of a file, which only a user may give. All
    methods raise InputError for what cannot be used.
    """

    name: str
    endings: tuple[str, ...]
    reads_files: bool = False

    @abstractmethod
    def system(self, file: str) -> Pipeline:
        """The system of a file, or of `SYSTEM@FILE`: that system with the settings of the file."""

    @abstractmethod
    def key_of(self, setting: str) -> str:
        """The key in `KEY=value`; empty if it belongs to another language.

        Raises InputError for text that is meant as a key of this language and is none.
        """

    @abstractmethod
    def with_setting(self, pipeline: Pipeline, setting: str) -> Pipeline | None:
        """The pipeline with `KEY=value` set; None if it has no stage that the key sets."""


LANGUAGES = Registry[Language](
    "settings language",
    lambda thing: isinstance(thing, Language),
    see_all="See the documentation of the features.",
)


def language_of_file(name: str) -> Language | None:
    """The language of a file of settings, or of `SYSTEM@FILE`; None for another name."""
    file = name.partition("#")[0]
    if not file.endswith(SETTINGS):  # so that other names load no language
        return None
    return next((one for one in LANGUAGES.values() if file.endswith(one.endings)), None)


def is_configuration(name: str) -> bool:
    """Whether a system's name is that of a file of settings, with or without a system before it."""
    return language_of_file(name) is not None


def with_keys_of_any_language(
    pipelines: Sequence[Pipeline], settings: Collection[str], leave_out: bool = False
) -> tuple[list[Pipeline], list[str]]:
    """The pipelines with the keys among `settings` set where they fit, and the settings that are no keys.

    Raises InputError for a key that fits none of the pipelines, unless `leave_out`, and for a value that
    cannot be used.
    """
    current, others = list(pipelines), []
    for setting in settings:
        language = next((one for one in LANGUAGES.values() if one.key_of(setting)), None)
        if language is None:
            others.append(setting)
            continue
        changed = [language.with_setting(one, setting) for one in current]
        if current and not leave_out and not any(changed):
            raise InputError(
                f"{current[0].name} has no stage that {language.key_of(setting)} sets.",
                f"See its stages: workbench systems {current[0].name.partition('@')[0]}",
            )
        current = [new or old for new, old in zip(changed, current, strict=True)]
    return current, others
