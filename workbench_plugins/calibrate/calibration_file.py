"""A calibration in a file, and `--set calibration=FILE`, which every command with `--set` takes.

The file names the system with its settings, the model and the memory that it was made for. Another system,
and one with other settings, is refused when the file is read; another model or memory when a question is
asked.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.contracts import Context, Index
from workbench.errors import InputError
from workbench.memory.files import read_input
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.safe_yaml import RefusedYamlError, load_yaml
from workbench.records import Trace
from workbench.retrieval.columns import PlainStage
from workbench.retrieval.cutoff import Floor
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.settings import as_settings, every_setting, with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.catalogue import system as system_named
from workbench.systems.languages import Language
from workbench.trust import check_named
from workbench_plugins.calibrate.calibrated import Calibrated
from workbench_plugins.calibrate.floors import with_floor
from workbench_plugins.rerank import (
    RERANKED,
    Rerank,
    Reranker,
    RerankerOfIndex,
    reranker_named,
    with_reranker,
)

KEY = "calibration"
SUFFIX = ".calibration.yaml"
LARGEST_FILE = 100_000


class Calibration(BaseModel):
    """What a file of a calibration says; unknown keys are errors.

    `settings` are those that the calibrated pipeline has beside the named system, as `--set` takes them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    system: str
    model: str
    memory: str
    on: str = ""
    rerank: str = ""
    settings: list[str] = []
    thresholds: dict[str, float] = Field(min_length=1)
    promise: str


def model_of(index: Index) -> str:
    """The model of an index with its revision, or its name alone for an index that is not the workbench's."""
    inner = innermost(index)
    if isinstance(inner, MemoryIndex):
        return f"{inner.store.settings.model} {inner.store.settings.revision}"
    return inner.model if isinstance(inner, OpenIndex) else ""


def memory_of(index: Index) -> str:
    """The folder of the memory, or the name of an index that knows no folder."""
    inner = innermost(index)
    return (isinstance(inner, MemoryIndex) and inner.store.provenance.folder) or inner.name


def calibration_of(found: Calibrated, index: Index, on: str, rerank: str = "") -> Calibration:
    """What is kept of a calibration, with the reranker as `--rerank` names it.

    Raises InputError for a pipeline that no settings of a named system give.
    """
    kept = Calibration(
        system=found.pipeline.name.removesuffix(RERANKED if rerank else ""),
        model=model_of(index),
        memory=memory_of(index),
        on=on,
        rerank=rerank,
        thresholds={name.partition(".")[2]: value for name, value in found.thresholds.items()},
        promise=str(found),
    )
    return kept.model_copy(update={"settings": _settings_of(found.pipeline, kept, bool(rerank))})


def _settings_of(calibrated: Pipeline, kept: Calibration, reranks: bool) -> list[str]:
    """The settings that turn the named system with the kept thresholds into the calibrated pipeline."""
    readers = [one.reranker for one in calibrated.stages if reranks and isinstance(one, Rerank)]
    plain = _made(_named(kept), kept, next(iter(readers), None))
    now = every_setting(plain)
    different = {name: one for name, one in every_setting(calibrated).items() if now.get(name, one) != one}
    settings = as_settings(different)
    if _parts(with_settings(plain, settings)) != _parts(calibrated):
        raise InputError(
            f"No settings turn the system {_named(kept).name} into the pipeline that was calibrated, so no "
            "file can keep this calibration.",
            "Register the pipeline as a system (docs/extending.md), and calibrate that.",
        )
    return settings


def _named(calibration: Calibration) -> Pipeline:
    """The system that a calibration names; a file of settings in its name is left out."""
    return system_named(calibration.system.partition("@")[0])


def _with_settings(calibration: Calibration) -> str:
    """The system of a calibration with its settings, for a sentence."""
    return " with ".join([calibration.system, *filter(None, [", ".join(calibration.settings)])])


def _parts(pipeline: Pipeline) -> tuple[object, ...]:
    return pipeline.stages, pipeline.layout


def _made(
    pipeline: Pipeline, calibration: Calibration, reranker: Reranker | RerankerOfIndex | None
) -> Pipeline:
    """The pipeline with the reranker, the settings and the thresholds of a calibration."""
    reranked = pipeline if reranker is None else with_reranker(pipeline, reranker)
    floored = with_floor(reranked, calibration.on)
    slot = next(one.slot for one in floored.stages if isinstance(one, Floor))
    thresholds = [f"{slot}.{name}={value!r}" for name, value in calibration.thresholds.items()]
    return with_settings(floored, [*calibration.settings, *thresholds])


def save(calibration: Calibration, path: Path) -> None:
    """Writes the file. Raises InputError for a name without the suffix, and for a file that is there."""
    if not path.name.endswith(SUFFIX):
        raise InputError(f"{path} is no name for a calibration.", f"End it in {SUFFIX}.")
    try:
        with path.open("x", encoding="utf-8") as file:
            yaml.safe_dump(calibration.model_dump(), file, sort_keys=False, allow_unicode=True)
    except FileExistsError:
        raise InputError(f"The file {path} is there already.", "Choose another name, or remove it.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from None


def load(path: str | os.PathLike[str]) -> Calibration:
    """The calibration in a file. Raises InputError for a file that cannot be read or is none."""
    text = read_input(path, "The calibration", LARGEST_FILE)
    try:
        return Calibration.model_validate(load_yaml(text))
    except (RefusedYamlError, yaml.YAMLError, ValidationError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"The calibration {path} cannot be used: {reason}",
            "Make it again: workbench calibrate --save FILE",
        ) from None


@dataclass(frozen=True)
class MadeFor(PlainStage, slot=KEY):
    """Refuses an index of another model or memory than a calibration was made for. It changes nothing."""

    only_checks = True
    model: str
    memory: str
    promise: str

    @property
    def description(self) -> str:
        return f"calibration: {self.promise}"

    def run(self, trace: Trace, context: Context) -> Trace:
        for kind, made_for, here in (
            ("model", self.model, model_of(context.index)),
            ("memory", self.memory, memory_of(context.index)),
        ):
            if made_for != here:
                raise InputError(
                    f"The calibration was made for the {kind} {made_for}, and this index has {here}.",
                    "Calibrate again with this index: workbench calibrate",
                )
        return trace


def calibrated_by(pipeline: Pipeline, file: str) -> Pipeline:
    """The pipeline with the settings and thresholds of a file, and with the reranker that the file names.

    Raises InputError for a file that cannot be used, for one that was made for another system, and for a
    pipeline that differs from the calibrated one in anything else.
    """
    calibration = load(file)
    if calibration.system != pipeline.name:
        raise InputError(
            f"The calibration {file} was made for the system {calibration.system}, not for {pipeline.name}.",
            f"Name that system, -s {calibration.system}, or calibrate this one.",
        )
    if ":" in calibration.rerank:  # an address, the name of a model or a folder
        check_named(file, [("reranker", calibration.rerank, f"--rerank {calibration.rerank}")])
    reranker = reranker_named(calibration.rerank) if calibration.rerank else None
    wanted = _made(_named(calibration), calibration, reranker)
    changed = _made(pipeline, calibration, reranker)
    if _parts(changed) != _parts(wanted):
        slots = ", ".join(one.slot for one in wanted.diff(changed))
        raise InputError(
            f"The calibration {file} was made for {_with_settings(calibration)}, and this pipeline differs "
            f"from it in: {slots}.",
            "Leave out the other settings, or calibrate the system with them: workbench calibrate",
        )
    # First of all stages: another index is refused before a leg or a reranker sends anything.
    first = changed.stages[0].slot
    return changed.with_new_stage(
        MadeFor(calibration.model, calibration.memory, calibration.promise), before=first
    )


class CalibrationFile(Language):
    """A calibration as a setting, `--set calibration=FILE`, and as a system, `-s SYSTEM@FILE`."""

    name = KEY
    endings = (SUFFIX,)
    reads_files = True

    def system(self, file: str) -> Pipeline:
        """The system that a calibration was made for, with its thresholds; another one is refused."""
        system, at, path = file.partition("@")
        return calibrated_by(SYSTEMS.named(system if at else load(file).system), path or file)

    def key_of(self, setting: str) -> str:
        """The key, if it is followed by the name of a file."""
        name, _, file = setting.partition("=")
        return KEY if name.strip() == KEY and file.strip() else ""

    def with_setting(self, pipeline: Pipeline, setting: str) -> Pipeline:
        """The pipeline with the thresholds of the file; another system than the file's is refused."""
        return calibrated_by(pipeline, setting.partition("=")[2].strip())


LANGUAGE = CalibrationFile()
