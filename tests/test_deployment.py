"""docker-compose.yml and the Dockerfile name what exists, and hold no password. No Docker is needed to read them."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from retrycontract.cli.program import COMMANDS
from retrycontract.cli.program import program as cli
from retrycontract.config.service_settings import PREFIX, ServiceSettings, load
from retrycontract.contract.configuration import SETTINGS
from retrycontract.management.doctor.surroundings import OLDEST_PATCH

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: Any = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("web", "worker", "migrate")
MADE_BY_COMPOSE = {"database_url", "redis_url"}  # of the passwords
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
OPERATING = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


def variables(service: str) -> dict[str, str]:
    found: dict[str, str] = SERVICES[service]["environment"]
    return found


@pytest.mark.parametrize("service", OURS)
def test_every_setting_that_is_named_exists(service: str) -> None:
    named = {name for name in variables(service) if name.startswith(PREFIX)}
    assert {name.removeprefix(PREFIX).lower() for name in named} <= set(ServiceSettings.model_fields)
    assert f"{PREFIX}DATABASE_URL" in named


def test_the_settings_are_taken_as_they_stand(tmp_path: Path) -> None:
    key = "GQcFdyOXfYXw7mVwiqe6h1qlpIMREkLBC1nMzpCKwHY="
    given = {
        "POSTGRES_PASSWORD": "p1", "REDIS_PASSWORD": "p2",
        f"{PREFIX}SECRET_KEY": "0123456789abcdef" * 4, f"{PREFIX}ENCRYPTION_KEYS": key,
        f"{PREFIX}ALLOWED_HOSTS": "desk.example",
    }  # fmt: skip

    for service in OURS:
        settings = load(in_container(service, given) | {f"{PREFIX}DATA_DIR": str(tmp_path)})
        assert (settings.judge, settings.https) == ("worker", True)
        assert settings.doorbell_class == "worker.celery_doorbell.CeleryDoorbell"
        assert settings.database_url == "postgresql://retrycontract:p1@postgres:5432/retrycontract"


def in_container(service: str, given: dict[str, str]) -> dict[str, str]:
    """What compose makes of an .env file: the whole of it, then what is said for the service."""

    def value(match: re.Match[str]) -> str:
        return given.get(match[1]) or (match[3] if match[2] == "-" else "")

    assert SERVICES[service]["env_file"][0]["path"] == ".env"
    filled = {name: re.sub(r"\$\{(\w+):([-?])([^}]*)\}", value, text) for name, text in variables(service).items()}
    return given | filled


@pytest.mark.parametrize("name", sorted((ServiceSettings.model_fields.keys() | SETTINGS) - MADE_BY_COMPOSE))
@pytest.mark.parametrize("service", OURS)
def test_every_setting_reaches_the_containers_from_the_env_file(service: str, name: str) -> None:
    assert in_container(service, {f"{PREFIX}{name.upper()}": "said"})[f"{PREFIX}{name.upper()}"] == "said"


def test_whatever_is_secret_must_be_given_and_has_no_default() -> None:
    secret = re.findall(r"\$\{(\w*(?:PASSWORD|KEYS?)\b)(.*?)\}", TEXT)
    assert {name for name, _ in secret} == {
        "POSTGRES_PASSWORD", "REDIS_PASSWORD", f"{PREFIX}SECRET_KEY", f"{PREFIX}ENCRYPTION_KEYS",
    }  # fmt: skip
    assert [name for name, rest in secret if not rest.startswith(":?")] == []
    assert not re.search(r"(?im)^\s*\w*password: (?!\$\{)", TEXT)


def test_images_are_pinned_and_none_has_a_known_hole() -> None:
    images = [service["image"] for service in SERVICES.values()] + re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    foreign = [image for image in images if not image.startswith("retrycontract:")]
    pins = [re.fullmatch(r"([\w/]+:\d+(?:\.\d+)?)\.(\d+)(?:-\w+)*", image) for image in foreign]
    assert {pin[1] for pin in pins if pin} <= set(OLDEST_PATCH)
    for pin in pins:
        assert pin is not None
        oldest, why = OLDEST_PATCH[pin[1]]
        assert int(pin[2]) >= oldest, why


def test_the_image_copies_a_database_with_the_programs_of_its_servers_version() -> None:
    [client] = re.findall(r"postgresql-client-(\d+)", DOCKERFILE)
    assert SERVICES["postgres"]["image"].startswith(f"postgres:{client}.")


def test_every_command_exists() -> None:
    assert SERVICES["migrate"]["command"] == ["retrycontract", "migrate"]
    assert "migrate" in COMMANDS
    assert (ROOT / "packaging" / "retrycontract.sh").read_text().endswith('exec python -m retrycontract "$@"\n')
    for name in ("web", "worker"):
        program, command, *options = SERVICES[name]["command"]
        assert (program, command) == ("retrycontract", name)
        leaf = cli.get_command(click.Context(cli), name)
        assert leaf is not None
        leaf.make_context(name, list(options))  # raises for an option that there is not
    assert hasattr(importlib.import_module("worker.alive"), "main")
    assert SERVICES["worker"]["healthcheck"]["test"][-1] == "worker.alive"
    assert "/livez" in SERVICES["web"]["healthcheck"]["test"][-1]


def test_nothing_but_the_web_is_published_and_that_for_this_machine_alone() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8000:8000"]}


def test_redis_refuses_when_it_is_full_and_asks_for_a_password() -> None:
    command = SERVICES["redis"]["command"][-1]
    for option in ("--requirepass", "--maxmemory-policy noeviction", "--appendonly yes"):
        assert option in command


def test_a_deploy_gives_the_attempts_in_hand_the_time_to_finish() -> None:
    assert SERVICES["worker"]["stop_grace_period"] == "30s"


def test_everything_that_runs_has_a_health_check_and_the_migration_comes_first() -> None:
    assert [name for name, service in SERVICES.items() if name != "migrate" and "healthcheck" not in service] == []
    for name in ("web", "worker"):
        assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_the_image_is_made_of_what_is_there_and_runs_as_nobody_in_particular() -> None:
    lines = re.findall(r"^COPY (?:--\S+ )?(.+)", DOCKERFILE, re.MULTILINE)
    copied = [word for line in lines for word in line.split()[:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [name for name in copied if f"!{name}" not in ignored] == []
    assert re.search(r"\nUSER \d+:\d+\n", DOCKERFILE), "a cluster cannot tell from a name that it is not root"


@pytest.mark.parametrize("package", ["mcp", "httpx2", "tree-sitter-typescript", "tree-sitter-bash"])
def test_the_image_serves_mcp_and_knows_every_language(package: str) -> None:
    assert "RUN pip install --no-deps --require-hashes -r requirements.lock" in DOCKERFILE
    assert f"\n{package}==" in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_the_documented_lines_write_everything_that_is_asked_for(tmp_path: Path) -> None:
    lines = re.search(r"```bash\n(.*?> \.env\n)```", OPERATING, re.DOTALL)
    assert lines is not None
    subprocess.run(["bash", "-ec", lines[1]], cwd=tmp_path, check=True)
    written = dict(line.partition("=")[::2] for line in (tmp_path / ".env").read_text().splitlines())
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert {name for name, message in re.findall(r"\$\{(\w+):\?([^}]*)\}", TEXT)} <= set(written)
    assert len(written["POSTGRES_PASSWORD"]) >= 40
    load({f"{PREFIX}DATA_DIR": str(tmp_path), **{k: v for k, v in written.items() if k.startswith(PREFIX)}})
