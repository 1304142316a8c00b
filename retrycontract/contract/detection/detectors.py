"""The table of value detectors: what published credentials look like, whoever's field they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import re2

from retrycontract.contract.detection.randomness import (
    decode_base64,
    is_digest,
    is_json_header,
    looks_random,
    passes_luhn,
)


class Span(NamedTuple):
    """Name one stretch of a text and the kind of secret that stands in it."""

    start: int
    end: int
    mark: str

    @classmethod
    def of(cls, match: Any, group: int, mark: str) -> Span:
        """Name the stretch that a group of a match covers."""
        start, end = match.span(group)
        return cls(start, end, mark)


@dataclass(frozen=True, slots=True)
class Detector:
    """Find one kind of credential: `mark` names it, `hints` are the literals of which one must be present.

    The pattern's first group, or the whole match where there is none, is the secret; `verify` may reject it.
    """

    mark: str
    hints: tuple[str, ...]
    pattern: str
    verify: Callable[[str], bool] | None = None
    compiled: Any = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", re2.compile(self.pattern))

    def find(self, text: str) -> Iterator[Span]:
        """Give the spans of the credentials in the text."""
        if not any(hint in text for hint in self.hints):
            return
        group = 1 if self.compiled.groups else 0
        for match in self.compiled.finditer(text):
            if self.verify is None or self.verify(match.group(group)):
                yield Span.of(match, group, self.mark)


def _varied(text: str) -> bool:
    """Reject place-holders such as xxxx: fewer than six different characters are no credential."""
    return len(set(text)) >= 6


def _mixed(text: str) -> bool:
    """Ask for a digit beside letters, which kebab-case names and words lack."""
    return _varied(text) and any(c.isdigit() for c in text) and not text.isdigit()


def _random(text: str) -> bool:
    return _mixed(text) and looks_random(text, at_least=16)


def _noisy(text: str) -> bool:
    body = text[text.find("_" if "_" in text[:8] else "-") + 1 :]
    return _mixed(text) and (is_digest(body) or looks_random(body, at_least=14))


def _is_jwt(text: str) -> bool:
    header, _, rest = text.partition(".")
    return is_json_header(header) or rest.startswith("eyJ")


def _holds_private_key(text: str) -> bool:
    return "PRIVATE KEY" in (decode_base64(text[:52]) or "")


def _is_card(text: str) -> bool:
    digits = "".join(c for c in text if c.isdigit())
    return bool(_CARD_NUMBER.fullmatch(digits)) and len(set(digits)) > 1 and passes_luhn(digits)


# Issuer ranges with their lengths: Visa, Mastercard, American Express, Discover, Diners, JCB, Maestro, UnionPay.
_CARD_NUMBER = re2.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|50\d{14}|5[6-8]\d{14}"
    r"|6(?:304|759|76[123])\d{12}|62\d{14,17}"
)


def is_card_number(number: int) -> bool:
    """Say whether a whole number is a valid payment card number."""
    return 10**12 <= number < 10**19 and _is_card(str(number))


def _prefixed(mark: str, prefixes: str, body: str, verify: Callable[[str], bool] | None = _varied) -> Detector:
    """Describe credentials of a fixed prefix: one of the prefixes (separated by spaces), then the body."""
    hints = tuple(prefixes.split())
    literal = "|".join(re2.escape(hint) for hint in hints)
    return Detector(mark, hints, rf"(?:^|[^A-Za-z0-9])((?:{literal}){body})", verify)


def _anywhere(mark: str, prefixes: str, body: str) -> Detector:
    """Describe credentials whose prefix is so rare that it may follow a letter, as behind an escape."""
    hints = tuple(prefixes.split())
    return Detector(mark, hints, rf"(?:{'|'.join(hints)}){body}", _varied)


# Bodies are greedy and unbounded above, so that no tail of a credential stays behind.
DETECTORS: tuple[Detector, ...] = (
    Detector("JWT", ("eyJ",), r"eyJ[\w-]{8,}={0,2}\.[\w-]{8,}={0,2}(?:\.[\w-]*={0,2}){0,3}", _is_jwt),
    _prefixed("ANTHROPIC_KEY", "sk-ant-", r"[\w-]{16,}"),
    _prefixed("OPENROUTER_KEY", "sk-or-", r"[\w-]{20,}"),
    _prefixed("OPENAI_KEY", "sk-", r"[\w-]{18,}", _mixed),
    Detector("OPENAI_KEY", ("T3BlbkFJ",), r"[\w-]{10,}T3BlbkFJ[\w-]{10,}"),
    Detector("AWS_ACCESS_KEY", ("AKIA", "ASIA", "ABIA", "ACCA", "AGPA", "AIDA", "AROA", "AIPA", "ANPA", "ANVA"),
             r"(?:^|[^A-Za-z0-9])((?:A[BGKNS]IA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16})\b"),
    _prefixed("AWS_BEDROCK_KEY", "ABSK bedrock-api-key-", r"[A-Za-z0-9+/=_-]{60,}"),
    _anywhere("GITHUB_TOKEN", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,}"),
    _anywhere("GITHUB_TOKEN", "github_pat_", r"\w{30,}"),
    _anywhere("GITLAB_TOKEN", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- "
              "glwt-", r"[\w.-]{18,}"),
    _anywhere("GITLAB_TOKEN", "GR1348941", r"[\w-]{20,}"),
    Detector("SLACK_TOKEN", ("xox", "xapp-", "xwfp-"),
             r"(?i)(?:^|[^a-z0-9])((?:xox[a-z]|xapp|xwfp)(?:\.xox[a-z])?-[0-9][\w-]{8,})", _mixed),
    Detector("SLACK_WEBHOOK", ("hooks.slack.com/",),
             r"hooks\.slack\.com/((?:services|workflows|triggers)/[\w/+-]{20,})"),
    Detector("WEBHOOK_URL", ("webhook.office.com/", "/api/webhooks/", "hooks.zapier.com/", "logic.azure.com"),
             r"(?:webhook\.office\.com/webhookb2|discord(?:app)?\.com/api/webhooks|hooks\.zapier\.com/hooks/catch)"
             r"/([\w@/-]{20,})"),
    _prefixed("STRIPE_KEY", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", r"[A-Za-z0-9+/=]{10,}"),
    _prefixed("GOOGLE_API_KEY", "AIza", r"[\w-]{35,}"),
    _prefixed("GOOGLE_OAUTH", "ya29. GOCSPX- 1//0", r"[\w-]{20,}"),
    _prefixed("NPM_TOKEN", "npm_", r"[A-Za-z0-9]{36,}"),
    _prefixed("PYPI_TOKEN", "pypi-AgE pypi-AgN", r"[\w-]{16,}"),
    _prefixed("PACKAGE_TOKEN", "rubygems_ CLOJARS_ dckr_pat_ dckr_oat_ oy2 cio", r"[A-Za-z0-9_-]{27,}", _mixed),
    _prefixed("HUGGINGFACE_TOKEN", "hf_ api_org_", r"[A-Za-z]{30,}"),
    _prefixed("SENDGRID_KEY", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    _prefixed("TWILIO_KEY", "SK AC", r"[a-z0-9]{32}", None),
    _prefixed("MAILGUN_KEY", "key- pubkey-", r"[0-9a-f]{32}"),
    Detector("MAILCHIMP_KEY", ("-us",), r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    _prefixed("BREVO_KEY", "xkeysib- xsmtpsib-", r"[\w-]{40,}"),
    Detector("TELEGRAM_TOKEN", (":A",), r"(?:^|[^A-Za-z0-9]|bot)([0-9]{5,16}:A[\w-]{34})\b"),
    Detector("DISCORD_TOKEN", (".",), r"\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}", _mixed),
    _prefixed("DIGITALOCEAN_TOKEN", "doo_v1_ dop_v1_ dor_v1_", r"[a-f0-9]{40,}"),
    _prefixed("SHOPIFY_TOKEN", "shpat_ shpca_ shppa_ shpss_", r"[a-fA-F0-9]{32,}"),
    _prefixed("DATABRICKS_TOKEN", "dapi", r"[a-h0-9]{32}(?:-\d)?"),
    _prefixed("PLANETSCALE_TOKEN", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.-]{30,}"),
    _prefixed("SQUARE_TOKEN", "EAAA sq0atp- sq0csp-", r"[\w-]{22,}", _mixed),
    _prefixed("FACEBOOK_TOKEN", "EAAC EAAM EAAB EAAG", r"[A-Za-z0-9]{80,}"),
    Detector("FACEBOOK_TOKEN", ("|", "%"), r"\b[0-9]{15,16}(?:\||%7[cC]|%)[\w-]{27,40}", _mixed),
    _prefixed("AZURE_STORAGE_KEY", "AccountKey= SharedAccessKey=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    Detector("AZURE_CLIENT_SECRET", ("Q~",), r"(?:^|[^\w~.-])([\w~.-]{3}[0-9]Q~[\w~.-]{31,34})", _varied),
    _prefixed("NEW_RELIC_KEY", "NRAK- NRII- NRJS- NRRA- NRAA-", r"[A-Za-z0-9-]{16,}"),
    _prefixed("GRAFANA_TOKEN", "glc_ glsa_", r"[A-Za-z0-9+/=_]{32,}", _mixed),
    _prefixed("GRAFANA_TOKEN", "eyJrIjoi", r"[A-Za-z0-9+/=]{60,}"),
    _prefixed("SENTRY_TOKEN", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_]{40,}"),
    _prefixed("SONAR_TOKEN", "squ_ sqp_ sqa_", r"[a-z0-9]{40}"),
    _prefixed("DYNATRACE_TOKEN", "dt0c01. dt0s01.", r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{60,}"),
    _prefixed("EASYPOST_KEY", "EZAK EZTK", r"[A-Za-z0-9]{54,}"),
    _prefixed("FLUTTERWAVE_KEY", "FLWSECK- FLWPUBK- FLWSECK_TEST- FLWPUBK_TEST-", r"[A-Za-z0-9-]{12,}"),
    _prefixed("FLY_TOKEN", "fo1_ fm1a_ fm1r_ fm2_", r"[\w+/=-]{40,}"),
    _prefixed("VAULT_TOKEN", "hvs. hvb. hvr.", r"[\w-]{24,}"),
    _prefixed("VAULT_TOKEN", "s.", r"[A-Za-z0-9]{24}", _random),
    Detector("TERRAFORM_TOKEN", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}"),
    _prefixed("ATLASSIAN_TOKEN", "ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_=-]{20,}"),
    _prefixed("ARTIFACTORY_TOKEN", "cmVmdGtu", r"[A-Za-z0-9]{50,}"),
    Detector("ARTIFACTORY_TOKEN", ("AKC", "AP"),
             r"(?:^|[\s=:\"'`])(AKC[A-Za-z0-9]{10,}|AP[0-9A-F](?:[A-Za-z]*[0-9][A-Za-z0-9]{8,}|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{8,}))"),
    Detector("1PASSWORD_KEY", ("A3-",),
             r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b", _varied),
    _prefixed("1PASSWORD_TOKEN", "ops_eyJ", r"[A-Za-z0-9+/=]{60,}"),
    _prefixed("AGE_KEY", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    _prefixed("ALIBABA_KEY", "LTAI", r"[A-Za-z0-9]{17,}", _mixed),
    _prefixed("YANDEX_TOKEN", "AQVN t1. y0_ YCA YCL YCP", r"[\w-]{35,}={0,2}(?:\.[\w-]+={0,2})?", _mixed),
    _prefixed("TWITTER_TOKEN", "AAAAAAAAAAAAAAAAAAAA", r"[\w%]{60,}", _mixed),
    _prefixed("JWT", "ZXlK", r"[A-Za-z0-9+/_-]{40,}={0,2}", _mixed),
    _prefixed("INTRA42_SECRET", "s-s4t2ud- s-s4t2af-", r"[a-f0-9]{64}"),
    _prefixed("OPENSHIFT_TOKEN", "sha256~", r"[\w-]{43,}"),
    _prefixed("OCTOPUS_KEY", "API-", r"[A-Z0-9]{26}", _mixed),
    _prefixed("MAPBOX_TOKEN", "pk. sk.", r"(?:eyJ[\w-]{40,}|[a-z0-9]{60})\.[\w-]{22,}"),
    _prefixed("AIRTABLE_TOKEN", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _prefixed("HARNESS_TOKEN", "pat. sat.", r"[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _prefixed("CLOUDFLARE_KEY", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}"),
    _prefixed("DOPPLER_TOKEN", "dp.pt. dp.st. dp.ct. dp.sa.", r"[\w.-]{40,}"),
    _prefixed("PRIVATE_KEY", "LS0tLS1CRUdJTi", r"[A-Za-z0-9+/=]{40,}", _holds_private_key),
    _prefixed("PASSWORD_HASH", "$2a$ $2b$ $2y$ $5$ $6$ $y$ $argon2 pbkdf2_sha256$", r"[A-Za-z0-9./$=,+]{40,}"),
    # Prefixes that are telling by themselves, and prefixes that are words as well.
    _prefixed("API_KEY", "p8e- lin_api_ lin_oauth_ ntn_ pnu_ rdme_ pplx- gsk_ xai- r8_ tvly- sbp_ sb_secret_ nfp_ "
              "bkua_ CCIPAT_ figd_ dnkey- CFPAT- HRKU- PMAK- pul- phx_ rnd_ tskey- rootly_ tfp_ fio-u- ico- "
              "duffel_test_ duffel_live_ shippo_live_ shippo_test_ sm_aat_ sm_pat_ sm_sat_ tk-us- sgp_ lsv2_pt_ "
              "lsv2_sk_ sk-lf- authress_ access-sandbox- access-development- access-production- nvapi- jina_ vcp_ "
              "zpka_ test_pub_ live_pub_ key_live_ key_test_", r"[\w=-]{16,}", _mixed),
    _prefixed("API_KEY", "sk_ rk_ live_ test_ secret_ re_ fw_ fc- pat_", r"[\w=-]{16,}", _noisy),
    Detector("MAXMIND_KEY", ("_mmk",), r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
    Detector("CREDIT_CARD", tuple("0123456789"),
             r"(?:^|[^\w.])([2-6][0-9]{12,18}|[2-6][0-9]{3}(?:[ -][0-9]{4}){3}|3[0-9]{3}[ -][0-9]{6}[ -][0-9]{5})\b",
             _is_card),
)  # fmt: skip
