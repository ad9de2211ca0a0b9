"""What a person types where a command expects it elsewhere, and what to type when something is missing.

Where a command line has one meaning, it is read so: words without quotes are one question, a folder is the
memory with or without `-m`, and the name of a system is one with or without `-s`. Otherwise an error says
what to type.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from workbench.cli.commands import rows
from workbench.cli.output import print_error
from workbench.errors import InputError

MEMORY_FLAGS, SYSTEM_FLAGS = ("--memory", "-m"), ("--system", "-s")
FOLDERS = ("folder", "memory", "store")
"""The arguments that are the memory's folder, by name."""
SYSTEMS = ("system", "names", "one", "other", "before", "after")
"""The arguments that are names of systems."""
QUESTIONS = ("question", "query")
"""The arguments that are a question."""
PATHS = (
    "against", "case", "cases", "figure", "html", "index_file", "labels", "notebooks", "out", "qrels",
    "questions", "save", "sessions", "to", "topics", "workspace",
)  # fmt: skip
"""The options that take one path, by name."""

NEXT: Mapping[str, str] = {
    "question": 'Ask it like this: {command} "QUESTION"',
    "query": 'Ask it like this: {command} "QUESTION"',
    "target": "Name the file that you expect in the answer: -t memory/FILE.md",
    "system": "Name one after the command: `workbench systems` lists them.",
    "one": "Name one after the command: `workbench systems` lists them.",
    "issue": "Put the report into a file, and name it: {command} FILE",
    "numbers": "Give numbers as they were printed: {command} 0.016393 0.5",
    "words": 'Say what you see: {command} "nothing comes back"',
    "axes": "Name a parameter and its values: fusion.vector=0:1:5. `workbench systems NAME` has the names.",
}
"""What to type for a parameter that is missing, by its name."""


OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "--limit": ("-n", "-k", "--top", "--top-k", "--topk", "--k", "--max", "--count", "--max-results"),
    "--target": ("--file", "--path", "--expected", "--expect"),
    "--min-score": ("--threshold", "--floor", "--minscore", "--min_score"),
    "--system": ("--engine", "--pipeline"),
    "--memory": ("--folder", "--dir", "--directory"),
}
"""What other tools call an option of ours."""


PLACES: Mapping[str, str] = {
    "-s": "A system is named with -s.",
    "-m": "A memory is named with -m.",
    "--questions": "A file of questions is named with --questions.",
}
"""The options that take what is typed without one, in a sentence each."""


# Flags where a command has arguments


def with_arguments(command: Any, typed: Sequence[str]) -> list[str]:
    """What was typed, with `-m FOLDER` and `-s SYSTEM` as the arguments that this command has for them."""
    flags = {flag for one in command.params for flag in one.opts}
    arguments = [one.name for one in command.params if one.param_type_name == "argument"]
    args = list(typed)
    if flags.isdisjoint(SYSTEM_FLAGS) and any(one in SYSTEMS for one in arguments):
        args, systems = _taken(args, SYSTEM_FLAGS)
        args = [*systems, *args]
    if flags.isdisjoint(MEMORY_FLAGS) and any(one in FOLDERS for one in arguments):
        args, folders = _taken(args, MEMORY_FLAGS)
        args = [*args, *folders]
    return args


def _taken(args: Sequence[str], flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments without these flags, and the values of the flags."""
    left: list[str] = []
    values: list[str] = []
    waiting = iter(args)
    for one in waiting:
        name, equals, value = one.partition("=")
        if name not in flags or "--" in left:
            left.append(one)
        elif equals:
            values.append(value)
        else:
            values += [next(waiting, "")]
    return left, [value for value in values if value]


# Words where a command has flags


class MeantParser:
    """The parser of a command, which finds a meaning for words that the command has no place for."""

    def __init__(self, command: Any, parser: Any) -> None:
        self.command = command
        self.parser = parser

    def __getattr__(self, name: str) -> Any:
        return getattr(self.parser, name)

    def parse_args(self, args: list[str]) -> tuple[dict[str, Any], list[str], list[Any]]:
        """The values by name, the words that have no meaning, and the parameters in order."""
        values, words, order = self.parser.parse_args(args=with_arguments(self.command, args))
        check_given_once(order)
        meant, left = _with_words(self.command, dict(values), list(words))
        return _with_homes(meant), left, order


def check_given_once(order: Sequence[Any]) -> None:
    """Raises InputError for an option that takes one value and was given several: only one would count.

    `order` are the parameters as they were typed, one for each time.
    """
    for one, count in Counter(order).items():
        if count > 1 and one.param_type_name == "option" and not (one.multiple or one.is_flag):
            raise InputError(
                f"{one.opts[0]} takes one value, and was given {count} times.",
                "Give it once, and run the command again for each other value.",
            )


def _with_homes(values: dict[str, Any]) -> dict[str, Any]:
    """The values with the home folder in place of ~ where a path is taken: a shell leaves it after a `=`.

    Raises InputError for a path in the home folder of an unknown user, which would be made here.
    """
    typed = {name: value for name, value in values.items() if name in PATHS and isinstance(value, str)}
    found = {name: os.path.expanduser(value) for name, value in typed.items()}
    for path in found.values():
        home, slash, _ = path.partition("/")
        if home.startswith("~") and slash and not os.path.isdir(home):
            raise InputError(
                f"{path} is in no folder: there is no user {home[1:]}.",
                f"For a folder of that name, put ./ before it: ./{path}",
            )
    return values | found


def _with_words(command: Any, values: dict[str, Any], words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The values with a meaning for each word, and the words for which there is none."""
    flags = {flag: one for one in command.params for flag in one.opts}
    asked = next((one.name for one in command.params if one.name in QUESTIONS), "")
    memory, system = flags.get("-m"), flags.get("-s")
    values, words = _with_blank_in_folder(values, words)
    if memory is not None and memory.name not in values and words and _is_folder(words, values.get(asked)):
        values[memory.name] = words.pop()
        print_error(f"{values[memory.name]} is a folder, so it is read as the memory: -m.")
    if asked and asked not in values:
        values = _with_question_among_names(values, asked)
    if words and isinstance(values.get(asked), str):
        return values | {asked: " ".join([values[asked], *words])}, []
    if words and system is not None and system.name not in values and _are_systems(words):
        return values | {system.name: words if system.multiple else words[0]}, words[len(words) :]
    return values, words


def _with_blank_in_folder(values: dict[str, Any], words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The values with the words that follow a folder as a part of its name, where only that is a folder."""
    for name in FOLDERS:
        begins = values.get(name)
        if not isinstance(begins, str) or os.path.exists(os.path.expanduser(begins)):
            continue
        for count in range(1, len(words) + 1):
            whole = " ".join([begins, *words[:count]])
            if os.path.isdir(os.path.expanduser(whole)):
                print_error(f"{whole} is a folder, so it is read as one name: {shlex.quote(whole)}.")
                return values | {name: whole}, words[count:]
    return values, words


def _with_question_among_names(values: dict[str, Any], asked: str) -> dict[str, Any]:
    """The values with the one name that has a blank as the question: no system has such a name."""
    names = values.get("names")
    if not isinstance(names, list | tuple):
        return values
    questions = [one for one in names if isinstance(one, str) and " " in one]
    if len(questions) != 1:
        return values
    return values | {asked: questions[0], "names": [one for one in names if one not in questions]}


def _is_folder(words: Sequence[str], question: object) -> bool:
    """Whether the last word is the memory; a word of a question without quotes can name a folder, too."""
    alone = len(words) == 1 or (isinstance(question, str) and " " in question)
    return os.path.isdir(words[-1]) and (alone or os.sep in words[-1])


def _are_systems(words: Sequence[str]) -> bool:
    from workbench.systems.catalogue import SYSTEMS as KNOWN

    return all(word in KNOWN for word in words)


# Before and in place of a command


def after_the_command(typed: Sequence[str], own: Mapping[str, bool], commands: Sequence[str]) -> list[str]:
    """What was typed, with the options of a command that stand before it behind it.

    `own` are the options that stand before a command, and whether each takes a value.
    """
    before: list[str] = []
    moved: list[str] = []
    waiting = list(typed)
    while waiting and waiting[0].startswith("-") and waiting[0] != "-":
        one = waiting.pop(0)
        name, equals, _ = one.partition("=")
        where = before if name in own else moved
        where.append(one)
        takes = own.get(name, bool(waiting) and waiting[0] not in commands)
        if takes and not equals and waiting and not waiting[0].startswith("-"):
            where.append(waiting.pop(0))
    return [*before, *waiting, *moved] if waiting and waiting[0] in commands else list(typed)


MEANT = {
    "find": "search", "query": "search", "ask": "search", "why": "explain", "fix": "diagnose",
    "report": "reproduce",
    "debug": "diagnose", "list": "systems", "confirm": "case confirm", "update": "index", "check": "doctor",
}  # fmt: skip
"""Words that people type for a command, with the command that they may mean."""


def check_command(typed: str, commands: Sequence[str], above: str = "workbench") -> None:
    """Raises InputError for what is no command of those `above`, with the nearest one, or what was meant."""
    if typed in commands or typed.startswith("-"):
        return
    problem, quoted = f"There is no command {typed!r}.", typed.replace('"', "'")
    meant = MEANT.get(typed.lower(), "")
    if meant.partition(" ")[0] in commands:
        raise InputError(problem, f"Perhaps you mean `{above} {meant}`.")
    if near := get_close_matches(typed.lower(), commands, n=1, cutoff=0.7):
        raise InputError(problem, f"The nearest is `{above} {near[0]}`.")
    if typed.lower() == "version":
        raise InputError(problem, "Type: workbench --version")
    if typed.lower() in ("help", "?"):
        raise InputError(
            problem, "`workbench --help` lists the commands; after a command, -h has its options."
        )
    if os.path.isdir(typed):
        raise InputError(problem, f"To index the folder: workbench index {shlex.quote(typed)}")
    if len(typed.split()) > 1:
        raise InputError(problem, f'To ask a question: workbench search "{quoted}"')
    raise InputError(problem, f"`{above} --help` lists the commands.")


def usage_error(error: Any) -> InputError:
    """A command line that cannot be run, as a problem and what to type."""
    problem = error.format_message()
    command = error.ctx.command_path if error.ctx is not None else _command_typed()
    missing = getattr(error, "param", None)
    absent = missing is not None and type(error).__name__ == "MissingParameter"
    name = str(missing.name) if absent and missing is not None else ""
    if command == "workbench compare" and name == "question":
        return InputError(problem, 'Ask it like this: workbench compare -q "QUESTION"')
    if option := _option_of_the_root(error):
        after = command.removeprefix(error.ctx.find_root().command_path).strip()
        return InputError(problem, f"It stands before the command: workbench {option} … {after} …")
    if type(error).__name__ == "NoSuchOption" and re.match(r"-[\d.]", error.option_name):
        return InputError(problem, f"Put -- before numbers of which one is negative: {command} -- NUMBER")
    if extra := _words_without_a_place(error):
        return InputError(problem, extra)
    if meant := _option_meant(error):
        return InputError(problem.partition(" (")[0], meant)
    usual = f"`{command} -h` shows what it takes."
    return InputError(problem, NEXT.get(name, usual).format(command=command))


def _words_without_a_place(error: Any) -> str:
    """Which options take such words as a command has no place for; empty for any other error."""
    found = re.search(r"unexpected extra arguments?\S* \((.*)\)$", error.format_message())
    if found is None or error.ctx is None:
        return ""
    flags = {flag for one in error.ctx.command.params for flag in one.opts}
    ways = " ".join(way for flag, way in PLACES.items() if flag in flags)
    return f"{ways} `{error.ctx.command_path} -h` shows what it takes.".strip()


def _option_of_the_root(error: Any) -> str:
    """The option that a command does not have, if `workbench` itself has it; or nothing."""
    option = getattr(error, "option_name", "")
    if not option or error.ctx is None or error.ctx.parent is None:
        return ""
    return option if any(option in one.opts for one in error.ctx.find_root().command.params) else ""


def _command_typed() -> str:
    """The command that was typed, for an error that does not know it."""
    name = next((one for one in sys.argv[1:] if one in rows()), "")
    return f"workbench {name}".strip()


def _option_meant(error: Any) -> str:
    """What to type in place of an option that another tool has; empty for any other error."""
    typed = str(getattr(error, "option_name", ""))
    if type(error).__name__ != "NoSuchOption" or error.ctx is None:
        return ""
    known = {flag for one in error.ctx.command.params for flag in one.opts}
    meant = next((name for name, others in OTHER_NAMES.items() if typed in others and name in known), "")
    return f"Here it is {meant}: `{error.ctx.command_path} -h` has all options." if meant else ""
