"""The page of a diagnosis: the cause, the repair and its price first, and all else folded."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from workbench.measure.paired import Paired
from workbench.records import Tabular, Trace
from workbench.retrieval.cutoff import Limit
from workbench.retrieval.explain import Explanation
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import Pipeline
from workbench.retrieval.scope import FILTER_FIRST, Scope
from workbench.safe_text import counted, one_line
from workbench.tables import ABSENT, Block, Code, Fold, Note, Part, Table, Types, hanging, tidy
from workbench.terminal import text_of
from workbench_plugins.diagnose.asked import settings_of
from workbench_plugins.diagnose.causes import Cause, in_slot, repaired_slots
from workbench_plugins.diagnose.fixes import LARGER, Fix, told
from workbench_plugins.diagnose.keys import is_of_file
from workbench_plugins.diagnose.parameters import Goal
from workbench_plugins.diagnose.pasted_command import added_settings, command_with, replaced_settings
from workbench_plugins.diagnose.prices import Marks, Prices

if TYPE_CHECKING:
    from workbench.figures import Figure

FORMAT = 2
"""The version of `Diagnosis.as_json`, which docs/commands.md describes."""

FIXES: Types = {
    "system": "str", "question": "str", "target": "str", "setting": "str", "now": "str", "value": "str",
    "fails": "float64", "verified": "bool", "gained": "int64", "lost": "int64", "hits_before": "int64",
    "hits_after": "int64", "silent_before": "int64", "silent_after": "int64",
}  # fmt: skip
"""The columns of the table of pandas."""


@dataclass(frozen=True, repr=False)
class Diagnosis(Tabular):
    """One page about one file and one question.

    `explanation` says what happened, `causes` who did it, and `fixes` what would have changed it, the best
    first; `found` counts all fixes. `goal` is what was wanted of the file. `prices` has the questions that a
    fix was tried with. `chunking` says which other chunks were tried. `command` is the diagnosed search on
    the command line, and `search` is Python that searches with `pipeline`.
    """

    explanation: Explanation
    goal: Goal
    pipeline: Pipeline
    causes: tuple[Cause, ...]
    fixes: tuple[Fix, ...]
    found: int
    chunking: str
    prices: Prices = field(compare=False)
    command: tuple[str, ...] = field(default=(), compare=False)
    search: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """One line; `workbench.show` prints all."""
        one = self.explanation
        return (
            f"<Diagnosis: {one.target} is {one.fate} for {one.trace.question!r}, {one.trace.system}; "
            f"{len(self.causes)} causes, {len(self.fixes)} fixes>"
        )

    @property
    def question(self) -> str:
        return self.explanation.trace.question

    def plot(self) -> Figure:
        """What each fix wins and loses, in questions: a figure of plotly. Raises InputError without a fix."""
        from workbench import figures  # which loads plotly

        named = {f"{one.setting}: {becomes_text(one)}": one.price for one in self.fixes}
        won_and_lost = {name: (price.wins, price.losses) for name, price in named.items()}
        return figures.prices(won_and_lost, "questions lost and won")

    @property
    def target(self) -> str:
        return self.goal.path

    @property
    def trace(self) -> Trace:
        """The search that is diagnosed."""
        return self.explanation.trace

    @property
    def is_typed(self) -> bool:
        """Whether a command makes the diagnosed pipeline, so that an option of it can be a repair."""
        return bool(self.command) or settings_of(self.pipeline) is not None

    @property
    def proxy(self) -> bool:
        """Whether the prices are over the memory's own questions instead of labelled ones."""
        return self.prices.proxy

    @property
    def prices_text(self) -> str:
        """What the prices are measured with."""
        asked, silent = len(self.prices.questions), len(self.prices.controls)
        if self.prices.alone:
            return "this question alone: give labelled questions with --questions FILE for a real price"
        if self.proxy:
            return (
                f"{asked} questions that the memory asks of itself (file names, headings, first lines). "
                "This is only a proxy: give labelled questions with --questions FILE for a real price"
            )
        return f"{asked} labelled questions and {silent} unanswerable ones"

    @property
    def unanswered_text(self) -> str:
        """Which questions could not be asked, and what raised. Empty if all were answered."""
        some = [*self.prices.unanswered, *getattr(innermost(self.prices.index), "unanswered", ())]
        more = f", and {len(some) - 1} more" if len(some) > 1 else ""
        return (
            f"{counted(len(some), 'question')} could not be asked: {some[0].rstrip('.')}{more}."
            if some
            else ""
        )

    @property
    def order_text(self) -> str:
        """A sentence for labelled questions: they also order the causes and fixes. Empty for a proxy."""
        if self.proxy or self.prices.alone:
            return ""
        return (
            "The causes and fixes are ordered by these questions too, so their hits are not held out: "
            "new questions may give fewer. workbench sweep estimates that."
        )

    @property
    def settings_text(self) -> str:
        """For a system from a file of settings: whether a setting of its release can do it. Else empty."""
        if not is_of_file(self.pipeline.name):
            return ""
        if any(one.paste for one in self.fixes):
            return "Paste the JSON into your openclaw.json: it was tried in the whole file."
        if any(one.is_key for one in self.fixes):
            return (
                "There is no JSON to paste: it is printed if the file itself is named, and if nothing else "
                "in the file is stronger."
            )
        return f"No single setting of {self.pipeline.name} that was tried does it."

    @property
    def repaired(self) -> bool:
        """Whether the repair that is printed first has been run, and gave the wanted answer."""
        first, mend = self._first_fix, _cause_to_mend(self)
        if first is None:
            return mend is not None and (mend.verified or bool(_until_then(self)))
        return first.verified and not self._in_vain

    @property
    def _first_fix(self) -> Fix | None:
        """The fix that is printed first; None where the repair of a cause is, and where there is none."""
        if self._cut is not None:
            return self._cut
        if self._in_vain or _cause_to_mend(self) is not None or not self.fixes:
            return None
        return _fix_to_try(self)

    @property
    def _cut(self) -> Fix | None:
        """Chunks of another size that work, where a chunk is the first cause."""
        of_chunk = bool(self.causes) and self.causes[0].where == ("chunk",)
        return next((one for one in self.fixes if one.chunks is not None), None) if of_chunk else None

    @property
    def _in_vain(self) -> bool:
        """Whether the first cause is certain, and its repair alone was tried in vain."""
        return bool(self.causes) and self.causes[0].refuted and self.causes[0].certain

    @property
    def headline(self) -> str:
        """The first cause, in a line."""
        if not self.causes:
            if self.fixes:
                return "No stage is the cause: no known repair changes this answer, and a setting does."
            return "No cause found: no set of known repairs changes this answer."
        return f"Cause: {_cause_title(self.causes[0])}"

    def view(self) -> list[Part]:
        """The cause, what it did, the smallest repair, its price, and a command; all else is folded."""
        parts = [self.explanation.headline, *_first_repair(self)]
        counts = {"cause": len(self.causes), "repair": len(self.fixes)}
        more = [counted(count - 1, f"other {noun}") for noun, count in counts.items() if count > 1]
        where = " (--details)" if self.command else ""
        found = [f"Found besides: {' and '.join(more)}{where}."] if more else []
        found += [self.unanswered_text] if self.unanswered_text else []
        caution = self.trace.caution  # unknown ids are the first cause
        note = [Note(f"Note: {caution.note.remark}", caution.note.reason)] if caution else []
        answer = [Block(self.headline, style="bold"), *_lines([*parts, *found])]
        first = self._first_fix
        code = [] if first is None or not _only_python(self, first) else [_code(self, first)]
        return [*answer, *code, *note, *self.details()]

    def details(self) -> list[Part]:
        """The five parts of a diagnosis, each folded."""
        parts = {
            "What happened": _lines(self.explanation.text(1).split("\n")),
            "Causes": _causes(self) or ["No set of known repairs changes this answer."],
            f"Fixes: the file is then {self.goal.aim}": _fixes(self),
            "The price": _lines(_prices(self)),
            "As settings": _settings(self),
        }
        return [Fold(head, some) for head, some in parts.items()]

    @property
    def text(self) -> str:
        """All of it as plain text, WIDTH columns wide."""
        return text_of(self.view(), details=True).strip()

    def observations(self) -> Table:
        """One row for each fix."""
        about = [self.pipeline.name, self.question, self.target]
        rows = []
        for fix in self.fixes:
            told = {
                **fix.as_json(),
                "now": str(fix.now) or None,
                "value": str(fix.value),
                "gained": len(fix.gained),
                "lost": len(fix.lost),
            }
            rows.append([*about, *(told[name] for name in list(FIXES)[len(about) :])])
        return tidy(FIXES, rows)

    def as_json(self) -> dict[str, Any]:
        """The diagnosis in the form that docs/commands.md describes, version FORMAT."""
        now = self.prices.now
        return {
            "question": self.question,
            "target": self.target,
            "fate": self.explanation.fate.value,
            "indexed_otherwise": self.explanation.trace.indexed_otherwise,
            "causes": [one.as_json() for one in self.causes],
            "fixes": [one.as_json(self.is_typed) for one in self.fixes],
            "price": {
                "format": FORMAT,
                "system": self.pipeline.name,
                "wanted": self.goal.aim.value,
                "proxy": self.proxy,
                "questions": len(self.prices.questions),
                "unanswerable": len(self.prices.controls),
                "hits": now.hits,
                "silent": now.silences,
                "fixes_found": self.found,
                "says": [
                    one
                    for one in (
                        self.prices_text,
                        self.unanswered_text,
                        self.order_text,
                        self.chunking,
                        self.settings_text,
                    )
                    if one
                ],
            },
        }


# How a diagnosis is shown


def _first_repair(diagnosis: Diagnosis) -> list[str]:
    """The smallest repair as a line to paste, what it brings and costs, and the command that shows it."""
    first = diagnosis.causes[0] if diagnosis.causes else None
    if (cut := diagnosis._cut) is not None:
        return [f"Repair: {_first_way(diagnosis, cut)}", f"Price: {_price_text(diagnosis, cut)}"]
    if first is not None and diagnosis._in_vain:
        again = "Tried, and not enough alone; do it first, and diagnose again then"
        return [f"{again}: {first.repair}"]
    if (mend := _cause_to_mend(diagnosis)) is not None:
        label = "Not tried; do this next"
        if _is_sure(mend):
            label = "Repair" if "workbench " in mend.repair else "Repair, by hand"
        return [f"{label}: {_to_type(diagnosis, mend)}", *_until_then(diagnosis)]
    if not diagnosis.fixes:
        return _until_then(diagnosis)
    fix = _fix_to_try(diagnosis)
    only = _longer_text(diagnosis, fix) if fix.pipeline.limit > _longest(diagnosis) else ""
    only = "only by an empty answer: " if fix.empties else only
    command = command_with(diagnosis.command, diagnosis.pipeline, fix) if diagnosis.command else ""
    replaced = replaced_settings(diagnosis.command, command) if command else []
    way = _first_way(diagnosis, fix)
    if replaced:
        own = " ".join(replaced)
        undone = not added_settings(diagnosis.command, command)
        way = f"leave out {own}" if undone else f"{way}, in place of {own}"
    lines = [f"Repair: {only}{way}{_meaning(diagnosis.pipeline, fix)}"]
    moved = [one.slot for one in diagnosis.pipeline.diff(fix.pipeline)]
    if first is not None and first.repairs and {*moved}.isdisjoint({*first.where, *repaired_slots(first)}):
        lines.append(f"It changes the {_named(moved)}, and leaves the {_named(first.where)} unchanged.")
    if first is not None and Scope.slot in first.where:
        lines.append(f"In an engine: {FILTER_FIRST}.")
    lines.append(f"Price: {_price_text(diagnosis, fix)}")
    if command:
        lines.append(f"Try it: {command}")
    return lines


def _named(slots: Iterable[str]) -> str:
    return " and the ".join(one.replace("_", " ") for one in slots)


SHORT = 130
"""A stage is described beside the setting that makes it in so many characters at most."""


def _meaning(now: Pipeline, fix: Fix) -> str:
    """What the changed stages do with a fix; empty for JSON, and for a long description.

    It is empty, too, for a description that the setting does not change.
    """
    if fix.paste is not None:
        return ""
    changed = [(one.before, one.after) for one in now.diff(fix.pipeline) if one.after is not None]
    texts = [tuple(one.description if one else "" for one in both) for both in changed]
    told = "; ".join(after for before, after in texts if after != before)
    return f" (then: {told})" if told and len(told) <= SHORT else ""


def _cause_to_mend(diagnosis: Diagnosis) -> Cause | None:
    """The first cause, if its own repair is printed: it is outside the pipeline, or no fix is known."""
    first = diagnosis.causes[0] if diagnosis.causes else None
    if first is None or first.refuted or (first.repairs and diagnosis.fixes):
        return None
    return first


def _fix_to_try(diagnosis: Diagnosis) -> Fix:
    """The best fix; for one that lengthens the answer much, the next one that does not, if it costs no more.

    It costs more if it loses more answers than it brings.
    """
    first, *others = diagnosis.fixes
    if first.pipeline.limit <= _longest(diagnosis):
        return first
    cheap = (one for one in others if one.price.losses <= one.price.wins)
    return next((one for one in cheap if _is_another_way(diagnosis, one)), first)


def _is_another_way(diagnosis: Diagnosis, fix: Fix) -> bool:
    """Whether a fix works with an answer of much the same length that is not empty."""
    return fix.verified and not fix.empties and fix.pipeline.limit <= _longest(diagnosis)


def _longer_text(diagnosis: Diagnosis, fix: Fix) -> str:
    """Words for a fix that lengthens the answer: what else it changes, and whether no other fix works."""
    only = "" if any(_is_another_way(diagnosis, one) for one in diagnosis.fixes) else "only "
    changed = [one for one in diagnosis.pipeline.diff(fix.pipeline) if one.slot != Limit.slot]
    more = [f"{'another' if one.after else 'no'} {one.slot.replace('_', ' ')}" for one in changed]
    return f"{only}by {' and '.join(['a longer answer', *more])}: "


def _to_type(diagnosis: Diagnosis, cause: Cause) -> str:
    """The repair of a cause, with the whole command in place of an option of `diagnose`."""
    command = diagnosis.command
    if not command or not cause.repair.endswith(": --rechunk"):
        return cause.repair
    words = [command[0], "diagnose", *command[2:], "--target", diagnosis.target, "--rechunk"]
    return cause.repair.removesuffix("--rechunk") + shlex.join(words)


LONG_ANSWER = 10
"""A longer answer than this one and the present one lets everything in, so it is no way around a fault."""


def _longest(diagnosis: Diagnosis) -> float:
    return max(LONG_ANSWER, diagnosis.pipeline.limit)


def _until_then(diagnosis: Diagnosis) -> list[str]:
    """A search that brings the file now, where the repair is to be made outside the search."""
    longest = _longest(diagnosis)
    some = [one for one in diagnosis.fixes if one.verified and one.pipeline.limit <= longest]
    for fix in some if _waits(diagnosis.causes) and diagnosis.command else []:
        if shown := command_with(diagnosis.command, diagnosis.pipeline, fix):
            return [f"Until then: {shown}", f"Price: {_price_text(diagnosis, fix)}"]
    return []


def _waits(causes: Sequence[Cause]) -> bool:
    """Whether the first cause is mended by hand: in the note, by other chunks, or by a question not tried."""
    where = causes[0].where[0] if causes else ""
    return where in ("note", "chunk") or (where == "question" and not _is_sure(causes[0]))


def _price_text(diagnosis: Diagnosis, fix: Fix) -> str:
    """The right answers before and after, with the paired verdict, and what a longer answer brings along."""
    prices, more = diagnosis.prices, len(fix.gained)
    found = "finds its file" if prices.alone else "find their file"
    parts = [(fix.price.hits_text, len(prices.questions), prices.asked_text, found, fix.price.hits)]
    if prices.controls:
        silence = fix.price.silence
        parts.append(
            (fix.price.silence_text, len(prices.controls), "unanswerable ones", "return nothing", silence)
        )
    lines = [
        f"{numbers} of {count} {noun} {what}" + (f" ({told(verdict)})" if _changes(verdict) else "")
        for numbers, count, noun, what, verdict in parts
    ]
    if fix.lost and not fix.empties:
        are = "is" if len(fix.lost) == 1 else "are"
        lines.insert(0, f"{counted(len(fix.lost), 'file')} of this answer {are} lost")
    if more and fix.pipeline.limit > diagnosis.pipeline.limit:
        lines.insert(0, f"{counted(more, 'other file')} {'comes' if more == 1 else 'come'} along")
    return "; ".join(lines)


def _changes(verdict: Paired | None) -> TypeGuard[Paired]:
    """Whether any question is answered otherwise; if not, no difference is claimed."""
    return verdict is not None and verdict.wins + verdict.losses > 0


def _lines(lines: Iterable[str]) -> list[Part]:
    return [hanging(one_line(line)) for line in lines]


def _causes(diagnosis: Diagnosis) -> list[Part]:
    lines = []
    for number, cause in enumerate(diagnosis.causes, 1):
        settings = f" ({', '.join(cause.parameters)})" if cause.parameters else ""
        told = "repair" if _is_sure(cause) else "not tried; do this next"
        told = "tried, and not enough" if cause.refuted else told
        lines += [f"{number}. {_cause_title(cause)}", f"   {told}: {cause.repair}{settings}"]
        lines.append(f"   {cause.evidence}")
        lines += [f"   what it does: {cause.stage}"] if cause.stage else []
        if cause.after is not None:
            lines.append(f"   repaired: {_counts(diagnosis.prices, cause.after)}")
    return _lines(lines)


def _cause_title(cause: Cause) -> str:
    description = in_slot(cause.where[0], cause.description)
    in_vain = cause.refuted and not cause.certain
    return f"{description} (its repair was tried in vain)" if in_vain else description


def _is_sure(cause: Cause) -> bool:
    """Whether the repair of a cause was run, or the cause is seen without a run."""
    return cause.verified or cause.certain


def _counts(prices: Prices, after: Marks) -> str:
    told = f"hits {prices.now.hits} → {after.hits} of {len(prices.questions)}"
    if not prices.controls:
        return told
    silent = f"{prices.now.silences} → {after.silences} of {len(prices.controls)} unanswerable questions"
    return f"{told}; no result for {silent}"


def _fixes(diagnosis: Diagnosis) -> list[Part]:
    if not diagnosis.fixes:
        see = " See the repairs above." if diagnosis.causes else ""
        return [f"No single setting that was tried and no known change does it.{see}"]
    table, longer = fixes_table(diagnosis), [one.group == LARGER for one in diagnosis.fixes]
    parts: list[Part] = []
    for of_group, head in ((False, ""), (True, "With a longer answer:")):
        rows = [row for row, grows in zip(table.rows, longer, strict=True) if grows is of_group]
        if rows:
            parts += [*([head] if head else []), replace(table, rows=rows)]
    shown = len(diagnosis.fixes)
    if shown < diagnosis.found:
        note = (
            f"These are the best {shown} of {diagnosis.found} fixes: after the first, those that lose least."
        )
        parts.append(note)
    return parts


def fixes_table(diagnosis: Diagnosis) -> Table:
    """A row for each fix: what it changes, what it brings and costs, and the files that it moves."""
    heads = ("", "setting", "now", "becomes", "verified", "hits", "no result", "files gained", "files lost")
    rows = [
        (
            str(number),
            fix.setting,
            _value(fix.now),
            becomes_text(fix),
            "yes" if fix.verified else "no",
            fix.price.hits_text,
            fix.price.silence_text if diagnosis.prices.controls else ABSENT,
            _files(fix.gained),
            _files(fix.lost),
        )
        for number, fix in enumerate(diagnosis.fixes, 1)
    ]
    return Table("fixes", heads, rows)


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value) or ABSENT


def becomes_text(fix: Fix) -> str:
    """The value of a fix in words: `at most 0.34`, `OR`, or the name of a change."""
    return f"{fix.side} {_value(fix.value)}".strip()


def _files(paths: tuple[str, ...]) -> str:
    if not paths:
        return ABSENT
    return paths[0] if len(paths) == 1 else f"{len(paths)} files"


def _prices(diagnosis: Diagnosis) -> list[str]:
    lines = [f"Over {diagnosis.prices_text}.", *([diagnosis.order_text] if diagnosis.order_text else [])]
    for number, fix in enumerate(diagnosis.fixes, 1):
        lines.append(f"{number}. {fix.verdict}")
        for name, files in (("gained", fix.gained), ("lost", fix.lost)):
            lines += [f"   files {name}: {', '.join(files)}"] if len(files) > 1 else []
    return lines


def _settings(diagnosis: Diagnosis) -> list[Part]:
    parts: list[Part] = []
    for number, fix in enumerate(diagnosis.fixes, 1):
        typed = _typed(diagnosis, fix)
        if not typed and not fix.runs_alone:
            typed = f"In {diagnosis.pipeline.name}: {fix.in_words}"
        parts += _lines([f"{number}. {typed or 'As Python:'}"])
        if not typed:
            parts.append(_code(diagnosis, fix))
        elif fix.paste is not None:
            parts += _lines([f"   {json.dumps(fix.paste)}"])
    more = [diagnosis.chunking, *([diagnosis.settings_text] if diagnosis.settings_text else [])]
    return [*(parts or ["No fix is a setting or a known change."]), *_lines(more)]


def _typed(diagnosis: Diagnosis, fix: Fix) -> str:
    """The options, or the command, that make a fix; empty if only Python can."""
    if fix.chunks is not None:
        return fix.chunks.command or fix.chunks.options
    return (fix.as_set or "") if diagnosis.is_typed else ""


def _first_way(diagnosis: Diagnosis, fix: Fix) -> str:
    """The one line that says a fix: what to paste, or else what to put in which place."""
    if fix.paste is not None:
        return json.dumps(fix.paste)
    python = ": the Python below" if _only_python(diagnosis, fix) else ""
    return _typed(diagnosis, fix) or f"{fix.in_words}{python}"


def _only_python(diagnosis: Diagnosis, fix: Fix) -> bool:
    """Whether Python that runs alone is the one form of a fix that can be pasted."""
    return fix.runs_alone and fix.paste is None and not _typed(diagnosis, fix)


def _code(diagnosis: Diagnosis, fix: Fix) -> Code:
    """Python that makes a fix, and asks the question again."""
    made = fix.as_python
    asks = [line for line in diagnosis.search.splitlines() if line not in made.splitlines()]
    return Code("\n".join([made, "", *asks]).strip())
