"""The command line.

Exit codes: 0 yes; 1 no (nothing returned, the target is not in the answer, something is missing on this
machine); 2 the input cannot be used; 3 the storage fails; 4 an embedding provider fails; 70 a mistake
in the workbench itself; 130 interrupted with Ctrl-C.
"""

from __future__ import annotations

import atexit
import signal
import sys
from typing import Any, NoReturn


def main(command: Any = None) -> NoReturn:
    """Runs the command line, or another application of typer.

    Ctrl-C ends it with a sentence, also while modules load; after the answer it has nothing to end.
    """
    try:
        from workbench.cli.entry import run  # which loads typer, a tenth of a second

        run(command)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr, flush=True)
        raise SystemExit(130) from None
    finally:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
