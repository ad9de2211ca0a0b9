"""What hides words in a note is named if the file is in the answer with the note mended, and nothing else."""

from __future__ import annotations

import base64
import random
import shlex
import subprocess
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from tests import world
from tests.commands import Run
from workbench.errors import InputError
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Trace
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import SYSTEMS, indexing
from workbench_plugins.diagnose.asked import Asked
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.diagnose.question_causes import question_causes
from workbench_plugins.diagnose.readings import READINGS, in_code_page

PIPELINE = SYSTEMS["openclaw-2026.2.13+or"].asking(limit=1)
OTHERS = {
    "memory/shop.md": "# Shop\n\nThe shop sells bilge paint and pumps for wells.\n",
    "memory/barn.md": "# Barn\n\nThe barn has two doors and a ladder.\n",
    "memory/bread.md": "# Bread\n\nThe dough rests for a night.\n",
}
NOTE = "# Bilge pumps\n\nUnder stairs, left.\n"


def soft(text: str) -> str:
    return text.replace("lge", "l\u00adge").replace("mps", "m\u00adps").replace("irs", "\u200birs")


def tagged(text: str) -> str:
    return text.replace("lge", "l<b>ge</b>").replace("mps", "m&#112;s").replace("irs", "i<i>rs</i>")


def broken(text: str) -> str:
    return text.replace("Bilge pumps", "Bil-\nge pum-\nps").replace("stairs", "sta-\nirs")


def joined(text: str) -> str:
    return text.replace("Bilge pumps", "BilgePumps").replace("Under stairs", "Under_stairs")


def mailed(text: str) -> str:
    return f"# Mail\n\n{base64.encodebytes(text.encode()).decode()}\nend\n"


def escaped(text: str) -> str:
    return text.replace("Bilge", "B\\u0069lge").replace("pumps", "p%75mps")


def spaced(text: str) -> str:
    words = text.removeprefix("# ").split()
    return "# " + "  ".join(" ".join(word) for word in words)


def bold(text: str) -> str:
    return "".join(2 * one if one.isalpha() else one for one in text)


def diagnosed(
    tmp_path: Path, text: str, question: str = "bilge pumps stairs", pipeline: Pipeline = PIPELINE
) -> Diagnosis:
    for name, content in {**OTHERS, "memory/pumps.md": text}.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    index_folder(tmp_path / "notes", options=Options(index_path=tmp_path / "index"))
    with open_index(tmp_path / "notes", index_path=tmp_path / "index") as index:
        return diagnose(question, pipeline, index, "memory/pumps.md")


@pytest.mark.parametrize(
    ("hide", "words"),
    [
        (soft, "invisible characters"),
        (tagged, "HTML inside words"),
        (broken, "broken at the end of a line"),
        (joined, "written as one name"),
        (mailed, "a text in base64"),
        (spaced, "blanks between the letters"),
        (escaped, "written as their numbers"),
        (bold, "letters that all stand twice"),
    ],
)
def test_words_that_the_note_hides_are_the_cause(
    tmp_path: Path, hide: Callable[[str], str], words: str
) -> None:
    cause = diagnosed(tmp_path, hide(NOTE)).causes[0]
    assert cause.where == ("note",)
    assert words in cause.description
    assert "bilge" in cause.description
    assert cause.verified


def test_what_hides_one_word_in_two_ways_is_named_with_commands_that_mend_it(
    tmp_path: Path, run: Run
) -> None:
    hidden = {"Bilge": "Bi\u00adlg\u0435", "pumps": "p\u00adum\u0440s", "stairs": "st\u0430i\u00adrs"}
    text = NOTE
    for plain, written in hidden.items():
        text = text.replace(plain, written)
    found = diagnosed(tmp_path, text)
    first = found.causes[0]
    assert "invisible characters inside words and letters of another alphabet" in first.description
    assert first.description.endswith("of the question: bilge, pumps, stairs")
    assert first.verified
    assert "They are in line 1 (“# " in first.evidence
    *mend, index = first.repair.split(" && ")
    assert len(mend) == 2
    subprocess.run(" && ".join(mend), shell=True, check=True, cwd=tmp_path)
    assert (tmp_path / "notes/memory/pumps.md").read_text("utf-8") == NOTE
    assert "\u00ad" in (tmp_path / "notes/memory/pumps.md.old").read_text("utf-8")
    assert run(*shlex.split(index)[1:]).code == 0


def test_accents_apart_from_their_letters_are_the_cause(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, "# Sal´on\n\nCaj´on del ba˜no.\n", "salón cajón baño shop")
    first = found.causes[0]
    assert "accents that stand before their letters" in first.description
    assert first.description.endswith("of the question: baño, cajón, salón")
    assert first.verified


def test_a_pointer_of_git_lfs_is_no_note(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    found = diagnosed(tmp_path, pointer)
    assert found.headline == (
        "Cause: note: memory/pumps.md is a pointer of Git LFS, and its text is not here"
    )
    assert "git lfs pull" in found.causes[0].repair


def test_runs_of_letters_that_are_no_text_stay_as_they_are() -> None:
    decode = next(one.meant for one in READINGS if "base64" in one.has)
    picture = base64.b64encode(bytes(range(256))).decode()
    path = "memory/protocols/falsification/first"
    assert decode(f"{picture}\n{path}") == f"{picture}\n{path}"


def test_pictures_in_base64_that_outweigh_the_text_are_the_cause(tmp_path: Path) -> None:
    inside = base64.b64encode(random.Random(3).randbytes(60)).decode()
    drawn = f"![plan](data:image/png;base64,{inside})"
    words = ("# Stores\n\n", " The bilge ", " pumps ", " are left, under ", " the stairs ", ".\n")
    near = SYSTEMS["anythingllm"].asking(limit=1, min_score=0)
    found = diagnosed(tmp_path, drawn.join(words), pipeline=near)
    assert "5 files written into it as base64" in found.causes[0].description
    assert found.causes[0].verified
    small = diagnosed(tmp_path / "small", f"# Bread\n\n{'The dough rests. ' * 20}{drawn}\n", pipeline=near)
    assert not any("as base64" in one.description for one in small.causes)


def test_a_note_that_hides_nothing_is_no_cause(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, "# Stores\n\nIn a cupboard.\n")
    assert ("note",) not in [one.where for one in found.causes]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_that_fts5_finds_are_not_called_hidden(tmp_path: Path, form: Literal["NFC", "NFD"]) -> None:
    note = unicodedata.normalize(form, "# Küche\n\nDer bilge_pumps Schlüssel hängt hier.\n")
    found = diagnosed(tmp_path, note, "küche pumps barn doors ladder two")
    assert ("note",) not in [one.where for one in found.causes]


def test_a_note_of_pictures_alone_has_no_words_of_its_own(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, "![[IMG_2041.png]]\n")
    assert "no words of its own" in found.headline


def test_an_empty_note_is_named(tmp_path: Path) -> None:
    assert "the file has no text" in diagnosed(tmp_path, "").headline


def test_a_name_that_begins_with_one_small_letter_is_one_word(tmp_path: Path) -> None:
    with world.build(tmp_path, OTHERS) as index:
        asked = Asked("iOS app", PIPELINE, index, lambda trace: "i OS" in trace.question, deep=True)
        assert not [one for one in question_causes(asked) if "one name" in one.description]


@pytest.mark.parametrize(
    ("question", "other", "words"),
    [
        ('title:ladder AND NOT "wells"', "ladder", "search operators (title: AND NOT"),
        ("ladd*", "ladder", "search operators (*)"),
        ("in:memory +ladder -wells", "memory ladder", "search operators (in: + -)"),
        ("ladder without paint for wells", "ladder", "says what is not wanted (“without paint for wells”)"),
        ("what was with the ladder yesterday", "2026-03-17", "does not know which day"),
        ("barn lad der", "ladder", "writes “lad der”, and the note has “ladder”"),
        ("barnLadder", "barn Ladder", "the question has several words written as one name"),
        ("a rope of 5,000 m", "5km", "writes “5,000 m”, and the note has “5km”"),
        ("a rope of five km", "5km", "writes “five km”, and the note has “5km”"),
        ("rung III", "rung 3", "writes “III”, and the note has “3”"),
        ("barn lad<b>d</b>er", "barn ladder", "the question has HTML inside words"),
        ("maxRetryCount", "max_retry_count", "and the note has “max_retry_count”"),
    ],
)
def test_a_form_that_is_read_as_words_is_a_cause_if_the_question_works_without_it(
    tmp_path: Path, question: str, other: str, words: str
) -> None:
    def works(trace: Trace) -> bool:
        return other in trace.question and trace.question != question

    with world.build(tmp_path, OTHERS) as index:
        near = ["# 2026-03-17", "The ladder, rung 3, 5km of rope, max_retry_count"]
        (cause, *_) = question_causes(Asked(question, PIPELINE, index, works, deep=True, near=near))
        assert words in cause.description
        assert cause.verified
        assert other in cause.repair

        def never(_: Trace) -> bool:
            return False

        assert not [one for one in question_causes(Asked(question, PIPELINE, index, never, deep=True))
                    if words in one.description]  # fmt: skip
        assert search(question, PIPELINE, index).question == question


@pytest.mark.parametrize(
    ("question", "wanted", "told"),
    [
        ("a barn but not bread", "memory/barn.md", True),
        ("where is the barn without bread", "memory/barn.md", True),
        ("how long can the barn be without bread", "memory/barn.md", False),
        ("a barn without doors", "memory/barn.md", False),
    ],
)
def test_what_the_question_asks_about_is_no_exception(
    tmp_path: Path, question: str, wanted: str, told: bool
) -> None:
    with world.build(tmp_path, OTHERS) as index:
        asked = Asked(question, PIPELINE, index, lambda trace: trace.question != question, deep=True)
        found = question_causes(replace(asked, wanted=wanted))
    assert any("says what is not wanted" in one.description for one in found) == told


@pytest.mark.parametrize(
    "text",
    [
        "# B\u00adilge\u200b pumps\n\nUn\u00adder stairs.\n",
        "# Bil<b>ge</b> pumps <!-- -->\n\nUnder <i>st</i>airs, 3 < 4 > 2.\n",
        "# Bil-\n  ge pum\u2010\nps\n\n- a list\n-\nUnder sta-\nirs\n",
        "# KÃ¼hlschrank\n\nDer KÃ¼hlschrank fÃ¼r KÃ¶der.\n",
        "# **Bi**lge ~~pu~~mps\n\nUnder __st__airs, _left_, a*b, `x`y.\n",
        "# B i l g e  p u m p s\n\na b c  x\n",
        "# B\\u0069lge \\u00fcber p%75mps %C3%BC\n\n100 % of it.\n",
        "# Вilgе рumрs\n\nUndеr stairs.\n",
        "# Ｂｉｌｇｅ pumps\n\n5 ㎏ and ﬁsh.\n",
        "# Sal´on ¨uber ma¸c ´ımpar\n\nr˚ad, se˜ nor, 5´ 3\n",
        "# BBiillggee ppuummppss noon\n\naabb 1122 aa ßß.\n",
    ],
)
def test_the_command_of_a_reading_writes_the_note_as_it_is_meant(tmp_path: Path, text: str) -> None:
    reading = next(one for one in READINGS if one.command and one.meant(text) != text)
    file = tmp_path / "a note's name.md"
    file.write_text(text, encoding="utf-8")
    subprocess.run(
        reading.command.replace("FILE", shlex.quote(str(file))), shell=True, check=True, cwd=tmp_path
    )
    assert file.read_text("utf-8") == reading.meant(text)
    assert Path(f"{file}.old").read_text("utf-8") == text


def test_the_repair_of_a_note_is_a_line_to_paste(tmp_path: Path, run: Run) -> None:
    found = diagnosed(tmp_path, soft(NOTE))
    assert found.causes[0].verified
    mend, index = found.causes[0].repair.split(" && ")
    subprocess.run(mend, shell=True, check=True, cwd=tmp_path)
    assert run(*shlex.split(index)[1:]).code == 0
    with open_index(tmp_path / "notes", index_path=tmp_path / "index") as opened:
        assert "memory/pumps.md" in search("bilge pumps stairs", PIPELINE, opened).paths()


@pytest.mark.parametrize(
    "text",
    ["# B%75lge\n\nhttps://example.org/a%20b\n", "# Вilgе\n\nЖёлтый насос.\n", "# B\\ud83dlge %FF\n"],
)
def test_a_command_that_would_spoil_other_text_is_not_printed(tmp_path: Path, text: str) -> None:
    found = diagnosed(tmp_path, f"{text}\n{escaped(NOTE)}" if "Ж" not in text else f"{text}\n# Вilgе рumрs\n")
    of_note = [one.repair for one in found.causes if one.where == ("note",)]
    assert of_note
    assert not any(one.startswith("perl") for one in of_note)


def test_a_note_of_which_one_line_is_damaged_is_mended_by_hand(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, "# BÃ¼rste\n\nIn der Küche.\n", "bürste barn")
    (damaged,) = (one for one in found.causes if "UTF-8 that was read" in one.description)
    assert damaged.repair == "restore its letters, then index again"


def test_a_note_that_no_command_mends_is_mended_by_hand(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, tagged(NOTE))
    assert found.causes[0].repair == "write the words without tags and named characters, then index again"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Bil=\nge pum=\nps\n\nUnder sta=\nirs, left=2E\n", "quoted-printable"),
        (NOTE.translate(str.maketrans("ieps", "іерѕ")), "letters of another alphabet"),
    ],
)
def test_a_mail_and_letters_that_look_alike_are_named(tmp_path: Path, text: str, words: str) -> None:
    found = diagnosed(tmp_path, text)
    assert found.causes[0].where == ("note",)
    assert found.causes[0].verified
    assert words in found.headline


@pytest.mark.parametrize("code_page", ["WINDOWS-1251", "KOI8-R"])
def test_letters_of_a_code_page_are_restored(tmp_path: Path, run: Run, code_page: str) -> None:
    note, rival = "# Насос\n\nНасос стоит под лестницей.\n", tmp_path / "notes/memory/rival.md"
    rival.parent.mkdir(parents=True)
    rival.write_text("# House\n\nOur house, that is дома.\n", encoding="utf-8")
    found = diagnosed(tmp_path, note.encode(code_page).decode("latin-1"), "насос под лестницей дома")
    first = found.causes[0]
    assert f"letters in {code_page} that were read in another encoding" in first.description
    assert first.verified


@pytest.mark.parametrize(
    ("code_page", "word", "folded"),
    [
        ("CP850", "på", "pa"),
        ("CP850", "søl", "søl"),
        ("CP437", "σα", "σα"),
        ("MACINTOSH", "på", "pa"),
        ("WINDOWS-1251", "насос", "насос"),
    ],
)
def test_the_command_for_a_code_page_writes_the_note_as_it_is_meant(
    tmp_path: Path, code_page: str, word: str, folded: str
) -> None:
    meant = f"# Note\n\n{word}\n"
    note = meant.encode(code_page).decode("cp1252")
    (reading,) = in_code_page(note, {word: {folded}})
    file = tmp_path / "note.md"
    file.write_text(note, encoding="utf-8")
    subprocess.run(reading.command.replace("FILE", shlex.quote(str(file))), shell=True, check=True)
    assert reading.meant(note) == file.read_text("utf-8") == meant
    assert not in_code_page(note, {"kettle": {"kettle"}})


def test_digits_inside_words_are_named_and_only_words_of_the_question_are_mended(
    tmp_path: Path, run: Run
) -> None:
    """The digits that are meant, as in `h264` and `5km`, stay as they are."""
    rest = "Under 5tair5, 10am, 5km, h264, k8s, mp3, 2fa, y0u.\n"
    found = diagnosed(tmp_path, f"# Bi1ge pump5\n\n{rest}")
    first = found.causes[0]
    assert "pumps.md has digits inside its words, such as “Bi1ge” for “Bilge”, and so" in first.description
    assert first.description.endswith("of the question: bilge, pumps, stairs")
    assert first.verified
    mend, index = first.repair.split(" && ")
    subprocess.run(mend, shell=True, check=True, cwd=tmp_path)
    note = tmp_path / "notes/memory/pumps.md"
    assert note.read_text("utf-8") == f"# Bilge pumps\n\n{rest.replace('5tair5', 'stairs')}"
    assert Path(f"{note}.old").read_text("utf-8") == f"# Bi1ge pump5\n\n{rest}"
    assert run(*shlex.split(index)[1:]).code == 0


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Call at 5am, 8in of it, page5.", "Sam bin pages"),
        ("With h264, k8s, mp3 and 2fa.", "kubernetes"),
        ("In 10 or 50 or 15.", "lo so is ls"),
    ],
)
def test_digits_that_are_meant_hide_no_word(tmp_path: Path, text: str, question: str) -> None:
    found = diagnosed(tmp_path, f"# Stores\n\n{text}\n", question)
    assert not any("digits inside" in one.description for one in found.causes)


@pytest.mark.parametrize("differ", [True, False])
def test_copies_that_crowd_the_answer_are_named(tmp_path: Path, differ: bool) -> None:
    line = "The bilge pumps below the stairs were oiled, dried and painted by two of the crew on day"
    notes = {f"memory/log-{day}.md": f"{line} {day if differ else 1}.\n" for day in range(9)}
    notes["memory/pumps.md"] = "Bilge pumps are below.\n"
    for name, content in notes.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    index_folder(tmp_path / "notes", options=Options(index_path=tmp_path / "index"))
    pipeline = SYSTEMS["openclaw-2026.2.13+or"].asking(limit=3)
    with open_index(tmp_path / "notes", index_path=tmp_path / "index") as index:
        question = "bilge pumps stairs oiled dried painted"
        assert "memory/pumps.md" not in search(question, pipeline, index).paths()
        found = diagnose(question, pipeline, index, "memory/pumps.md")
    near = "nearly the same text in several files crowds the answer: copies"
    assert found.headline == f"Cause: index: {near if differ else 'copies of the same text crowd the answer'}"
    logs = ", ".join(f"memory/log-{day}.md" for day in range(9))
    warning = "; their texts differ in some words, so compare them before you take one away"
    assert found.causes[0].repair == f"keep one of these 9 files: {logs}{warning if differ else ''}"


def test_copies_above_a_file_that_differs_in_a_word_are_named(tmp_path: Path) -> None:
    line = "Weekly check of the van by Catrin: tyres, oil, lights, brakes, horn and belts are fine on day"
    notes = {f"memory/week-{day}.md": f"{line} {day}.\n" for day in range(8)}
    notes["memory/week-9.md"] = f"{line} 9, with one defect, which was noted and is to be mended soon.\n"
    for name, content in notes.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    index_folder(tmp_path / "notes", options=Options(index_path=tmp_path / "index"))
    pipeline = SYSTEMS["openclaw-2026.2.13+or"].asking(limit=10)
    with open_index(tmp_path / "notes", index_path=tmp_path / "index") as index:
        question = "weekly check of the van by Catrin"
        assert "memory/week-9.md" in search(question, pipeline, index).paths()[1:]
        found = diagnose(question, pipeline, index, "memory/week-9.md")
    assert found.headline == "Cause: index: nearly the same text in several files crowds the answer: copies"
    aside, inside, again = found.causes[0].repair.split(" && ")
    for command in (aside, inside):
        assert subprocess.run(shlex.split(command), check=False).returncode == 0
    assert {one.name for one in (tmp_path / "notes-set-aside").iterdir()} == {
        f"week-{day}.md" for day in range(8)
    }
    assert again == f"workbench index {tmp_path / 'notes'} --index {tmp_path / 'index'}"
    assert [one.name for one in (tmp_path / "notes" / "memory").iterdir()] == ["week-9.md"]
    assert "8 files found by this question have nearly the same words" in found.causes[0].evidence
    assert "Their texts differ in some words" in found.causes[0].evidence


def test_an_unknown_file_names_the_folder_that_is_searched_and_only_a_near_name(tmp_path: Path) -> None:
    file = tmp_path / "notes" / "memory" / "2026-02-14-foel-goch.md"
    file.parent.mkdir(parents=True)
    file.write_text("# Foel Goch\n\nA fall.\n", encoding="utf-8")
    index_folder(tmp_path / "notes", options=Options(index_path=tmp_path / "index"))
    with open_index(tmp_path / "notes", index_path=tmp_path / "index") as index:
        far = ("people/medical-cards.md", "memory/2025-nope.md")
        for target, near in (*((one, False) for one in far), ("memory/2026-02-14-foel-gogh.md", True)):
            with pytest.raises(InputError) as error:
                diagnose("a fall", SYSTEMS["recommended"], index, target)
            assert f"The folder that is searched is {tmp_path / 'notes'}. " in error.value.remedy
            assert ("The nearest is" in error.value.remedy) is near


def test_words_that_only_the_front_matter_has_are_the_cause(tmp_path: Path) -> None:
    """Basic Memory's index does not have the front matter; the workbench's own has it."""
    root = tmp_path / "notes"
    front = "---\ntitle: Rota\nsteward: Ottokar\n---\n\n"
    for name, text in {**OTHERS, "memory/rota.md": f"{front}See the table in the office.\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    question, target, release = "who is Ottokar the steward", "memory/rota.md", indexing("bm-0.24.1")
    index_folder(root, options=Options(index_path=tmp_path / "index", like=release))
    with open_index(root, index_path=tmp_path / "index") as index:
        cause = diagnose(question, SYSTEMS[release.name], index, target).causes[0]
    assert "only the front matter of memory/rota.md has these words" in cause.description
    assert cause.verified
    (root / target).write_text(f"{front}See the table. The steward is Ottokar.\n", encoding="utf-8")
    index_folder(root, options=Options(index_path=tmp_path / "index", like=release))
    with open_index(root, index_path=tmp_path / "index") as index:
        assert search(question, SYSTEMS[release.name], index).paths() == [target]


@pytest.mark.parametrize(("fence", "sign"), [("---", ":"), ("+++", "=")])
def test_a_front_matter_that_outweighs_the_text_is_the_cause(tmp_path: Path, fence: str, sign: str) -> None:
    fields = "\n".join(f"field{number}{sign} value {number} of the export" for number in range(60))
    text = f"{fence}\n{fields}\n{fence}\n\nSwans nest here.\n"
    cause = diagnosed(tmp_path, text, "where do the swans nest").causes[0]
    assert cause.description.startswith("the front matter of memory/pumps.md outweighs its text: 1,899 char")
    assert cause.verified


def test_a_file_that_is_not_read_is_indexed_after_its_repair_unless_it_is_a_link(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("cache")))
    (tmp_path / "memory").mkdir()
    for path, text in OTHERS.items():
        (tmp_path / path).write_text(text)
    index_folder(tmp_path, world.EMBEDDER)
    (tmp_path / "memory" / "pumps.txt").write_text(NOTE)
    (tmp_path / "stairs.md").symlink_to(tmp_path / "memory" / "barn.md")
    with open_index(tmp_path, world.EMBEDDER) as index:
        renamed, linked = (
            diagnose("bilge pumps", PIPELINE, index, file).causes[0].repair
            for file in ("memory/pumps.txt", "stairs.md")
        )
    where = shlex.quote(str(tmp_path / "memory" / "pumps"))
    assert renamed == f"mv -n {where}.txt {where}.md && workbench index {shlex.quote(str(tmp_path))}"
    assert linked == "Links are not followed."
