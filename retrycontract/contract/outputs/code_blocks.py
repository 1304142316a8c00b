"""Find the source code in a model's answer: a fenced block of Markdown, or the whole text unless it may be talk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrycontract.contract.outputs.handing_over import shows_only
from retrycontract.contract.outputs.json_faults import FaultKind
from retrycontract.contract.outputs.no_attempt import (
    OPENING,
    chats,
    declines_the_task,
    is_prose,
    is_sentence,
    refuses,
    talk_in,
)
from retrycontract.contract.outputs.source_code import Language
from retrycontract.contract.outputs.thoughts import INVISIBLE

ONE_WORD = frozenset(
    {"done", "ok", "okay", "sorry", "sure", "yes", "no", "none", "n/a", "null", "nothing", "todo", "tbd"}
)

JAVASCRIPTS = (Language.JAVASCRIPT, Language.TYPESCRIPT, Language.TSX)


def doubt(text: str, language: Language, *, is_fenced: bool) -> FaultKind | None:
    """Tell why a text that its compiler takes is no file: REFUSED, ONLY_TALK, or FENCED where a fence would settle it.

    A fence says that the text is meant as the file, so that only a plain refusal is doubted in one, and only where its
    language takes any words: a mapping, a string or a line of plain text says what the file is to say.
    """
    if is_fenced and _says_what_it_should(text, language):
        return None
    said = _STRING.fullmatch(text) if language in JAVASCRIPTS else None
    if said is not None and (ONE_WORD & {said[2].casefold().rstrip(".!")} or talk_in(said[2])):
        return talk_in(said[2]) or FaultKind.ONLY_TALK  # "use strict" alone is none
    if language.takes_prose or (language in JAVASCRIPTS and _DRESSED.match(text)):
        # Without what dresses it as a file: headings, tags, marks of lists, rules.
        bare = re.sub(r"\s*\n\s*", "\n", _DRESS.sub("\n", text[: 4 * OPENING]))
        if declines_the_task(bare):
            return FaultKind.REFUSED
    if is_fenced or not language.takes_prose:
        # A line of plain text may well be sorry, and so may a title or the comment above a file.
        is_line = "\n" not in text.strip() and language is not Language.TEXT
        is_titled = language is Language.MARKDOWN and text.startswith("#")
        is_said = is_line and not is_titled and is_prose(text)
        return FaultKind.REFUSED if is_said and refuses(text, is_whole=False) else None
    lines = [
        line for line in text.strip("\ufeff \t\r\n").splitlines() if line.strip() and not _is_comment(line, language)
    ]
    if not lines:
        return None  # nothing but comments: a placeholder, as its compiler says
    if language is Language.BASH and not any(map(str.isalnum, text)):  # "---", which to its compiler is a command
        return FaultKind.ONLY_TALK
    # "- Done." is a word with a full stop, "- done" may be a list.
    alone = re.sub(r"^\s*[-+#]+\s+(?=\S+[.!]\s*$)", "", text)
    if re.sub(rf"[\s*_`\"'>.!{INVISIBLE}]", "", alone).casefold() in ONE_WORD:
        return FaultKind.ONLY_TALK
    if _STRUCTURE[language].match(lines[0]):
        return _doubt_structured(lines, text, language)
    if refuses(text):
        return FaultKind.REFUSED
    if chats(text) or (is_sentence(lines[0]) and len(_paragraphs(text)) == 1):
        return FaultKind.ONLY_TALK
    return None if _stands_without(text, lines, language) else FaultKind.FENCED


def _says_what_it_should(text: str, language: Language) -> bool:
    """Tell whether a fenced text is a file whatever its words say: prose alone would not be one, or is the file."""
    match language:
        case Language.YAML:
            bare = (line for line in text.splitlines() if line.strip("- ") and not _is_comment(line, language))
            first = next(bare, "")
            return first[:1] in ("'", '"') or _STRUCTURE[language].match(first) is not None
        case Language.TEXT:
            return _DRESSED.match(text) is None
    return not language.takes_prose and (language not in JAVASCRIPTS or _DRESSED.match(text) is None)


_LABELLED = re.compile(r"(-\s+)*([^\W\d_][\w ]{0,30}:\s+)?")


def _doubt_structured(lines: list[str], text: str, language: Language) -> FaultKind | None:
    """Doubt a text whose first line looks like the language: "Note: I cannot" is a mapping, "find out." a command."""
    is_single = len(lines) == 1
    if language is Language.YAML:
        is_caseless = text.upper() == text.lower()  # nor has it spaces: neither tells a name from a label
        if is_single and (is_caseless or len(text.split()) > 3) and refuses(text):
            return FaultKind.REFUSED
        # "Question: which port?", "Note: please clarify", "- Which port?": keys of a file are seldom capitalised words.
        said = [_LABELLED.sub("", line.strip()) for line in lines]
        is_labelled = all(line[0].isupper() and is_prose(rest) for line, rest in zip(lines, said, strict=True))
        is_talk = is_labelled or (is_caseless and is_single) or all(line.startswith("-") for line in lines)
        asks = is_talk and all(map(is_prose, said)) and any(rest.endswith(("?", "？", "؟")) for rest in said)
        return FaultKind.FENCED if asks or (is_labelled and (is_single or any(map(is_sentence, said)))) else None
    if language is Language.TEXT and is_single and text.rstrip()[-1] in ".!。！" and chats(text):
        return FaultKind.ONLY_TALK
    if language in (Language.MARKDOWN, Language.TEXT) and (is_single or lines[0].startswith((">", "*", "_"))):
        is_title = lines[0].startswith("#") and language is Language.MARKDOWN
        return FaultKind.REFUSED if refuses(text) and not is_title else None  # emphasised or listed, it declines, too
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
            return all(_PAIR.match(line) for line in lines)  # "first name: Ann" is a mapping, too
        case Language.BASH:
            return not is_prose(lines[0])
    return False


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text.strip()) if part]


def _is_comment(line: str, language: Language) -> bool:
    mark = _COMMENTS.get(language)
    return mark is not None and line.lstrip().startswith(mark) and not line.startswith("#!")


_DRESSED = re.compile(r"\s*<")
_DRESS = re.compile(
    r"<!--.*?-->|<[^<>]{0,400}>|\\boxed\{|\}\s*$|^\s*(?:#{1,6}\s|[-*+]\s|\d{1,3}[.)]\s|[=_*-]+\s*$)",
    re.DOTALL | re.MULTILINE,
)
_STRING = re.compile(r"\s*([\"'`])([^\n]*)\1;?\s*")  # a file of one string
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
        rf"#!|(?:{_COMMANDS})(?:\s|;|$)|\.{{0,2}}/[^\s/*]|\.\s+\S|\w+=|\w[\w-]*\s*\(\)|\[\[?\s|\(\(|[({{]\s|~/|\$|"
        r"(?:if|for|while|until|case|select|function|local|declare|readonly|alias|return|then)\s|\w[\w.-]*\s+(?:-|\S*[|>$/=])"
    ),
    Language.HTML: re.compile(r"\s*(<[a-zA-Z!?/]|\{[%{#])"),
    Language.SQL: re.compile(
        r"\s*\(?\s*(alter|analyze|begin|call|comment|commit|copy|create|declare|delete|describe|do|drop|exec(ute)?|explain|"
        r"grant|if|insert|lock|merge|pragma|replace|revoke|rollback|select|set|show|start|truncate|update|use|vacuum|values|"
        r"with|delimiter|go|attach|reindex|refresh)\b|/\*|\\\w",
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


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Hold a fenced block: what stands behind its fence, where that and its text lie, and whether a fence ends it."""

    tag: str
    opens: int
    start: int
    end: int
    is_closed: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """Hold a text that may be the file; one that is not closed was cut off, one without a fence may be talk.

    `probe` is the text with signs in the place of its fences that no language takes outside of strings and comments:
    where it is given, and does not compile, the fences are no part of the file.
    """

    text: str
    is_closed: bool = True
    is_fenced: bool = True
    probe: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """Hold what may be the file, best guess first, and how many blocks of the language there are.

    `told` is the candidate whose faults are told when none compiles; None when no block can be chosen. What is only
    shown stands in a fence that the words around it do not hand over.
    """

    candidates: tuple[Candidate, ...]
    told: Candidate | None
    blocks: int
    is_only_shown: bool = False


def find_code(answer: str, language: Language, name: str) -> Extraction:
    """Find what may be the file in an answer: fences that stand inside a string or a comment are part of the file."""
    if not (language.takes_prose or _FENCE.search(answer)) and (item := _IN_ITEM.search(answer)) is not None:
        # In an item of a list a fence may stand further in than a fence does: that block is put where it would be one.
        block = re.sub(rf"^ {{1,{len(item['indent'])}}}", "", item["block"], flags=re.MULTILINE)
        answer = answer[: item.start("block")] + block + answer[item.end() :]
    whole = Candidate(answer, is_fenced=False)
    blocks = list(fenced_blocks(answer))
    if not blocks or _is_inside_text(answer, blocks[0], language):
        return Extraction((whole,), whole, 0)
    # Of a language that nobody here knows: the name of a program, whose file is no words for people, ends otherwise.
    is_of_words = "." not in name or name.rpartition(".")[2].lower() in WORDY
    is_wordy = language is Language.MARKDOWN or (language is Language.TEXT and is_of_words)
    if is_wordy and _is_document(answer, blocks, language):
        return Extraction((whole,), whole, 0)
    if language is Language.MARKDOWN:
        return _find_document(answer, blocks, whole)
    named = [block for block in blocks if _names(block.tag, language)]
    unnamed = named or [block for block in blocks if not block.tag]
    fitting = unnamed or (list(blocks) if language is Language.TEXT else [])
    if len(fitting) == 1 and shows_only(answer[: fitting[0].opens], answer[fitting[0].end :]):
        return Extraction((), None, 1, is_only_shown=True)
    chosen = _chosen(answer, fitting, language)
    told = chosen[0] if chosen else None
    if _FENCE.match(answer) is None:
        # Words with fences in between are no code; to JavaScript the words are a label, and a fence three templates.
        if not (language.takes_prose or language in JAVASCRIPTS):
            chosen = (whole, *chosen)
        elif language in PROBED:
            # A file's first line looks like its language, and like no sentence: "make sure that it's so:".
            lines = answer[: blocks[0].start].strip("\ufeff \t\r\n").splitlines()
            first = next((line for line in lines if line.strip() and not _is_comment(line, language)), "")
            is_said = is_prose(first) and (is_sentence(first) or first.rstrip()[-1:] == ":")
            if _STRUCTURE[language].match(first) and not is_said:
                chosen = (Candidate(answer, is_fenced=False, probe=_FENCE.sub(_PROBE, answer)), *chosen)
    return Extraction(chosen, told, len(fitting))


def _is_document(answer: str, blocks: Sequence[CodeBlock], language: Language) -> bool:
    """Tell whether the words around a fence are the document that holds it, and none that announce the file."""
    before, after = answer[: blocks[0].opens].strip("\ufeff \t\r\n"), answer[blocks[-1].end :]
    after = after.partition("\n")[2].strip()
    # A fenced file may well end in a fence of its own; what follows it says more.
    if not before or chats(after) or refuses(before) or chats(before):
        return False
    parts = _paragraphs(before)
    last = parts[-1].splitlines()[-1].strip()
    if chats(parts[-1]) or chats(last):
        return False
    is_own = _names(blocks[0].tag, language)
    if language is Language.MARKDOWN:
        begins = _STRUCTURE[language].match(before) is not None
        return begins and bool(after) and (not is_own or len(parts) > 1)
    if len(parts) == 1 and (not after or is_sentence(last) or last[-1] in ".!?。！？:：" or _LABEL.fullmatch(last)):
        return False
    if last[-1] in ":：" and (is_own or not after):
        return False
    return not (is_own and all(map(is_sentence, parts)))


def _find_document(answer: str, blocks: Sequence[CodeBlock], whole: Candidate) -> Extraction:
    """Find a Markdown file, whose own fences look like those around it."""
    outer = next((block for block in blocks if _names(block.tag, Language.MARKDOWN)), None)
    if outer is None and (blocks[0].tag or answer[: blocks[0].start].count("\n") > 1):
        return Extraction((whole,), whole, 0)  # its fences hold examples
    outer = outer or blocks[0]
    end = _nested_end(answer, outer)
    found = Candidate(answer[outer.start : len(answer) if end is None else end], end is not None)
    return Extraction((found,), found, 1)


def _nested_end(answer: str, block: CodeBlock, *, takes_indented: bool = True) -> int | None:
    """Find where a block ends whose text has fences: one with a tag opens a block, one without ends the newest.

    Shorter fences are text, and so are those that are indented further unless it `takes_indented` ones.
    """
    opening, depth = _FENCE.match(answer, block.opens), 1
    assert opening is not None, "a block begins with its fence"
    for fence in _FENCE.finditer(answer, block.start):
        is_further = len(fence["indent"]) > len(opening["indent"]) and not takes_indented
        if is_further or not fence["fence"].startswith(opening["fence"]):
            continue
        depth += 1 if fence["info"].strip() else -1
        if depth == 0:
            return fence.start()
    return None


def fenced_blocks(answer: str) -> Iterator[CodeBlock]:
    """Yield the fenced blocks as CommonMark reads them; linear in the text."""
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(answer):
        fence, info = line["fence"], line["info"].strip()
        if opening is None:
            # By CommonMark backticks with another one behind them are code within a line; tildes are a fence.
            if "`" not in info or fence.startswith("~"):
                opening = line
        elif fence.startswith(opening["fence"]) and not info:
            yield _block(opening, line.start(), is_closed=True)
            opening = None
    if opening is not None:
        yield _block(opening, len(answer), is_closed=False)


def _block(opening: re.Match[str], end: int, *, is_closed: bool) -> CodeBlock:
    words = opening["info"].split(maxsplit=1)
    return CodeBlock(words[0].lower() if words else "", opening.start(), min(opening.end(), end), end, is_closed)


def _names(tag: str, language: Language) -> bool:
    """Tell whether a tag names the language, as `python`, `{.python}`, `python:app.py` or `app.py` do."""
    return any(word in language.names for word in (tag, *_WORD.findall(tag)))


def _chosen(answer: str, fitting: Sequence[CodeBlock], language: Language) -> tuple[Candidate, ...]:
    if len(fitting) != 1:
        return ()
    block = fitting[0]
    found = Candidate(_text_of(answer, block, block.end), block.is_closed)
    if language.takes_prose:
        end = _nested_end(answer, block, takes_indented=False)
        return (found if end is None else Candidate(_text_of(answer, block, end)),)
    *_, last = _FENCE.finditer(answer)
    if last.start() <= block.end or last["info"].strip():
        return (found,)
    return (found, Candidate(_text_of(answer, block, last.start())))  # the file has fences of its own


def _text_of(answer: str, block: CodeBlock, end: int) -> str:
    """Give the text of a block up to an end, each line out by as many blanks as its fence stands in."""
    indent, text = len(answer) - block.opens - len(answer[block.opens :].lstrip(" ")), answer[block.start : end]
    return re.sub(rf"^ {{1,{indent}}}", "", text, flags=re.MULTILINE) if indent else text


def _is_inside_text(answer: str, block: CodeBlock, language: Language) -> bool:
    """Tell whether a fence stands inside a string of several lines or a comment that the text before it opens."""
    before = answer[: block.opens]
    if before.count('"""') % 2 == 1 or before.count("'''") % 2 == 1 or before.rfind("/*") > before.rfind("*/"):
        return True
    if language in (*JAVASCRIPTS, Language.GO) and len(_BACKTICK.findall(before)) % 2 == 1:
        return True
    if language is Language.HTML:
        is_page = _PAGE.match(before) is not None and _TAGGED_END.search(answer, block.end) is not None
        return is_page or before.rfind("<!--") > before.rfind("-->")
    if language is Language.YAML and answer[block.opens] == " ":
        # A line so far indented belongs to the key or the item above it that stands further out.
        indent = len(answer[block.opens : block.start].split("`")[0].split("~")[0])
        lines = (line for line in reversed(before.splitlines()) if line.strip())
        owner = next((line for line in lines if len(line) - len(line.lstrip(" ")) < indent), "")
        return _SCALAR.search(owner[-OPENING:]) is not None  # each sign of a long line may begin a walk to its end
    if language is Language.RUBY and before.rfind("\n=begin") > before.rfind("\n=end"):
        return True
    *_, here = [None, *_HEREDOC.finditer(before)]
    if here is None:
        return False
    ends = re.compile(rf"^[ \t]*{re.escape(here['word'])}[;,)]*[ \t]*\r?$", re.MULTILINE)
    return not ends.search(before, here.end()) and ends.search(answer, block.end) is not None


PROBED = (Language.YAML, Language.BASH, Language.SQL, Language.RUBY)
WORDY = frozenset({"txt", "text", "rst", "adoc", "asciidoc", "org", "tex", "log", "eml"})
_PROBE = r"\g<indent>) a: b: (\g<info>\n"
_BACKTICK = re.compile(r"(?<!\\)`")
_PAGE = re.compile(
    r"\s*<(!doctype|!--|html|head|body|div|p|section|main|article|pre|h[1-6]|ul|ol|table|script|style|template|header|nav|"
    r"form)\b",
    re.IGNORECASE,
)
_TAGGED_END = re.compile(r"</\w+>")
_HEREDOC = re.compile(r"<<[-~]?[ \t]*([\"']?)(?P<word>[A-Za-z_]\w*)\1")
_SCALAR = re.compile(r"(?:[:-]|^)[ \t]+(?:[!&]\S+[ \t]+)*[|>][-+\d]{0,2}[ \t]*(?:#.*)?$")
_LABEL = re.compile(r"[#*_`<>].*|\S+\.\w+")
_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)\r?(?:\n|\Z)", re.MULTILINE)
_WORD = re.compile(r"[a-z0-9]+")
_IN_ITEM = re.compile(
    r"(?P<words>^ {0,8}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+[^\n]*\n(?:[ \t]*\n){0,3})"
    r"(?P<block>(?P<indent> {4,16})(?P<fence>`{3,}|~{3,})[^\n]*\n(?:(?!(?P=indent)(?P=fence))[^\n]*\n)*"
    r"(?P=indent)(?P=fence))",
    re.MULTILINE,
)
