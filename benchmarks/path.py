"""How much of the workbench one search takes: modules loaded, and functions from `search` to the answer.

python -m benchmarks.path [QUESTION] [SEARCH'S OPTIONS]

Functions are counted from `workbench.retrieval.pipeline.search` to its trace, each once; methods and
properties count, class bodies and comprehensions do not.
"""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

OPTIMISED = 1
"""The flag of a code object that belongs to a function: a class body and a module do not have it."""
OURS = ("workbench", "workbench_plugins")


def main() -> None:
    before = time.perf_counter()
    import workbench

    seconds = time.perf_counter() - before
    from workbench.cli import main as command
    from workbench.retrieval import pipeline

    root, called = Path(workbench.__file__).parent.parent, set()
    search = pipeline.search

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = any(code.co_filename.startswith(f"{root}/{one}/") for one in OURS)
        if event == "call" and ours and code.co_flags & OPTIMISED and not code.co_name.startswith("<"):
            called.add((code.co_filename, code.co_qualname))

    def watched(*given: Any, **more: Any) -> Any:
        sys.setprofile(note)
        try:
            return search(*given, **more)
        finally:
            sys.setprofile(None)

    pipeline.search = watched
    asked = sys.argv[1:] or ["where to send urgent notifications"]
    sys.argv = ["workbench", "search", *asked]
    with redirect_stdout(StringIO()), suppress(SystemExit):
        command()
    modules = [name for name in sys.modules if name.partition(".")[0] in OURS]
    print(f"import workbench: {seconds:.3f} s")
    print(f"modules of ours after the search: {len(modules)}")
    print(f"functions from search to the answer: {len(called)} in {len({file for file, _ in called})} files")


if __name__ == "__main__":
    main()
