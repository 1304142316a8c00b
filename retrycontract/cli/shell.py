"""What a shell asks of a program: its version, and how it completes."""

from __future__ import annotations

import json
import platform

import click
from click.shell_completion import get_completion_class

from retrycontract import __version__
from retrycontract.cli import program as cli


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with the Python version as well.")
def version(as_json: bool) -> None:
    """Print the version."""
    said = {"retrycontract": __version__, "python": platform.python_version()}
    click.echo(json.dumps(said) if as_json else __version__)


@click.command()
@click.argument("shell", type=click.Choice(cli.SHELLS))
def completion(shell: str) -> None:
    """Print what makes a shell complete words.

    \b
    echo 'eval "$(retrycontract completion bash)"' >> ~/.bashrc
    """
    found = get_completion_class(shell)
    assert found is not None  # click knows the three shells of the choice
    click.echo(found(cli.program, {}, "retrycontract", "_RETRYCONTRACT_COMPLETE").source())
