"""Tell random strings from words, numbers, digests and identifiers, also where base64 hides them."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from operator import add
from string import ascii_lowercase, ascii_uppercase, digits

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.blocks import CertificateLines
from retrycontract.contract.redaction.detectors import Head
from retrycontract.contract.redaction.field_names import word_set

# Hexadecimal of these lengths is what common digests print (MD5, SHA-1, SHA-224, SHA-256, SHA-384, SHA-512).
DIGEST_LENGTHS = frozenset({32, 40, 56, 64, 96, 128})
# Bits per character: English text and repetition stay below, 20 random characters above.
LEAST_ENTROPY = 3.0
# Up to this length counting each character by itself is quicker than counting all in one pass.
FEW = 200
_WEIGHTS = [0.0, *(n * math.log2(n) for n in range(1, FEW + 1))]
# Longer headers than this are no headers; bounds the decoding work.
LONGEST_HEADER = 4096

_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_LINE_SIGNS = str.maketrans("", "", "\r\n\t")
_SEGMENT = re.compile(r"[A-Za-z0-9]+")
# The pairs that make up most of written English and of identifiers; in random letters one pair in five is here.
_WRITTEN = word_set(
    "th he in er an re nd on en at ou ed ha to or it is hi es ng st te ti ar as se me nt of le ve co ra ro io ri "
    "li de al la ne ea ta ce ma si om ur ca el ec us ic tr ll no ch un lo ac pe di ho ge be et so ss ns rs ee ow "
    "wi ot em ts id ut ie ad ay os ke fi po ul pr sh rt mo su ly im am pa na ai il ol op ir ow ev fo do up ex ag "
    "ap ab ck ct ef ty tu ue sp pl gr fu bu bo ba br fa ld mi mp ni oo ou sc ui wa we wh wo ys ss tt rr ff qu vi "
    "ig if od og ob ov gh gu ru ry rm rd rk rn rc pt ph cl cr cu da ey ew ld ft ua va ki ks"
)
_PAIRS = frozenset(chain(_WRITTEN, map(str.upper, _WRITTEN), map(str.capitalize, _WRITTEN)))
# Small letters as `a`, capitals as `A`, digits as `0`; words change from one to the other rarely, noise often.
_KINDS = bytes.maketrans((ascii_lowercase + ascii_uppercase + digits).encode(), b"a" * 26 + b"A" * 26 + b"0" * 10)
_JUMPS = (b"aA", b"a0", b"0a", b"A0", b"0A")


def is_uuid(text: str) -> bool:
    """Say whether the text is a UUID."""
    return bool(_UUID.fullmatch(text))


def is_digest(text: str) -> bool:
    """Say whether the text is hexadecimal of a digest's length, or a hexadecimal number written with 0x."""
    if not _HEX.fullmatch(text):
        return False
    return text[:2] in ("0x", "0X") or len(text) in DIGEST_LENGTHS


def entropy(text: str) -> float:
    """Measure the Shannon entropy of the text, in bits per character."""
    size = len(text)
    counts = Counter(text).values() if size > FEW else map(text.count, set(text))
    weights = map(_WEIGHTS.__getitem__, counts) if size <= FEW else (n * math.log2(n) for n in counts)
    return math.log2(size) - sum(weights) / size if size else 0.0


def looks_random(text: str, *, at_least: int = 20) -> bool:
    """Say whether most of the text is random letters and digits; words, UUIDs and digests inside do not count."""
    size, least = len(text), LEAST_ENTROPY if len(text) >= at_least >= 16 else 2.5
    # Most are words, which are known by now; what they hold is counted at the end.
    scrap = sum(map(len, _random_segments(_UUID.sub("", text) if "-" in text else text)))
    if scrap < at_least or scrap * 10 < size * 6:
        return False
    # Text with so many different characters has that much however they are spread.
    is_varied = size > 1 and (len(set(text)) - 1) * math.log2(size) >= least * size
    return is_varied or entropy(text) >= least


def _random_segments(text: str) -> list[str]:
    """Give the runs of letters and digits that are no words, numbers or digests."""
    runs: list[str] = _SEGMENT.findall(text)
    noise = [run for run in runs if (_is_noisy if len(run) > WORD else _is_noisy_word)(run)]
    # To base64url `-` and `_` are letters like any other: runs of which none is a word belong together.
    if len(noise) == len(runs) > 1:
        noise = list(filter(_is_noisy, ["".join(runs)]))
    return noise


def _is_noisy(run: str) -> bool:
    return not run.isdigit() and not is_digest(run) and not _is_wordy(run)


# Long names are made of the same words again and again.
WORD = 24
_is_noisy_word = lru_cache(maxsize=4096)(_is_noisy)


def _is_wordy(run: str) -> bool:
    """Say whether a run of letters and digits reads as words and numbers rather than as noise."""
    steps = len(run) - 1
    if run.isdigit() or not steps:
        return not run.isdigit()
    kinds = run.encode().translate(_KINDS)
    jumping = sum(map(kinds.count, _JUMPS))
    jumps = jumping / steps
    # So often no words change; in a long text of noise most runs end here.
    if jumps >= 0.3 and b"0" in kinds:
        return False
    has_digits, has_both = b"0" in kinds, b"A" in kinds and b"a" in kinds
    if has_both and not has_digits and jumps < 0.2:
        return True
    digit_pairs = kinds.count(b"0") - kinds.count(b"a0") - kinds.count(b"A0") - kinds.startswith(b"0")
    letters = steps - jumping - digit_pairs
    common = sum(map(_PAIRS.__contains__, map(add, run, run[1:]))) / letters if letters else 0.0
    if has_digits:
        return (jumps < 0.2 and common >= 0.4) or (jumps < 0.3 and common >= 0.5)
    return common >= (0.5 if has_both else 0.35)


def decode_base64(text: str) -> str | None:
    """Decode base64 or base64url that holds printable UTF-8 text; anything else gives None."""
    if not _BASE64.fullmatch(text):
        return None
    body = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(body + "=" * (-len(body) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return decoded if decoded and decoded.translate(_LINE_SIGNS).isprintable() else None


def is_json_header(part: str) -> bool:
    """Say whether base64url text decodes to a JSON object, as the header of a JWT does."""
    decoded = decode_base64(part) if len(part) <= LONGEST_HEADER else None
    if decoded is None or not decoded.startswith("{"):
        return False
    try:
        return isinstance(json.loads(decoded), dict)
    except (ValueError, RecursionError):
        return False


# Generic tokens have 32 to 64 characters; a few vendors go on, files and images go on for much longer.
GENERIC_LENGTHS = range(32, 129)
# Digests and identifiers go too when in doubt, and so do shorter tokens.
STRICT_LENGTHS = range(20, 257)
# Longer base64 is content, not a credential that hides one.
ENCODED_LENGTHS = range(24, 65_537)

_RUN = r"(?<![A-Za-z0-9_+/-])"  # from the first of a run only: begun at each, a run that is too short takes its square
_TOKEN, _SHORT_TOKEN = (
    Head(form, common=_RUN + form) for form in (r"[A-Za-z0-9_+/-]{32,}={0,2}", r"[A-Za-z0-9_+/-]{20,}={0,2}")
)
# Secret keys of AWS have no prefix; what tells them is their length and a `/` or a `+` among random characters.
_AWS_SECRET = Head(r"(?:^|[^A-Za-z0-9/+=_.-])([A-Za-z0-9/+]{40})(?:$|[^A-Za-z0-9/+=_-])")
# Bits per character: 40 random characters of base64 have more, paths and words of that length less.
LEAST_OF_AWS = 4.1
LEAST_OF_LINE = 60  # characters of a block of base64
# Public keys of SSH, and digests that name their algorithm.
_PUBLIC = ("AAAA", "sha256-", "sha384-", "sha512-")
# What base64 of a PNG, a GIF, a JPEG and a PDF begins with; the letters in their order.
_PICTURES, _ALPHABET = ("iVBORw0KGgo", "R0lGOD", "/9j/", "JVBERi0"), re.compile("abcdefghijkl|ABCDEFGHIJKL")
# Ids that models' APIs give to answers and calls, addresses of IPFS, the path of a drawing (SVG).
_IDS = re.compile(
    r"(?:chatcmpl|resp|msg|toolu|call|thread|run|asst|file|batch|gen|req|fc|rs|srvtoolu)[-_][A-Za-z0-9]{16,64}"
    r"|bafy[a-z2-7]{50,60}|bc1[a-z0-9]{39,59}|Qm[1-9A-HJ-NP-Za-km-z]{44}|[MmLlHhVvCcSsQqTtAaZz0-9-]+"
)
# What stands before a random token that is a file, a digest, data or an address, not a credential.
_DIGESTS, _LONGEST_DIGEST = (
    re.compile(
        r"(?:[/\\.@#]|(?i:sha\d+)[-:=]|\bh1:|base64,|0x"
        r"|(?i:(?<!hmac[-_])sha-?\d+|x-amz-id-2|\bs/n|serial(?:[ _-]?n(?:o|umber))?)[\"']?[:=] ?[\"']?)\Z"
    ),
    24,
)
# Symbols as compilers of C++ and Rust mangle them, and constants of several words.
_SYMBOL = re.compile(
    r"_{1,4}(?:Z(?:N|S|K|T[A-Zhv]|GV|L)|R(?:Nv|Nx|INv|INt|Y|M|X))|(?:[A-Z]+[0-9]{0,3}_){3,}[A-Z]+[0-9]{0,3}(?![0-9A-Za-z])"
)
# `PublicKey = …` of WireGuard.
_PUBLIC_KEY, _LONGEST_NAME, LENGTH_OF_KEY = re.compile(r"(?i:public_?key)[\"']?[ \t]*[:=][ \t]*[\"']?\Z"), 24, 44
_ADDRESS, _LOOK_BACK = re.compile(r"://[^\s\"'<>]*\Z"), 200


def find_random_tokens(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find long random tokens that are no digest, UUID, address, file, public key or encoded text."""
    certificates, known = CertificateLines(text), dict[str, bool]()
    for find in _TOKEN.each(text):
        start, end = find.span(0)
        token = text[start:end].strip("=/-_+")
        if len(token) not in GENERIC_LENGTHS or "/" in token or is_digest(token) or is_uuid(token):
            continue
        if token.startswith(_PUBLIC) or text[end : end + 1] in ("/", "\\"):
            continue
        # A log names one thing in many lines.
        if token not in known:
            known[token] = looks_random(token, at_least=24)
        if not known[token]:
            continue
        if _DIGESTS.search(text[max(0, start - _LONGEST_DIGEST) : start]) or _IDS.fullmatch(token):
            continue
        if end - start == LENGTH_OF_KEY and _PUBLIC_KEY.search(text[max(0, start - _LONGEST_NAME) : start]):
            continue
        if text[start - 1 : start] == "<" and text[end : end + 1] == "@":  # the id of an e-mail
            continue
        if token.startswith(_PICTURES) or _ALPHABET.search(token) or _SYMBOL.match(text, start):
            continue
        if _ADDRESS.search(text[max(0, start - _LOOK_BACK) : start]):
            continue
        if end - start >= LEAST_OF_LINE and certificates.holds(start, end):
            continue
        if decode_base64(token) is None:
            allowance.spend(start)
            yield SecretSpan(start, end, "RANDOM_TOKEN")


def find_any_random_tokens(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what looks random in any place, digests and UUIDs among it."""
    for find in _SHORT_TOKEN.each(text):
        start, end = find.span(0)
        token = text[start:end].strip("=/-_+")
        if len(token) not in STRICT_LENGTHS:
            continue
        if is_digest(token) or is_uuid(token) or looks_random(token, at_least=16):
            allowance.spend(start)
            yield SecretSpan(start, end, "RANDOM_TOKEN")


_FOLDER = re.compile("[a-z]{5,}")


def find_aws_secrets(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find secret keys of AWS; one without either sign is as good as any random identifier."""
    if "/" not in text and "+" not in text:
        return
    for find in _AWS_SECRET.all(text, allowance):
        token = find[1]
        run = token.replace("/", "").replace("+", "")
        if len(run) == len(token) or run.islower() or run.isupper() or run.isalpha() or run.isdigit():
            continue
        if any(map(_FOLDER.fullmatch, token.split("/")[:-1])):
            continue
        if entropy(token) >= LEAST_OF_AWS and looks_random(run, at_least=28) and decode_base64(token) is None:
            allowance.spend(find.span(1)[0])
            yield SecretSpan(*find.span(1), "AWS_SECRET_KEY")


def decoded_whole(text: str) -> str | None:
    """Decode a text that is base64 as a whole; anything else gives None."""
    if len(text) not in ENCODED_LENGTHS or " " in text:
        return None
    return decode_base64(text.strip())


# The name of a checksum, and the one that follows it.
_SUMS = re.compile(r"(?i)(?:sha-?[0-9]{1,3}|md5|blake[0-9]?[a-z]?)[^0-9a-z]{0,8}(?:[0-9a-f]{32,128}(?![0-9a-z]))?")
# How many tests passed; the value of a variable of a shell, of PHP or of Perl.
_COUNT = re.compile(r"[0-9]{1,6}(?:/[0-9]{1,6}|(?:\.[0-9]{1,3})?%)")
_VARIABLE = re.compile(r"\$[A-Za-z_]\w*")
_CMDLET = re.compile(r"[A-Z][A-Za-z]{1,12}-[A-Z][A-Za-z]{1,40}")  # `Read-Host`


def without_sums(text: str) -> str:
    """Leave out checksums that are called so."""
    return _SUMS.sub("", text)


def counts_or_refers(name: str, value: str, before: str) -> bool:
    """Say whether `pass: 3/5` counts, or `$password = …` takes another variable or what a command of PowerShell gives.

    Within `'…'` a variable is none, and within any quotes nor is a command.
    """
    value = value.rstrip(",;)]")
    if name.casefold() == "pass" and _COUNT.fullmatch(value):
        return True
    if not name.startswith("$"):
        return False
    is_command = before not in "\"'`" and _CMDLET.fullmatch(value) is not None
    return is_command or (before != "'" and _VARIABLE.fullmatch(value) is not None)
