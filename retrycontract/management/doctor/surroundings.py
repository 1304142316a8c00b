"""The machine and the settings: folder, keys, disk, hosts, configuration file."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage, staticfiles_storage

from dashboard.account.exchanges import AwayError
from dashboard.account.provider import CHALLENGES, SIGNED, metadata
from retrycontract.config.configuration_file import load_configuration
from retrycontract.config.service_settings import PREFIX, ServiceSettings
from retrycontract.config.variables import advice_for
from retrycontract.contract.advice.names import did_you_mean
from retrycontract.contract.configuration import ConfigurationError
from retrycontract.front.descriptors import TooFewFilesError, may_open, told_of_few
from retrycontract.management.doctor import Finding, fail, ok, warn
from retrycontract.management.private_files import is_given

KEYS = {"secret_key": "RETRYCONTRACT_SECRET_KEY", "encryption_key": "RETRYCONTRACT_ENCRYPTION_KEYS"}
LUA: Final = "CVE-2025-49844, code execution through Lua, is open in older ones"
UNBLOCK: Final = "CVE-2026-23479, code execution when a blocked client is evicted, is open in older ones"
POSTGRES: Final = "CVE-2026-6473, code execution through a size that wraps, and ten more are open in older ones"
PYTHON: Final = "the security releases of this series are missing in older ones"
LITTLE = 1_000_000_000  # bytes: days of calls of a small service, hours of a large one
TOO_LITTLE = 100_000_000  # a migration's copy, or the log of a busy minute, does not fit any more
LOCAL = {"127.0.0.1", "localhost", "[::1]"}
WELL_KNOWN = {
    "admin", "changeme", "default", "guest", "password", "postgres", "redis", "retrycontract", "root", "secret", "test",
}  # fmt: skip
SHORTEST_TOKEN = 16  # characters; fewer can be guessed by whoever may ask as often as they like
# The oldest patch of each series without a known hole, and what an older one brings back. Renew it with the images.
OLDEST_PATCH: Final = {
    "redis:6.2": (20, LUA), "redis:7.2": (11, LUA), "redis:7.4": (6, LUA), "redis:8.0": (4, LUA), "redis:8.2": (2, LUA),
    "redis:8.6": (3, UNBLOCK),
    "postgres:15": (18, POSTGRES), "postgres:16": (14, POSTGRES), "postgres:17": (10, POSTGRES),
    "postgres:18": (4, POSTGRES),
    "python:3.11": (15, PYTHON), "python:3.12": (12, PYTHON),
}  # fmt: skip
IMAGE: Final = Path("/srv/retrycontract")  # where the Dockerfile puts the service
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def data_folder() -> Iterator[Finding]:
    """Look at the folder of database and keys."""
    folder: Path = settings.RETRYCONTRACT.data_dir
    if not _holds_something() and not os.access(folder, os.W_OK):
        yield ok("data folder", f"{folder} is not written: keys are given, and the database is PostgreSQL.")
    elif not folder.is_dir():
        yield fail("data folder", f"{folder} does not exist: start the service once, or set RETRYCONTRACT_DATA_DIR.")
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield fail("data folder", f"{folder} cannot be written by this user: run as its owner, or chown it.")
    elif stat.S_IMODE(folder.stat().st_mode) & OTHERS:
        yield warn("data folder", f"{folder} is open to other users of this machine: chmod 700 {folder}")
    elif open_files := sorted(path.name for path in folder.iterdir() if _is_open(path)):
        named = ", ".join(open_files[:5])
        yield warn("data folder", f"Others may read {named} in {folder}: chmod 600 them, or start the service once.")
    else:
        yield ok("data folder", f"{folder} is its owner's alone.")


def _holds_something() -> bool:
    """Tell whether the service needs its folder, or has its keys and its database elsewhere."""
    are_given = all(is_given(variable) for variable in KEYS.values())
    return not (are_given and settings.RETRYCONTRACT.database_url)


def _is_open(path: Path) -> bool:
    with suppress(OSError):  # SQLite's log comes and goes
        return path.is_file() and bool(stat.S_IMODE(path.stat().st_mode) & OTHERS)
    return False


def keys() -> Iterator[Finding]:
    """Look at the key files that the service made; keys from the environment were checked when they were read."""
    for name, variable in KEYS.items():
        path: Path = settings.RETRYCONTRACT.data_dir / name
        if is_given(variable):
            yield ok("keys", f"{variable} is given.")
        elif not path.parent.is_dir():
            continue  # said already
        elif not path.exists():
            yield fail("keys", f"{path} is gone: put it back from where you keep your keys; a new one opens nothing.")
        elif stat.S_IMODE(path.stat().st_mode) != 0o600:
            yield fail("keys", f"{path} can be read by others: chmod 600 {path}, and consider it known.")
        else:
            yield ok("keys", f"{path} is its owner's alone.")


def disk() -> Iterator[Finding]:
    """Look at the room that is left."""
    folder: Path = settings.RETRYCONTRACT.data_dir
    if not folder.is_dir() or not _holds_something():
        return
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB are free below {folder}"
    if free < TOO_LITTLE:
        yield fail("disk", f"{text}: nothing can be stored soon. Make room now.")
    elif free < LITTLE:
        yield warn("disk", f"{text}: make room, or shorten the retention.")
    else:
        yield ok("disk", f"{text}.")


def open_files() -> Iterator[Finding]:
    """Look at how many files a process may open; the service may have been started under another limit."""
    files = may_open()
    try:
        few = told_of_few(files) if files else ""
    except TooFewFilesError as error:
        yield fail("open files", f"{error} The service does not start with that.")
        return
    yield warn("open files", few) if few else ok("open files", f"A process may open {files or 'any number'} here.")


def address() -> Iterator[Finding]:
    """Look at host names, HTTPS and debugging."""
    service = settings.RETRYCONTRACT
    is_public = bool(set(service.allowed_hosts) - LOCAL)
    if service.debug:
        found = fail if is_public else warn
        yield found("debug", "RETRYCONTRACT_DEBUG shows tracebacks and settings to visitors: unset it.")
    if "*" in service.allowed_hosts:
        yield warn("hosts", "RETRYCONTRACT_ALLOWED_HOSTS answers to every name: list the names that people use.")
    elif is_public and not service.https:
        yield warn(
            "https", "Others can reach this service, and passwords travel readable: set RETRYCONTRACT_HTTPS=true."
        )
    elif service.https and not service.trusted_origins:
        yield warn("https", "Behind a proxy forms need RETRYCONTRACT_TRUSTED_ORIGINS=https://your.host to be accepted.")
    else:
        yield ok("hosts", f"It answers to {', '.join(service.allowed_hosts)}{' over HTTPS' if service.https else ''}.")


def passwords() -> Iterator[Finding]:
    """Look for passwords that everybody knows or guesses; those of operators are checked when they are set."""
    service = settings.RETRYCONTRACT
    for name, url in (
        ("RETRYCONTRACT_DATABASE_URL", service.database_url),
        ("RETRYCONTRACT_REDIS_URL", service.redis_url),
    ):
        parts = urlsplit(url)
        if unquote(parts.password or "").lower() in WELL_KNOWN:
            yield fail("passwords", f"The password in {name} is one that everybody tries first: make a random one.")
        elif parts.scheme.startswith("redis") and not parts.password and parts.hostname not in LOCAL | {"::1"}:
            yield warn("passwords", f"{name} has no password, and Redis is on another machine: set requirepass.")
    if 0 < len(service.metrics_token) < SHORTEST_TOKEN:
        yield warn("passwords", "RETRYCONTRACT_METRICS_TOKEN can be guessed: make a random one of 32 characters.")


def provider() -> Iterator[Finding]:
    """Ask the identity provider for its configuration, as a log-in does."""
    service = settings.RETRYCONTRACT
    if not service.oidc_issuer:
        return
    try:
        told = metadata(service)
    except AwayError as error:
        yield fail(
            "log-in", f"{service.oidc_issuer}: {error}. Nobody can log in there; check RETRYCONTRACT_OIDC_ISSUER."
        )
        return
    if not told[SIGNED]:
        yield fail("log-in", f"{service.oidc_issuer} signs with nothing but a shared secret: choose RS256 there.")
    elif "S256" not in (told.get(CHALLENGES) or ["S256"]):
        yield warn("log-in", f"{service.oidc_issuer} does not say that it takes PKCE (S256): try a log-in.")
    else:
        yield ok("log-in", f"{service.oidc_issuer} answers{'' if service.password_login else '; passwords are off'}.")


def variables() -> Iterator[Finding]:
    """Look for variables whose first word is misspelt; one with ours and an unknown rest stops every command."""
    ours = PREFIX.rstrip("_")
    for name in sorted(os.environ):
        first = name.partition("_")[0]
        # Our first word may stand in two, or in small letters.
        found = re.match("_?".join(ours) + "_?", name, re.IGNORECASE)
        if first != ours and (found or did_you_mean(first, [ours])):
            rest = name[found.end() :] if found else name.partition("_")[2]
            yield warn("variables", f"Nothing reads {name}: {advice_for(rest)}")


def image() -> Iterator[Finding]:
    """Look whether our image has a Python with known holes; elsewhere Python is the system's to renew."""
    if settings.BASE_DIR == IMAGE:
        yield from patches("python", *sys.version_info[:3])


def patches(program: str, major: int, minor: int, patch: int) -> Iterator[Finding]:
    """Compare a version with the oldest of its series that has no known hole; nothing for an unknown series."""
    for series in (f"{program}:{major}.{minor}", f"{program}:{major}"):
        oldest, why = OLDEST_PATCH.get(series, (0, ""))
        here = minor if series.count(".") == 0 else patch
        if here < oldest:
            known = series.replace(":", " ")
            yield warn("versions", f"{known}.{here} is old: {why}. Take {known}.{oldest} or newer.")


def static_files() -> Iterator[Finding]:
    """Look for the files of the pages, which are collected once for each release."""
    if not isinstance(staticfiles_storage, ManifestStaticFilesStorage):
        return  # debugging or a test: nothing is collected
    folder, known = settings.STATIC_ROOT, staticfiles_storage.hashed_files
    missing = [name for name in known.values() if not (folder / name).is_file()]
    if not known:
        yield fail("static files", f"None are in {folder}, so pages cannot be shown: retrycontract collectstatic")
    elif missing:
        yield fail("static files", f"{len(missing)} are gone from {folder}: retrycontract collectstatic")
    else:
        yield ok("static files", f"{len(known)} are in {folder}.")


def configuration() -> Iterator[Finding]:
    """Look at the contract's own file as it is now; the service reads it at its start."""
    path: Path = settings.RETRYCONTRACT.config_file
    if not path.exists():
        # A path that somebody gave is meant to be there; the usual one may be.
        is_named = path != ServiceSettings.model_fields["config_file"].default
        if is_named:
            yield fail("config file", f"{path} is gone. The service will not start again without it.")
        else:
            yield ok("config file", f"{path} is not there; the defaults hold.")
        return
    try:
        changed = load_configuration(path, os.environ) != settings.CONTRACT
    except (ConfigurationError, OSError) as error:
        yield fail("config file", f"{error}. The service will not start again with it.")
        return
    yield (
        warn("config file", f"{path} has changed: restart the service.")
        if changed
        else ok("config file", f"{path} is valid.")
    )
