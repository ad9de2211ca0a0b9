"""What is left of the workbench without some features: prints it as one line of JSON.

python -m tests.without FOLDER [FEATURE ...]      blocks these features, and makes an index in FOLDER
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any


class Blocked:
    """An import hook that refuses a feature and all that is in it."""

    def __init__(self, features: list[str]) -> None:
        self.names = tuple(f"workbench_plugins.{feature}" for feature in features)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in self.names or name.startswith(tuple(f"{one}." for one in self.names)):
            raise ImportError(f"{name} is blocked")


def failing() -> dict[str, str]:
    """The modules of rows that cannot be imported, and why."""
    from workbench import registry
    from workbench.cli.commands import rows
    from workbench_plugins import ROWS

    failed: dict[str, str] = {}
    there = {one.where.partition(":")[0] for one in rows().values()}
    for kind in ROWS:
        there |= {row.partition(":")[0] for row in registry._rows_of_features(kind).values()}
    for module in sorted(there):
        try:
            import_module(module)
        except ImportError as error:
            failed[module] = str(error)
    return failed


def printed(*command: str) -> str:
    """What a command of the workbench prints."""
    from workbench import cli

    sys.argv, out = ["workbench", *command], StringIO()
    with suppress(SystemExit), redirect_stdout(out):
        cli.main()
    return out.getvalue()


def found(folder: Path) -> list[str]:
    """The files that a system of the library finds in a small memory."""
    import workbench as wb
    from tests import world

    root, file = world.write(folder / "notes"), folder / "index.sqlite"
    wb.index_folder(root, world.EMBEDDER, options=wb.Options(index_path=file))
    with wb.open_index(root, world.EMBEDDER, index_path=file) as index:
        trace = wb.search("rooibos tea", wb.system("openclaw-2026.2.13"), index)
    return [one.chunk.path for one in trace.results]


if __name__ == "__main__":
    sys.meta_path.insert(0, Blocked(sys.argv[2:]))  # type: ignore[arg-type]
    left = {
        "help": printed("--help"),
        "systems": printed("systems"),
        "found": found(Path(sys.argv[1])),
        "failed": failing(),
    }
    print(json.dumps(left))
