"""A calibration in a file, and `--set calibration=FILE`, which every command with `--set` takes.

The file names the system, the model and the memory that it was made for. With another system it is refused
when it is read, and with another model or memory when a question is asked.
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
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.languages import Language
from workbench.trust import check_named
from workbench_plugins.calibrate.calibrated import Calibrated
from workbench_plugins.calibrate.floors import with_floor
from workbench_plugins.rerank import RERANKED, reranker_named, with_reranker

KEY = "calibration"
SUFFIX = ".calibration.yaml"
LARGEST_FILE = 100_000


class Calibration(BaseModel):
    """What a file of a calibration says; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    system: str
    model: str
    memory: str
    on: str = ""
    rerank: str = ""
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
    """What is kept of a calibration, with the reranker as `--rerank` names it."""
    return Calibration(
        system=found.pipeline.name.removesuffix(RERANKED if rerank else ""),
        model=model_of(index),
        memory=memory_of(index),
        on=on,
        rerank=rerank,
        thresholds={name.partition(".")[2]: value for name, value in found.thresholds.items()},
        promise=str(found),
    )


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
    """The pipeline with the thresholds of a file, and with the reranker that the file names.

    Raises InputError for a file that cannot be used, and for one that was made for another system.
    """
    calibration = load(file)
    if calibration.system != pipeline.name:
        raise InputError(
            f"The calibration {file} was made for the system {calibration.system}, not for {pipeline.name}.",
            f"Name that system, -s {calibration.system}, or calibrate this one.",
        )
    if calibration.rerank:
        if ":" in calibration.rerank:  # an address, the name of a model or a folder
            check_named(file, [("reranker", calibration.rerank, f"--rerank {calibration.rerank}")])
        pipeline = with_reranker(pipeline, reranker_named(calibration.rerank))
    floored = with_floor(pipeline, calibration.on)
    stage = next(one for one in floored.stages if isinstance(one, Floor))
    settings = [f"{stage.slot}.{name}={value!r}" for name, value in calibration.thresholds.items()]
    changed = with_settings(floored, settings)
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
