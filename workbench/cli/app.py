"""The parts that commands share: the application, common options, and how systems and indexes are opened."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer
import typer.core
import typer.main
from typer.models import CommandInfo

from workbench.cli.commands import HEADINGS, Row, row_named, rows, rows_of
from workbench.cli.numbers import count, number
from workbench.cli.output import print_error, print_output, telling_of_interruption
from workbench.cli.typed import MeantParser, after_the_command, check_command
from workbench.errors import InputError, WorkbenchError
from workbench.safe_text import counted
from workbench.trust import check_named, named_by_user

if TYPE_CHECKING:
    from workbench.measure.questions import QuestionSet
    from workbench.memory.index import OpenIndex
    from workbench.retrieval.index_adapters import CachedIndex
    from workbench.retrieval.pipeline import Pipeline
    from workbench_plugins.openclaw.config import Configuration


class Commands(typer.core.TyperGroup):
    """All commands, by their table: the module of a command is imported when the command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in rows() if " " not in name]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        row = None if " " in cmd_name else row_named(cmd_name)
        return None if row is None else command_of(row)

    def make_context(self, info_name: str | None, args: list[str], *others: Any, **extra: Any) -> Any:
        with telling_of_interruption():
            return super().make_context(info_name, args, *others, **extra)

    def invoke(self, ctx: Any) -> Any:
        with telling_of_interruption():
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        params: list[Any] = self.get_params(ctx)
        own = {flag: not one.is_flag for one in params for flag in one.opts}
        return super().parse_args(ctx, after_the_command(args, own, self.list_commands(ctx)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        check_command(args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Prints the commands under their headings."""
        for heading in HEADINGS:
            if said := [(one.name, one.sentence) for one in rows().values() if one.heading == heading]:
                with formatter.section(heading):
                    formatter.write_dl(said)


class Group(typer.core.TyperGroup):
    """A group of commands: its own, and those that can be typed without it too."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(rows_of(str(self.name)))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        row = rows_of(str(self.name)).get(cmd_name)
        return None if row is None else command_of(row)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        check_command(args[0], self.list_commands(ctx), ctx.command_path)
        return super().resolve_command(ctx, args)


class Command(typer.core.TyperCommand):
    """A command that knows what the user has typed: nothing else that a file names is used."""

    def make_parser(self, ctx: Any) -> Any:
        return MeantParser(self, super().make_parser(ctx))

    def invoke(self, ctx: Any) -> Any:
        with named_by_user(*_typed_values(ctx)):
            _check_configured(ctx)
            try:
                return super().invoke(ctx)
            except InputError as error:
                if SAMPLE in str(error):
                    _check_default_memory(ctx)
                raise


def _check_default_memory(context: Any) -> None:
    """Raises InputError if no memory was named and the default one is not here: that is what went wrong."""
    for one in context.command.params:
        is_default = context.params.get(one.name) in (SAMPLE, Path(SAMPLE))
        if is_default and _source(context, one.name) == "DEFAULT" and not os.path.exists(SAMPLE):
            flag = "-m " if one.param_type_name == "option" else ""
            raise InputError(
                f"No memory was named, and the default, {SAMPLE}, is not in this folder.",
                f"Name yours: {context.command_path} … {flag}FOLDER",
            ) from None


def _typed_values(context: Any) -> Iterator[str]:
    """What the user has typed as values of options and arguments, of the command and before it."""
    while context is not None:
        for name, value in context.params.items():
            if _source(context, name) in ("COMMANDLINE", "PROMPT"):
                yield from map(str, value if isinstance(value, list | tuple) else (value,))
        context = context.parent


def _source(context: Any, name: str) -> str:
    source = context.get_parameter_source(name)
    return "" if source is None else str(source.name)


CONFIGURED = {
    "model": "model", "memory": "memory", "folder": "memory", "extra": "extra path", "sessions": "sessions"
}  # fmt: skip
"""Parameters that get their values from a `--config` file, and must then be typed too; what each one is."""


def _check_configured(context: Any) -> None:
    """Raises InputError for a model, or a path, that this command would take from a `--config` file."""
    file, configuration, named = CONFIG_FILE.get(), context.obj, []
    for option in context.command.params:
        if option.name in CONFIGURED and _source(context, option.name) == "DEFAULT_MAP":
            flag = f"{option.opts[0]} " if option.param_type_name == "option" else ""
            value = context.params[option.name]
            given = map(str, value if isinstance(value, list | tuple) else (value,))
            named += [(CONFIGURED[option.name], one, f"{flag}{one}") for one in given]
    if configuration is not None and any(what == "model" for what, *_ in named):
        for address in configuration.unnamed_addresses().values():
            raise InputError(*unnamed_message(configuration, address))
        if configuration.has_named_address:
            named = [one for one in named if one[0] != "model"]
    check_named(file or "", named)


def command_of(row: Row) -> Any:
    """The command or the group of a row. Raises InputError if a feature or a package is not there."""
    if row.is_group:
        return Group(name=row.name, help=row.sentence, no_args_is_help=True, rich_markup_mode=None)
    info = CommandInfo(row.name.rpartition(" ")[2], cls=Command, callback=shared_options(row.function()))
    return typer.main.get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)


app = typer.Typer(
    name="workbench",
    cls=Commands,
    help="Teach, explore and reproduce how hybrid search fails.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SAMPLE = "sample_memory"

Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        "-m",
        help="The memory's folder, an OpenClaw SQLite file, or the address of an index.",
    ),
]
ReEmbed = Annotated[
    bool, typer.Option("--re-embed", help="Embed the chunks of an OpenClaw file with the packaged model.")
]
IndexFile = Annotated[
    Path | None,
    typer.Option("--index", readable=False, help="The index file. Default: a file in your cache folder."),
]
Extra = Annotated[
    list[str] | None,
    typer.Option("--extra", help="A folder or file outside the memory to index too; can be repeated."),
]
ClusterAddress = Annotated[
    str | None, typer.Option("--cluster", help="Work on a Dask cluster: its scheduler, tcp://HOST:8786.")
]
QuestionModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The model that an index from elsewhere names: a provider's, or a local one of your own. "
        "It is asked for once.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Details = Annotated[bool, typer.Option("--details", help="Print all of it, not only the answer.")]
Question = Annotated[str, typer.Argument(help="The question.")]
QuestionsFile = Annotated[
    Path | None,
    typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
]
System = Annotated[str, typer.Option("--system", "-s", help="The system to run.")]
AskedSystem = Annotated[
    str | None,
    typer.Option(
        "--system",
        "-s",
        help="The system to run. Default: the recommended one; with --config, and for an OpenClaw file, "
        "the release of the file.",
    ),
]
AskedLimit = Annotated[
    int | None,
    typer.Option("--limit", parser=partial(count, "--limit"), help="The largest number of results."),
]
AskedFloor = Annotated[
    float | None,
    typer.Option("--min-score", parser=partial(number, "--min-score"), help="The lowest score of a result."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Set a parameter (slot.parameter=value), a whole stage (slot=SYSTEM or slot=none), or an "
        "OpenClaw key (query.maxResults=8) in every system that has it; can be repeated.",
    ),
]
AskedReranker = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        help="Let a reranker order the best 20: cross-encoder:FOLDER_OR_NAME, cohere:MODEL@URL, "
        "judge:MODEL@URL or late. The key of a URL is read from WORKBENCH_RERANK_KEY.",
    ),
]
CaseOut = Annotated[
    Path | None,
    typer.Option(
        "--case", help="Save the search as a case in this file: NAME.case.yaml. See docs/reports.md."
    ),
]
SHIPPED = "openclaw-2026.2.13"

CONFIG_FILE: ContextVar[str | None] = ContextVar("config_file", default=None)
"""The value of `--config` (FILE or FILE#AGENT) while a command runs, None without it."""


def shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Lets a command take groups of options: each field of a dataclass becomes an option of the command.

        def count(name: SystemName, changes: SystemOptions, where: IndexOptions) -> None:
            with where.opened() as index:
                put(str(len(search("tea", changes.pipeline(name), index).results)))

    A group is a frozen dataclass whose fields are written as the parameters of a command are: with
    `Annotated[..., typer.Option(...)]`, and a default.
    """
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    for one in signature(command, eval_str=True).parameters.values():
        group: Any = one.annotation
        if not is_dataclass(group):
            parameters.append(one.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        groups[one.name] = group
        hints = get_type_hints(group, include_extras=True)
        parameters += [
            Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
            for field in fields(group)
        ]

    @wraps(command)
    def typed(**given: Any) -> None:
        options_given = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **options_given)

    vars(typed)["__signature__"] = Signature(parameters)
    return typed


def named_folder(name: str | Path) -> Path:
    """The folder that was named. Raises InputError for an empty name, which Path reads as a dot."""
    from workbench.memory.files import check_named_memory

    check_named_memory(str(name))
    return Path(name)


@contextmanager
def naming_the_folder(memory: str) -> Iterator[None]:
    """Puts the folder that was asked for into the remedy for an index that cannot say of which one it is."""
    try:
        yield
    except WorkbenchError as error:
        unknown, known = "workbench index FOLDER", f"workbench index {shlex.quote(memory)}"
        if unknown not in error.remedy or not os.path.isdir(os.path.expanduser(memory)):
            raise
        raise error.with_remedy(error.remedy.replace(unknown, known)) from error


def _print_remarks(index: OpenIndex, systems: Sequence[Pipeline], about: str = "") -> None:
    """Prints on stderr what limits answers (`about` a file), and which index it is if it is a release's."""
    from workbench.memory.opening import command_for_own, made_as

    for remark in index.remarks_about(about):
        print_error(remark)
    if release := made_as(index):
        print_error(f"Searched in the index that is made as {release}.")
    if any(one.indexing is None for one in systems) and (command := command_for_own(index)):
        print_error(f"  Make the workbench's own: {command}")


@dataclass(frozen=True)
class IndexOptions:
    """Options of commands that read an index: the memory, and where its index is."""

    memory: Memory = SAMPLE
    index_file: IndexFile = None
    re_embed: ReEmbed = False
    question_model: QuestionModel = None

    @contextmanager
    def opened(self, *systems: Pipeline, about: str = "") -> Iterator[OpenIndex]:
        """The index of the memory. Prints on stderr what limits the answers, or one `about` a file.

        Of several indexes it is the one that is made as the releases of all these systems make theirs; if
        they differ in that, it is the workbench's own.
        """
        from workbench.memory.opening import open_index

        like = systems[0].indexing if systems else None
        if any(one.indexing != like for one in systems):
            like = None
        with (
            naming_the_folder(self.memory),
            open_index(self.memory, index_path=self.index_file, re_embed=self.re_embed, like=like) as opened,
        ):
            _print_remarks(opened, systems, about)
            yield opened

    @contextmanager
    def opened_telling(self, system: Pipeline) -> Iterator[OpenIndex]:
        """As `opened`, for a command whose answer does not say that the index is not the release's own.

        stderr says it.
        """
        from workbench.retrieval.pipeline import caution

        with self.opened(system) as opened:
            if (told := caution(system, opened)) is not None:
                print_error(str(told))
            yield opened

    @contextmanager
    def opened_for_each(self, systems: Sequence[Pipeline]) -> Iterator[list[CachedIndex]]:
        """For each of these systems the index that is made as its release makes one, where there is one.

        Systems that share an index get the same object, which keeps its answers and is read in one state.
        """
        from workbench.memory.beside import Indexes
        from workbench.retrieval.index_adapters import CachedIndex

        with self.opened(*systems) as base, ExitStack() as reading:
            reading.enter_context(base.snapshot())
            indexes = Indexes(base, beside=self.index_file is None)
            reading.callback(indexes.close)
            ways = [one.indexing.name if one.indexing else "" for one in systems]
            found = {
                way: cast("OpenIndex", indexes.of(one.indexing))
                for way, one in dict(zip(ways, systems, strict=True)).items()
            }
            for other in {one.name: one for one in found.values() if one is not base}.values():
                reading.enter_context(other.snapshot())
                _print_remarks(other, ())
            kept = {one.name: CachedIndex(one) for one in found.values()}
            yield [kept[found[way].name] for way in ways]

    def system(self, asked: str | None) -> str:
        """The system that was asked for, or the default one for this memory."""
        from workbench.memory.opening import usual_system
        from workbench.systems.catalogue import default_system

        if asked is not None:
            return asked
        return SHIPPED if CONFIG_FILE.get() else usual_system(self.memory) or default_system()

    @property
    def typed(self) -> list[str]:
        """The options as they are typed, without those that have their default."""
        memory = [] if self.memory == SAMPLE else ["--memory", self.memory]
        file = [] if self.index_file is None else ["--index", str(self.index_file)]
        return [*memory, *file, *(["--re-embed"] if self.re_embed else [])]

    def relative(self, target: str) -> str:
        """The target's path in the memory. The target may be given with the memory's folder in front."""
        from workbench.memory.files import is_utf8

        if not target.strip():
            raise InputError("The name of the file is empty.", "Give its path, such as memory/notes.md.")
        if not is_utf8(target):
            raise InputError(f"The target {target!r} is not UTF-8.", "Type it in a UTF-8 terminal.")
        path, root = os.path.realpath(target), os.path.realpath(self.memory)
        inside = path.startswith(os.path.join(root, "")) and os.path.exists(path)
        return os.path.relpath(path, root) if inside else Path(target).as_posix()


@dataclass(frozen=True)
class SystemOptions:
    """Options that change the systems of a command."""

    limit: AskedLimit = None
    min_score: AskedFloor = None
    settings: Settings = None

    @property
    def typed(self) -> list[str]:
        """The options as they are typed, without those that were left out."""
        limit = [] if self.limit is None else ["--limit", str(self.limit)]
        floor = [] if self.min_score is None else ["--min-score", f"{self.min_score:g}"]
        return [*limit, *floor, *(part for one in self.settings or () for part in ("--set", one))]

    def pipeline(self, name: str) -> Pipeline:
        """The system of that name with these options. Raises InputError for an unknown name or setting."""
        return self.pipelines([name])[-1]

    def pipelines(self, names: Iterable[str]) -> list[Pipeline]:
        """The systems of these names with these options. A setting changes every system that has it.

        With a reranker, each system is followed by itself with that reranker.
        """
        named = [_named(name) for name in names]
        slots: list[str] = []
        if self.settings:
            from workbench.systems.languages import with_keys_of_any_language

            named, slots = with_keys_of_any_language(named, self.settings)
        pipelines = self.reranked([one.asking(self.limit, self.min_score) for one in named])
        if not slots:
            return pipelines
        from workbench.retrieval.settings import with_settings_where_they_fit

        return with_settings_where_they_fit(pipelines, slots)

    def reranked(self, systems: list[Pipeline]) -> list[Pipeline]:
        """The systems as they are: these options have no reranker."""
        return systems


@dataclass(frozen=True)
class RerankOptions(SystemOptions):
    """Options that change the systems of a command, with a reranker."""

    rerank: AskedReranker = None

    def reranked(self, systems: list[Pipeline]) -> list[Pipeline]:
        """Each system, followed by itself with the reranker if there is one."""
        if self.rerank is None:
            return systems
        from workbench_plugins.rerank import has_reranker, reranker_named, with_reranker

        reranker = reranker_named(self.rerank)
        pipelines: list[Pipeline] = []
        for one in systems:  # the file of a calibration may have brought this reranker already
            pipelines += [one] if has_reranker(one, reranker) else [one, with_reranker(one, reranker)]
        return pipelines


def labelled(memory: str, questions: Path | None) -> QuestionSet:
    """The labelled questions of this file, or else of `questions.yaml` in the memory's folder.

    Raises InputError for a file that cannot be read, and without a file for a memory that is no folder.
    """
    from workbench.measure.questions import load_questions
    from workbench.memory.files import memory_root
    from workbench.memory.opening import folder_of

    folder = folder_of(memory)
    if questions is None and folder is None:
        raise InputError(
            "Only a folder has a questions.yaml of its own, and this memory is not a folder.",
            "Name the file of labelled questions: --questions FILE",
        )
    if questions is None and folder is not None:
        memory_root(folder)  # it says that there is no such folder
    usual = Path(folder or ".") / "questions.yaml"
    if questions is None and not usual.exists():
        raise InputError(
            f"The memory {folder} has no questions.yaml, the labelled questions that this command needs.",
            f"Make one by asking: workbench explore {shlex.quote(str(folder))} --questions "
            f"{shlex.quote(str(usual))}; or name a file: --questions FILE",
        )
    return load_questions(questions or usual)


def _named(name: str) -> Pipeline:
    """The system of that name. With `--config` it has the settings of that file."""
    from workbench.systems.catalogue import system

    return system(configured_name(name))


def configured_name(name: str) -> str:
    """The name of the system with the settings of the `--config` file, `NAME@FILE`, if there is one."""
    from workbench.systems.languages import is_configuration

    file = CONFIG_FILE.get()
    return name if file is None or is_configuration(name) else f"{name}@{file}"


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print_output(f"workbench {version('hybrid-search-workbench')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Option("--config", help="An openclaw.json, or FILE#AGENT: its settings become the defaults."),
    ] = None,
    release: Annotated[
        str, typer.Option("--release", help="With --config: the release of OpenClaw that reads the file.")
    ] = "",
    _: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit."),
    ] = False,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url", help="With --config: the address of its provider, which gets your texts and key."
        ),
    ] = None,
) -> None:
    """Teach, explore and reproduce how hybrid search fails."""
    CONFIG_FILE.set(None)
    if config is None:
        if base_url is not None or release:
            raise InputError("--base-url and --release belong to a --config file.", "Add --config FILE.")
        return
    configuration = context.obj = _configuration(config, release)
    CONFIG_FILE.set(config)
    if base_url is not None:
        os.environ.update(dict.fromkeys(configuration.address_variables, base_url))
    for address in dict.fromkeys(configuration.unnamed_addresses().values()):
        print_error("\n  ".join(unnamed_message(configuration, address)))
    usual = _defaults(config, configuration)
    commands = rows()
    in_groups = {name: usual for name, one in commands.items() if one.heading in commands}
    context.default_map = dict.fromkeys(commands, usual | in_groups) | {
        "config": {"file": config, "release": release},
        "show": {"name": usual["system"]},
    }
    if context.invoked_subcommand == "config":
        return
    _print_reading(config, release, configuration)


def _print_reading(config: str, release: str, configuration: Configuration) -> None:
    """Prints on stderr how a file was read, and what of it has no effect here."""
    print_error(
        f"{config}: read as a file of {configuration.choice.description}, because {configuration.choice.why}."
    )
    if not configuration.findings:
        print_error(
            f"{config}: no key of memory search is in it, so nothing of it is used. "
            f"What is read in it: {_config_command(config, release)}"
        )
    if configuration.unused:
        first = configuration.unused[0]
        print_error(
            f"{config}: {counted(len(configuration.unused), 'key')} without effect here or unknown. "
            f"The first is {first.key}: {first.description}.\n"
            f"  All of them: {_config_command(config, release)}"
        )


def _config_command(config: str, release: str) -> str:
    """The command that prints every key of a file, read as the same release reads it."""
    return shlex.join(["workbench", "config", config, *(["--release", release] if release else [])])


def _configuration(file: str, release: str) -> Configuration:
    """What an openclaw.json says, as a release of OpenClaw reads it. Raises InputError for another file."""
    try:
        from workbench_plugins.openclaw.config import is_file, read
    except ImportError:
        raise InputError(
            "--config needs workbench_plugins/openclaw, which is not there.", "Install the whole package."
        ) from None
    if not is_file(file):
        raise InputError(f"--config does not read the file {file}.", "Give an openclaw.json.")
    return read(file, release=release)


def unnamed_message(configuration: Configuration, address: str) -> tuple[str, str]:
    """What is said of an address that only a file names: the problem, and the remedy."""
    quoted = shlex.quote(address)
    variables = " or ".join(f"export {one}={quoted}" for one in configuration.unnamed_addresses())
    return (
        f"{configuration.file} asks for {configuration.provider} at {address}, an address that you have not "
        "named. It would get your texts and your key.",
        f"If you trust it: workbench --config {shlex.quote(str(configuration.file))} --base-url {quoted} … "
        f"or {variables}",
    )


def _defaults(config: str, configuration: Configuration) -> dict[str, Any]:
    """Default values by parameter name; each command uses those that it has."""
    usual: dict[str, Any] = {
        "system": f"{configuration.choice.pipeline.name}@{config}",
        "systems": [f"{configuration.choice.pipeline.name}@{config}"],
        "extra": configuration.extra_paths,
        "citations": configuration.citations,
    }
    if configuration.model:
        usual["model"] = configuration.model
    if configuration.sessions:
        usual["sessions"] = configuration.sessions
    if configuration.workspace:
        usual |= {"memory": configuration.workspace, "folder": configuration.workspace}
    return usual


def workers_at(cluster: str | None) -> AbstractContextManager[Any]:
    """The workers of a Dask cluster at this address; None without one."""
    if cluster is None:
        return nullcontext()
    from workbench_plugins.stores.cluster import cluster_at

    return cluster_at(cluster)
