"""What the library knows of OpenVINO before a text is embedded: its precisions, and how it is loaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from workbench.errors import InputError, install_extra
from workbench.memory.embedding.engines import Backend, ModelEngine, Precision


def is_installed() -> bool:
    """Whether OpenVINO, and what it needs to read texts and weights, is installed; nothing is imported."""
    return all(find_spec(package) for package in ("openvino", "safetensors", "tokenizers"))


def load(folder: Path, precision: Precision) -> ModelEngine:
    """The engine of a model's folder. Raises InputError when a package is missing."""
    try:
        from workbench_plugins.openvino.openvino_engine import loaded
    except ModuleNotFoundError as error:
        raise InputError(
            f"The backend openvino needs the package {error.name}, which is not installed.",
            f"{install_extra('fast')}, or leave --backend out.",
        ) from None
    return loaded(folder, precision)


# int8 became int8-2 when its vectors changed: since then it rounds no queries and keys.
BACKEND = Backend("openvino", {"fp32": "fp32", "bf16": "bf16", "int8": "int8-2"}, is_installed, load)
