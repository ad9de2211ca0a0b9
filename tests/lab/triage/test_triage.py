"""Words lead to a symptom; unknown words are said to be unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT
from workbench.errors import InputError, StorageError
from workbench.memory.embedding.local import LocalEmbedder
from workbench_plugins.diagnose.triage import SYMPTOMS, Fit, Triage, pieces, triage
from workbench_plugins.engines.museum import SPECIMENS


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.getbasetemp() / "triage-cache"
    monkeypatch.setenv("WORKBENCH_HOME", str(folder))


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


TOLD = yaml.safe_load(Path(__file__).with_name("told.yaml").read_text(encoding="utf-8"))
"""Words, and the symptom that they lead to, or that is among the first two."""


@pytest.mark.parametrize(("words", "name"), TOLD["first"].items())
def test_words_lead_to_their_symptom(words: str, name: str, embedder: LocalEmbedder) -> None:
    found = triage(words, embedder)
    assert found.fits[0].symptom.name == name
    assert found.known
    assert triage(words, embedder) == found


@pytest.mark.parametrize(("words", "name"), TOLD["among the first two"].items())
def test_other_words_for_it_have_the_symptom_among_the_first_two(
    words: str, name: str, embedder: LocalEmbedder
) -> None:
    assert name in [one.symptom.name for one in triage(words, embedder).fits[:2]]


@pytest.mark.parametrize("words", ["the printer is on fire", "how do I bake bread"])
def test_unknown_words_get_the_nearest_symptom_and_no_promise(words: str, embedder: LocalEmbedder) -> None:
    found = triage(words, embedder)
    assert not found.known
    assert found.fits[0].sure == "not sure"


@pytest.mark.parametrize(
    ("cosine", "sure", "known"), [(0.651, "clear", True), (0.501, "likely", True), (0.499, "not sure", False)]
)
def test_a_cosine_says_how_sure_a_symptom_is(cosine: float, sure: str, known: bool) -> None:
    fit = Fit(SYMPTOMS[0], cosine, "nothing comes back")
    assert (fit.sure, Triage("nothing", (fit,)).known) == (sure, known)


REPORTS = yaml.safe_load(Path(__file__).with_name("reports.yaml").read_text(encoding="utf-8"))["others"]


def test_most_public_issues_lead_to_a_right_symptom_and_others_to_none(embedder: LocalEmbedder) -> None:
    told = {name: triage(one["text"], embedder) for name, one in REPORTS.items()}
    about = [name for name, one in REPORTS.items() if "fits" in one]
    right = [
        name
        for name in about
        if told[name].known and told[name].fits[0].symptom.name in REPORTS[name]["fits"]
    ]
    refused = [name for name in REPORTS if name not in about and not told[name].known]
    assert len(right) >= 0.75 * len(about)
    assert len(refused) >= 0.75 * (len(REPORTS) - len(about))


def test_a_report_is_its_title_and_sentences_without_code_and_boxes() -> None:
    text = (
        "# It is slow\n- [x] I have searched all issues\n```\nno code at all\n```\nOne is of four words. Two."
    )
    assert pieces(text) == ["It is slow", "One is of four words."]


def test_words_that_are_a_sign_count_and_are_named(embedder: LocalEmbedder) -> None:
    found = triage("my hyphen troubles", embedder)
    assert (found.fits[0].symptom.name, found.fits[0].sign) == (
        "words with punctuation are not found",
        "hyphen",
    )


def test_blank_words_are_refused(embedder: LocalEmbedder) -> None:
    with pytest.raises(InputError):
        triage("  ", embedder)


def test_every_symptom_leads_to_specimens_and_to_a_lesson() -> None:
    for one in SYMPTOMS:
        assert one.specimens
        assert set(one.specimens) <= set(SPECIMENS)
        assert (Path(PROJECT) / "notebooks" / f"{one.lesson}.ipynb").is_file()


def test_a_cache_that_cannot_be_written_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: LocalEmbedder
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(StorageError, match=r"cannot be written.*\n.*WORKBENCH_HOME"):
        triage("nothing is found", embedder)
