"""Words lead to a symptom; unknown words are said to be unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT
from workbench.errors import InputError, StorageError
from workbench.memory.embedding.local import LocalEmbedder
from workbench_plugins.diagnose.triage import SYMPTOMS, Fit, Triage, triage
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
    ("cosine", "sure", "known"), [(0.551, "clear", True), (0.351, "likely", True), (0.349, "not sure", False)]
)
def test_a_cosine_says_how_sure_a_symptom_is(cosine: float, sure: str, known: bool) -> None:
    fit = Fit(SYMPTOMS[0], cosine, "nothing comes back")
    assert (fit.sure, Triage("nothing", (fit,)).known) == (sure, known)


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
