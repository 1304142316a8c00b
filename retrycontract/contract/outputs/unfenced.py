"""Doubt a text that may be a file only because its language takes nearly anything: talk is such a text, too."""

from __future__ import annotations

import re

from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.source_code import Language
from retrycontract.contract.outputs.talk import chats, is_prose, is_sentence, refuses

ONE_WORD = frozenset(
    {"done", "ok", "okay", "sorry", "sure", "yes", "no", "none", "n/a", "null", "nothing", "todo", "tbd"}
)


def doubt(text: str, language: Language, *, is_fenced: bool) -> FaultKind | None:
    """Tell why a text that its compiler takes is no file: REFUSED, ONLY_TALK, or FENCED where a fence would settle it.

    A fence says that the text is meant as the file, so that only a plain refusal is doubted in one.
    """
    if is_fenced or not language.takes_prose:
        return FaultKind.REFUSED if is_prose(text) and refuses(text, is_whole=False) else None
    lines = [
        line for line in text.strip("\ufeff \t\r\n").splitlines() if line.strip() and not _is_comment(line, language)
    ]
    if not lines:
        return None  # nothing but comments: a placeholder, as its compiler says
    if text.strip().casefold().rstrip(".!") in ONE_WORD:
        return FaultKind.ONLY_TALK
    if _STRUCTURE[language].match(lines[0]):
        return _doubt_structured(lines, text, language)
    if refuses(text):
        return FaultKind.REFUSED
    if chats(text) or (is_sentence(lines[0]) and len(_paragraphs(text)) == 1):
        return FaultKind.ONLY_TALK
    return None if _stands_without(text, lines, language) else FaultKind.FENCED


def is_statement(text: str) -> bool:
    """Tell whether a text opens with a word that opens statements, and does not end as a sentence does."""
    return _STATEMENT.match(text) is not None and text.rstrip()[-1] not in ".!?"


def _doubt_structured(lines: list[str], text: str, language: Language) -> FaultKind | None:
    """Doubt a text whose first line looks like the language: "Note: I cannot" is a mapping, "find out." a command."""
    is_single = len(lines) == 1
    if language is Language.YAML:
        return FaultKind.REFUSED if is_single and refuses(text) else None
    if language in (Language.BASH, Language.SQL) and lines[0].rstrip()[-1:] in ".!?":
        return None if _SPEAKS.match(lines[0]) or not is_sentence(lines[0]) else FaultKind.ONLY_TALK
    if language is Language.BASH and "<<" not in text:
        talks = any(line[0].isupper() and is_sentence(line) and line.rstrip()[-1] in ".!" for line in lines)
        return FaultKind.FENCED if talks else None
    return None


def _stands_without(text: str, lines: list[str], language: Language) -> bool:
    """Tell whether a text whose first line says nothing of its language may be the file all the same."""
    match language:
        case Language.RUBY:
            return not is_prose(lines[0]) or '"' in lines[0] or "'" in lines[0]
        case Language.TEXT:
            return True
        case Language.MARKDOWN:
            return len(_paragraphs(text)) > 1 or not is_prose(text)
        case Language.YAML:
            # "first name: Ann" is a mapping, too, and what announces a file was told apart before.
            return all(_PAIR.match(line) for line in lines)
        case Language.BASH:
            return not is_prose(lines[0])
    return False


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text.strip()) if part]


def _is_comment(line: str, language: Language) -> bool:
    mark = _COMMENTS.get(language)
    return mark is not None and line.lstrip().startswith(mark) and not line.startswith("#!")


# Lower case alone: "For this, I need", "If you want".
_STATEMENT = re.compile(
    r"\s*(async|assert|await|case|class|const|def|del|elif|else|except|export|finally|fn|for|from|func|function|global|if|"
    r"import|lambda|let|match|nonlocal|package|pass|private|public|raise|return|static|struct|switch|throw|try|use|using|"
    r"var|while|with|yield)\b"
)
_COMMENTS = {Language.YAML: "#", Language.BASH: "#", Language.RUBY: "#", Language.SQL: "--", Language.HTML: "<!--"}
_PAIR = re.compile(r"\s*[^\s:#][^:\n]*:(\s|$)|\s+\S|\s*- |---|\.\.\.")
_SPEAKS = re.compile(r"\s*(echo|printf|logger|say|wall|figlet)\b")
_COMMANDS = (
    "apk|apt|apt-get|awk|aws|base64|basename|bash|brew|cargo|cat|cd|chmod|chown|cmake|cp|cron|crontab|curl|cut|date|dd|df|"
    "diff|dirname|dnf|docker|docker-compose|du|echo|env|eval|exec|exit|export|false|find|gcc|gcloud|gh|git|go|gpg|grep|"
    "gunzip|gzip|head|helm|hostname|id|install|java|jq|kill|kubectl|less|ln|logger|ls|make|mkdir|mktemp|mount|mv|mvn|nc|"
    "nginx|node|nohup|npm|npx|openssl|perl|pg_dump|ping|pip|pip3|pnpm|podman|popd|printf|ps|psql|pushd|pwd|python|python3|"
    "read|redis-cli|rm|rmdir|rsync|ruby|scp|sed|seq|service|set|sh|shift|sleep|sort|source|ssh|ssh-keygen|stat|su|sudo|"
    "systemctl|tail|tar|tee|terraform|test|time|timeout|touch|tr|trap|true|type|ulimit|umask|unalias|uname|uniq|unset|"
    "unzip|useradd|uv|wait|wc|wget|which|who|whoami|xargs|yarn|yes|yum|zip"
)
# How the first line of a file looks that nobody would take for talk.
_STRUCTURE: dict[Language, re.Pattern[str]] = {
    Language.YAML: re.compile(
        r"---|%YAML|- |[{\[&!*?]|[\"']?[\w./$@{}<>*-]+[\"']?\s*:(\s|$)|[\"'][^\"'\n]+[\"']\s*:(\s|$)"
    ),
    Language.BASH: re.compile(
        rf"#!|(?:{_COMMANDS})(?:\s|;|$)|\.{{0,2}}/\S|\.\s+\S|\w+=|\w[\w-]*\s*\(\)|\[\[?\s|\(\(|[({{]\s|~/|\$|"
        r"(?:if|for|while|until|case|select|function|local|declare|readonly|alias|return|then)\s|\w[\w.-]*\s+(?:-|\S*[|>$/=])"
    ),
    Language.HTML: re.compile(r"\s*(<[a-zA-Z!?/]|\{[%{#])"),
    Language.SQL: re.compile(
        r"\s*\(?\s*(alter|analyze|begin|call|comment|commit|copy|create|declare|delete|describe|do|drop|exec(ute)?|explain|"
        r"grant|if|insert|lock|merge|pragma|replace|revoke|rollback|select|set|show|start|truncate|update|use|vacuum|values|"
        r"with|\\\w|/\*|delimiter|go|attach|reindex|refresh)\b",
        re.IGNORECASE,
    ),
    Language.RUBY: re.compile(
        r"#!|(require|require_relative|puts|p|gem|source|task|namespace|attr_\w+)\s+[\"':\d@]|def \w+(\W*$|[.(?!=])|"
        r"(class|module|include|extend) [A-Z]|begin$|(if|unless|while) |[@$]\w|[\w.]+\s*(=|\()|\[|\{|\w+\.\w+|\w+ do\b"
    ),
    Language.MARKDOWN: re.compile(r"#{1,6} |[-*+] |\d{1,3}[.)] |>|\||---|```|~~~|!?\[|<|={3}|\+{3}"),
    # Text has no structure; what stands in columns, lists or after a name is no sentence.
    Language.TEXT: re.compile(r"#|[-*+] |\d{1,3}[.)] |\||=|\[|<|[\w.-]+\s*[:=]\s*\S+$|[!-~]+$"),
}
