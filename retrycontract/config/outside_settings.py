"""The settings of how operators log in and of what is sent out; parts of the service's settings."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from retrycontract.config.public_addresses import NOT_PUBLIC, leads_inside
from retrycontract.config.variables import PREFIX

LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "::1"))
ROLES: Final = ("viewer", "operator", "admin")  # each does what those before it do
ANYBODY: Final = "*"


def parts(value: Any, mark: str = ",") -> Any:
    """Split a text at its marks; what is split already stays."""
    return [part.strip() for part in value.split(mark) if part.strip()] if isinstance(value, str) else value


def level(value: Any) -> Any:
    """Give a level's name as it is kept: the log itself writes `warn`, and other programs write `INFO`."""
    told = value.strip().lower() if isinstance(value, str) else value
    return "warning" if told == "warn" else told


Parts: TypeAlias = Annotated[list[str], BeforeValidator(parts)]
LogLevel: TypeAlias = Annotated[Literal["info", "warning", "error"], BeforeValidator(level)]


class LoginSettings(BaseModel):
    """Hold what decides who may log in at the desk, and how."""

    session_idle_minutes: int = Field(720, ge=1, le=525_600, description="When an idle operator must log in again.")
    session_max_hours: float = Field(
        24, gt=0, le=8_760, description="When an operator must log in again, however busy."
    )
    require_second_factor: bool = Field(
        False, description="Who logs in by password must set up a second factor before anything else."
    )
    password_login: bool = Field(True, description="Let operators log in by password; `false` needs a provider.")
    oidc_issuer: str = Field(
        "", description="OpenID Connect provider that operators log in at, as https://id.example.com; empty: none."
    )
    oidc_client_id: str = Field("", description="What the provider calls this service.")
    oidc_client_secret: str = Field("", description="The provider's secret for it; empty: PKCE alone. A secret.")
    oidc_roles: list[str] = Field(
        [],
        description="Roles by the provider's groups: `GROUP=ROLE`, separated by commas or `;`; `*=ROLE` for anybody.",
    )
    oidc_name: str = Field("single sign-on", max_length=60, description="What the button of the log-in says.")
    oidc_scopes: list[str] = Field(
        ["openid", "profile", "email"], description="Scopes that are asked for, comma separated."
    )
    oidc_name_claim: str = Field("preferred_username", description="Claim that becomes the operator's name.")
    oidc_groups_claim: str = Field("groups", description="Claim that lists somebody's groups.")

    @field_validator("oidc_roles", "oidc_scopes", mode="before")
    @classmethod
    def _split_words(cls, value: Any) -> Any:
        is_marked = isinstance(value, str) and ";" in value  # a directory's groups hold commas themselves
        return parts(value, ";" if is_marked else ",")

    @field_validator("oidc_roles")
    @classmethod
    def _of_groups(cls, pairs: list[str]) -> list[str]:
        for pair in pairs:
            group, _, role = pair.rpartition("=")  # groups may hold an equals sign, as of a directory
            if not group or role not in ROLES:
                raise ValueError(f"each must be GROUP=ROLE, and a role is one of {', '.join(ROLES)}")
        groups = [pair.rpartition("=")[0] for pair in pairs]
        if twice := sorted({group for group in groups if groups.count(group) > 1}):
            raise ValueError(f"names {', '.join(twice)} twice: keep one role for each group")
        return pairs

    @field_validator("oidc_issuer")
    @classmethod
    def _over_tls(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        # OpenID Connect trusts what it fetches there, keys among it, because of TLS; on the machine itself nobody
        # stands in between.
        is_safe = parts.scheme == "https" or parts.hostname in LOOPBACK
        if issuer and not (is_plain_url(issuer) and is_safe and not parts.query):
            raise ValueError("must be an address such as https://id.example.com; http only on this machine itself")
        return issuer

    @field_validator("oidc_scopes")
    @classmethod
    def _with_identity(cls, scopes: list[str]) -> list[str]:
        if "openid" not in scopes:
            raise ValueError("needs the scope openid: without it there is no ID token")
        if any(not scope.isascii() or not scope.isprintable() or set(scope) & set(' "\\') for scope in scopes):
            raise ValueError("must be words with commas between them, such as openid, profile, email")
        return scopes

    @model_validator(mode="after")
    def _lets_somebody_in(self) -> LoginSettings:
        if self.oidc_issuer and not (self.oidc_client_id and self.oidc_roles):
            raise ValueError(f"{PREFIX}OIDC_ISSUER: needs {PREFIX}OIDC_CLIENT_ID and {PREFIX}OIDC_ROLES")
        for name in ("oidc_client_id", "oidc_client_secret", "oidc_roles"):
            if getattr(self, name) and not self.oidc_issuer:
                raise ValueError(f"{PREFIX}{name.upper()}: needs {PREFIX}OIDC_ISSUER")
        if not self.password_login and not self.oidc_issuer:
            raise ValueError(f"{PREFIX}PASSWORD_LOGIN: without {PREFIX}OIDC_ISSUER nobody could log in")
        return self

    def role_for(self, groups: set[str]) -> str | None:
        """Give the highest role that any of the groups has; None keeps somebody out."""
        given = {role for group, _, role in (pair.rpartition("=") for pair in self.oidc_roles)
                 if group == ANYBODY or group in groups}  # fmt: skip
        return next((role for role in reversed(ROLES) if role in given), None)


LONGEST_HOST: Final = 253  # characters that a name has in DNS (RFC 1035)


def is_plain_url(url: str) -> bool:
    """Tell whether an address is absolute, http or https, and holds nothing that could be read in two ways."""
    try:
        parts = urlsplit(url)
        port_is_sound = parts.port != 0  # reading it raises ValueError when it is out of range
        # And this for a label that is empty or too long.
        host_is_sound = 0 < len((parts.hostname or "").encode("idna")) <= LONGEST_HOST
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and not set(url) & set(' "<>\\^`{|}#')
    is_sound = port_is_sound and host_is_sound
    return is_plain and is_sound and parts.scheme in ("http", "https") and "@" not in parts.netloc


ADDRESS = re.compile(r"[^@\s<>\"',;:()\[\]\\]+@[^@\s<>\"',;:()\[\]\\]+")


class DeliverySettings(BaseModel):
    """Hold who is told of escalations, and how; and how webhooks are delivered."""

    public_url: str = Field(
        "", description="Address at which people reach the desk; links in notifications begin with it."
    )
    notify_webhook_url: str = Field(
        "", description='Slack-compatible webhook that is told of new escalations; gets `{"text": …}`. A secret.'
    )
    notify_email: Parts = Field(
        [], description="Addresses that are told of new escalations, comma separated; needs the e-mail settings."
    )
    allow_private_webhooks: bool = Field(
        False, description="Let webhooks lead to private addresses and use plain http; only inside your own network."
    )
    webhook_timeout_seconds: float = Field(
        15, gt=0, le=30, description="How long the receiver of a signed webhook may take to answer."
    )
    notify_pause_seconds: float = Field(
        60,
        ge=0,
        le=86_400,
        description="Pause between two messages of a channel; what comes meanwhile becomes one message.",
    )
    notify_gives_up_after_days: float = Field(
        3, gt=0, le=365, description="How long a message that cannot be delivered is tried again."
    )
    courier: str = Field("retrycontract.delivery.courier.Courier", description="Class that carries messages out.")
    email_host: str = Field("", description="SMTP server.")
    email_port: int = Field(587, ge=1, le=65_535, description="Port of the SMTP server.")
    email_user: str = Field("", description="User name at the SMTP server, if it asks for one.")
    email_password: str = Field("", description="Password at the SMTP server. A secret.")
    email_security: Literal["starttls", "tls", "none"] = Field(
        "starttls", description="How the connection to the SMTP server is secured: starttls, tls or none."
    )
    email_from: str = Field("", description="Address that e-mails come from.")

    @field_validator("notify_email", "email_from")
    @classmethod
    def _addressed(cls, value: list[str] | str) -> list[str] | str:
        for address in [value] if isinstance(value, str) else value:
            if address and not ADDRESS.fullmatch(address):
                raise ValueError("each must be a plain e-mail address such as desk@example.com")
        return value

    @field_validator("email_host")
    @classmethod
    def _a_host(cls, host: str) -> str:
        # The port stands in a variable of its own.
        if not re.fullmatch(r"[A-Za-z0-9._-]*|[0-9a-fA-F:.]+", host):
            raise ValueError("must be a host name such as mail.example.com")
        return host

    @field_validator("public_url", "notify_webhook_url")
    @classmethod
    def _absolute(cls, url: str) -> str:
        if url and not is_plain_url(url):
            raise ValueError("must be an address such as https://host/path, without a user, spaces or a #part")
        return url

    @field_validator("public_url")
    @classmethod
    def _without_query(cls, url: str) -> str:
        if "?" in url:
            raise ValueError("must end with the path, without a query")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _can_notify(self) -> DeliverySettings:
        if self.notify_webhook_url.startswith("http:") and not self.allow_private_webhooks:
            raise ValueError(
                f"{PREFIX}NOTIFY_WEBHOOK_URL: must begin with https; "
                f"{PREFIX}ALLOW_PRIVATE_WEBHOOKS=true allows http inside your own network"
            )
        host = urlsplit(self.notify_webhook_url).hostname or ""
        if host and leads_inside(host) and not self.allow_private_webhooks:
            raise ValueError(f"{PREFIX}NOTIFY_WEBHOOK_URL: {NOT_PUBLIC.rstrip('.')}")
        if self.notify_email and not (self.email_host and self.email_from):
            raise ValueError(f"{PREFIX}NOTIFY_EMAIL: needs {PREFIX}EMAIL_HOST and {PREFIX}EMAIL_FROM")
        if self.email_password and not self.email_user:
            raise ValueError(f"{PREFIX}EMAIL_PASSWORD: needs {PREFIX}EMAIL_USER")
        if self.email_user and not self.email_password:  # nobody would log in, and the server refuse every message
            raise ValueError(f"{PREFIX}EMAIL_USER: needs {PREFIX}EMAIL_PASSWORD")
        return self
