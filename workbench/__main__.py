"""`python -m workbench` is the command line."""

from __future__ import annotations

from workbench.cli import main

main()
