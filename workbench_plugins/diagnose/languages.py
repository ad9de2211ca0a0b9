"""The language of a text, told by its function words or by its script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.memory.data_files import load_data
from workbench_plugins.diagnose.asked import lower_words
from workbench_plugins.diagnose.unread_scripts import script

LANGUAGES = {
    name: frozenset(text.split()) for name, text in load_data(__file__, "question_languages.toml").items()
}
ALSO_ENGLISH = frozenset(LANGUAGES.pop("also English"))
"""Function words of other languages that an English question may have: one alone tells nothing."""
FUNCTION_WORDS = frozenset().union(*LANGUAGES.values())


def language_of(texts: Sequence[str], least: int = 2) -> tuple[str, list[str]]:
    """The language, or the script, of most function words of some texts, and these words; empty if unclear.

    It needs `least` different words, and more than any other language has, or a third of all words in another
    script.

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
    return (first, found) if len(found) >= least and most > second else ("", [])


def spoken(language: str) -> str:
    """A language as a sentence names it; of a script, that it is a language written in it.

    >>> spoken("German"), spoken("Chinese and Japanese"), spoken("Cyrillic")
    ('German', 'Chinese or Japanese', 'a language written in Cyrillic')
    """
    if language in LANGUAGES:
        return language
    return language.replace(" and ", " or ") if " and " in language else f"a language written in {language}"
