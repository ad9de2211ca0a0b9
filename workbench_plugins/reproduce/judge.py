"""Asks a language model for what a report does not say in known words; what it says is marked as its own."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from urllib.parse import urlsplit

from workbench.errors import InputError, ProviderError
from workbench.masking import masked
from workbench.retrieval.query import check_question
from workbench.safe_text import one_line
from workbench_plugins.reproduce.reading import PATH, Told
from workbench_plugins.reproduce.report_patterns import WORDS

LONGEST = 20_000
"""Characters of a report that are sent."""


def told(text: str, judge: str) -> Told:
    """What the model of `MODEL@URL` says of a report: question, expected file, and what happened.

    Values that cannot be used are left out. The report is sent without its secrets. Raises InputError for
    another form, ProviderError for a failure.
    """
    from workbench_plugins.providers.clients import RequestError, understood
    from workbench_plugins.providers.reranking import KEY, Service

    model, _, address = judge.partition("@")
    if not (model and address):
        raise InputError("The judge lacks its model or its address.", f"Give MODEL@URL; its key is in {KEY}.")
    service = Service(address, model, os.environ.get(KEY, ""))
    try:
        said = service.chat(WORDS["judge"]["instruction"], masked(text[:LONGEST]))
        with understood():
            values = json.loads(re.findall(r"\{[^{}]*\}", said)[-1])
    except RequestError as error:
        raise ProviderError(
            f"The judge {model} failed: {error.said(service.key)}.",
            "Check its address, its model and its key.",
        ) from None
    given = {name: one_line(one) for name, one in values.items() if isinstance(one, str) and one.strip()}
    return Told(f"{model} at {urlsplit(address).hostname}", _usable(given))


def _usable(given: dict[str, str]) -> dict[str, str]:
    values = {}
    if PATH.fullmatch(given.get("expected", "")):
        values["expected file"] = given["expected"]
    if given.get("happened") in WORDS["happened"]:
        values["what happened"] = given["happened"]
    with suppress(InputError):
        values["question"] = check_question(given.get("question", ""))
    return values
