"""Asks a language model which parts of a report are facts; each must stand in the report."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from workbench.errors import InputError, ProviderError
from workbench.masking import masked
from workbench.retrieval.query import check_question
from workbench_plugins.reproduce.facts import Fact, Report
from workbench_plugins.reproduce.report_patterns import WORDS

LONGEST = 20_000
"""Characters of a report that are sent."""


def proposed(report: Report, judge: str) -> list[Fact]:
    """The facts that the model of `MODEL@URL` proposes where the report itself has none.

    What does not stand in the report word for word is left out. The report is sent without its secrets.
    Raises InputError for another form, ProviderError for a failure.
    """
    from workbench_plugins.providers.clients import RequestError, understood
    from workbench_plugins.providers.reranking import KEY, Service

    model, _, address = judge.partition("@")
    if not (model and address):
        raise InputError("The judge lacks its model or its address.", f"Give MODEL@URL; its key is in {KEY}.")
    service = Service(address, model, os.environ.get(KEY, ""))
    try:
        said = service.chat(WORDS["judge"]["instruction"], masked(report.text[:LONGEST]))
        with understood():
            values = json.loads(re.findall(r"\{[^{}]*\}", said)[-1])
    except RequestError as error:
        raise ProviderError(
            f"The judge {model} failed: {error.one_line(service.key)}.",
            "Check its address, its model and its key.",
        ) from None
    given = {name: one for name, one in values.items() if isinstance(one, str) and one.strip()}
    return list(_usable(report, given, f"{model} at {urlsplit(address).hostname}"))


def _usable(report: Report, given: dict[str, str], by: str) -> Iterator[Fact]:
    plain = masked(report.text)
    for kind, key in (("question", "question"), ("target", "expected")):
        said = given.get(key, "").strip()
        start = report.text.find(said) if said and said in plain else -1
        if start < 0 or report.of(kind):
            continue
        if kind == "question":
            try:
                check_question(said)
            except InputError:
                continue
        line = report.text.count("\n", 0, start) + 1
        yield Fact(kind, said, start, start + len(said), line, source=f"{by} proposed it")
