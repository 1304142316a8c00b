"""Decide whether the value that stands beside a name is a literal secret, a place-holder, code or prose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import digits
from typing import Self

from retrycontract.contract.redaction.allowance import Allowance
from retrycontract.contract.redaction.detectors import WholePattern, has_digit
from retrycontract.contract.redaction.field_names import (
    KINDS,
    RULES,
    Assignment,
    NameVerdict,
    is_secret_name,
    is_spelt,
    judge,
    split_words,
    word_set,
)
from retrycontract.contract.redaction.labels import is_key_of, is_label, is_place
from retrycontract.contract.redaction.randomness import entropy, is_digest, is_uuid, looks_random
from retrycontract.contract.redaction.scan_copies import FOREIGN, ascii_copy

LONGEST_VERSION, LONGEST_SPOKEN = 40, 200  # characters
# What ends a clause or a call rather than a value.
_TRAILING = ".,;:!?)]}"
# Bits per character: place-holders and counting digits stay below.
LEAST_DENSE = 2.5

_VALIDATED = r"(?:required|nullable|sometimes|bail|string|present|filled)(?:\|[a-z_]+(?::[^|]*)?)+"
_RULES = WholePattern(_VALIDATED)
_PLACEHOLDER = WholePattern(
    r"(?i)\$\{.*\}?|\$\(.*|\$[0-9a-z]|\$[a-z_]*(?:(?:pass|pwd|token|key|secret|user|auth|cred|psk)[a-z_]*)"
    r"|(?-i:\$(?:[a-z]+_|db|pg|my|new|old|root|admin)?pw)|(?-i:\$[A-Z_][A-Z0-9_]*(?:[{\[].*|[/|#][gI]*)?)"
    r"|\{\{.*|\{%.*|\{[a-z_][\w.]*\}|\{[a-z_.]*|\W*\{[0-9]*\}\W*(?:\{[0-9]*\}\W*)*|(?:\W*%[sdr])+\W*"
    r"|(?: ?--?[a-z][\w-]*[= ](?:%[sdr]|\$?\{\w*\}|\$\w+))+"  # flags, each with what is put in
    r"|%\([a-z_]\w*\)s?|%[a-z_]\w*%|<[a-z][^<>]*>|<[a-z _-]*|&lt;.*"
    r"|(?:[^a-z0-9{}$]*\$?\{[a-z_][^{}\"'\s]{0,60}\})+[^a-z0-9{}$]*|secretstring:.*"  # nothing but what is put in
    rf"|{_VALIDATED}"
    r"|op://[^/]+/.+|vault:.*/.*|arn:aws.*|file:///.*|/run/secrets/.*|projects/[^/]+/secrets/.*"  # where it lies
    r"|(?:basic|bearer|token) \$?\{.*"
    r"|\*+|\.{3,}|x{3,}|\[redacted.*|\[[a-z _-]+\]|your[_ -].*|null|none|nil|undefined|true|false|nan|n/a|tbd|todo"
)
_CODE = WholePattern(
    r"\$[A-Za-z_]+-|[A-Za-z_$][\w$]*(?:\(.*|\[.*|!\(.*|(?:(?:\??\.|::)[A-Za-z_$][\w$]*)+(?:\(.*|\[.*|!\(.*)?)|[({\[<&*|>!].*|[fFrRbBuU]{1,2}[\"'].*"
    r"|(?:[\w.+-]+/)*[\w+-]+\.(?:[cho]|cc|[ch]pp|lo|obj)"  # what a target of a makefile is made of
    r"|:py:[a-z]+|:(?:class|func|meth|data|attr|mod|obj|ref|exc|term|doc|envvar|option)"  # roles of reST
    r"|/(?:\^|\(\?).*|\.[*+]\??(?:[/|#\\$)].*)?"  # patterns
)
# Of these a token is none: colours of a theme, versions, numbers of object identifiers, patterns, rules of a grammar.
_NO_TOKEN = WholePattern(
    r"(?:[a-z]+ )*(?:[a-z]+:)?(?:#|0x)[0-9A-Fa-f]{1,8}|[0-9]+(?:\.[0-9]+)+|.*\(\?[:=!<P].*|[0-9]+\*[A-Za-z]+"
    r"|.*\[[^\]]*[A-Za-z0-9]-[A-Za-z0-9][^\]]*\][+*?{].*"
)
# Of a database, without a user and settings; of a session of a program that tests, its name and a version.
_ADDRESS = WholePattern(r"[a-z][a-z0-9+.-]*://[^@;?&]*")
_OF_VERSION = WholePattern(r"[a-z]+(?:[-_.][a-z]+)*[-.][0-9]{1,2}(?:\.[0-9]{1,3})*")
_VERSION = WholePattern(r"[~^<>=!v]{0,3}[0-9]+(?:\.[0-9x*]+){2,}(?:[-+.]?(?:a|b|rc|alpha|beta|dev|post)[-.]?[0-9]*)?")
_TYPE_NAME = WholePattern(
    r"(?:[A-Z][a-z]*[0-9]*){0,8}(?:Token|Str|Bytes|Key|Session|Secret|Buffer|Type|Mgr|Manager|Hasher)|_[A-Z][A-Za-z]*"
)
_TWO_WORDS = WholePattern(r"[A-Za-z]+(?:\.[A-Za-z]+){1,3}[0-9]{1,6}|[A-Z][a-z]+[0-9]+(?:\.[A-Z][a-z]+[0-9]*)+")
_CAPITAL_LAST = WholePattern(r"[A-Za-z]+\.[A-Z][a-z]+[0-9]{1,6}")
# Where program text has no blanks: `t.token)throw`, `t&&n(e)`, and `b.password,a.token=c` behind `=`.
_SQUEEZED = re.compile(r"([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)(?:&&|\|\||[)},;]|\?[^?:]+:)")
_SQUEEZED_TARGET = re.compile(r"[A-Za-z_$]{1,2}(?:\.[A-Za-z_$]+)?,[A-Za-z_$]{1,2}\.[A-Za-z_$]+=")
_COMPARISONS = frozenset({"==", "===", "!=", "!=="})
# How a browser sends credentials, and where a Unix looks for accounts.
_MODES = {"CREDENTIAL": ("same-origin", "include", "omit"), "PASSWORD": ("files", "compat", "systemd", "sss")}
_VARIABLE = re.compile(r"\$[A-Za-z_]+")
NUMBER = re.compile(r"0[xX][0-9A-Fa-f]{1,8}[uUlL]{0,3}")
_WORD = WholePattern(rf"[A-Za-z?{FOREIGN}]*[a-z?{FOREIGN}][_-]?[A-Za-z?{FOREIGN}_-]*[.!]?|[A-Z]+[.!?]?|\W+")
_RUN = re.compile(r"[A-Za-z0-9]{20,}")
_PROSE = WholePattern(rf"(?:[A-Za-z_?{FOREIGN}]+[,.;:!?'-]*[ \t]+){{2,}}.*")
# A sentence about a password has at least one of these; the words of a pass phrase have none.
_SENTENCE_WORDS = word_set(
    "the a an is are was be must your you my for to of or not in on with at please enter required invalid cannot can "
    "should will this that has have if no wrong incorrect change reset forgot missing expired least characters and "
    "as by from it need der die das ist ein fur und nicht le la les une pour el los una para de password passwort "
    "token secret key user username account when used see ask same printed sent stored rotated siehe kommt wie voir"
)
# What forms and validators say of a password, in a sentence of three words and more; a passphrase has none of these.
_SPEAKING = word_set(
    "required must invalid incorrect characters enter please forgot reset expired missing field wrong password token"
)
# As programs print which key it was; where on a board something is connected.
_KEY_ID, _PIN_OF_BOARD = (
    re.compile(r"0x(?:[0-9A-F]{8}|[0-9A-F]{16}|[0-9A-F]{40})"),
    re.compile(r"[A-Z]{1,5}_?[0-9]{1,2}"),
)
# How many of what a password has to have, or when: such a number is none of a password.
_COUNTED = re.compile(
    r"(?i)\b[0-9]{1,4}(?:[ \t]?(?:-|to|and)[ \t]?[0-9]{1,4})?[ \t]+(?:[a-z-]+[ \t]+){0,2}?"
    r"(?:characters?|chars?|letters?|digits?|numbers?|symbols?|words?|times|days?|hours?|minutes?|attempts?|bytes)\b"
)
_RULING = word_set("must should needs requires contain contains least most minimum maximum")
# Spanish and Portuguese have one word for a key and a password: such a value is a password.
_KEYS_AND_PASSWORDS = ("clave", "chave")
_SIGNED = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w.-]*[!#$%?^~][\w.!#$%?^~-]*(?<=.{6})")
_TYPES = word_set("string str number integer boolean object array")

# Below these a word without a digit is an ordinary word.
_NUMBER_MARKS = frozenset({"PIN", "OTP", "CVV", "SSN"})
_ANYTHING_MARKS = _NUMBER_MARKS | {"PASSWORD", "SECRET"}
_ORDINARY_MARKS = _NUMBER_MARKS | {"SESSION", "AUTHORIZATION", "COOKIE"}
# Below the name of what may be secret, nothing shorter can look random.
SHORTEST_NOISE = 10
# A word behind a header's name is its value, unless it is so short that it may be the start of a sentence.
LEAST_IN_HEADER, LEAST_WITH_DIGIT = 10, 8


@dataclass(frozen=True, slots=True)
class Literal:
    """Hold one value found in a text, without its quotes, and where it stands; of a long unquoted one the beginning."""

    text: str
    start: int
    end: int
    quoted: bool

    @classmethod
    def whole(cls, text: str) -> Self:
        """Take a whole string as one value."""
        return cls(ascii_copy(text), 0, len(text), quoted=True)

    @property
    def is_placeholder(self) -> bool:
        """Say whether the value only stands for one, such as `${TOKEN}`, `<your key>` or `****`."""
        return _PLACEHOLDER.fits(self.text)

    @property
    def is_word_of_code(self) -> bool:
        """Say whether the value is a kind, a switch or the like, such as `required`, or nothing but a sign or two."""
        return self.text.casefold().rstrip("?") in KINDS or (len(self.text) < 3 and not self.text.isalnum())

    @property
    def is_noise(self) -> bool:
        """Say whether the value looks random enough to be a credential of its own."""
        if "\\" in self.text or " " in self.text:
            return False
        return (
            looks_random(self.text, at_least=10)
            or is_uuid(self.text)
            or (is_digest(self.text) and entropy(self.text) > LEAST_DENSE)
        )

    @property
    def is_dense(self) -> bool:
        """Say whether a long stretch of letters and digits runs through the value."""
        if "\\" in self.text or " " in self.text:
            return False
        runs = (run for run in _RUN.findall(self.text) if not run.isdigit())
        return any(sum(c.isdigit() for c in run) >= 3 and entropy(run) > LEAST_DENSE for run in runs)

    @property
    def is_mixed(self) -> bool:
        """Say whether the value is letters and digits without a word's separators."""
        return self.text.isalnum() and not self.text.isalpha() and not self.text.isdigit()

    @property
    def is_signed(self) -> bool:
        """Say whether letters, a digit and a sign stand in the value as in no name, path or expression."""
        return bool(_SIGNED.fullmatch(self.text)) and not self.is_placeholder

    @property
    def telling(self) -> bool:
        """Say whether the value is more than one plain word: digits, symbols or inner capitals."""
        return not _WORD.fits(self.text)


def is_secret_literal(literal: Literal, verdict: NameVerdict, beside: Assignment, allowance: Allowance) -> bool:
    """Decide whether the value beside a name is a literal secret rather than a place-holder, code or prose."""
    if not literal.quoted:
        bare = literal.text.rstrip(_TRAILING)
        literal = Literal(bare, literal.start, literal.start + len(bare), quoted=False)
    text = literal.text
    if not verdict.mark:
        is_magic = NUMBER.fullmatch(text) and beside.name.casefold().endswith(
            "signature"
        )  # the signature of a kind of file
        if verdict.weak and beside.name.casefold().endswith(_KEYS_AND_PASSWORDS) and literal.is_signed:
            return True
        if not verdict.weak or len(text) < SHORTEST_NOISE or is_magic or _KEY_ID.fullmatch(text):
            return False
        return literal.is_noise or literal.is_dense if allowance.weighs(text) else literal.is_mixed
    is_folder = beside.name.casefold().endswith("pwd") and text.startswith(("/", "~/", "./"))
    is_next = has_digit(beside.name) and text.rstrip(digits) == beside.name.rstrip(digits)  # `"password1", "password2"`
    if not text.strip() or is_folder or is_next or literal.is_word_of_code or literal.is_placeholder:
        return False
    if is_key_of(beside.name, text) or is_place(text, verdict.mark):
        return False
    if text in _MODES.get(verdict.mark, ()) and (
        verdict.mark == "CREDENTIAL" or (beside.operator == ":" and beside.goes_on)
    ):
        return False
    if "://" in text and verdict.mark not in ("CONNECTION_STRING", "PASSWORD", "SECRET"):
        return False  # what is secret in a URL is found as such
    is_usage = beside.name[:2] == "--" and text.islower() and is_spelt(text) and is_secret_name(text)
    if is_usage and ("/" in text or split_words(text)[-1] in split_words(beside.name)):  # `--token=bearer_token`
        return False
    if verdict.mark == "CONNECTION_STRING" and _ADDRESS.fits(text):
        return False
    if literal.quoted:
        return is_quoted_secret(literal, verdict.mark) and not _only_names(literal, verdict.mark, beside)
    is_other = _is_other(text, verdict.mark)
    is_number = beside.operator != ":" and beside.spaced and beside.name.isupper() and NUMBER.fullmatch(text)
    first, _, after = text.partition(",")
    if beside.operator == ":" and first in _TYPES and after.isidentifier():  # `f(token: str,version: str)`
        return False
    if is_other or is_number or (_CODE.fits(text) and not literal.is_noise and not _is_of_words(text, beside)):
        return False
    word = text.partition(")")[0]
    squeezed = _SQUEEZED.match(text) if beside.operator in _COMPARISONS else None
    if (squeezed and not has_digit(squeezed[1])) or _SQUEEZED_TARGET.match(text):
        return False
    if beside.operator in _COMPARISONS and word.isidentifier():
        # What is compared by its name is a variable.
        text = word.rstrip(digits) if word.rstrip(digits) == beside.name.rstrip(digits) else word
        if not has_digit(text):
            return False
    elif beside.operator == ":" and beside.spaced and (text.casefold() in RULES or _TYPE_NAME.fits(text)):
        return False
    if beside.goes_on and text.casefold() in _SENTENCE_WORDS:
        return False
    # In program text a variable has the name of a secret; in settings such a word may be one.
    is_constant = beside.spaced and word.isupper()
    is_member = beside.operator == "=" and beside.spaced and ("." in beside.name or word.startswith("_"))
    is_variable = beside.is_argument or (is_constant and "_" in word)
    is_plain = word.isidentifier() and not has_digit(word)
    is_variable = is_variable and verdict.mark not in _ANYTHING_MARKS and not literal.is_noise
    if is_plain and (beside.is_expression or is_variable):
        return False
    is_of_code = (
        (beside.is_argument and (is_constant or beside.operator == ":"))
        or ("=" in beside.operator and (beside.is_argument or is_constant or word != text))
        or (is_member and is_spelt(word))
    )
    is_private = beside.operator == "=" and word[:1] == "_" and is_secret_name(word)
    if (is_of_code or is_private) and is_plain and (is_secret_name(word) or judge(word).descriptor):
        return False
    if beside.operator == "=>" and beside.is_argument and _VARIABLE.fullmatch(text):
        return False
    return _is_bare_secret(literal, verdict.mark, beside)


def _is_of_words(text: str, beside: Assignment) -> bool:
    """Say whether what reads like a member of an object is a password of two words, as settings have it."""
    if beside.is_argument or is_secret_name(text) or is_secret_name(text.rpartition(".")[2]):
        return False
    is_set = beside.operator == "=" and not beside.spaced
    return _TWO_WORDS.fits(text) if is_set else _CAPITAL_LAST.fits(text)


def _is_other(text: str, mark: str) -> bool:
    return (mark not in _ANYTHING_MARKS and _NO_TOKEN.fits(text)) or is_of_package(text, mark)


def speaks_of_secret(text: str, mark: str) -> bool:
    """Say whether a value names a type or a rule, or is a label or a sentence: `This field is required.`"""
    first, _, rest = text.casefold().partition(" ")
    if first in _TYPES and (not rest or rest.startswith("(")):
        return True
    if len(text) > LONGEST_SPOKEN:
        return False
    copy = ascii_copy(text)
    if is_place(copy, mark) or (is_label(copy, mark) and not (text.isascii() and text.islower())):
        return True
    if not text.isascii():
        return False
    words = {word.strip(_TRAILING) for word in text.casefold().split()}
    is_sentence = _PROSE.fits(text) and len(words & _SENTENCE_WORDS) > 1 and not words.isdisjoint(_SPEAKING)
    is_sentence |= not words.isdisjoint(_RULING) and has_digit(text) and not has_digit(_COUNTED.sub("", text))
    return is_sentence or _RULES.fits(text)


def is_of_package(text: str, mark: str) -> bool:
    """Say whether a value is the version of a package whose name reads like a secret's: `"jsonwebtoken": "^9.0.2"`."""
    return mark != "PASSWORD" and len(text) <= LONGEST_VERSION and text.isascii() and _VERSION.fits(text)


def _only_names(literal: Literal, mark: str, beside: Assignment) -> bool:
    """Say whether a quoted word is what a token is compared with, or names one: `REFRESH_TOKEN = "refresh_token"`."""
    text = literal.text
    if has_digit(text):
        return False
    said, name = set(split_words(text)), set(split_words(beside.name))
    if said == name and len(name) > 1:  # in the spelling of another language: `"client_secret": "clientSecret"`
        return True
    if text[:2] in ("X-", "x-") and is_secret_name(text):
        return True
    # `RESET_PASSWORD = "auth/resetPassword"`, `API_KEY_HEADER = "X-API-Key"`
    if is_secret_name(text) and ((len(name) > 1 and name < said) or said <= name) and "=" in beside.operator:
        return beside.name.isupper() or mark not in _ANYTHING_MARKS
    if mark in _ANYTHING_MARKS:
        return False
    if beside.operator == ":" and len(name) > 1 and name < said and _TYPE_NAME.fits(text):  # of an annotation
        return True
    is_variable = text.isupper() and text.isidentifier() and "_" in text
    is_part = is_secret_name(text) and said <= name
    return is_variable or is_part or (mark == "TOKEN" and beside.operator in _COMPARISONS and not literal.is_noise)


def is_quoted_secret(literal: Literal, mark: str) -> bool:
    text = literal.text
    if _is_other(text, mark) or is_label(text, mark) or is_place(text, mark):
        return False
    if mark == "TOKEN" and " " in text and not has_digit(text):
        return False
    if mark in _ORDINARY_MARKS:
        return (
            len(text) >= 3
            and has_digit(text)
            and not _PROSE.fits(text)
            and not (mark in _NUMBER_MARKS and is_secret_name(text))
        )
    if _PROSE.fits(text) and mark in ("PASSWORD", "SECRET"):
        words = text.casefold().replace(",", " ").replace(".", " ").split()
        return _SENTENCE_WORDS.isdisjoint(words) or (mark == "PASSWORD" and has_digit(_COUNTED.sub("", text)))
    if mark == "PASSWORD":
        return True
    return len(text) >= 4 and not _PROSE.fits(text) and (literal.telling or len(text) >= 8)


def _is_bare_secret(literal: Literal, mark: str, beside: Assignment) -> bool:
    text = literal.text
    if len(text) < 3 or text.casefold().replace("-", "_") in beside.name.casefold():
        return False
    digit = has_digit(text)
    if mark == "PIN" and _PIN_OF_BOARD.fullmatch(text):
        return False
    if mark in _ORDINARY_MARKS:
        return digit and (mark in _NUMBER_MARKS or (len(text) >= 8 and not _OF_VERSION.fits(text)))
    if text.isdigit():
        return len(text) >= (4 if mark == "PASSWORD" else 6)
    if beside.is_header and text.isalnum():
        return len(text) >= (LEAST_WITH_DIGIT if digit else LEAST_IN_HEADER)
    if literal.telling and (digit or not text.isalnum()):
        return digit or mark in ("PASSWORD", "SECRET") or len(text) >= 12
    if beside.operator == "--":
        return True
    assigned = "=" in beside.operator and not beside.spaced
    return (
        (mark == "PASSWORD" and beside.starts_line and (beside.spaced or beside.operator != ":"))
        or (assigned and len(text) >= 6)
        or (len(text) >= 16 and (literal.telling or looks_random(text, at_least=16)))
    )
