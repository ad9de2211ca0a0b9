"""The command `workbench`: Ctrl-C ends it with a sentence from the first import of ours on."""

import sys


def main() -> None:
    """Runs the command line. The package is imported here, so that Ctrl-C is caught meanwhile, too."""
    try:
        from workbench import cli
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr, flush=True)
        raise SystemExit(130) from None
    cli.main()
