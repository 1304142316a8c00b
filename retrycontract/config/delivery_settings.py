"""The settings of what the service sends out, to people and to webhooks; a part of the service's settings."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from retrycontract.config.login_settings import is_plain_url
from retrycontract.config.variables import PREFIX

ADDRESS = re.compile(r"[^@\s<>\"',;:()\[\]\\]+@[^@\s<>\"',;:()\[\]\\]+")


class DeliverySettings(BaseModel):
    """Hold who is told of escalations, and how; and how webhooks are delivered."""

    public_url: str = Field(
        "", description="Address at which people reach the desk; links in notifications begin with it."
    )
    notify_webhook_url: str = Field(
        "", description='Slack-compatible webhook that is told of new escalations; gets `{"text": …}`. A secret.'
    )
    notify_email: list[str] = Field(
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

    @field_validator("notify_email", mode="before")
    @classmethod
    def _split_addresses(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

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
        if self.notify_email and not (self.email_host and self.email_from):
            raise ValueError(f"{PREFIX}NOTIFY_EMAIL: needs {PREFIX}EMAIL_HOST and {PREFIX}EMAIL_FROM")
        if self.email_password and not self.email_user:
            raise ValueError(f"{PREFIX}EMAIL_PASSWORD: needs {PREFIX}EMAIL_USER")
        if self.email_user and not self.email_password:  # nobody would log in, and the server refuse every message
            raise ValueError(f"{PREFIX}EMAIL_USER: needs {PREFIX}EMAIL_PASSWORD")
        return self
