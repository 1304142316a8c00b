"""The work: whether it gets done, whether it can be read, whether the bells ring."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings

from retrycontract.contract.redaction.sanitizer import visible
from retrycontract.contract.schemas.tool_lists import slip_in
from retrycontract.delivery.courier import PinnedConnection
from retrycontract.management.doctor import Finding, fail, ok, warn
from retrycontract.management.doctor.surroundings import patches
from retrycontract.store.clock import shared_now
from retrycontract.store.models import (
    Attempt,
    Channel,
    ChannelTurn,
    OutboxMessage,
    SecondFactor,
    Tool,
    ToolVersion,
    WebhookEndpoint,
    WorkerBeat,
)
from retrycontract.store.sealing import UnreadableError, unseal
from retrycontract.usecases.deadlines import within
from retrycontract.usecases.notify.drain_outbox import UndeliveredError
from retrycontract.usecases.notify.tend_endpoint import resolve
from retrycontract.usecases.reseal import FOREIGN, are_foreign, still_old

SAMPLE = 200  # waiting submissions that are opened, the oldest first
PATIENCE = timedelta(seconds=60)  # longer than any sweep and lease of the defaults
BROKER_SECONDS = 2
LATELY = timedelta(days=7)
SOON = timedelta(days=14)
MOST_FAILURES = 3  # in a row, of a receiver that is restarted
MOST_HOOKS = 20  # that are knocked at: each may take seconds


def queue(now: datetime) -> Iterator[Finding]:
    """Look for what waits longer than a worker leaves it."""
    service = settings.RETRYCONTRACT
    if not service.sweep_seconds:
        yield warn(
            "sweep", "RETRYCONTRACT_SWEEP_SECONDS=0 turns it off: what a lost ring leaves behind stays. Unset it."
        )
    oldest = Attempt.objects.waiting().order_by("submitted_at").values_list("submitted_at", flat=True).first()
    limit = max(PATIENCE, timedelta(seconds=2 * service.lease_seconds + 2 * service.sweep_seconds))
    if oldest is None:
        yield ok("queue", "Nothing waits to be judged.")
    elif now - oldest > limit:
        waiting = Attempt.objects.waiting().count()
        advice = "no worker works. Start 'retrycontract up', or the worker"
        if _redis_url() and (alive := WorkerBeat.objects.alive(shared_now()).count()):
            many = f"{alive} workers are alive"
            advice = f"{many} and cannot keep up, or take nothing. Start more, and look at their logs"
        yield fail(
            "queue", f"{waiting} submissions wait, the oldest for {_span(now - oldest)}, and none is lost: {advice}."
        )
    else:
        yield ok("queue", f"The oldest submission that waits is {_span(now - oldest)} old.")


def readable() -> Iterator[Finding]:
    """Open what waits with the keys that we have, and what tells those of the service."""
    if are_foreign():
        yield fail("sealed", f"{FOREIGN[0].upper()}{FOREIGN[1:]}.")
    sealed = Attempt.objects.waiting().order_by("pk").values_list("sealed", flat=True)[:SAMPLE]
    looked = [_opens(bytes(content or b"")) for content in sealed]
    if lost := looked.count(False):
        yield fail(
            "sealed",
            f"{lost} of {len(looked)} waiting submissions cannot be opened: add the key they were made with to "
            "RETRYCONTRACT_ENCRYPTION_KEYS, or their agents are asked to send them again.",
        )
    elif looked:
        yield ok("sealed", f"The {len(looked)} oldest submissions that wait can be opened.")


def schemas() -> Iterator[Finding]:
    """Open the schemas that are sealed because their authors wrote secrets into them."""
    sealed = ToolVersion.objects.filter(sealed__isnull=False).order_by("-pk")[:SAMPLE]
    if lost := [str(version) for version in sealed.select_related("tool") if not _opens(bytes(version.sealed or b""))]:
        yield fail(
            "schemas",
            f"{len(lost)} cannot be opened, such as that of {lost[0]}, so nothing is judged by them: add the key they "
            "were made with to RETRYCONTRACT_ENCRYPTION_KEYS, or have the tools registered again.",
        )


def slips() -> Iterator[Finding]:
    """Look for keywords that were to mark or name something and do nothing: new schemas are refused for them."""
    newest = ToolVersion.objects.filter(pk__in=Tool.objects.values("current_version")).order_by("-pk")[:SAMPLE]
    for version in newest.select_related("tool"):
        if said := slip_in(version.schema):
            yield warn("slips", f"The schema of {version} has {said}")


def rotation() -> Iterator[Finding]:
    """Look whether older keys are still needed, where there are some."""
    if len(settings.RETRYCONTRACT.encryption_keys) < 2:
        return
    if left := still_old():
        yield warn("rotation", f"An older key is needed for {left} that it sealed: retrycontract rotate-keys reseal")
    else:
        yield warn("rotation", "Nothing needs the older keys any more: retrycontract rotate-keys retire")


def quarantine() -> Iterator[Finding]:
    """Look for versions whose checks crashed."""
    held = [str(version) for version in ToolVersion.objects.filter(quarantined_at__isnull=False).select_related("tool")]
    if held:
        shown = ", ".join(held[:5]) + (" and more" if len(held) > 5 else "")
        yield warn("quarantine", f"Checks of {shown} crashed or took too long: look at the schema, then release it.")


def workers() -> Iterator[Finding]:
    """Look for signs of life, where workers of their own are used."""
    if not _redis_url():
        return
    if alive := WorkerBeat.objects.alive(shared_now()).count():
        yield ok("workers", f"{alive} gave a sign of life lately.")
    else:
        yield fail("workers", "None gave a sign of life lately: start 'retrycontract worker'.")


def messages(now: datetime) -> Iterator[Finding]:
    """Look for messages that did not reach anybody or anything."""
    lost = OutboxMessage.objects.given_up().filter(given_up_at__gt=now - LATELY).count()
    stuck = OutboxMessage.objects.retried().first() or _refused()
    if lost:
        yield warn("messages", f"{lost} were given up this week; the admin says why. Is the address right?")
    if stuck is not None:
        reason, receiver = visible(stuck.last_error), stuck.endpoint or f"the {stuck.channel}"
        failing = OutboxMessage.objects.unfinished(Channel(stuck.channel)).filter(endpoint=stuck.endpoint).count()
        rests = ChannelTurn.objects.filter(failures__gt=0).count()
        beside = f" Receivers that took none lately: {rests}." if rests > 1 else ""
        yield warn("messages", f"The receiver of {receiver} does not take them ({reason}): {failing:,} wait.{beside}")
    if (last := OutboxMessage.objects.last_email()) and last.last_error:
        said = visible(last.last_error)
        yield warn(
            "messages",
            f"The mail server refused recipients of the last e-mail ({said}): correct RETRYCONTRACT_NOTIFY_EMAIL.",
        )
    elif not lost and stuck is None:
        yield ok("messages", "None is stuck.")


def _refused() -> OutboxMessage | None:
    """Find a message that a receiver did not take which takes none: each of many is tried once before one is again."""
    failing = ChannelTurn.objects.filter(failures__gte=MOST_FAILURES).exclude(endpoint__is_active=False)
    if (turn := failing.order_by("-failures").first()) is None:
        return None
    tried = OutboxMessage.objects.unfinished(Channel(turn.channel)).filter(endpoint=turn.endpoint, tries__gt=0)
    return tried.select_related("endpoint").first()


def endpoints(now: datetime) -> Iterator[Finding]:
    """Look for systems that are told nothing, though they were to be."""
    gone = WebhookEndpoint.objects.filter(gone_at__isnull=False).count()
    closed = 0
    for endpoint in WebhookEndpoint.objects.filter(is_active=True):
        try:
            closed += not (endpoint.secrets_at(now) and endpoint.address)
        except UnreadableError:
            closed += 1
    if closed:
        yield fail(
            "endpoints",
            f"What {closed} keep sealed cannot be opened, so they are told nothing: add the key it was sealed "
            "with to RETRYCONTRACT_ENCRYPTION_KEYS, or under Settings, Webhooks "
            "type the address again and make a new secret.",
        )
    if gone:
        yield warn(
            "endpoints",
            f"{gone} were switched off, as their receivers are gone (410): correct them under Settings, Webhooks.",
        )


def certificates(now: datetime) -> Iterator[Finding]:
    """Shake hands with whom we tell, as a message would, and look how long their certificates hold."""
    hooks = [("the notifications' webhook", str(settings.RETRYCONTRACT.notify_webhook_url))]
    for endpoint in WebhookEndpoint.objects.filter(is_active=True, gone_at__isnull=True)[:MOST_HOOKS]:
        with suppress(UnreadableError):  # said already
            hooks.append((f"endpoint {endpoint.public_id}", endpoint.address))
    for name, url in hooks:
        target = urlsplit(url)
        if target.scheme != "https":
            continue
        try:
            may_be_private = settings.RETRYCONTRACT.allow_private_webhooks
            connection = PinnedConnection(
                target.hostname or "",
                target.port,
                is_secure=True,
                allow_private=may_be_private,
                resolver=resolve,
                seconds=BROKER_SECONDS,
            )
            with closing(connection):
                within(2 * BROKER_SECONDS, connection.connect, abort=connection.abort)  # a name may never be found
                told: Any = cast("ssl.SSLSocket", connection.sock).getpeercert()
            ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(told["notAfter"]), UTC)
        except (OSError, ValueError, UndeliveredError) as error:
            reason = getattr(error, "verify_message", "") or str(error) or type(error).__name__
            yield warn("certificates", f"{name} cannot be reached safely ({visible(reason)}): nothing is sent there.")
            continue
        if ends - now < SOON:
            yield warn("certificates", f"That of {name} ends on {ends:%Y-%m-%d}: have its owner renew it.")
        else:
            yield ok("certificates", f"That of {name} holds until {ends:%Y-%m-%d}.")


def second_factors() -> Iterator[Finding]:
    """Look for operators who cannot log in, as no known key opens what their codes are made of."""
    asked = SecondFactor.objects.filter(confirmed_at__isnull=False).select_related("operator")
    if lost := [factor.operator.get_username() for factor in asked if not _opens(bytes(factor.sealed))]:
        yield fail(
            "operators",
            f"The second factor of {len(lost)} cannot be opened, such as that of {lost[0]}, who cannot log in: add "
            "the key it was made with to RETRYCONTRACT_ENCRYPTION_KEYS, or "
            "retrycontract operator free NAME --second-factor",
        )


def broker() -> Iterator[Finding]:
    """Ring at the broker, where there is one."""
    url = _redis_url()
    if not url:
        return
    place = urlsplit(url).hostname or "its socket"  # never the whole address: it may hold a password
    try:
        redis: Any = import_module("redis")
    except ImportError:
        yield fail("broker", "RETRYCONTRACT_REDIS_URL is set, but the package redis is not installed.")
        return
    try:
        client = redis.Redis.from_url(url, socket_timeout=BROKER_SECONDS, socket_connect_timeout=BROKER_SECONDS)
        client.ping()
        policy = str(client.info("memory").get("maxmemory_policy", ""))
        version = [int(part) for part in str(client.info("server")["redis_version"]).split(".")[:3]]
        keeps_a_log = bool(client.info("persistence").get("aof_enabled", 1))
    except redis.AuthenticationError:  # wrong, or none where one is asked for
        yield fail("broker", f"Redis at {place} refuses the password: correct the one in RETRYCONTRACT_REDIS_URL.")
        return
    except (redis.RedisError, OSError, ValueError) as error:
        yield fail(
            "broker", f"Redis at {place} does not answer ({type(error).__name__}): start it, or correct the address."
        )
        return
    yield from patches("redis", *version)
    if policy not in ("", "noeviction"):
        yield warn("broker", f"Redis may throw rings away ({policy}): set maxmemory-policy noeviction.")
    elif not keeps_a_log:
        yield warn(
            "broker",
            "Redis forgets its rings when it restarts; the sweep finds the work seconds later: appendonly yes.",
        )
    else:
        yield ok("broker", f"Redis at {place} answers.")


def _redis_url() -> str:
    return str(settings.RETRYCONTRACT.redis_url)


def _opens(sealed: bytes) -> bool:
    try:
        unseal(sealed)
    except UnreadableError:
        return False
    return True


def _span(passed: timedelta) -> str:
    seconds = int(passed.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
