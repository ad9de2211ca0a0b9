"""Writes a case as a test of another project, which needs nothing of the workbench."""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.errors import InputError, unknown_name
from workbench.masking import masked
from workbench.memory.data_files import load_data
from workbench.retrieval.columns import parameters
from workbench.retrieval.pipeline import Pipeline
from workbench.safe_text import one_line
from workbench_plugins.cases.case_index import opened_memory, packed
from workbench_plugins.cases.making import carried
from workbench_plugins.cases.model import CaseFile, secrets_text
from workbench_plugins.cases.running import pipeline_of_case

PLACE = re.compile(r"@(TITLE|REFERENCES|INSTALL|SERVER|ADAPTER|CASE)@")
"""A place in a template of `exports.toml`."""
FORMS = {"pytest": "test_{}.py", "vitest": "{}.test.mjs"}
"""The kinds of test, and the names of their files."""


def exported(case: CaseFile, to: str, project: str) -> str:
    """The text of a test of kind `to` for a project.

    Raises InputError for an unknown kind or project, for a case of lists, and for one that is compared with
    another system.
    """
    if to not in FORMS:
        raise unknown_name("kind of test", to, FORMS, f"Choose {' or '.join(FORMS)}.")
    templates = load_data(__file__, "exports.toml")
    known = templates[f"{to}_for"]
    if project not in known:
        raise unknown_name("project", project, known, f"{to} is written for {', '.join(known)}.")
    adapter = known[project]
    given = case.case
    references = masked(", ".join(given.references) or "none is named")
    caution = f". {told.removesuffix('.')}" if (told := secrets_text(given)) else ""
    parts = {
        "TITLE": one_line(masked(given.title or given.questions[0].question)),
        "REFERENCES": one_line(references + caution),
        "INSTALL": adapter["install"],
        "SERVER": templates["server"] if adapter.get("server") else "",
        "ADAPTER": adapter["adapter"].strip("\n"),
        "CASE": _data(case),
    }
    for name in ("TITLE", "REFERENCES", "INSTALL"):
        parts[name] = parts[name].replace("\\", "/").replace('"', "'")
    # One pass over the template alone: what a case says is put in and never read for places again.
    return PLACE.sub(lambda found: parts[found[1]], templates[to].lstrip("\n"))


def _data(case: CaseFile) -> str:
    """What the test knows, as JSON that may stand in a raw string of Python or of JavaScript."""
    given, pipeline = case.case, pipeline_of_case(case.case.system, case.folder)
    if any(one.expect.same_as for one in given.questions):
        raise InputError(
            "The case compares a system with another one of ours.", "Expect a file, an order or nothing."
        )
    with opened_memory(given, case.folder) as index:
        memory, _, questions = carried(given.questions, index, "float32")
        numbered, vectors = index.vectors()
        passages = [
            {"path": one.path, "text": one.text, "vector": packed(vector, "float32")}
            for one, vector in zip(index.chunks(numbered), vectors, strict=True)
        ]
    data = {
        "notes": {one.path: one.whole for one in memory.notes or ()},
        "passages": passages,
        "questions": [
            {
                "text": one.question,
                "vector": one.vector,
                "expect": one.expect.model_dump(exclude_defaults=True),
            }
            for one in questions
        ],
        "limit": _limit(pipeline),
        "weights": _weights(pipeline),
        "openclaw": _keys(pipeline),
    }
    text = json.dumps(data, indent=1)  # ASCII; no sign of it ends the raw string around it
    return re.sub(r"\\(.)|[`$]", _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    sign = found[1] or found[0]
    return f"\\u{ord(sign):04x}" if sign in '"\\`$' else found[0]


def _limit(pipeline: Pipeline) -> int:
    return next((int(found["count"]) for one in pipeline.stages if "count" in (found := parameters(one))), 10)


def _weights(pipeline: Pipeline) -> list[float]:
    """The weights of the keyword leg and of the vector leg; one half each for a fusion without weights."""
    found = parameters(pipeline["fusion"])
    return [float(found.get(leg, 0.5)) for leg in ("keyword", "vector")]


def _keys(pipeline: Pipeline) -> dict[str, Any]:
    """The settings as an openclaw.json has them; none for another system."""
    if not pipeline.name.startswith("openclaw-"):
        return {}
    try:
        from workbench_plugins.openclaw.config_keys import keys_of
        from workbench_plugins.openclaw.config_values import nested
    except ImportError:
        return {}
    return nested({key.name: key.now for key in keys_of(pipeline)})
