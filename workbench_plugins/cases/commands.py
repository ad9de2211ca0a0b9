"""Commands for cases: a failure of memory search as a file that can be run, redacted, shrunk and reported.

The commands that search have an option --case: `save_trace` and `save_diagnosis` write its file.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from workbench.cli.app import (
    SHIPPED,
    AsJson,
    AskedSystem,
    IndexOptions,
    Question,
    System,
    SystemOptions,
)
from workbench.cli.numbers import count
from workbench.cli.output import print_error, print_output
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.questions import check_indexed, load_questions
from workbench.memory.files import replaced
from workbench.memory.store.sqlite.location import make_folder
from workbench.records import Trace
from workbench.registry import has_feature
from workbench.retrieval.own_stages import is_own
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import check_question
from workbench.safe_text import counted
from workbench_plugins.cases import SUFFIX, making
from workbench_plugins.cases.case_index import other_chunks
from workbench_plugins.cases.case_results import CaseRun, Matrix
from workbench_plugins.cases.exporting import FORMS, exported
from workbench_plugins.cases.model import (
    Case,
    CaseSystem,
    Elsewhere,
    Expected,
    case_files,
    load_case,
    save_case,
    secrets_text,
)
from workbench_plugins.cases.redact import redacted
from workbench_plugins.cases.report import case_html, case_markdown
from workbench_plugins.cases.running import (
    MOST_RETURNED,
    run_case,
    run_on,
    run_releases,
    systems_named,
    with_observations,
)
from workbench_plugins.cases.shrink import original_of, shrink_file

Files = Annotated[list[Path], typer.Argument(readable=False, help="Case files, or folders of them.")]
File = Annotated[Path, typer.Argument(readable=False, help="The case file.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", "--force", help="Replace the file if it exists.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The case file to write. Default: NAME.case.yaml, from the question."),
]


def new(
    question: Question,
    out: Out = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The file that should be in the answer.")
    ] = None,
    within: Annotated[
        int | None,
        typer.Option(
            parser=partial(count, "--within"), help="The target should be among this many first files."
        ),
    ] = None,
    not_found: Annotated[str | None, typer.Option(help="A file that should not be in the answer.")] = None,
    nothing: Annotated[bool, typer.Option("--nothing", help="Nothing should be returned.")] = False,
    order: Annotated[
        list[str] | None, typer.Option(help="A file in the right order; repeat it for each file.")
    ] = None,
    same_as: Annotated[
        str | None, typer.Option(help="The answer should be that of this other system.")
    ] = None,
    *,
    where: IndexOptions,
    system: AskedSystem = None,
    changes: SystemOptions,
    vectors: Annotated[
        str, typer.Option(help="Vectors inside: float32 (exact), float16 (half the size) or none.")
    ] = "float32",
    known_bug: Annotated[
        str, typer.Option(help="The reason why the case fails; tests then expect the failure.")
    ] = "",
    reference: Annotated[
        list[str] | None, typer.Option(help="A public report, such as owner/repository#12; can be repeated.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a case: the memory, the system, the question, what you expect, and what is observed.

    Exit code 0: the case is written, whether the expectation holds or not.
    """
    asked = changes.pipeline(where.system(system))
    cleaned = check_question(question)
    expected = _expected(
        found=target and where.relative(target),
        not_found=not_found,
        order=[where.relative(one) for one in order or ()],
        nothing=nothing,
        same_as=same_as,
        within=within,
    )
    with where.opened_telling(asked) as opened:
        named = [expected.found, expected.not_found, *(expected.order or ())]
        check_indexed(filter(None, named), opened.paths())
        ran = making.first_run(cleaned, asked, opened, expected, making.travelling(vectors))
        here = search(cleaned, asked, opened).paths()
    case = with_observations(ran)
    _save(case.with_changes(known_bug=known_bug, references=reference or []), out, overwrite)
    if ran.holds:
        print_error(f"This case records a success: {ran.answers[0].description}.")
    if any(map(is_own, asked.stages)):
        print_error(
            f"{asked.name} has a stage of your own. The case names it and has no code, so it runs only where "
            "the package that registers it is installed."
        )
    observed = case.questions[0].observed
    if observed and observed.returned is not None and list(observed.returned) != here[:MOST_RETURNED]:
        print_error(
            f"The case returns {', '.join(observed.returned) or 'nothing'}, and the memory itself "
            f"{', '.join(here) or 'nothing'}. {asked.name} reads more than this case carries. So this "
            "case does not show what you see."
        )


def _save(case: Case, out: Path | None, overwrite: bool) -> None:
    """Writes a case, by default to a file here with a name from its question, and says what it holds."""
    file = save_case(case, out or Path(making.file_name(case)), overwrite)
    size = file.stat().st_size
    print_output(
        f"{file}: {counted(len(case.memory.notes or ()), 'note')}, {case.words:,} words, {size:,} bytes."
    )
    _warn_of_secrets(case, file)
    print_error(f"Run it: workbench case run {shlex.quote(str(file))}")


def _warn_of_secrets(case: Case, file: Path) -> None:
    if told := secrets_text(case):
        print_error(f"{told} Before you give it away: workbench case redact {shlex.quote(str(file))}")


EXPECTATIONS = {
    "found": "--target FILE",
    "not_found": "--not-found FILE",
    "order": "--order FILE (for each file)",
    "nothing": "--nothing",
    "same_as": "--same-as SYSTEM",
}
"""The option for each form of an expectation, as it is typed."""


def _expected(**given: Any) -> Expected:
    """The expectation that options make. Raises InputError, in the words of the options, for none."""
    chosen = [option.partition(" ")[0] for name, option in EXPECTATIONS.items() if given[name]]
    remedy = f"Give one of these: {', '.join(EXPECTATIONS.values())}."
    if not chosen:
        raise InputError("A case needs what you expect of the answer.", remedy)
    if len(chosen) > 1:
        raise InputError(f"A case has one expectation, and these are several: {', '.join(chosen)}.", remedy)
    if given["within"] and chosen[0] not in ("--target", "--same-as"):
        raise InputError(f"--within has no meaning with {chosen[0]}.", "Leave it out, or give --target FILE.")
    if len(given["order"]) == 1:
        raise InputError("An order has two files or more.", "Repeat --order FILE for each file.")
    try:
        return Expected.model_validate({name: value for name, value in given.items() if value})
    except ValidationError as error:
        raise InputError(f"This expectation cannot be used: {error.errors()[0]['msg']}.", remedy) from None


def export(
    what: Annotated[
        str,
        typer.Argument(
            help="museum: each specimen that is a search or a fusion; questions; or a case file, for --to."
        ),
    ],
    folder: Annotated[Path, typer.Argument(readable=False, help="The folder to write to.")],
    to: Annotated[
        str, typer.Option(help="Write the case as a test of another project: pytest or vitest.")
    ] = "",
    project: Annotated[
        str, typer.Option("--for", help="own, openclaw, langchain, llamaindex, mem0 or basic-memory.")
    ] = "openclaw",
    questions: Annotated[
        Path | None, typer.Option("--questions", readable=False, help="Labelled questions (YAML).")
    ] = None,
    *,
    where: IndexOptions,
    system: System = SHIPPED,
    overwrite: Overwrite = False,
) -> None:
    """Write the museum, or questions with the answers of openclaw-2026.2.13, as cases; or a case as a test.

    pytest runs the cases. The specimens that are no case are listed, each with the reason. A test needs
    nothing of the workbench:
    it asks the other project's own search.
    """
    if to:
        loaded = load_case(what)
        text = exported(loaded, to, project)
        make_folder(folder)
        file = folder / FORMS[to].format(re.sub(r"\W+", "_", loaded.path.name.removesuffix(SUFFIX)))
        with replaced(file, overwrite) as out:
            out.write(text)
        print_output(f"{file}")
        if told := secrets_text(loaded.case):
            redact = f"workbench case redact {shlex.quote(str(what))}"
            print_error(f"{told} For a test without them, redact it first: {redact}")
        return
    if what not in ("museum", "questions"):
        raise InputError(f"There is nothing called {what!r} to export.", "Use museum or questions.")
    asked = (
        load_questions(questions or Path(where.memory) / "questions.yaml") if what == "questions" else None
    )
    make_folder(folder)
    if asked is None:
        written, left_out = making.export_museum(folder, overwrite)
        print_output(f"{folder}: {counted(len(written), 'case')}.")
        print_output("\n".join(f"No case: {name}, since {reason}." for name, reason in left_out.items()))
    else:
        pipeline = SystemOptions().pipeline(system)
        with where.opened_telling(pipeline) as opened:
            case = making.case_of_questions(asked, pipeline, opened)
        _save(case, folder / f"questions{SUFFIX}", overwrite)


def run(
    files: Files,
    systems: Annotated[
        list[str] | None,
        typer.Option("--system", "-s", help="Run on this system instead; can be repeated."),
    ] = None,
    releases: Annotated[bool, typer.Option("--releases", help="Run on every release of the system.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run cases, and explain each failure. Exit code 1 if an expectation does not hold.

    With several systems, or with --releases, a table names the first bad and the first good one.
    """
    if releases and systems:
        raise InputError("--releases and --system both name the systems to run.", "Give one of them.")
    fine, printed = True, []
    for one in map(load_case, case_files(files)):
        ran: CaseRun | Matrix
        if releases:
            ran = run_releases(one.case, folder=one.folder)
        elif systems:
            asked = systems_named(systems, one.case)
            for told in filter(None, (other_chunks(one.case, each, one.folder) for each in asked)):
                print_error(f"{one.path}: {told}")
            runs = run_on(one.case, asked, folder=one.folder)
            ran = Matrix(tuple(runs)) if len(runs) > 1 else runs[0]
        else:
            ran = run_case(one.case, folder=one.folder)
        fine = fine and ran.holds
        printed.append({"file": str(one.path), **ran.as_json()})
        if not as_json and isinstance(ran, Matrix):
            print_output(f"{one.path}")
        if not as_json:
            print_output(ran)
        if not as_json and isinstance(ran, CaseRun) and has_feature("recorder"):
            from workbench_plugins.recorder.cases import cause_in_lists

            print_output("\n".join(cause_in_lists(ran)))
    if as_json:
        print_output(printed, as_json)
    raise typer.Exit(0 if fine else 1)


def redact(
    file: File,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The case to write. Default: NAME.redacted.case.yaml."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a case in other words that fails in the same way, prove it, and list what may identify somebody.

    Exit code 1 if only the failure and its reason are the same, and not every number.
    """
    loaded = load_case(file)
    redaction = redacted(loaded.case, loaded.folder)
    written = save_case(redaction.case, out or sibling_file(file, "redacted"), overwrite)
    if as_json:
        proof = {**vars(redaction.proof), "complete": redaction.proof.complete}
        print_output({"file": str(written), "proof": proof, "remains": list(redaction.remains)}, as_json)
    else:
        print_output(f"{written}\n\nBoth cases were run:\n{redaction.proof}\n")
        print_output("This may still identify somebody; you decide:")
        print_output("\n".join(f"- {one}" for one in redaction.remains))
    raise typer.Exit(0 if redaction.proof.complete else 1)


def shrink(
    file: File,
    passing_on: Annotated[
        list[str] | None,
        typer.Option("--passing-on", help="The case must still hold on this system; can be repeated."),
    ] = None,
) -> None:
    """Take away notes, lines and words while the case fails for the same reason.

    The original is kept beside the case. The file is written after each step, so after an interruption the
    same command continues.
    """
    loaded = load_case(file)
    known = {one.system.name for one in loaded.case.elsewhere}
    more = [Elsewhere(system=CaseSystem(name=name)) for name in passing_on or () if name not in known]
    update = {"elsewhere": [*loaded.case.elsewhere, *more]}
    case = shrink_file(replace(loaded, case=loaded.case.with_changes(**update)))
    before, after = loaded.case.words, case.words
    print_output(f"{file}: {counted(len(case.memory.notes or ()), 'note')}, {after:,} of {before:,} words.")
    print_output(f"The original is {original_of(file)}.")


def sibling_file(file: Path, what: str) -> Path:
    """A name beside a case file: `a.case.yaml` becomes `a.redacted.case.yaml`."""
    return file.with_name(f"{file.name.removesuffix(SUFFIX)}.{what}{SUFFIX}")


def report(
    file: File,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write an HTML page with figures to this file instead.")
    ] = None,
    releases: Annotated[
        bool,
        typer.Option("--releases/--no-releases", help="Show every release of the system, if it has any."),
    ] = True,
) -> None:
    """Print a case as Markdown for an issue tracker, or write an HTML page that needs no network.

    Exit code 0, whether the expectations hold or not.
    """
    loaded = load_case(file)
    ran = run_case(loaded.case, folder=loaded.folder)
    try:
        matrix = run_releases(loaded.case, folder=loaded.folder) if releases else None
    except InputError as error:
        print_error(error.problem)
        matrix = None
    if html is None:
        print_output(case_markdown(ran, matrix).rstrip("\n"))
    else:
        with replaced(html) as out:
            out.write(case_html(ran, matrix))
        print_output(f"{html}")


def save_trace(out: Path, trace: Trace, index: Index, target: str) -> None:
    """Saves a search as a case that expects `target`.

    Raises InputError for a target that is not in the index, and for a case file that exists.
    """
    check_indexed([target], index.paths())
    _save_search(making.case_of_trace(trace, index, target), out)


def save_trace_beside(folder: Path, trace: Trace, index: Index, target: str) -> Path:
    """Saves a search as a case in this folder, under a name of its own; returns the file."""
    return making.save_beside(making.case_of_trace(trace, index, target), folder)


def save_diagnosis(out: Path, found: Any, index: Index) -> None:
    """Saves a diagnosis as a case. Raises InputError for a file that exists."""
    _save_search(making.case_of_diagnosis(found, index), out)


def _save_search(case: Case, out: Path) -> None:
    save_case(case, out)
    _warn_of_secrets(case, out)
    print_error(f"Saved as a case. Run it: workbench case run {shlex.quote(str(out))}")
