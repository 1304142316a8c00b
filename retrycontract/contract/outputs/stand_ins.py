"""Tell what stands in a file's place: the report that nothing was written, as data, or a place-holder."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.no_attempt import OPENING, alternatives, is_prose, plain, refuses

MOST_SIGNS = 3  # of a name in a script that has no spaces
MOST_CALL = 20_000  # characters of a call that is written as code or as lines
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
_CALL = re.compile(
    r"<\W?\s*(?:tool|function)[_▁-]?(?:calls?|use)?(?:[_▁-]?begin)?\s*\W?>|"
    r"<(?:function=|invoke name=|\|python_tag\|>)|\[TOOL_CALLS\]"
)
# The members that name a call's tool, and those that hold what it gets.
_TOOLS = frozenset({"name", "tool", "tool_name", "function", "function_name", "action", "recipient_name"})
_GIVEN = frozenset({"arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs"})
_BESIDE = frozenset({"type", "id", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "status", "index"})
# These name nothing else; "name" beside "parameters" may be a deployment and its settings, unless it names a deed.
_SURE = frozenset({"arguments", "tool_input", "action_input"})
_SURELY = frozenset({"tool", "tool_name", "function", "function_name", "recipient_name"})
_CALL_LISTS = frozenset({"tool_calls", "tool_uses", "function_calls", "function_call", "functioncall"})
_IN_MESSAGE = frozenset({"role", "content", "refusal", "id", "type"})
_CALL_TYPES = ("function", "function_call", "tool_use", "tool_call", "mcp_call")
_DEED = re.compile(
    r"(?:[\w-]+\.)*(?:(?:write|create|save|edit|update|append|insert|replace|read|open|view|delete|remove|run|execute|exec|"
    r"call|make|generate|put|add|apply|submit|send|search|fetch|get|list|find|upload|download|str_replace)(?:[_-]?[A-Z]|[_-])"
    r"\w+|str_replace|bash|shell|python|submit|validate)"
)
# A file of such a name is one of calls: "tool_calls.json", "fixtures/request.json".
_OF_CALLS = re.compile(
    r"call|tool|function|action|request|fixture|message|payload|event|rpc|mcp|invo|sample|example|test"
)
_LINE_MEMBER = re.compile(r"^([A-Za-z][A-Za-z_ ]{0,20}):(.*(?:\n(?:[ \t]+.*|[ \t]*$))*)", re.MULTILINE)


def is_call(text: str, name: str, schema: Any) -> bool:
    """Tell whether a whole answer without a fence calls a tool, where a file called `name` is due.

    It may be the file where that is one of calls by its name, or the schema speaks of their members.
    """
    whole = text.strip("\ufeff \t\r\n")
    if _OF_CALLS.search(name.casefold()) or any(f'"{given}' in json.dumps(schema) for given in _GIVEN):
        return False
    if whole[:1] in ("{", "["):
        try:
            return _calls(json.loads(whole))
        except (ValueError, RecursionError):
            pass
    if len(whole) <= MOST_CALL and whole[-1:] in (")", "]"):
        return _calls_as_code(whole)
    # In YAML, and as "Action: search\nAction Input: {…}"; each member ends where the next one begins.
    members = {found[1]: found[2].strip() for found in _LINE_MEMBER.finditer(whole[:MOST_CALL])}
    is_whole = len(whole) <= MOST_CALL and not _LINE_MEMBER.sub("", whole).strip()
    plain = {_plainly(each): said for each, said in members.items()}
    # A call's arguments are a block of lines that stand further in, or JSON.
    return is_whole and _calls(
        {each: {} if each in _GIVEN and (said[:1] == "{" or ":" in said) else said for each, said in plain.items()}
    )


def _plainly(name: str) -> str:
    return name.casefold().replace(" ", "_")


def _calls(value: Any) -> bool:
    """Tell whether a value is a call of a tool, in the forms that providers and agents write, or a list of them."""
    if isinstance(value, list):
        return bool(value) and all(map(_calls, value[:MOST_MEMBERS]))
    if not isinstance(value, dict):
        return False
    keys = {_plainly(key): item for key, item in value.items()}
    listed = _CALL_LISTS & keys.keys()
    if listed:
        return not keys.keys() - _CALL_LISTS - _IN_MESSAGE
    if keys.get("method") == "tools/call":
        return True
    nested = keys.get("function")
    if isinstance(nested, dict):
        return not keys.keys() - {"function"} - _BESIDE and _calls(nested)
    named, given = _TOOLS & keys.keys(), _GIVEN & keys.keys()
    if len(named) != 1 or len(given) != 1 or keys.keys() - named - given - _BESIDE:
        return False
    tool, arguments = str(keys[next(iter(named))]).strip(), keys[next(iter(given))]
    if not isinstance(arguments, dict) and not (isinstance(arguments, str) and arguments.lstrip()[:1] == "{"):
        return False
    if not tool or len(tool.split()) > 1 or (isinstance(arguments, dict) and "properties" in arguments):
        return False  # "parameters" with "properties" declare a tool
    is_sure = bool(named & _SURELY or given & _SURE) or keys.get("type") in _CALL_TYPES
    return is_sure or _DEED.fullmatch(tool) is not None


def _calls_as_code(text: str) -> bool:
    """Tell whether a text is one call, or a list of calls, of what has a tool's name, with named arguments alone."""
    try:
        found = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if isinstance(found, ast.Call) and isinstance(found.func, ast.Name) and found.func.id == "print" and found.args:
        found = found.args[0]  # print(api.write_file(path="a"))
    calls = found.elts if isinstance(found, ast.List) else [found]
    return bool(calls) and all(
        isinstance(call, ast.Call)
        and not call.args
        and bool(call.keywords)
        and isinstance(call.func, ast.Name | ast.Attribute)
        and _DEED.fullmatch(ast.unparse(call.func)) is not None
        for call in calls
    )


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
