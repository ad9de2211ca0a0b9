"""Reads data from the YAML or TOML file that belongs to a module."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import yaml

from workbench.memory.safe_yaml import LOADER


def load_data(module: str, name: str = "") -> Any:
    """What the YAML or TOML file of this name says, by default the YAML file with the module's own name."""
    file = Path(module).with_name(name) if name else Path(module).with_suffix(".yaml")
    text = file.read_text(encoding="utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else yaml.load(text, LOADER)
