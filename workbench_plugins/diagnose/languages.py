"""The language of a text, told by its function words, by its script, or by its letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from workbench.memory.data_files import load_data
from workbench_plugins.diagnose.asked import lower_words
from workbench_plugins.diagnose.unread_scripts import script

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LANGUAGES = {
    name: frozenset(text.split()) for name, text in load_data(__file__, "question_languages.toml").items()
}
ALSO_ENGLISH = frozenset(LANGUAGES.pop("also English"))
"""Function words of other languages that an English question may have: one alone tells nothing."""
FUNCTION_WORDS = frozenset().union(*LANGUAGES.values())


CODES = {
    "English": "en", "German": "de", "French": "fr", "Spanish": "es", "Italian": "it", "Portuguese": "pt",
    "Dutch": "nl", "Polish": "pl", "Czech": "cs", "Slovak": "sk", "Hungarian": "hu", "Romanian": "ro",
    "Swedish": "sv", "Danish": "da", "Norwegian": "no", "Turkish": "tr", "Finnish": "fi",
}  # fmt: skip
"""The codes of the same languages in ISO 639-1."""
LEAST_LETTERS = 20
"""A text of fewer letters may be in any language."""
SURE = 0.9
"""The least probability of a language among these."""


def language_of(texts: Sequence[str], least: int = 2) -> tuple[str, list[str]]:
    """The language, or the script, of most function words of some texts, and these words; empty if unclear.

    It needs `least` different words of two letters or more, and more than any other language has, or a third
    of all words in another script. The one letter of "w/o" or "c/o" tells nothing.

    >>> language_of(["Wo ist der Schlüssel für die Scheune?"])
    ('German', ['wo', 'ist', 'der', 'für', 'die'])
    """
    words = list(lower_words(texts))
    scripts = Counter(name for name in map(script, words) if name and name != "Latin with accents")
    if scripts and 3 * scripts.total() >= len(words):
        name = scripts.most_common(1)[0][0]
        return name, [word for word in dict.fromkeys(words) if script(word) == name]
    counts = Counter(words)
    shares = {name: sum(counts[word] for word in some) for name, some in LANGUAGES.items()}
    (first, most), (_, second), *_ = Counter(shares).most_common()
    found = [word for word in dict.fromkeys(words) if word in LANGUAGES[first]]
    enough = sum(len(word) > 1 for word in found) >= least
    return (first, found) if enough and most > second else ("", [])


def likely_language(texts: Sequence[str]) -> str:
    """The language of texts by their function words or script, or else by their letters; empty if unclear.

    Source of the letters: py3langid, after Lui and Baldwin 2012, langid.py.

    >>> likely_language(["Reisepass: läuft im Mai ab! Foto mitbringen"]), likely_language(["E-57, EF-19A"])
    ('German', '')
    """
    name, _ = language_of(texts)
    text = "\n".join(texts)
    if name or sum(map(str.isalpha, text)) < LEAST_LETTERS:
        return name
    code, probability = _identifier().classify(text)
    return next(one for one in CODES if CODES[one] == code) if probability >= SURE else ""


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # a fifth of a second

    made = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    made.set_languages([*CODES.values()])
    return made


def spoken(language: str) -> str:
    """A language as a sentence names it; of a script, that it is a language written in it.

    >>> spoken("German"), spoken("Chinese and Japanese"), spoken("Cyrillic")
    ('German', 'Chinese or Japanese', 'a language written in Cyrillic')
    """
    if language in LANGUAGES:
        return language
    return language.replace(" and ", " or ") if " and " in language else f"a language written in {language}"
