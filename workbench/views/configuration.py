"""An OpenClaw configuration in words: the settings in use, and what each of its keys does here."""

from __future__ import annotations

from typing import Any

from workbench.safe_text import masked
from workbench.systems.openclaw.config.system import Configuration

MARKS = {"used": "✓", "no effect": "–", "unknown": "?"}


def configuration_text(made: Configuration) -> str:
    """The settings in use, then one line per key: ✓ used, – no effect, ? unknown. Secrets are masked."""
    lines = [f"{name:<10} {value}" for name, value in _summary(made).items()]
    keys = [f"{MARKS[one.fate]} {one.key} = {one.value}\n    {one.says}" for one in made.findings]
    return masked("\n".join([*lines, "", *(keys or ["The file sets no key of memory search."])]))


def configuration_data(made: Configuration) -> dict[str, Any]:
    """The same for JSON."""
    keys = [{name: masked(text) for name, text in one._asdict().items()} for one in made.findings]
    return {**{name: masked(text) for name, text in _summary(made).items()}, "keys": keys}


def _summary(made: Configuration) -> dict[str, str]:
    return {
        "agent": made.agent,
        "system": made.pipeline.name,
        "release": f"{made.choice.release}, because {made.choice.why}",
        "model": made.model or "the workbench's own",
        "chunker": made.chunker.name,
        "store": str(made.store),
    }
