"""Public bug reports as `workbench reproduce` ends with them: `python -m benchmarks.reports [REPORTS.yaml]`.

A file of reports has for each reference the text and the question that a person reads in it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import yaml

from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.trying import tried

REPORTS = Path(__file__).parent.parent / "tests" / "reproduce" / "reports.yaml"


def main(file: Path) -> None:
    """Prints a line for each report, and how many end with each verdict."""
    kinds: Counter[str] = Counter()
    for name, given in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        began = time.monotonic()
        verdict = tried(read_report(given["text"]))
        kinds[verdict.kind] += 1
        other = "" if verdict.report.question == given["question"] else " (another question was read)"
        seconds = f"{time.monotonic() - began:5.1f} s"
        print(f"{name:40} {verdict.kind:15} {verdict.report.system:28} {seconds}{other}", flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORTS)
