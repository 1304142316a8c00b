"""Tell what stands in a file's place: the report that nothing was written, as data, or a place-holder."""

from __future__ import annotations

import re

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.no_attempt import OPENING, alternatives, is_prose, plain, refuses

MOST_SIGNS = 3  # of a name in a script that has no spaces
MOST_MEMBERS = 8  # of a report; a file of messages has more
# The names that a report has in place of a file's own, in the languages that models speak.
_REPORTS = """
    status|state|error|errors|reason|message|msg|refusal|refused|declined|denied|explanation|details?|note|response|reply
    answer|result|output|content|text|success|ok|code|type|warning|exception|fatal|comment|file|file[_ ]?content
    grund|begründung|fehler|antwort|nachricht|ergebnis|hinweis|abgelehnt|estado|motivo|raz[oó]n|mensaje|respuesta
    rechazado|statut|raison|erreur|réponse|refusé|stato|errore|ragione|risposta|messaggio|erro|raz[aã]o|resposta|mensagem
    reden|fout|antwoord|bericht|powód|błąd|odpowiedź|důvod|chyba|odpověď|статус|причина|ошибка|ответ|сообщение|помилка
    状态|狀態|原因|理由|错误|錯誤|消息|回答|状態|エラー|メッセージ|상태|이유|오류|메시지|الحالة|السبب|خطأ|स्थिति|कारण
"""
# How such a report says it without a sentence.
_REFUSED = """
    (can ?not|can't|could not|unable|not (able|allowed|permitted|possible)|won't|will not|refus\\w*|declin\\w*)\\b
    (deny|denied|denial|rejected|blocked|forbidden|unsupported)\\b
    abgelehnt|verweigert|nicht möglich|rechazad|denegad|no (puedo|es posible)|refus|impossible|rifiutat|negat[oa]
    recusad|negad[oa]|geweigerd|niet mogelijk|odm[oó]w|odrzuc|zam[ií]tn|отказ|отклон|невозможно|відмов|відхил
    拒绝|拒絕|无法|無法|拒否|不可|거부|거절|불가|مرفوض|رفض|अस्वीकार
"""
# A comma parts members only where another one follows.
_PARTS = re.compile(r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^,;{}\n\"']|[,;](?!\s*[\"']?[\w -]{1,30}[\"']?\s*[:=]))+")
_MEMBER = re.compile(r"[\"']?(?P<name>[^\W\d_][\w -]{0,30}?)[\"']?\s*(?::|=>?)\s*(?P<said>.+)")
# What dresses a member in YAML, Markdown and XML, and how it reads without.
_DRESS = (
    (re.compile(r"^(?:---|\.\.\.)[ \t]*$|^[ \t]*(?:[-*>]|\d[.)])[ \t]+|\*\*|__|`", re.MULTILINE), ""),
    (re.compile(r"^#+[ \t]*([^\n#:]{1,40})\n\s*", re.MULTILINE), r"\1: "),
    (re.compile(r":[ \t]*[|>][-+]?[ \t]*\n\s*"), ": "),
    (re.compile(r"<(\w{1,40})>([^<>]*)</\1>"), r"\1: \2"),
    (re.compile(r"\A\s*\[\s*(\{.*\})\s*\]\s*\Z", re.DOTALL), r"\1"),
)
_BRACKETED = re.compile(
    r"[\"'`*_ ]*(?:\.{3}|…)?\s*"
    r"(?:\[([^\[\],\"'`]+)\]|<([^<>=\"]+)>|[(（]([^()（）]+)[)）]|\{\{?([^{}:,\"]+ [^{}:,\"]+)\}?\})"
    r"\s*(?:\.{3}|…)?[\"'`*_ ]*"
)
_ELLIPSIS = re.compile(r"\s*(?://|#|--|/\*)\s*(?:\.{3}|…).*")
# Of one word: "[one]" is a list to YAML, "[table]" a table to TOML.
_PLACE_WORD = re.compile(
    r"(the|your)?[ _]?(file|code)?[ _]?(contents?|omitted|unchanged|truncated|skipped|snip|end|\.{3}|…)"
)
_CALL = re.compile(r"<\W?\s*(?:tool|function)[_-]?(?:calls?|use)?\s*\W?>")


def stand_in(text: str) -> FaultKind | None:
    """Tell why a whole answer without a fence stands in a file's place; None for what may be the file.

    A mapping of nothing but a status and its reason refuses; bracketed words, or a tool's call, are no file's text.
    """
    whole = text.strip("\ufeff \t\r\n")
    if len(whole) > OPENING:
        return None
    if _CALL.match(whole):
        return FaultKind.ONLY_TALK
    if whole and all(map(_is_place_holder, filter(str.strip, whole.splitlines()))):
        return FaultKind.FENCED
    for dress, plainly in _DRESS:
        whole = dress.sub(plainly, whole)
    parts = [part.strip() for part in _PARTS.findall(whole) if part.strip()]
    members = [_MEMBER.fullmatch(part) for part in parts[: MOST_MEMBERS + 1]]
    if not 0 < len(members) <= MOST_MEMBERS:
        return None
    said = list[str]()
    for member in members:
        if member is None or not alternatives(_REPORTS, ends="$").match(plain(member["name"])):
            return None
        said += [plain(member["name"]), plain(member["said"].strip("\"',; \t"))]
    if any(map(refuses, said[1::2])):
        return FaultKind.REFUSED
    # "error: not found" may be meant as a file, and then a fence says so.
    is_error = len(parts) == 1 and said[0] in ("error", "fatal", "exception")
    is_refused = any(map(alternatives(_REFUSED).match, said))
    return FaultKind.FENCED if is_error or is_refused else None


def _is_place_holder(line: str) -> bool:
    found = _BRACKETED.fullmatch(line)
    if found is None:
        return _ELLIPSIS.fullmatch(line) is not None
    words = next(filter(None, found.groups())).strip(" /!-:.…")
    is_unspaced = len(words) > MOST_SIGNS and any(ord(sign) > 0x2E7F for sign in words)
    is_said = is_prose(words) and (" " in words or is_unspaced)
    return is_said or not words or _PLACE_WORD.fullmatch(words.casefold()) is not None
