"""The program: its commands, and one line for every error that could be foreseen."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from _thread import get_ident, interrupt_main, start_new_thread
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EDQUOT, EIO, ENOSPC
from importlib import import_module
from itertools import pairwise
from time import sleep
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Final

import click
from click.exceptions import NoArgsIsHelpError

from retrycontract import __version__
from retrycontract.config.variables import misspelt

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

WRONG_USE: Final = 2
INTERRUPTED: Final = 130  # what shells expect of a program that Ctrl-C ended

# Command -> module that holds it. A module is imported when its command runs: `--help` needs neither Django nor the
# MCP SDK, and says its first words at once.
COMMANDS: Final = {
    "up": "service", "web": "service", "worker": "service", "doctor": "service", "seed": "service",
    "migrate": "service", "collectstatic": "service",
    "backup": "service", "restore": "service", "export": "service", "import": "service", "rotate-keys": "service",
    "rebuild-metrics": "service",
    "agent": "service", "operator": "service",
    "check": "contract", "proxy": "contract", "mcp": "contract", "mcp-gateway": "contract", "hook": "contract",
    "completion": "program", "version": "program",
}  # fmt: skip
NO_SETTINGS: Final = ("contract", "program")  # modules whose commands run without the settings of the service
MAKE_DATA: Final = frozenset({"up", "migrate", "restore", "collectstatic"})  # in a folder where there is none
SERVER_PACKAGES: Final = ("django", "ninja", "dashboard", "worker", "celery", "uvicorn", "whitenoise", "structlog")
SHELLS: Final = ("bash", "zsh", "fish")


class Program(click.Group):
    """Load a command's module when the command is named; list all of them in the order of COMMANDS."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option whose value is empty: in scripts that is a variable which nobody has set."""
        ours = args[: args.index("--")] if "--" in args else args  # what follows is another program's
        for option, value in pairwise([*ours, "-"]):
            if option.startswith("--") and (value == "" or option.endswith("=")):
                ctx.fail(f"{option.rstrip('=')} is empty.")
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Give the names in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Import the one command that is asked for."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"retrycontract.cli.{COMMANDS[cmd_name]}")
        # `import` is a word of Python's, so that the function cannot bear it.
        command: click.Command = getattr(module, cmd_name.replace("-", "_").replace("import", "import_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when one is misspelt, and the nearest variable where no settings are read."""
        from difflib import get_close_matches

        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            nearest = get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"there is no command '{args[0]}'" + (f", did you mean '{nearest[0]}'?" if nearest else ""))
        found = super().resolve_command(ctx, args)
        # Who asks for help or completes a word gets that; the service's settings tell of all that is wrong with them.
        asks_help = {"-h", "--help"} & set(args[: args.index("--")] if "--" in args else args)
        reads_none = COMMANDS[args[0]] in NO_SETTINGS and not asks_help and not ctx.resilient_parsing
        if reads_none and (strange := [*misspelt(os.environ)]):
            raise click.ClickException("; ".join(strange))
        return found


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="retrycontract")
def program() -> None:
    """Hold what LLM agents produce to its contract, and ask a person when the model is stuck.

    \b
    retrycontract up                                  the service on http://127.0.0.1:8000
    retrycontract check --schema S.json OUTPUT.json   the contract without a service
    """


@contextmanager
def _every_interrupt_counts() -> Iterator[None]:
    """Repeat a Ctrl-C that Python could only print, as what a finalizer raises is lost."""
    print_it = sys.unraisablehook

    def again(thread: int) -> None:
        sleep(0.01)  # until the finalizer is done with
        if sys.platform == "win32":
            interrupt_main()
        else:
            signal.pthread_kill(thread, signal.SIGINT)  # wakes it as well, should it sleep

    def hook(told: UnraisableHookArgs) -> None:
        if told.exc_type is KeyboardInterrupt:
            # Not a Thread: its start takes locks that this very thread may hold.
            start_new_thread(again, (get_ident(),))
        else:
            print_it(told)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = print_it


@_every_interrupt_counts()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0 done or valid, 1 not valid or failing, 2 wrong use."""
    if sys.stdout is None:  # a key that is shown once would be lost
        return _say("standard output is closed: send it to /dev/null if nobody reads it.")
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - closed by the interpreter
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - the same
    try:
        # Not in click's own mode, which prints errors in several lines and ends the process itself.
        result = program.main(args=arguments, prog_name="retrycontract", standalone_mode=False)
    except NoArgsIsHelpError as alone:
        click.echo(alone.format_message(), err=True)
        return WRONG_USE
    except click.UsageError as wrong:
        where = wrong.ctx.command_path if wrong.ctx else "retrycontract"
        reason = " ".join(wrong.format_message().split())
        return _say(f"{reason}{'' if reason[-1] in '.?' else '.'} See '{where} --help'.")
    except click.ClickException as wrong:
        return _say(wrong.format_message())
    except (click.Abort, KeyboardInterrupt):  # click has ended the line after the terminal's ^C
        return INTERRUPTED
    except BrokenPipeError:  # who reads has read enough
        # The interpreter flushes standard output once more at its end, and would fail again.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - closed by the interpreter
        return 0
    except Exception as error:
        foreseen = _foreseen(error)
        if foreseen is None:
            raise
        return _say(foreseen)
    return result if isinstance(result, int) else 0


def _say(reason: str) -> int:
    # What was given is quoted in it: neither a second line nor an escape sequence of its reaches the terminal.
    reason = "".join(sign if sign.isprintable() else " " for sign in reason)
    click.echo(f"{click.style('retrycontract:', fg='red')} {reason}", err=True)
    return WRONG_USE


def _foreseen(error: Exception) -> str | None:
    """Say in one line what is wrong and what to do; None for what nobody foresaw, which keeps its traceback."""
    from retrycontract.contract.errors import WrongInputError  # not for the first words of `--help`

    # Told by name: importing Django for its classes would fail wherever only the contract is installed.
    name = type(error).__module__.split(".")[0] + "." + type(error).__name__
    match error:
        case ModuleNotFoundError() if (error.name or "").split(".")[0] in SERVER_PACKAGES:
            return 'this command needs the service: pip install "retrycontract[server]"'
        case OSError() if error.filename is not None:
            return f"{error.filename}: {error.strerror}"
        case OSError() if error.errno in (ENOSPC, EDQUOT, EIO):
            return f"what it says cannot be written: {error.strerror}"
        case FileNotFoundError():  # of no file: asked for where it is, the system has no answer
            return "the folder that it was started in is gone"
        case UnicodeEncodeError() if any("\udc80" <= sign <= "\udcff" for word in sys.argv for sign in word):
            return "what was given is not text in UTF-8"
        case UnicodeDecodeError() if any("backends" in frame.filename for frame in extract_tb(error.__traceback__)):
            return "the database is damaged: it holds what is no text. 'retrycontract restore' puts a copy in its place"
        case WrongInputError():  # settings, configuration, tool lists: each says what it expects
            return " ".join(str(error).split("\n"))
        case _ if name in ("django.DatabaseError", "django.OperationalError", "django.ProgrammingError"):
            return _of_the_database(error)
        case _ if name == "django.MigrationSchemaMissing":  # Django's words for what the database refused first
            return _of_the_database(error.__context__ or error)
        case _ if name in ("django.CommandError", "django.ImproperlyConfigured"):
            return str(error).removeprefix("Error: ").removeprefix("argument ")  # which is how Django's parser begins
    return None


def _of_the_database(error: BaseException) -> str:
    from retrycontract.store.outages import NO_DATABASE, NOT_MIGRATED, REASONS, reason_of

    first = str(error).strip().split("\n")[0]
    if (reason := reason_of(error)) in (REASONS[NO_DATABASE], REASONS[NOT_MIGRATED]):
        from django.conf import settings

        return f"the database {settings.DATABASES['default']['NAME']} {reason.removeprefix('it ')}."
    if "unable to open" in first or "readonly" in first:
        return (
            f"the database cannot be used ({first}): is RETRYCONTRACT_DATA_DIR right, and may this account write there?"
        )
    if "permission denied" in first:
        return f"the database cannot be used ({first}): grant its user that, or make it the database's owner."
    if "not a database" in first or "malformed" in first:
        return f"the database is damaged or none ({first}): 'retrycontract restore' puts a copy in its place."
    if "disk" in first:
        return f"the database cannot be used ({first}): is there room for it?"
    return f"the database cannot be used: {first}"


def django_command(name: str, *arguments: str, **options: Any) -> None:
    """Run a management command of the service, with settings and apps loaded."""
    for argument in arguments:
        # argparse, which Django reads them with, takes this for no value at all: a key for everything, one for ever.
        if argument.startswith("--") and argument.endswith("=--"):
            raise click.UsageError(f"{argument[:-3]} needs a value, and -- is none.")
    start_django(makes_data=name in MAKE_DATA)
    from django.core.management import call_command

    call_command(name, *arguments, **options)


def start_django(*, makes_data: bool = False) -> None:
    """Load settings and apps; a wrong setting says so in one line, and so does a folder without data."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retrycontract.settings")
    import django

    # Before the settings are read, which makes keys: whoever looks into a wrong folder leaves nothing there.
    from retrycontract.config.data_folder import none_in, without_data

    if not makes_data and (folder := without_data(os.environ)):
        raise click.ClickException(none_in(folder))
    django.setup()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with the Python version as well.")
def version(as_json: bool) -> None:
    """Print the version."""
    said = {"retrycontract": __version__, "python": platform.python_version()}
    click.echo(json.dumps(said) if as_json else __version__)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes a shell complete words.

    \b
    echo 'eval "$(retrycontract completion bash)"' >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # click knows the three shells of the choice
    click.echo(found(program, {}, "retrycontract", "_RETRYCONTRACT_COMPLETE").source())
