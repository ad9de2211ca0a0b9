"""The command `workbench`, also as `python -m workbench`: Ctrl-C ends it with a sentence, from the start."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line. It is imported here, so that Ctrl-C is caught meanwhile, too."""
    try:
        from workbench import cli
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr, flush=True)
        raise SystemExit(130) from None
    cli.main()


if __name__ == "__main__":
    main()
