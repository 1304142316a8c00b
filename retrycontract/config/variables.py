"""All variables that begin with RETRYCONTRACT_: their names, without loading what reads them, and what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

PREFIX: Final = "RETRYCONTRACT_"
_LIKE_OURS: Final = re.compile(r"(?i)retry[_-]?contracts?[_-](.+)")
# A list of its own, since ServiceSettings needs packages that agents' machines lack. A test holds both together.
OF_THE_SERVICE: Final = frozenset({
    "ALLOWED_HOSTS", "ALLOW_PRIVATE_WEBHOOKS", "ANSWER_HOLD_SECONDS", "BACKUP_DAYS", "BLOCKED_EXPIRES_AFTER_DAYS",
    "BODY_SECONDS", "CHECK_MEMORY_MB", "CHECK_PROCESSES", "CHECK_SECONDS", "CLAIM_MINUTES", "CONFIG_FILE",
    "CONNECTIONS", "CONNECTIONS_PER_ADDRESS", "COURIER", "DASHBOARD_THREADS", "DATABASE_URL", "DATA_DIR", "DEBUG",
    "DOORBELL", "DOOR_MAX_BYTES", "EMAIL_FROM", "EMAIL_HOST", "EMAIL_PASSWORD", "EMAIL_PORT", "EMAIL_SECURITY",
    "EMAIL_USER", "EMBEDDED_WORKER", "ENCRYPTION_KEYS", "HEADER_SECONDS", "HSTS_INCLUDE_SUBDOMAINS",
    "HSTS_PRELOAD", "HSTS_SECONDS", "HTTPS", "JUDGE", "LEASE_ATTEMPTS", "LEASE_SECONDS", "LOG_LEVEL", "MAX_BODY_BYTES",
    "MAX_DELIVERIES", "METRICS_TOKEN", "NOTIFY_EMAIL", "NOTIFY_GIVES_UP_AFTER_DAYS", "NOTIFY_PAUSE_SECONDS",
    "NOTIFY_WEBHOOK_URL", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_GROUPS_CLAIM", "OIDC_ISSUER", "OIDC_NAME",
    "OIDC_NAME_CLAIM", "OIDC_ROLES", "OIDC_SCOPES", "OTEL_ENDPOINT", "PASSWORD_LOGIN", "PROXY_MODE",
    "PROXY_UPSTREAMS", "PROXY_WAIT_SECONDS", "PUBLIC_URL", "REDIS_URL", "REQUESTS_PER_MINUTE",
    "REQUIRE_SECOND_FACTOR", "RETENTION_DAYS", "SECRET_KEY", "SESSION_IDLE_MINUTES", "SESSION_MAX_HOURS",
    "STATIC_DIR", "SWEEP_SECONDS", "TRACE_URL", "TRUSTED_ORIGINS", "TRUSTED_PROXIES", "WEBHOOK_TIMEOUT_SECONDS",
    "WORK_BURST_SECONDS", "WORK_SECONDS_PER_MINUTE",
})  # fmt: skip
# Read by the client and the gateway, by examples, and by what measures and tests the service.
OF_OTHERS: Final = frozenset({
    "URL", "API_KEY", "GATEWAY_TOKEN", "SESSION", "CORPUS", "SEED", "INSTANCES", "SCREENSHOTS", "DOC_IMAGES",
    "LIVES", "SCHEMATHESIS_EXAMPLES", "STORM_SHARE", "STORM_KILLS", "LOAD_SECONDS", "BOMBS", "BOMBS_WRITE",
    "E2E_API_KEY", "E2E_BASE_URL", "E2E_MODEL",
})  # fmt: skip
OF_TESTS: Final = "TEST_"


def given(environ: Mapping[str, str], names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Give what the variables of these settings hold, or the files that they name, and what is wrong with those."""
    values: dict[str, str] = {}
    faults = []
    for name in names:
        variable = f"{PREFIX}{name.upper()}"
        # Docker and Kubernetes hand secrets over as files; a variable can be read by whoever may inspect the container.
        if path := environ.get(f"{variable}_FILE"):
            if environ.get(variable):
                faults.append(f"{variable} and {variable}_FILE are both set: keep one")
            try:
                values[name] = Path(path).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
                faults.append(f"{variable}_FILE: {path} cannot be read: {reason}")
        elif variable in environ:
            values[name] = environ[variable]
    return values, faults


def misspelt(environ: Mapping[str, str]) -> Iterator[str]:
    """Name each variable of ours that nothing reads: a misspelt one would leave a default in force unseen."""
    for name in environ:  # in another spelling, such as retrycontract_judge or RETRY_CONTRACT_URL
        if not name.startswith(PREFIX) and (found := _LIKE_OURS.fullmatch(name)):
            yield f"{name} is no setting: {advice_for(found[1].upper())}"
    given = sorted(name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX))
    known = OF_THE_SERVICE | OF_OTHERS | {f"{name}_FILE" for name in OF_THE_SERVICE}
    strange = [name for name in given if name not in known and not name.startswith(OF_TESTS)]
    if not strange:
        return
    # Only now, since the first words of a command do not wait for it.
    from retrycontract.contract.configuration import SETTINGS

    known |= {name.upper() for name in SETTINGS}
    yield from (f"{PREFIX}{name} is no setting: {advice_for(name)}" for name in strange if name not in known)


def advice_for(name: str) -> str:
    """Name the variable that is nearest to a name without our prefix, or where all of them stand."""
    from retrycontract.contract.advice.names import did_you_mean
    from retrycontract.contract.configuration import SETTINGS

    known = (
        OF_THE_SERVICE | OF_OTHERS | {f"{each}_FILE" for each in OF_THE_SERVICE} | {each.upper() for each in SETTINGS}
    )
    # Compared without the prefix that all share: with it everything looks alike.
    nearest = did_you_mean(name, sorted(known))
    return f"did you mean {PREFIX}{nearest}?" if nearest else "docs/settings.md lists them all"
