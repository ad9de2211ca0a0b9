"""Each engine against its package: what is recorded of it, and the package itself where it is installed.

Python sums floats with fewer roundings since 3.12, so the record has the lists of 3.11 for equal scores.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.fusion_packages import PACKAGES, Package, Pairs, answer, pairs
from workbench_plugins.engines.presets import ENGINES, fuse

RECORD: dict[str, dict[str, Any]] = json.loads(
    gzip.decompress((PROJECT / "tests" / "records" / "fusions.json.gz").read_bytes())
)
MODULES = {
    "qdrant-client": "qdrant_client",
    "langchain-classic": "langchain_classic",
    "llama-index-core": "llama_index",
    "haystack-ai": "haystack",
    "milvus-lite": "milvus_lite",
}
"""The modules of packages with another name than theirs."""

every_package = pytest.mark.parametrize(("name", "package"), PACKAGES.items(), ids=list(PACKAGES))


def assert_same(name: str, package: Package, theirs: list[Pairs | None]) -> None:
    """Equal scores for equal ids, and their order falls by our scores; ties may stand in any order."""
    compared = 0
    for (vector, keyword), their in zip(pairs(), theirs, strict=True):
        if their is None:
            continue
        ours = {hit.id: hit.score for hit in fuse(ENGINES[name].fusion, dict(vector), dict(keyword))}
        assert {one for one, _ in their} == ours.keys()
        near = {"rel": package.within, "abs": package.within}
        for one, score in their:
            assert math.isnan(score) or ours[one] == pytest.approx(score, **near)
        in_their_order = [ours[one] for one, _ in their]
        for above, below in pairwise(in_their_order):
            assert above >= below - package.within * max(1.0, abs(above))
        compared += 1
    assert compared >= 120


def equal(pair: tuple[Pairs, Pairs]) -> bool:
    """Whether a list of several hits has one score only."""
    return any(len(leg) > 1 and len({score for _, score in leg}) == 1 for leg in pair)


@every_package
def test_an_engine_fuses_as_the_record_of_its_package(name: str, package: Package) -> None:
    theirs = RECORD[name]["lists"]
    if sys.version_info >= (3, 12):
        theirs = [None if equal(pair) else one for pair, one in zip(pairs(), theirs, strict=True)]
    assert_same(name, package, theirs)


@every_package
def test_an_engine_fuses_as_its_package_that_is_installed(name: str, package: Package) -> None:
    module = MODULES.get(package.distribution, package.distribution)
    if find_spec(module) is None:
        pytest.skip(f"{package.distribution} is not installed")
    assert_same(name, package, [answer(package.fuse, *pair) for pair in pairs()])


def test_the_pairs_have_ties_gaps_and_empty_and_single_lists() -> None:
    lists = [leg for pair in pairs() for leg in pair]
    sizes = {len(one) for one in lists}
    assert {0, 1} < sizes
    assert any(map(equal, pairs()))
    assert any(len(one) > len({score for _, score in one}) for one in lists)
    assert any({name for name, _ in vector} - {name for name, _ in keyword} for vector, keyword in pairs())
