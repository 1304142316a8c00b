"""Who may use the service: agents with their keys, and operators."""

from __future__ import annotations

import io
import json
from typing import Any

import click

from retrycontract.cli.program import django_command, start_django


@click.group(no_args_is_help=False)
def agent() -> None:
    """Let agents in: create, list, revoke."""


@agent.command("create")
@click.argument("name")
@click.option("--namespace", help="Agents of one namespace share their tools; default: the name.")
@click.option("--scopes", help="Some of submit, read, tools, with commas between them; default: all.")
@click.option("--expires-after", metavar="DURATION", help="30d, say; default: until it is revoked.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def create_agent(name: str, as_json: bool, **options: str | None) -> None:
    """Make an agent, if it is new, and print an API key for it: shown this once.

    \b
    export RETRYCONTRACT_API_KEY=$(retrycontract agent create planner)
    """
    given = [f"--{option.replace('_', '-')}={value}" for option, value in options.items() if value is not None]
    key = _printed("create_agent", name, *given)
    # To stderr: standard output holds the key alone, for `$(…)` to take.
    click.echo(f"The API key of {name}, shown this once; the agent reads it from RETRYCONTRACT_API_KEY.", err=True)
    click.echo(json.dumps({"agent": name, "api_key": key}) if as_json else key)


@agent.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_agents(as_json: bool) -> None:
    """List agents and their keys: prefix, state, scopes, when they were used."""
    rows = _keys()
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    if not rows:
        click.echo("There is no agent yet: retrycontract agent create NAME", err=True)
    for row in rows:
        used = row["last_used_at"] or "never used"
        click.echo(f"{row['key']}  {row['state']:8} {row['agent']}  ({', '.join(row['scopes'])}; {used})")


@agent.command("revoke")
@click.argument("key", metavar="PREFIX")
def revoke_agent_key(key: str) -> None:
    """Take a key away for good, named by its PREFIX (rc_ and eight characters, as 'list' shows it)."""
    start_django()
    from django.utils import timezone

    from retrycontract.store.models import ApiKey, Door
    from retrycontract.usecases.people.admit import revoke_key

    # Whoever pastes the whole key is understood as well: its secret part is not looked at.
    found = list(ApiKey.objects.filter(prefix="_".join(key.split("_")[:2])).select_related("agent"))
    if len(found) != 1:
        # Repeats no more than a prefix has, since a whole key may have been pasted.
        raise click.ClickException(f"no key begins with {key[:11]}: 'retrycontract agent list' shows them.")
    was_good = revoke_key(found[0], now=timezone.now(), actor="retrycontract", door=Door.COMMAND)
    said = "revoked" if was_good else "was revoked before"
    click.echo(f"{found[0].prefix} of {found[0].agent.name}: {said}.")


@click.group(no_args_is_help=False)
def operator() -> None:
    """Let people in: create, free."""


@operator.command("create")
@click.argument("name")
@click.option("--role", type=click.Choice(["viewer", "operator", "admin"]), default="operator", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def create_operator(name: str, role: str, as_json: bool) -> None:
    """Make an operator and print a random password: shown this once."""
    password = _printed("create_operator", name, f"--role={role}")
    click.echo(f"The password of {name} ({role}), shown this once; they log in at the desk.", err=True)
    click.echo(json.dumps({"operator": name, "role": role, "password": password}) if as_json else password)


@operator.command("free")
@click.argument("name")
@click.option("--second-factor", is_flag=True, help="Take a second factor away that is lost.")
def free_operator(name: str, second_factor: bool) -> None:
    """Let an operator log in again who failed too often."""
    django_command("free_operator", name, second_factor=second_factor)


def _printed(command: str, *arguments: str) -> str:
    said = io.StringIO()
    django_command(command, *arguments, stdout=said)
    return said.getvalue().strip()


def _keys() -> list[dict[str, Any]]:
    start_django()
    from django.utils import timezone

    from retrycontract.store.models import ApiKey

    def moment(at: Any) -> str | None:
        return at.isoformat(timespec="seconds") if at else None

    return [
        {
            "agent": key.agent.name,
            "namespace": key.agent.namespace,
            "key": key.prefix,
            "state": key.state_at(timezone.now()).value,
            "scopes": sorted(scope.value for scope in key.granted),
            "created_at": moment(key.created_at),
            "expires_at": moment(key.expires_at),
            "last_used_at": moment(key.last_used_at),
        }
        for key in ApiKey.objects.select_related("agent").order_by("agent__name", "created_at", "pk")
    ]
