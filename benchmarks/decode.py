"""Which formula `workbench decode` finds first for public numbers: `python -m benchmarks.decode [--all]`.

The corpus has numbers of public issues, pages and tests, split by project: decoding was made with one part
before the eyes, and the other was decoded once. A formula is right if the way that is printed has the parts
that the source states; `|` stands between parts of which one is enough. `--all` prints a line for each.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from workbench_plugins.decode.decoding import decode

CORPUS = Path(__file__).with_suffix(".yaml")
RANDOM = 100


@dataclass(frozen=True)
class Known:
    """Numbers with their source, what is printed beside them, and what the right way has in it."""

    source: str
    numbers: list[str]
    way: list[str]
    beside: tuple[str, ...] = ()
    held_out: bool = False

    @property
    def project(self) -> str:
        """The project or page, by which the parts are split."""
        return self.source.partition("#")[0].partition(",")[0].partition(" (")[0].lower()


def corpus() -> list[Known]:
    """The numbers. Raises ValueError where a project is in both parts."""
    found = [Known(**one) for one in yaml.safe_load(CORPUS.read_text(encoding="utf-8"))]
    parts = [{one.project for one in found if one.held_out == held} for held in (False, True)]
    if parts[0] & parts[1]:
        raise ValueError(f"projects in both parts: {', '.join(parts[0] & parts[1])}")
    return found


def outcome(known: Known) -> tuple[bool, bool]:
    """Whether the first formula is the right one, and whether one is claimed."""
    found = decode(known.numbers, known.beside)
    if not found.fits:
        return False, False
    told = " ".join(way.text for way in found.fits[0].ways)
    right = all(any(one in told for one in part.split("|")) for part in known.way)
    return right, bool(found.claimed)


def random_claims(seed: int) -> int:
    """How many of RANDOM random numbers get a claim; they have three to seven decimals."""
    rng = np.random.default_rng(seed)
    drawn = [f"{rng.random():.{rng.integers(3, 8)}f}" for _ in range(RANDOM)]
    return sum(bool(decode([one]).claimed) for one in drawn)


def main() -> None:
    """Prints the figures of both parts, and with --all a line for each number."""
    found = corpus()
    outcomes = [outcome(one) for one in found]
    for held_out, said in ((False, "with which it was made"), (True, "held out")):
        part = [made for one, made in zip(found, outcomes, strict=True) if one.held_out == held_out]
        right, claimed = (sum(one[place] for one in part) for place in (0, 1))
        false = sum(claim and not first for first, claim in part)
        print(
            f"{said}: right formula first in {right} of {len(part)}; claimed {claimed}, of which {false} "
            "are another formula"
        )
    if "--all" in sys.argv:
        for one, (right, claimed) in zip(found, outcomes, strict=True):
            mark = "right" if right else "WRONG" if claimed else "not first"
            told = decode(one.numbers, one.beside).answer
            print(f"{'held' if one.held_out else 'made'} {mark:9} {one.source}: {told}")
    print(f"of {RANDOM} random numbers, {random_claims(101)} get a claim")


if __name__ == "__main__":
    main()
