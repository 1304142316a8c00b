"""Tell what names a secret from the secret: labels and messages, keys under which one lies, routes, files, scripts."""

from __future__ import annotations

from retrycontract.contract.redaction.detectors import WholePattern, has_digit
from retrycontract.contract.redaction.field_names import (
    WORDS_FOR_SECRETS,
    is_foreign_key,
    is_secret_name,
    judge,
    split_words,
    word_set,
)
from retrycontract.contract.redaction.foreign import KNOWN_FORMS
from retrycontract.contract.redaction.scan_copies import FOREIGN

LONGEST, MOST_WORDS, SHORTEST_NAME = 60, 6, 5
# Words with a capital at most at their beginning, or short and all in capitals; what is folded from another script may
# have any. A form ends its label with a colon or a star.
_WORD = rf"(?:[A-Z]?[a-z]+|[A-Z]{{1,5}}|[A-Za-z]*{FOREIGN}[A-Za-z{FOREIGN}]*)_*"
_PHRASE = WholePattern(rf"(?:[A-Z]{{2,5}}-)?{_WORD}(?:(?: |' ?|, ){_WORD})* ?[?:.*]*")
_SHOUTED = WholePattern(r"[A-Z]{4,16} ?[?:*]*")
# Before the secret itself stands one of these: `the password is swordfish`, `swordfish as the password`.
_TELLING = word_set("is ist est es jest lautet are as als como comme for fur with mit and und to")
_SIGNING_IN = frozenset({"login", "log in", "sign in", "anmelden", "anmeldung", "einloggen", "connexion", "acceso"})
_KEYS = word_set("key keys clave cle chave chiave schlussel sleutel klucz nyckel")
_KEY_MARKS = frozenset({"API_KEY", "ACCESS_KEY", "PRIVATE_KEY"})
# The words themselves, without two that are words of English as well.
_WORDS = {word: mark for word, mark in WORDS_FOR_SECRETS.items() if word not in ("pass", "pw")} | {
    **dict.fromkeys(word_set("zugangsdaten anmeldedaten identifiants credenciales credenziali"), "CREDENTIAL"),
    **dict.fromkeys(word_set("zugangstoken zugriffstoken toegangstoken"), "TOKEN"),
}
# Words that are joined to a name, as the keys of a store, of a manifest and of constants are.
_NAME = WholePattern(r"[A-Za-z]+(?:[-_.:/][A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+")
_OF_STORE = WholePattern(r"[A-Za-z]+(?:[.:][A-Za-z]+)+")
_ROUTE = WholePattern(r"(?:https?://[a-z0-9.-]+(?::[0-9]{1,5})?)?(?:/[a-z]+(?:[_-][a-z]+)*)+/?")
_ACTIONS = word_set("login signin reset forgot new edit change update create refresh verify confirm revoke")
_FILE = WholePattern(
    r"(?:\.{1,2}|~)/[\w.-]+(?:/[\w.-]+)*|(?:/[\w.-]+)+/[\w-]+\.(?:txt|key|pem|crt|p12|jks|json|ya?ml|toml|env|conf|cfg|ini)"
)
_SCRIPT = WholePattern(
    r"(?:node|npx|ts-node|tsx|deno run|bun|python3?|bash|sh|php|ruby)(?: --?[a-z-]+)* [\w./-]+"
    r"\.(?:[cm]?[jt]s|py|sh|rb|php)"
)


def is_label(text: str, mark: str) -> bool:
    """Say whether a value in ASCII is the word for such a secret, or a few words with that word among them.

    In small letters a word of Latin script may be somebody's password, as may be what has a digit or a sign in it.
    """
    if len(text) > LONGEST or not (_PHRASE.fits(text) or _SHOUTED.fits(text)):
        return False
    words = split_words(text.replace(FOREIGN, "?"))
    if FOREIGN in text or text.rstrip("_:") in KNOWN_FORMS:  # of another script, or as good as one
        known = (WORDS_FOR_SECRETS.get(word) for word in words if word in KNOWN_FORMS)
        if any(found in (mark, "PASSWORD") for found in known):
            return True
    is_capital = text.lstrip(FOREIGN)[:1].isupper() or text[:1] == FOREIGN
    if not is_capital or len(words) > MOST_WORDS or not _TELLING.isdisjoint(words):
        return False
    if " ".join(words) in _SIGNING_IN or (mark in (*_KEY_MARKS, "TOKEN") and is_foreign_key(words)):
        return True
    if mark in _KEY_MARKS and "api" in words and not _KEYS.isdisjoint(words):
        return True
    joined = ("".join(words[at : at + many]) for many in (1, 2, 3) for at in range(len(words)))
    return any(_WORDS.get(word) in (mark, "PASSWORD", "CREDENTIAL") for word in joined)


def is_key_of(name: str, text: str) -> bool:
    """Say whether a value is the key under which a secret lies: `PASSWORD_KEY = "db_password"`."""
    if not name.casefold().rstrip("s").endswith("key"):
        return False
    *before, last = split_words(name) or ("",)
    is_key = last in ("key", "keys") and before and before[-1] in WORDS_FOR_SECRETS
    if not is_key or f"{before[-1]}{last}" in WORDS_FOR_SECRETS or has_digit(text):  # `secret_key` is one itself
        return False
    return text.casefold() in WORDS_FOR_SECRETS or (_NAME.fits(text) and is_secret_name(text))


def is_place(text: str, mark: str) -> bool:
    """Say whether a value in ASCII is where a secret lies, is asked for or is made: a route, a file, a script."""
    if len(text) > LONGEST:
        return False
    if "/" not in text and "." not in text and ":" not in text:
        # A key is no password: `secretKey: DB_PASSWORD` of a manifest.
        is_name = mark in _KEY_MARKS and (text in KNOWN_FORMS or (text.isupper() and _NAME.fits(text)))
        return is_name and judge(text).mark == "PASSWORD"
    if mark == "TOKEN" and _OF_STORE.fits(text):
        return judge(split_words(text)[-1]).mark == mark
    if _ROUTE.fits(text):
        *before, last = text.rstrip("/").split("/")
        named = last if last not in _ACTIONS else before[-1]
        return len(named) >= SHORTEST_NAME and judge(named).mark is not None
    return _FILE.fits(text) or _SCRIPT.fits(text)
