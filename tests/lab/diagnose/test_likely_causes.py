"""What a stranger's notes showed: a likely cause of the question itself is told, and an accident is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import world
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Trace
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.diagnose.asked import Asked
from workbench_plugins.diagnose.chunk_causes import _sentences
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.languages import likely_language
from workbench_plugins.diagnose.question_causes import causes_of_words, other_words
from workbench_plugins.diagnose.question_language import in_another_language
from workbench_plugins.diagnose.question_syntax import syntax_causes
from workbench_plugins.diagnose.short_forms import short_form_causes
from workbench_plugins.diagnose.written_otherwise import written_otherwise

pytestmark = pytest.mark.usefixtures("embedded_once")

SYSTEM = SYSTEMS["openclaw-2026.2.13+or+rrf+minmax"]


def asking(index: MemoryIndex, question: str, target: str, *works: str) -> Asked:
    """A question that only some other questions mend."""

    def as_wanted(trace: Trace) -> bool:
        return trace.question in works

    return Asked(question, SYSTEM, index, as_wanted, deep=True, wanted=target)


def test_a_word_that_only_another_note_has_corrects_no_word_of_the_question(tmp_path: Path) -> None:
    notes = {
        "memory/dog.md": "The dog swam in the lake.\n",
        "memory/bill.md": "Write to ruiz-tiere.example.\n",
    }
    with world.build(tmp_path, notes) as index:
        better = "which tiere of the dog"
        assert causes_of_words(asking(index, "which titre of the dog", "memory/dog.md", better)) == []
        (cause,) = causes_of_words(asking(index, "which titre of the dog", "memory/bill.md", better))
        assert cause.description == "no note has titre; the notes have tiere"


def test_only_the_words_that_have_to_be_corrected_are_told(tmp_path: Path) -> None:
    notes = {"memory/fridge.md": "A note on vaccines: the fridge was open.\n"}
    both, one = "fridge open all note vaccines", "fridge open all nite vaccines"
    with world.build(tmp_path, notes) as index:
        (cause,) = causes_of_words(
            asking(index, "fridge open all nite vacines", "memory/fridge.md", both, one)
        )
        assert cause.description == "no note has vacines; the notes have vaccines"
        assert one in cause.repair


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Reisepass Nora: gültig bis 14.08.2027. Termin im Bürgerbüro, Foto mitbringen", "German"),
        ("Versicherung Schaden Brand Werkstatt", "German"),
        ("E-57, EF-19A, 276098106234417", ""),
        ("nginx", ""),
    ],
)
def test_letters_tell_a_language_where_function_words_do_not(text: str, language: str) -> None:
    assert likely_language([text]) == language


def test_a_question_whose_letters_tell_its_language_is_told_to_have_them(tmp_path: Path) -> None:
    english = "This is the dog, and that was what we had when it was at the lake with all of the others.\n"
    with world.build(tmp_path, {"memory/fire.md": english}) as index:
        asked = asking(index, "Versicherung Schaden Brand Werkstatt", "memory/fire.md")
        (cause,) = in_another_language(asked)
        assert cause.evidence.startswith("the letters of the question are most likely German; ")


def test_a_list_in_another_language_is_told_as_the_cause(tmp_path: Path) -> None:
    german = "# Papiere\n\nReisepass Leo: läuft am 02.05.2026 ab! Biometrisches Foto mitbringen.\n"
    english = "This is the dog, and that was what we had when it was at the lake with all of the others.\n"
    notes = {"memory/papiere.md": german, "memory/dog.md": english, "memory/cat.md": english}
    with world.build(tmp_path, notes) as index:
        asked = asking(index, "when does the passport expire", "memory/papiere.md")
        (cause,) = in_another_language(asked)
        assert cause.description == "the question is in English, and memory/papiere.md is in German"
        assert cause.repair.startswith("ask in German")


def test_a_negation_behind_another_not_is_told(tmp_path: Path) -> None:
    notes = {"memory/trip.md": "The trip was called off for the fire; a refund came.\n"}
    better = "trip that was not taken, how much refund"
    with world.build(tmp_path, notes) as index:
        asked = asking(
            index, "trip that was not taken, not Norway, how much refund", "memory/trip.md", better
        )
        (cause,) = syntax_causes(asked)
        assert cause.description.startswith("the question says what is not wanted (“not Norway”)")


@pytest.mark.parametrize(
    ("question", "better"),
    [
        ("who have I still not written back to", "who have I still"),
        ("why did one colony not survive the cold season", "why did one colony"),
        ("where did we not find anything because of flames", "where did we"),
    ],
)
def test_a_negation_that_the_question_asks_about_is_no_exception(
    tmp_path: Path, question: str, better: str
) -> None:
    with world.build(tmp_path, {"memory/log.md": "Nothing was answered; Hive 2 died.\n"}) as index:
        assert list(syntax_causes(asking(index, question, "memory/log.md", better))) == []


def test_the_whole_of_a_relative_day_is_replaced(tmp_path: Path) -> None:
    with world.build(tmp_path, {"memory/2026-11-27.md": "# 2026-11-27\nWe sang.\n"}) as index:
        asked = Asked(
            "what did we do the day before yesterday", SYSTEM, index,
            lambda trace: trace.question == "what did we do 2026-11-27",
            deep=True, near=["# 2026-11-27\nWe sang.\n"],
        )  # fmt: skip
        (cause,) = syntax_causes(asked)
        assert "the question says “the day before yesterday”" in cause.description


def test_a_function_word_is_no_short_form_and_one_is_no_number(tmp_path: Path) -> None:
    note = "Repas en commun. Hive 1 is quiet; the ATM is broken.\n"
    with world.build(tmp_path, {"memory/note.md": note}) as index:

        def better(question: str, *works: str) -> list[str]:
            asked = Asked(
                question, SYSTEM, index, lambda trace: trace.question in works, deep=True, near=[note]
            )
            return [one.description for one in (*short_form_causes(asked), *written_otherwise(asked))]

        assert better("who cannot eat nuts", "who cannot en") == []
        assert better("why did one hive die", "why did 1 hive die") == []
        assert better("asynchronous transfer machine", "ATM") == [
            "the question writes “asynchronous transfer machine” in full, and the note short: “ATM”"
        ]


def test_endings_are_no_cause_where_no_leg_compares_words(tmp_path: Path) -> None:
    with world.build(tmp_path, {"memory/order.md": "It comes late.\n"}) as index:
        for name, told in (("openclaw-2026.2.13-vector-only", 0), (SYSTEM.name, 1)):
            asked = Asked(
                "which did not come yet", SYSTEMS[name], index,
                lambda trace: trace.question == "which did not comes yet", deep=True,
            )  # fmt: skip
            assert len(other_words(asked)) == told


def test_signs_that_make_one_phrase_of_a_question_are_told(tmp_path: Path) -> None:
    notes = {
        "memory/pig.md": "The stone of the guinea pig weighed 2.1 g.\n",
        "memory/tea.md": "Rooibos tea.\n",
    }
    question, better = "stone of the guinea pig on 17.02.2026", "stone of the guinea pig on"
    with world.build(tmp_path, notes) as index:
        asked = Asked(question, SYSTEMS["bm-head"], index, lambda trace: trace.question == better, deep=True)
        (cause,) = syntax_causes(asked)
        assert "because of the signs in “17.02.2026”" in cause.description
        both, parted = f"the pig's {question}", "the pig s stone of the guinea pig on 17 02 2026"
        of_both = Asked(both, SYSTEMS["bm-head"], index, lambda trace: trace.question == parted, deep=True)
        (cause,) = syntax_causes(of_both)
        assert "because of the signs in “17.02.2026”" in cause.description  # the apostrophe does no harm
        plain = Asked(question, SYSTEM, index, lambda trace: trace.question == better, deep=True)
        assert list(syntax_causes(plain)) == []  # this system asks for each word


def test_no_passage_ends_within_a_name_or_behind_the_day_of_a_date() -> None:
    text = (
        "The copy ev_20260212.bak (0x80070070) failed. Termin am 7. April, 10:20 Uhr. Call 07021 99120 now!"
    )
    assert _sentences(text) == [
        "The copy ev_20260212.bak (0x80070070) failed.",
        "Termin am 7. April, 10:20 Uhr.",
        "Call 07021 99120 now!",
    ]


def test_a_deleted_file_is_said_to_be_gone(tmp_path: Path) -> None:
    folder, file = world.write(tmp_path / "notes"), tmp_path / "i.sqlite"
    index_folder(folder, world.EMBEDDER, options=Options(index_path=file))
    (folder / "memory/tea.md").unlink()
    with MemoryIndex.open(file, world.EMBEDDER, folder) as index:
        found = diagnose("bike hub", SYSTEM, index, "memory/tea.md")
    cause = found.causes[0]
    assert cause.description == "the file was deleted since it was indexed; the index still has its text"
    assert cause.repair == f"workbench index {folder} --index {file}"


def test_a_leg_that_was_not_asked_says_why(tmp_path: Path) -> None:
    with world.build(tmp_path) as index:
        trace = search("where is the rooibos tea", SYSTEMS["qmd-2.8.3-no-models"], index)
        assert "it searches for other wordings of the question, and none was made" in trace.empty_legs
        assert "no word that it can search" not in trace.empty_legs
