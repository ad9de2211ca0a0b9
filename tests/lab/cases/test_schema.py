"""docs/case.schema.json is the schema of the model in this version."""

from __future__ import annotations

import json

from tests.conftest import PROJECT
from workbench.lab.cases.model import schema

FILE = PROJECT / "docs" / "case.schema.json"
RENEW = "Write json.dumps(workbench.lab.cases.model.schema(), indent=2) to docs/case.schema.json."


def test_the_published_schema_is_that_of_the_model() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == schema(), RENEW


def test_every_part_of_a_case_refuses_unknown_keys() -> None:
    parts = [schema(), *schema()["$defs"].values()]
    assert [one["title"] for one in parts if one.get("additionalProperties") is not False] == []
