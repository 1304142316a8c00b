"""The settings of the service, from RETRYCONTRACT_* variables; docs/settings.md lists them all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal

from cryptography.fernet import Fernet
from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from retrycontract.config.database_url import check_redis_url, read_database_url
from retrycontract.config.key_files import KeptKeys, put_once, usable_keys
from retrycontract.config.outside_settings import DeliverySettings, LoginSettings, LogLevel, Parts
from retrycontract.config.outside_settings import is_plain_url as is_plain_url
from retrycontract.config.telemetry import checked_endpoint
from retrycontract.config.variables import PREFIX as PREFIX
from retrycontract.config.variables import given, misspelt
from retrycontract.contract.errors import WrongInputError

EMBEDDED_DOORBELL = "worker.embedded.EmbeddedDoorbell"
CELERY_DOORBELL = "worker.celery_doorbell.CeleryDoorbell"
# As Django compares them with the Host header, whose port it takes off first.
HOST = re.compile(r"\*|\.?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\]", re.IGNORECASE)
SHORTEST_KEY = 32  # characters of the secret key: half of what hexadecimal digits write of 256 bits
BOUNDS = (("gt", "more than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most"))


def _unguessable(key: str) -> str:
    # Whoever guesses it signs sessions and verdicts, and tells which redacted value an id stood for.
    if key and (len(key) < SHORTEST_KEY or len(set(key)) < SHORTEST_KEY // 4):
        raise ValueError(f"must be random, with at least {SHORTEST_KEY} characters: `openssl rand -hex 32` makes one")
    return key


class ServiceSettings(LoginSettings, DeliverySettings):
    """Hold every setting of the service; a wrong value is refused at start with its name and range."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    data_dir: Path = Field(Path("data"), description="Folder of the database, the keys and the first password.")
    static_dir: str = Field(
        "",
        description="Folder of the pages' files, which are collected once for each version; in the data folder unless "
        "given.",
    )
    debug: bool = Field(False, description="Show tracebacks in the browser; never in production.")
    allowed_hosts: Parts = Field(
        ["127.0.0.1", "localhost", "[::1]"], description="Host names that the service answers to, comma separated."
    )
    trusted_origins: Parts = Field(
        [], description="Origins (scheme and host) that forms may come from, comma separated; needed behind a proxy."
    )
    https: bool = Field(False, description="The service is reached over HTTPS: secure cookies, HSTS, redirects.")
    hsts_seconds: int = Field(
        31_536_000,
        ge=0,
        le=315_360_000,
        description="How long browsers ask for HTTPS only, once they were here over HTTPS; 0: no HSTS.",
    )
    hsts_include_subdomains: bool = Field(
        False, description="HSTS holds for every name below this one too; hard to take back on a whole domain."
    )
    hsts_preload: bool = Field(
        False, description="Let browsers ship this name as HTTPS only; needs the subdomains and a year."
    )
    secret_key: str = Field(
        "",
        description="Signs sessions, hashes and what workers tell; 32 random characters or more; made at first start.",
    )
    encryption_keys: Parts = Field(
        [], description="Fernet keys, newest first, comma separated; made at first start when empty."
    )
    config_file: Path = Field(Path(".agent/config.yml"), description="The contract's own configuration file.")

    database_url: str = Field(
        "", description="PostgreSQL as postgresql://user:password@host:5432/name; empty: SQLite in the data folder."
    )
    redis_url: str = Field(
        "",
        description="Redis as redis://:password@host:6379/0, for Celery workers and wake-ups; empty: no Redis.",
    )
    judge: Literal["auto", "worker"] = Field(
        "auto", description="Where outputs are checked: at the door when the work is bounded, or always by a worker."
    )
    embedded_worker: bool = Field(False, description="Run the worker thread and the sweep inside the web process.")
    doorbell: str = Field(
        "",
        description="Class that is rung after a commit; empty: chosen by whether there is a Redis.",
    )
    door_max_bytes: int = Field(65_536, ge=0, le=67_108_864, description="Largest output that is judged at the door.")
    lease_seconds: float = Field(30, gt=0, le=86_400, description="How long a worker may keep an attempt to itself.")
    lease_attempts: int = Field(
        8, ge=1, le=100, description="How many quick attempts a worker takes at once, to judge them in turn."
    )
    sweep_seconds: float = Field(
        2,
        ge=0,
        le=86_400,
        description="How often what was left behind is picked up again; 0 never, for tests of what that loses.",
    )
    max_deliveries: int = Field(
        3,
        ge=1,
        le=1_000,
        description="How often the service may die while it works on an attempt before that is given up.",
    )
    blocked_expires_after_days: float = Field(
        7, gt=0, le=365, description="When a Blocked call that nobody answered expires."
    )

    claim_minutes: float = Field(
        5,
        gt=0,
        le=1_440,
        description="How long an operator keeps a call that was claimed without doing anything on it.",
    )

    answer_hold_seconds: float = Field(
        8,
        ge=0,
        le=60,
        description="How long an answer can be taken back before its agent sees it; 0 sends it at once.",
    )

    retention_days: float = Field(
        90,
        ge=0,
        le=36_500,
        description="How long calls that ended are kept, with all that belongs to them; 0 keeps them for good.",
    )

    backup_days: float = Field(
        7,
        ge=0,
        le=3_650,
        description="How old the newest `backup` may be before `doctor` warns; 0: copies are made by other means.",
    )

    trace_url: str = Field(
        "",
        description="Address of a trace in your tracing tool, with `{trace_id}` in it: calls link there.",
    )
    proxy_upstreams: Parts = Field(
        [], description="Model APIs that agents reach at `/proxy/NAME/`, as `NAME=URL`, comma separated; empty: none."
    )
    proxy_mode: Literal["observe", "enforce"] = Field(
        "observe", description="Whether what models write at `/proxy/` is only checked and recorded, or mended as well."
    )
    proxy_wait_seconds: float = Field(
        0, ge=0, le=3_600, description="How long an answer at `/proxy/` waits for a person; 0: it ends and says so."
    )
    check_seconds: float = Field(
        2, gt=0, le=10, description="Processor seconds that checking one output may take before it is cut off."
    )
    check_processes: int = Field(
        0,
        ge=0,
        le=64,
        description="Child processes, in each process of the service, that check what is not quick; "
        "0: one fewer than it has processors, at least 1 and at most 2.",
    )
    check_memory_mb: int = Field(
        1_024, ge=256, le=1_048_576, description="Address space of each of these child processes, in megabytes."
    )
    work_seconds_per_minute: float = Field(
        30,
        ge=0,
        le=3_840,
        description="Processor seconds of checks and long reading that an agent may cause in a minute; 0: any number.",
    )
    work_burst_seconds: float = Field(
        8, gt=0, le=3_600, description="Processor seconds of both that an agent may cause at once."
    )
    requests_per_minute: int = Field(
        6_000,
        ge=0,
        le=1_000_000,
        description="Requests that a key may make in a minute, counted by each web process; 0: any number.",
    )
    log_level: LogLevel = Field(
        "info", description="What is logged: `info` has each request and retry, `warning` or `warn` what is wrong."
    )
    metrics_token: str = Field(
        "", description="Bearer token that opens `/metrics` for Prometheus; empty: it stays closed. A secret."
    )
    otel_endpoint: str = Field(
        "", description="OpenTelemetry collector that gets spans and metrics over OTLP/HTTP; empty: none."
    )
    max_body_bytes: int = Field(2_097_152, ge=1024, le=67_108_864, description="Largest request body.")
    dashboard_threads: int = Field(4, ge=1, le=128, description="Threads that serve the dashboard.")
    trusted_proxies: Parts = Field(
        [],
        description="Addresses or networks of proxies whose `X-Forwarded-For` is believed, comma separated; `*` all.",
    )
    connections: int = Field(
        0,
        ge=0,
        le=1_048_576,
        description="Connections that `retrycontract up` holds at once; 0: as many as descriptors allow, less 256 (of"
        " fewer than 512 a half).",
    )
    connections_per_address: int = Field(
        4_096,
        ge=0,
        le=1_048_576,
        description="Connections that one address may hold at `retrycontract up`; 0: any number.",
    )
    header_seconds: float = Field(
        10,
        ge=0,
        le=3_600,
        description="How long a connection may take to say what it wants, at `retrycontract up`; 0: any time.",
    )
    body_seconds: float = Field(
        60, ge=0, le=3_600, description="How long the body of a request may take, at `retrycontract up`; 0: any time."
    )

    # Blank, it would be the folder that the command was started in.
    _named_folder = field_validator("data_dir", mode="before")(lambda given: str(given).strip() or "data")
    _usable_keys = field_validator("encryption_keys")(usable_keys)
    _secret = field_validator("secret_key")(_unguessable)

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, hosts: list[str]) -> list[str]:
        if not all(HOST.fullmatch(host) for host in hosts):
            raise ValueError(
                "each must be a host name such as desk.example.com, without scheme, port or path; .example.com stands "
                "for every name below it, an IPv6 address is written [::1]"
            )
        return hosts

    @field_validator("trusted_origins")
    @classmethod
    def _origins(cls, origins: list[str]) -> list[str]:
        for origin in origins:
            # Compared with what browsers send, letter for letter: a path or a slash at the end would never match.
            if not re.fullmatch(r"https?://[^/?]+", origin) or not is_plain_url(origin.replace("://*.", "://any.")):
                raise ValueError("each must be a scheme and a host such as https://desk.example.com, and nothing after")
        return origins

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, proxies: list[str]) -> list[str]:
        for proxy in proxies:
            try:
                proxy == "*" or ip_network(proxy)
            except ValueError:
                raise ValueError("each must be an address, a network such as 10.0.0.0/8, or *") from None
        return proxies

    @model_validator(mode="after")
    def _may_be_preloaded(self) -> ServiceSettings:
        if self.hsts_preload and not (self.hsts_include_subdomains and self.hsts_seconds >= 31_536_000):
            raise ValueError(
                f"{PREFIX}HSTS_PRELOAD: needs {PREFIX}HSTS_INCLUDE_SUBDOMAINS=true and a year of {PREFIX}HSTS_SECONDS"
            )
        return self

    @field_validator("config_file")
    @classmethod
    def _there(cls, path: Path) -> Path:
        if not path.is_file():  # the usual one may be missing, and is not looked for here
            advice = "correct the path, or leave the variable out to run with the defaults"
            raise ValueError(f"{path} is not there: {advice}")
        return path

    @field_validator("proxy_upstreams")
    @classmethod
    def _named(cls, upstreams: list[str]) -> list[str]:
        for upstream in upstreams:
            name, _, url = upstream.partition("=")
            if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", name) or not is_plain_url(url) or "?" in url:
                raise ValueError("each must be a name and an address such as openai=https://api.openai.com")
        names = [upstream.partition("=")[0] for upstream in upstreams]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"names {', '.join(twice)} twice: keep one address for each name")
        return upstreams

    @field_validator("otel_endpoint")
    @classmethod
    def _with_its_packages(cls, url: str) -> str:
        return checked_endpoint(url, "server,otel")

    @field_validator("trace_url")
    @classmethod
    def _with_trace_id(cls, url: str) -> str:
        if url and ("{trace_id}" not in url or not is_plain_url(url.replace("{trace_id}", "0" * 32))):
            raise ValueError("must be an address such as https://traces.example/t/{trace_id}")
        return url

    @field_validator("database_url")
    @classmethod
    def _database(cls, url: str) -> str:
        if url:
            read_database_url(url)
        return url

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, url: str) -> str:
        if url:
            check_redis_url(url)
        return url

    @property
    def children(self) -> int:
        """Count the child processes: whoever asks for what is quick finds a processor that none of them uses."""
        count = os.cpu_count() or 1
        with suppress(AttributeError):  # Linux alone says which of them this process may use
            count = len(os.sched_getaffinity(0))
        return self.check_processes or (2 if count > 2 else 1)

    @property
    def doorbell_class(self) -> str:
        """Give the dotted path of the doorbell."""
        by_celery = self.redis_url and not self.embedded_worker
        return self.doorbell or (CELERY_DOORBELL if by_celery else EMBEDDED_DOORBELL)

    @model_validator(mode="after")
    def _hosts_named(self) -> ServiceSettings:
        if not self.allowed_hosts:
            raise ValueError(f"{PREFIX}ALLOWED_HOSTS is empty: name the hosts that the service answers to")
        return self


class WrongSettingError(WrongInputError):
    """Raised at start for values that cannot be used; names each variable and what it may hold, never the value."""

    def __init__(self, faults: Iterable[str]) -> None:
        super().__init__("\n".join(faults))


def load(environ: dict[str, str]) -> ServiceSettings:
    """Read the settings; `RETRYCONTRACT_X_FILE` names a file that holds the value of `RETRYCONTRACT_X`.

    Raises WrongSettingError for values that cannot be used and for variables with our prefix that nothing reads.
    Keys that are not given are made once and kept in the data folder, readable by their owner only.
    """
    values, unreadable = given(environ, ServiceSettings.model_fields)
    if not values.get("config_file", "named").strip():
        del values["config_file"]  # the usual one, which may be missing
    faults = [*misspelt(environ), *unreadable]
    try:
        settings = ServiceSettings.model_validate(values)
    except ValidationError as error:
        # `hide_input_in_errors` keeps values out of the text of the exception only: here they would still be.
        for fault in error.errors(include_input=False):
            said, name = fault["msg"].removeprefix("Value error, "), "".join(map(str, fault["loc"][:1]))
            # Of a number, the range that it may lie in.
            spare = f" (it must be {allowed})" if name and (allowed := range_of(name)) else ""
            said = "say true or false" if fault["type"] == "bool_parsing" else said
            faults.append(f"{PREFIX}{name.upper()}: {said}{spare}" if name else said)
    if faults:
        raise WrongSettingError(faults)
    made: dict[str, Any] = {}
    if not settings.secret_key:
        file, lost = settings.data_dir / "secret_key", "everybody has to log in again, and no repeat is recognised"
        made["secret_key"] = _kept(file, lambda: secrets.token_urlsafe(50), _unguessable, lost)
    if not settings.encryption_keys:
        file, lost = settings.data_dir / "encryption_key", "what is sealed cannot be read"  # one a line, newest first
        new = Fernet.generate_key
        _kept(file, lambda: new().decode(), lambda text: usable_keys(text.split()), lost)
        made["encryption_keys"] = KeptKeys(file)
    return settings.model_copy(update=made)


def range_of(name: str) -> str:
    """Say between what a number may lie, as `at least 0 and at most 365`; empty for a setting that is no number."""
    return " and ".join(
        f"{words} {bound:.12g}"
        for limit in ServiceSettings.model_fields[name].metadata
        for attribute, words in BOUNDS
        if (bound := getattr(limit, attribute, None)) is not None
    )


def _kept(path: Path, make: Callable[[], str], check: Callable[[str], Any], lost: str) -> Any:
    """Read a key, or make it; of processes that start together one wins; raises WrongSettingError with what is lost."""
    try:
        if not path.exists():
            put_once(path, make())
    except OSError as error:
        named = "name another one with RETRYCONTRACT_DATA_DIR or --data-dir"
        reason = f"the folder {path.parent} cannot be written ({error.strerror}); mend that, or {named}"
        raise WrongSettingError([f"{PREFIX}DATA_DIR: {reason}"]) from None
    try:
        return check(path.read_text(encoding="utf-8").strip() or "none")
    except ValueError as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else f"it {error}"
    advice = f"Restore the file from a copy, or remove it to begin with a new one: {lost} then"
    raise WrongSettingError([f"{path}: {reason}. {advice}"])
