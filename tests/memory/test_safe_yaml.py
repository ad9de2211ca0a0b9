"""Any YAML of others is a value or one of two errors."""

from __future__ import annotations

import pytest
import yaml

from workbench.memory.safe_yaml import RefusedYamlError, load_yaml


@pytest.mark.parametrize(
    "text",
    [
        "!!timestamp x", "!!timestamp [1]", "!!bool x", "!!int x", "!!int ''", "!!float x", "!!float '1:x'",
        "!!null [1]", "!!binary é", "!!omap 5", "!!pairs [1]", "!!set 4", "{<<: 5}", "=", "a: 2026-13-45",
        "2026-01-01T99:99:99Z", "2026-01-01T00:00:00+99:99", "a: \ud800", 'a: "\\ud800"', "a: \0",
        "? [a]\n: 1", "0b" + "1" * 100_000, "9" * 100_000, "!!python/name:os.system", "*a",
        "[" * 31 + "]" * 31, "---\n---\n",
    ],
)  # fmt: skip
def test_an_odd_value_is_refused(text: str) -> None:
    with pytest.raises((RefusedYamlError, yaml.YAMLError)):
        load_yaml(text)


def test_values_are_those_of_yaml() -> None:
    assert load_yaml("a: [1, 0.5, yes, null, 0x1F]") == {"a": [1, 0.5, True, None, 31]}
