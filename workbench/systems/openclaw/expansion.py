"""The keywords of a conversational question: stop words are removed, scripts without spaces are split.

The rules are OpenClaw's (2026.9.6, query-expansion.ts). The sets of stop words are our own, with about the
stated sizes: function words, vague words for times and things, and words of request.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from workbench.retrieval.query import BLANKS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words(
    # articles, pronouns and demonstratives
    "a an the this that these those i me my we our you your he she it its they them "
    # auxiliaries
    "is are was were be been being have has had do does did will would could should can may might "
    # prepositions and conjunctions
    "in on at to for of with by from about into through during between above below under over before after "
    "and or but if then because as while when where what which who how why "
    # vague times and things
    "yesterday today tomorrow earlier later recently ago now just "
    "thing things stuff something anything everything nothing "
    # words of request
    "please help find show get tell give"
)

SPANISH = _words(
    "el la los las un una unos unas este esta ese esa yo me mi tu tus su usted ustedes "
    "nosotros nosotras ellos ellas de del a en con por para sobre entre y o pero si porque como es son fue "
    "fueron ser estar haber tener hacer ayer hoy mañana antes después ahora recientemente que qué cómo "
    "cuando cuándo donde dónde favor ayuda"
)

PORTUGUESE = _words(
    "o a os as um uma uns umas este esta esse essa eu me meu minha nos nós você vocês ele ela eles "
    "elas de do da em com por para sobre entre e ou mas se porque como é são foi foram ser estar ter "
    "fazer ontem hoje amanhã antes depois agora recentemente que quando onde favor ajuda"
)

ARABIC = _words(
    "ال و أو لكن ثم بل أنا نحن هو هي هم هذا هذه ذلك تلك هنا هناك من إلى الى في على عن مع بين ل ب ك كان "
    "كانت يكون تكون أصبح يمكن ممكن أمس بالأمس اليوم غدا الآن قبل بعد مؤخرا لماذا كيف ماذا متى أين هل "
    "فضلا ساعد"
)

PARTICLES = (
    *("에서", "으로", "에게", "한테", "처럼", "같이", "보다", "까지", "부터", "마다", "밖에", "대로"),
    *"은는이가을를의에로와과도만",
)
"""Korean particles, which follow a noun without a space, longest first."""

KOREAN = frozenset(PARTICLES) | _words(
    # pronouns and places
    "께 나 나는 내가 나를 너 우리 저 저희 그 그녀 그들 이것 저것 그것 여기 저기 거기 "
    # auxiliary verbs, dependent nouns, adverbs
    "있다 없다 하다 되다 이다 아니다 주다 오다 가다 것 거 등 수 때 곳 중 분 "
    "잘 더 또 매우 정말 아주 많이 너무 좀 그리고 하지만 그래서 그런데 그러나 또는 그러면 "
    # questions, vague times, requests
    "왜 어떻게 뭐 언제 어디 누구 무엇 어떤 어제 오늘 내일 최근 지금 아까 나중 전에 제발 부탁"
)

JAPANESE = _words(
    "これ それ あれ この その あの ここ そこ あそこ する した して です ます いる ある なる できる "
    "の こと もの ため そして しかし また でも から まで より だけ なぜ どう 何 いつ どこ 誰 どれ "
    "昨日 今日 明日 最近 今 さっき 前 後"
)

CHINESE = _words(
    "我 我们 你 你们 他 她 它 他们 这 那 这个 那个 这些 那些 的 了 着 过 得 地 吗 呢 吧 啊 呀 嘛 啦 "
    "是 有 在 被 把 给 让 用 到 去 来 做 说 看 找 想 要 能 会 可以 和 与 或 但 但是 因为 所以 如果 虽然 而 "
    "也 都 就 还 又 再 才 只 之前 以前 之后 以后 刚才 现在 昨天 今天 明天 最近 东西 事情 事 什么 哪个 哪些 "
    "怎么 为什么 多少 请 帮 帮忙 告诉"
)

EVERY_LANGUAGE = ENGLISH | SPANISH | PORTUGUESE | ARABIC | KOREAN | JAPANESE | CHINESE
FEBRUARY_LANGUAGES = ENGLISH | CHINESE
"""The languages of release 2026.2.17."""

HAN = re.compile(r"[\u4e00-\u9fff]")
KANA = re.compile(r"[\u3040-\u30ff]")
HANGUL = re.compile(r"[\uac00-\ud7af\u3131-\u3163]")
SYLLABLE = re.compile(r"[\uac00-\ud7af]")
JAPANESE_RUNS = re.compile(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+|[\u3040-\u309f]{2,}")
ASCII_LETTERS = re.compile(r"[A-Za-z]+")
ASCII_WORD = re.compile(r"[A-Za-z0-9_]+")
ASCII_DIGITS = re.compile(r"[0-9]+")

Cut = Callable[[str], Iterator[str]]
"""A function that cuts a segment without spaces and punctuation into tokens."""


def keywords(question: str, cut: Cut | None = None, stop: frozenset[str] = EVERY_LANGUAGE) -> list[str]:
    """The question's meaningful words, in lower case, each once, in their order.

    Stop words, ASCII words of one or two letters, and tokens of digits or symbols only are removed.
    `cut` splits segments: `for_words` (the default), `for_trigrams`, or `of_february`.
    Source: openclaw 2026.9.6, packages/memory-host-sdk/src/host/query-expansion.ts, extractKeywords.

    >>> keywords("that thing we discussed about the API"), keywords("what is AI"), keywords("bug #1234 in v2")
    (['discussed', 'api'], [], ['bug', 'v2'])
    """
    cut = cut or for_words
    tokens = (token for segment in _segments(question.strip(BLANKS).lower()) for token in cut(segment))
    return list(dict.fromkeys(token for token in tokens if token not in stop and says_something(token)))


def says_something(token: str) -> bool:
    """Whether a token can be a keyword at all.

    >>> [says_something(token) for token in ("api", "ai", "2026", "v2", "日")]
    [True, False, False, True, True]
    """
    if ASCII_LETTERS.fullmatch(token):
        return len(token) >= 3
    return not ASCII_DIGITS.fullmatch(token) and any(unicodedata.category(c)[0] not in "PS" for c in token)


def for_words(segment: str) -> Iterator[str]:
    """The tokens of a segment for an index of whole words, with single Han characters and pairs of them.

    >>> list(for_words("讨论")), list(for_words("서버에서")), list(for_words("デプロイの戦略"))
    (['讨', '论', '讨论'], ['서버에서', '서버'], ['デプロイ', '戦略', '戦略'])
    """
    if KANA.search(segment):
        for run in JAPANESE_RUNS.findall(segment):
            yield run
            yield from _pairs(run) if HAN.match(run) else ()
    elif HAN.search(segment):
        yield from _characters_and_pairs(segment)
    else:
        yield from _korean(segment) if HANGUL.search(segment) else (segment,)


def for_trigrams(segment: str) -> Iterator[str]:
    """The tokens of a segment for an index of trigrams: a block of Han characters is not split.

    >>> list(for_trigrams("讨论的方案"))
    ['讨论的方案']
    """
    if KANA.search(segment):
        yield from JAPANESE_RUNS.findall(segment)
    elif HAN.search(segment):
        yield "".join(HAN.findall(segment))
    else:
        yield from _korean(segment) if HANGUL.search(segment) else (segment,)


def of_february(segment: str) -> Iterator[str]:
    """The tokens of a segment as in 2026.2.17, where Chinese was the only script without spaces."""
    yield from _characters_and_pairs(segment) if HAN.search(segment) else (segment,)


def _characters_and_pairs(segment: str) -> Iterator[str]:
    characters = HAN.findall(segment)
    yield from characters
    yield from _pairs(characters)


def _pairs(characters: Iterable[str]) -> Iterator[str]:
    return (left + right for left, right in pairwise(characters))


def _korean(segment: str) -> Iterator[str]:
    """A word, unless it is a stop word with a particle, and its stem if the stem can stand alone."""
    stem = next((segment[: -len(p)] for p in PARTICLES if segment.endswith(p) and segment != p), None)
    if stem not in KOREAN:
        yield segment
    if stem and (len(stem) >= 2 if SYLLABLE.search(stem) else ASCII_WORD.fullmatch(stem)):
        yield stem


def _segments(text: str) -> list[str]:
    """The text split at white space, as JavaScript defines it, and at punctuation of any script."""
    spaced = "".join(" " if c in BLANKS or unicodedata.category(c)[0] == "P" else c for c in text)
    return [segment for segment in spaced.split(" ") if segment]
