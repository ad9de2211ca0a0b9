"""The reference pages say what the code says now."""

from __future__ import annotations

import pytest

from docs import reference
from tests.conftest import PROJECT


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_reference_page_is_up_to_date(name: str) -> None:
    page = (PROJECT / "docs" / name).read_text(encoding="utf-8")
    assert page == reference.PAGES[name](), f"docs/{name} is out of date. Run: {reference.RENEW}"


def test_every_command_and_every_system_is_on_its_page() -> None:
    commands, systems = reference.commands_page(), reference.systems_page()
    assert "\n## case run\n" in commands
    assert "\n## search\n" in commands
    assert all(f"\n## {name}\n" in systems for name in reference.SYSTEMS)


def test_the_shape_of_data_joins_the_types_of_a_key() -> None:
    found = reference.shape({"hits": [{"score": 0.5}, {"score": None}], "empty": []})
    assert found == {"hits": "list", "hits[].score": "null or number", "empty": "list"}
