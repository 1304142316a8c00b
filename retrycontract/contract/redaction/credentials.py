"""The tables of what is secret by its own form: published credentials, and personal data in strict mode."""

from __future__ import annotations

import re
from ipaddress import ip_address
from itertools import pairwise

import re2

from retrycontract.contract.redaction.detectors import Detector, anywhere, mixed, prefixed, varied
from retrycontract.contract.redaction.randomness import decode_base64, is_digest, is_json_header, looks_random

# Issuer ranges with their lengths: Visa, Mastercard, American Express, Discover, Diners, JCB, Maestro, UnionPay.
_ISSUED = re2.compile(
    rb"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    rb"|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|50\d{14}|5[6-8]\d{14}"
    rb"|6(?:304|759|76[123])\d{12}|62\d{14,17}"
)
# From the character of a digit to its value, and to the digit sum of its double.
_VALUES = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))


def passes_luhn(digits: bytes) -> bool:
    """Say whether the digits carry a valid Luhn check digit."""
    return sum(digits[::-2].translate(_VALUES) + digits[-2::-2].translate(_DOUBLED)) % 10 == 0


def _is_card(text: str) -> bool:
    digits = text.encode().translate(None, b" -")
    if not passes_luhn(digits) or not _ISSUED.fullmatch(digits) or len(set(digits)) == 1:
        return False
    # The rows of a table of numbers, such as `5211 5212 5213 5214`, are no card.
    groups = [int(group) for group in text.replace("-", " ").split(" ")]
    return {after - before for before, after in pairwise(groups)} != {1}


# A line of a dump, or of a table of characters, on either side of four of its groups.
_GROUPS_BEFORE = re.compile(
    r"(?:\n|\A)\W{0,4}[0-9A-Fa-f]{6,8}:?[ \t]+(?:[0-9A-Fa-f]{4} )*\Z|\b((?:[0-9A-Fa-f]{4,5} )+)\Z"
)
_GROUPS_BEHIND = re.compile(r"(?: [0-9A-Fa-f]{4,5}\b)*")
_HEX_GROUP = re.compile(r"\b(?:[0-9]+[A-Fa-f]|[A-Fa-f]+[0-9])")
LONGEST_DUMPED = 80


def _is_dumped(text: str, start: int, end: int) -> bool:
    """Say whether groups of digits stand among others that are hexadecimal."""
    before = _GROUPS_BEFORE.search(text, max(start - LONGEST_DUMPED, 0), start)
    behind = _GROUPS_BEHIND.match(text, end, end + LONGEST_DUMPED)
    groups = f"{before[0] if before else ''}{behind[0] if behind else ''}"
    return bool(before and not before[1]) or _HEX_GROUP.search(groups) is not None


def is_card_number(number: int) -> bool:
    """Say whether a whole number is a valid payment card number."""
    return 10**12 <= number < 10**19 and _is_card(str(number))


CARD = Detector(
    "CREDIT_CARD",
    r"(?:^|[^\w.])([2-6][0-9]{12,18}|[2-6][0-9]{3}(?:[ -][0-9]{4}){3}|3[0-9]{3}[ -][0-9]{6}[ -][0-9]{5})\b",
    _is_card,
    is_common=True,
    is_other=_is_dumped,
)
# Letters, `_` or `.` may touch one in groups; digits in one piece, as of an id, only behind a word for it.
# Groups that a dash parts may be those of a UUID.
JOINED_CARDS = (
    Detector("CREDIT_CARD",
             r"(?:^|[^0-9.]|[^0-9]\.)([2-6][0-9]{3}(?: [0-9]{4}){3}|3[0-9]{3} [0-9]{6} [0-9]{5})(?:[^0-9]|$)",
             _is_card, is_common=True, is_other=_is_dumped),
    Detector("CREDIT_CARD",
             r"(?:^|[^0-9A-Fa-f.-]|[^0-9]\.)([2-6][0-9]{3}(?:-[0-9]{4}){3}|3[0-9]{3}-[0-9]{6}-[0-9]{5})(?:[^\w-]|_|$)",
             _is_card, is_common=True),
    Detector("CREDIT_CARD",
             r"(?i)(?:^|[^a-z])(?:[a-z]{0,12}(?:card|karte)s?|cc|pan|visa|amex|maestro|jcb|tarjeta|carte|cartao|carta)"
             r"(?:[_.-]?(?:no|nr|num|number|nummer|numero))?[_.-]{0,2}([2-6][0-9]{12,18})(?:[^0-9A-Za-z]|$)",
             _is_card, is_common=True),
)  # fmt: skip


# The dihedral group of order ten, and the permutation of digits by place: the scheme of Verhoeff.
_VERHOEFF_PRODUCTS = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_VERHOEFF_PLACES = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def _plain(text: str) -> str:
    """Leave out what only groups the characters."""
    return "".join(c for c in text if c.isalnum()).upper()


def _weighed(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _is_iban(text: str) -> bool:
    account = _plain(text)
    # ISO 13616: with country and check digits at the end and letters counted from 10, division by 97 leaves 1.
    return 15 <= len(account) <= 34 and int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97 == 1


def _is_us_ssn(text: str) -> bool:
    area, group, serial = text[:3], text[4:6], text[7:]
    # Numbers with these areas, groups and serials are never issued.
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _is_aadhaar(text: str) -> bool:
    check = 0
    for place, digit in enumerate(reversed(_plain(text))):
        check = int(_VERHOEFF_PRODUCTS[check][int(_VERHOEFF_PLACES[place % 8][int(digit)])])
    return check == 0


def _is_nhs(text: str) -> bool:
    digits = _plain(text)
    return len(set(digits)) > 1 and _weighed(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _is_dni(text: str) -> bool:
    number = _plain(text)
    # In the numbers of foreigners (NIE) the first letter stands for a digit.
    digits = {"X": "0", "Y": "1", "Z": "2"}.get(number[0], number[0]) + number[1:-1]
    return _DNI_LETTERS[int(digits) % 23] == number[-1]


def _is_nir(text: str) -> bool:
    # The departments of Corsica have letters; the check digits are computed with 19 and 18 in their place.
    number = _plain(text).replace("2A", "19").replace("2B", "18")
    return 97 - int(number[:13]) % 97 == int(number[13:])


def _is_cpf(text: str) -> bool:
    digits = _plain(text)
    first = _weighed(digits[:9], tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighed(digits[:10], tuple(range(11, 1, -1))) * 10 % 11 % 10
    # One digit eleven times over passes the check, and is issued to nobody.
    return len(set(digits)) > 1 and digits[9:] == f"{first}{second}"


def _is_pesel(text: str) -> bool:
    return len(set(text)) > 1 and _weighed(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _is_phone(text: str) -> bool:
    # E.164 allows fifteen digits.
    return 8 <= sum(c.isdigit() for c in text) <= 15


def _is_national_phone(text: str) -> bool:
    """Ask for one digit more than a date has."""
    return 9 <= sum(c.isdigit() for c in text) <= 13


def _is_address(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_loopback)


PERSONAL_DATA: tuple[Detector, ...] = (
    Detector("EMAIL", r"[\w.+%'-]*[\w+]@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}"),
    Detector("IBAN", r"\b[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?\b", _is_iban),
    Detector("US_SSN", r"(?:^|[^\w-])([0-9]{3}[ .-][0-9]{2}[ .-][0-9]{4})\b", _is_us_ssn),
    Detector("US_PASSPORT", r"\b[A-Z][0-9]{8}\b"),
    Detector("IN_AADHAAR", r"(?:^|[^\w-])([2-9][0-9]{3}([ :-]?)[0-9]{4}[ :-]?[0-9]{4})\b", _is_aadhaar),
    Detector("UK_NHS", r"(?:^|[^\w-])([0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4})\b", _is_nhs),
    Detector("UK_NINO", r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b"),
    Detector("ES_DNI", r"\b(?:[0-9]{8}|[XYZ][0-9]{7})-?[A-HJ-NP-TV-Z]\b", _is_dni),
    Detector("IT_FISCAL_CODE", r"(?i)\b[a-z]{6}[0-9]{2}[a-ehlmprst][0-9]{2}[a-z][0-9]{3}[a-z]\b"),
    Detector("FR_NIR", r"\b[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?(?:[0-9]{2}|2[AB]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}\b",
             _is_nir),
    Detector("BR_CPF", r"\b[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}\b", _is_cpf),
    Detector("PL_PESEL", r"\b[0-9]{11}\b", _is_pesel),
    Detector("PHONE", r"(?:^|[^\w.+-])(\+[0-9][0-9 ()./-]{5,20}[0-9])\b", _is_phone),
    Detector("PHONE", r"(?:^|[^\w.+-])(\(?[0-9]{3}\)?[ .-]?[0-9]{3}[ .-][0-9]{4}|1[3-9][0-9]{9})\b", _is_phone),
    Detector("PHONE", r"(?:^|[^\w.+-])(0[0-9]{1,4}[ /-][0-9]{2,8}(?:[ -][0-9]{2,8}){0,3})\b", _is_national_phone),
    Detector("IP_ADDRESS",
             r"(?:^|[^\w.:-])([0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:(?:[0-9A-Fa-f:.]*[0-9A-Fa-f])?)",
             _is_address),
    Detector("MAC_ADDRESS", r"\b(?:[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5}"
             r"|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})\b"),
    Detector("CRYPTO_WALLET", r"\b(?:bc1[02-9ac-hj-np-z]{25,87}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|0x[0-9A-Fa-f]{40})\b"),
)  # fmt: skip


def _random(text: str) -> bool:
    return mixed(text) and looks_random(text, at_least=16)


def _noisy(text: str) -> bool:
    body = text[text.find("_" if "_" in text[:8] else "-") + 1 :]
    return mixed(text) and (is_digest(body) or looks_random(body, at_least=14))


def _no_kind_of_key(text: str) -> bool:
    return mixed(text) and not text.startswith(("sk-ssh-", "sk-ecdsa-"))  # of SSH, kept on a piece of hardware


def _has_both_cases(text: str) -> bool:
    return not text[3:].islower() and not text[3:].isupper()


def _is_jwt(text: str) -> bool:
    header, _, rest = text.partition(".")
    return is_json_header(header) or rest.startswith("eyJ")


def _holds_private_key(text: str) -> bool:
    # The longest heading, `-----BEGIN ENCRYPTED PRIVATE KEY-----`, has 37 characters, which 52 of base64 hold.
    return "PRIVATE KEY" in (decode_base64(text[:52]) or "")


# Bodies are greedy and unbounded above, so that no tail of a credential stays behind.
# What a bracket follows is a function, such as OpenSSL's `sk_PKCS12_SAFEBAG_num(sk)`.
WORD_LIKE = Detector(
    "API_KEY",
    r"(?:^|[^A-Za-z0-9])((?:sk_|rk_|r8_|e2b_|live_|test_|secret_|re_|fw_|fc-|pat_|key_|st\.|pk_live_)[\w=-]{16,})"
    r"(?:$|[^\w=(-])",
    _noisy,
)

CREDENTIALS: tuple[Detector, ...] = (
    Detector("JWT", r"eyJ[\w-]{8,}={0,2}\.[\w-]{8,}={0,2}(?:\.[\w-]*={0,2}){0,3}", _is_jwt),
    # Our own: the one secret that every agent of this service holds.
    anywhere("RETRYCONTRACT_KEY", "rc_", r"[0-9a-f]{8}_[\w-]{20,}"),
    prefixed("ANTHROPIC_KEY", "sk-ant-", r"[\w-]{16,}"),
    prefixed("OPENROUTER_KEY", "sk-or-", r"[\w-]{20,}"),
    prefixed("OPENAI_KEY", "sk-", r"[\w-]{18,}", _no_kind_of_key),
    Detector("OPENAI_KEY", r"[\w-]{10,}T3BlbkFJ[\w-]{10,}"),
    Detector("AWS_ACCESS_KEY",
             r"(?:^|[^A-Z0-9])((?:A[BGKNS]IA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16})(?:[^A-Za-z0-9]|$)"),
    # Beside the key's id, as in a table of credentials.
    Detector("AWS_SECRET_KEY",
             r"\bA[KS]IA[A-Z0-9]{16}[^A-Za-z0-9/+]{1,40}([A-Za-z0-9/+]{40})(?:$|[^A-Za-z0-9/+=])", mixed),
    prefixed("AWS_BEDROCK_KEY", "ABSK bedrock-api-key-", r"[A-Za-z0-9+/=_-]{60,}"),
    anywhere("GITHUB_TOKEN", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,}"),
    anywhere("GITHUB_TOKEN", "github_pat_", r"\w{30,}"),
    anywhere("GITLAB_TOKEN", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- "
              "glwt-", r"[\w.-]{18,}"),
    anywhere("GITLAB_TOKEN", "GR1348941", r"[\w-]{20,}"),
    Detector("SLACK_TOKEN", r"(?i)(?:^|[^a-z0-9])((?:xox[a-z]|xapp|xwfp)(?:\.xox[a-z])?-[0-9][\w-]{8,})", mixed),
    Detector("SLACK_TOKEN", r"xox[a-z]-[0-9]{8,}-[\w-]{8,}", mixed),
    Detector("SLACK_WEBHOOK", r"hooks\.slack\.com/((?:services|workflows|triggers)/[\w/+-]{20,})"),
    Detector("WEBHOOK_URL",
             r"(?:webhook\.office\.com/webhookb2|discord(?:app)?\.com/api/webhooks|hook\.[a-z]{2}[0-9]\.make\.com"
             r"|open\.(?:feishu|larksuite)\.(?:cn|com)/open-apis/bot/v2/hook|outlook\.office\.com/webhook"
             r"|maker\.ifttt\.com/trigger/[\w-]+(?:/json)?/with/key)"
             r"/([\w@/-]{20,})"),
    Detector("WEBHOOK_URL", r"hooks\.zapier\.com/hooks/catch/([0-9]{3,}/[\w/-]{5,})"),
    prefixed("STRIPE_KEY", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", r"[A-Za-z0-9+/=]{10,}"),
    prefixed("GOOGLE_API_KEY", "AIza", r"[\w-]{35,}"),
    anywhere("GOOGLE_API_KEY", "AIzaSy", r"[\w-]{33,}"),
    prefixed("GOOGLE_OAUTH", "ya29. GOCSPX- 1//0", r"[\w-]{20,}"),
    anywhere("NPM_TOKEN", "npm_", r"[A-Za-z0-9]{36,}"),
    prefixed("PYPI_TOKEN", "pypi-AgE pypi-AgN", r"[\w-]{16,}"),
    prefixed("PACKAGE_TOKEN", "rubygems_ CLOJARS_ dckr_pat_ dckr_oat_ oy2 cio", r"[A-Za-z0-9_-]{27,}", mixed),
    prefixed("HUGGINGFACE_TOKEN", "hf_ api_org_", r"[A-Za-z]{30,}"),
    Detector("HUGGINGFACE_TOKEN", r"hf_[A-Za-z]{34,}", _has_both_cases),
    anywhere("SENDGRID_KEY", "SG.", r"[\w-]{22}\.[\w-]{43}"),
    prefixed("SENDGRID_KEY", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    prefixed("TWILIO_KEY", "SK AC", r"[a-z0-9]{32}", None),
    prefixed("MAILGUN_KEY", "key- pubkey-", r"[0-9a-f]{32}"),
    Detector("MAILGUN_KEY", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b", varied),
    Detector("MAILCHIMP_KEY", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    prefixed("BREVO_KEY", "xkeysib- xsmtpsib-", r"[\w-]{40,}"),
    Detector("TELEGRAM_TOKEN", r"(?:^|[^A-Za-z0-9]|bot)([0-9]{5,16}:A[\w-]{34})\b"),
    Detector("DISCORD_TOKEN", r"\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}", mixed),
    prefixed("DIGITALOCEAN_TOKEN", "doo_v1_ dop_v1_ dor_v1_", r"[a-f0-9]{40,}"),
    prefixed("SHOPIFY_TOKEN", "shpat_ shpca_ shppa_ shpss_", r"[a-fA-F0-9]{32,}"),
    prefixed("DATABRICKS_TOKEN", "dapi", r"[a-h0-9]{32}(?:-\d)?"),
    prefixed("PLANETSCALE_TOKEN", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.-]{30,}"),
    prefixed("SQUARE_TOKEN", "EAAA sq0atp- sq0csp-", r"[\w-]{22,}", mixed),
    prefixed("FACEBOOK_TOKEN", "EAAC EAAM EAAB EAAG", r"[A-Za-z0-9]{80,}"),
    Detector("FACEBOOK_TOKEN", r"\b[0-9]{15,16}(?:\||%7[cC]|%)[\w-]{27,40}", mixed),
    prefixed("AZURE_STORAGE_KEY", "AccountKey= SharedAccessKey=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    Detector("AZURE_CLIENT_SECRET", r"(?:^|[^\w~.-])([\w~.-]{3}[0-9]Q~[\w~.-]{31,34})", varied),
    prefixed("NEW_RELIC_KEY", "NRAK- NRII- NRJS- NRRA- NRAA-", r"[A-Za-z0-9-]{16,}"),
    prefixed("GRAFANA_TOKEN", "glc_ glsa_", r"[A-Za-z0-9+/=_]{32,}", mixed),
    prefixed("GRAFANA_TOKEN", "eyJrIjoi", r"[A-Za-z0-9+/=]{60,}"),
    prefixed("SENTRY_TOKEN", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_]{40,}"),
    prefixed("SONAR_TOKEN", "squ_ sqp_ sqa_", r"[a-z0-9]{40}"),
    prefixed("DYNATRACE_TOKEN", "dt0c01. dt0s01.", r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{60,}"),
    prefixed("EASYPOST_KEY", "EZAK EZTK", r"[A-Za-z0-9]{54,}"),
    prefixed("FLUTTERWAVE_KEY", "FLWSECK- FLWPUBK- FLWSECK_TEST- FLWPUBK_TEST-", r"[A-Za-z0-9-]{12,}"),
    prefixed("FLY_TOKEN", "fo1_ fm1a_ fm1r_ fm2_", r"[\w+/=-]{40,}"),
    prefixed("VAULT_TOKEN", "hvs. hvb. hvr.", r"[\w-]{24,}"),
    prefixed("VAULT_TOKEN", "s.", r"[A-Za-z0-9]{24}", _random),
    Detector("TERRAFORM_TOKEN", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}"),
    prefixed("ATLASSIAN_TOKEN", "ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_=-]{20,}"),
    prefixed("ARTIFACTORY_TOKEN", "cmVmdGtu", r"[A-Za-z0-9]{50,}"),
    Detector("ARTIFACTORY_TOKEN", r"(?:^|[\s=:\"'`])(AKC[A-Za-z0-9]{10,})"),
    Detector("ARTIFACTORY_TOKEN",
             r"(?:^|[\s=:\"'`])(AP[0-9A-F](?:[A-Za-z]*[0-9][A-Za-z0-9]{8,}|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{8,}))"),
    Detector("1PASSWORD_KEY",
             r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b", varied),
    prefixed("1PASSWORD_TOKEN", "ops_eyJ", r"[A-Za-z0-9+/=]{60,}"),
    prefixed("AIVEN_PASSWORD", "AVNS_", r"[\w-]{16,}"),
    prefixed("HUBSPOT_TOKEN", "pat-na1- pat-eu1- pat-na2-", r"[0-9a-f]{8}-[0-9a-f-]{27}"),
    prefixed("SNYK_TOKEN", "snyk_uat.", r"[\w.-]{30,}"),
    prefixed("AGE_KEY", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    prefixed("ALIBABA_KEY", "LTAI", r"[A-Za-z0-9]{17,}", mixed),
    prefixed("YANDEX_TOKEN", "AQVN t1. y0_ YCA YCL YCP", r"[\w-]{35,}={0,2}(?:\.[\w-]+={0,2})?", mixed),
    prefixed("TWITTER_TOKEN", "AAAAAAAAAAAAAAAAAAAA", r"[\w%]{60,}", mixed),
    prefixed("JWT", "ZXlK", r"[A-Za-z0-9+/_-]{40,}={0,2}", mixed),
    prefixed("INTRA42_SECRET", "s-s4t2ud- s-s4t2af-", r"[a-f0-9]{64}"),
    prefixed("OPENSHIFT_TOKEN", "sha256~", r"[\w-]{43,}"),
    prefixed("OCTOPUS_KEY", "API-", r"[A-Z0-9]{26}", mixed),
    prefixed("MAPBOX_TOKEN", "pk. sk.", r"(?:eyJ[\w-]{40,}|[a-z0-9]{60})\.[\w-]{22,}"),
    prefixed("AIRTABLE_TOKEN", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    prefixed("HARNESS_TOKEN", "pat. sat.", r"[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    prefixed("CLOUDFLARE_KEY", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}"),
    prefixed("DOPPLER_TOKEN", "dp.pt. dp.st. dp.ct. dp.sa.", r"[\w.-]{40,}"),
    prefixed("PRIVATE_KEY", "LS0tLS1CRUdJTi", r"[A-Za-z0-9+/=]{40,}", _holds_private_key),
    prefixed("PASSWORD_HASH", "$1$ $2a$ $2b$ $2x$ $2y$ $5$ $6$ $7$ $y$ $gy$ $apr1$ $argon2 $scrypt$ $pbkdf2 "
              "pbkdf2_sha256$ {SSHA}", r"[A-Za-z0-9./$=,+-]{28,}"),
    # As WordPress, Junos, MySQL and Werkzeug write them.
    prefixed("PASSWORD_HASH", "$P$B $P$9 $P$D $H$9 $H$7 $S$C $S$D $S$E $9$", r"[A-Za-z0-9./-]{10,}", mixed),
    Detector("PASSWORD_HASH", r"(?:^|[^\w*])(\*[0-9A-F]{40})\b", mixed),
    Detector("PASSWORD_HASH", r"\b(?:scrypt(?::[0-9]+){3}|pbkdf2:sha[0-9]+:[0-9]+)\$[\w./+-]+\$[0-9a-f]{32,}"),
    Detector("K3S_TOKEN", r"\bK10[0-9a-f]{48,}::\w+:[\w.-]+"),
    prefixed("TWITCH_TOKEN", "oauth:", r"[a-z0-9]{30}\b", mixed),
    Detector("API_KEY",
             r"(?:^|[^A-Za-z0-9])(WPL_AP[0-9]\.[\w-]{8,}\.[\w=-]+|st\.[0-9a-f]{8}-[0-9a-f-]{27}\.[\w.]{16,}"
             r"|(?:\*|\[\]|[a-z][\w-]*):(?:production|development|staging|test)\.[0-9a-f]{48,}"
             r"|api-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})", varied),
    # Prefixes that are telling by themselves, and prefixes that are words as well.
    prefixed("API_KEY", "p8e- lin_api_ lin_oauth_ ntn_ pnu_ rdme_ pplx- gsk_ xai- tvly- sbp_ sb_secret_ nfp_ "
              "bkua_ CCIPAT_ figd_ figu_ dnkey- CFPAT- HRKU- PMAK- pul- phx_ phs_ rnd_ tskey- rootly_ tfp_ fio-u- ico- "
              "duffel_test_ duffel_live_ shippo_live_ shippo_test_ sm_aat_ sm_pat_ sm_sat_ tk-us- sgp_ slk_ lsv2_pt_ "
              "lsv2_sk_ sk-lf- authress_ access-sandbox- access-development- access-production- nvapi- jina_ vcp_ "
              "vck_ zpka_ test_pub_ live_pub_ key_live_ key_test_ tgp_v1_ pcsk_ wandb_v1_ csk- nyk_v0_ rpa_ "
              "rzp_live_ rzp_test_ AVNS_ mdb_sa_sk_ polar_oat_ mob- sdk- sess- secret-token: dkea cfut_ "
              "cfat_ cfk_ ATTA apify_api_ waka_ signkey-prod- signkey-branch- signkey-test- "
              "pdus+_ pdeu+_ dtn_ bb_live_ bb_test_ dp.audit. dp.scim.",
              r"[\w=-]{16,}", mixed),
    WORD_LIKE,
    prefixed("API_KEY", "napi_", r"[a-z0-9]{20,}", mixed),  # Node's own functions begin so, too
    prefixed("API_KEY", "npg_", r"[A-Za-z0-9]{10,}", mixed),
    prefixed("API_KEY", "mlsn.", r"[0-9a-f]{40,}"),
    prefixed("GOOGLE_API_KEY", "AQ.Ab8", r"[\w-]{30,}", mixed),
    prefixed("PAYPAL_TOKEN", "access_token$production$ access_token$sandbox$", r"[a-z0-9]{10,}\$[a-f0-9]{20,}"),
    Detector("ZHIPU_KEY", r"\b([0-9a-f]{32}\.[A-Za-z0-9]{16})\b", mixed),
    prefixed("STRIPE_KEY", "sk_org_live_ sk_org_test_", r"[A-Za-z0-9]{10,}"),
    prefixed("DROPBOX_TOKEN", "sl. sl.u. sl.B", r"[\w-]{60,}", mixed),
    prefixed("ASANA_TOKEN", "0/ 1/ 2/", r"[0-9]{10,}(?:/[0-9]{10,})?:[0-9a-f]{32}"),
    prefixed("ADYEN_KEY", "AQE", r"[^\s\"'`]{30,}", mixed),
    prefixed("AWS_MWS_TOKEN", "amzn.mws.", r"[0-9a-f-]{36}"),
    prefixed("AWS_APPSYNC_KEY", "da2-", r"[a-z0-9]{26}", mixed),
    prefixed("SALESFORCE_TOKEN", "00D", r"[A-Za-z0-9]{12,15}![\w.]{60,}"),
    prefixed("FIREBASE_TOKEN", "AAAA", r"[\w-]{7}:APA91b[\w-]{100,}"),
    prefixed("ZOHO_TOKEN", "1000.", r"[0-9a-f]{32}\.[0-9a-f]{32}"),
    prefixed("GOOGLE_OAUTH", "4/0A", r"[\w-]{40,}", mixed),
    prefixed("AZURE_SIGNATURE", "sig=", r"[A-Za-z0-9%+/]{40,}(?:=|%3[Dd]){0,2}", mixed),
    prefixed("AZURE_DEVOPS_TOKEN", "7", r"[A-Za-z0-9]{70,75}AZDO[A-Za-z0-9]{4}\b"),
    Detector("MAXMIND_KEY", r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
    CARD,
    *JOINED_CARDS,
)  # fmt: skip
