"""Find the values that a name beside them calls secret: assignments, flags, elements, pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import cast

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.code_places import is_place_in_code, is_test, opens_block
from retrycontract.contract.redaction.commands import METHOD, is_of_psql
from retrycontract.contract.redaction.detectors import Find, Finder, Head, compiled, has_digit
from retrycontract.contract.redaction.field_names import (
    CLOSERS,
    FOREIGN_KEY,
    GAP,
    KIND_OF_NAME,
    KINDS,
    NAME_WORDS,
    OPERATOR,
    SECRET_NAME,
    SIGN,
    SURE_ENDING,
    TAIL_OF_NAME,
    Assignment,
    NameVerdict,
    is_secret_name,
    is_spelt,
    judge,
    judge_field,
    split_words,
    word_set,
)
from retrycontract.contract.redaction.generated import read_generated
from retrycontract.contract.redaction.labels import is_label
from retrycontract.contract.redaction.likeness import LONG_WORD, LONGEST_SAID, is_algorithm
from retrycontract.contract.redaction.literals import Literal, is_quoted_secret, is_secret_literal
from retrycontract.contract.redaction.randomness import counts_or_refers, without_sums
from retrycontract.contract.redaction.scan_copies import FOREIGN
from retrycontract.contract.redaction.targets import find_parallel, read_targets
from retrycontract.contract.redaction.values import (
    QUOTES,
    goes_on_as_code,
    has_string,
    read_block,
    read_default,
    read_expression,
    read_list,
    read_literal,
    read_type,
)

# These are other words in English: they count only behind a name that is no English word.
_AMBIGUOUS_VERBS = frozenset({"to", "je", "ar", "er", "on", "la", "ir", "ay", "ni", "az", "-"})
_ENGLISH_NAMES = re.compile(r"(?i)pass(?:w|c|p|\b|_)|pwd|secret|token|key|auth|cred|session|cookie|login|conn|sig|pin")
_ASSIGNMENT = rf"(?i)({FOREIGN_KEY}|{SECRET_NAME})({CLOSERS}{GAP})({OPERATOR})"
_ASSIGNING = Head(rf"(?i)(?:{FOREIGN_KEY}|(?:{NAME_WORDS})[\w.$-]*{TAIL_OF_NAME}){SIGN}")
# Few texts have more names of the first kind than so many, and one more for so many characters: `"key":` in each row of
# a table. Behind them only names count that say for sure what they name.
MOST_NAMES, CHARACTERS_A_NAME = 1_500, 1_000
_SURELY_ASSIGNING = rf"(?i){SURE_ENDING}[0-9]*{SIGN}"
# A name without a blank, and what stands behind it; the other names are read as they were described.
_PLAIN_NAME = re.compile(rf"(?i)({KIND_OF_NAME}?[\w.$@-]+{TAIL_OF_NAME})({CLOSERS}{GAP})({OPERATOR})")
_ANY_NAME = re.compile(_ASSIGNMENT)
_NAME_WORD = re.compile(rf"(?i){NAME_WORDS}")
_BEFORE_NAME = re.compile(rf"(?i){KIND_OF_NAME}\Z")
Found = Find | re.Match[str]
LONGEST_KIND = len("private ")
_NAME = re.compile(r"[\w.$@-]*")
NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$@-"
_LEADS = ("", "export", "set", "arg", "env", "const", "let", "var", "string", "declare -x")
OPENING = frozenset((*QUOTES, "\\"))
BARE_SELECTED = ("]'", ']"')  # `page.type("input[type=password]", "…")`
SELECTED = (*BARE_SELECTED, "\"]'", "']\"", "\\\"]'", "']`", '"]`')  # `page.fill('input[name="password"]', "…")`
QUOTES_BEFORE_COMMA = ('"', "'", "`", '\\"')


def find_assignments(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `name = value`, `"name": "value"`, `?name=value`, `name: value` and their relatives."""
    taken = [0]
    for find in _assignments(text, taken, allowance):
        name, (start, end) = find[1], find.span(0)
        verdict, targets = judge(name), None
        if name.casefold() in _VERBS and _is_verb(text, find):
            continue
        if name.endswith("$") and find[3] == ",":  # a pattern
            continue
        if find[3] == ":" and not find[2] and is_place_in_code(text, name, start, end):
            continue
        if name.startswith("secret") and _IN_ARN.search(text, max(start - 80, 0), start):
            continue
        if name.casefold() == "pass" and (before := _WORD_BEFORE.search(text, max(start - LONGEST_NAME, 0), start)):
            verdict = NameVerdict() if before[1] == "---" else judge(f"{before[1]}_{name}")
        if (
            verdict.weak
            and text[start - 1 : start] == ":"
            and (section := _SECTION.search(text, max(start - 60, 0), start))
        ):
            verdict = judge(f"{section[1]}_{name}")
        is_longer, operator = end - start - len(name) > 3, find[3]  # than a sign between two blanks
        if text[end - 1] == "=" and (is_longer or "," in text[max(start - 2, 0) : start]):
            targets = read_targets(text, start, end, operator)
            # What stands where a type may stand is a name as well: of `login password=` the second is meant.
            inner = _INNER_NAME.search(operator)
            listed = "," in operator and find[2][:1] not in OPENING
            if name.casefold() == "bearer" and inner and inner[0].casefold() in _OF_CHALLENGE:
                continue  # `WWW-Authenticate: Bearer error="invalid_token"`
            if inner and not targets and (listed or judge(inner[0]).mark or not verdict.mark):
                name, verdict = inner[0], judge(inner[0])
        if not verdict.mark and operator[:1] == "." and operator[-1] == "(":
            verdict = judge_field(name)
        if verdict.mark:
            allowance.spend(start)
        elif not verdict.weak and not targets:
            continue
        for span in (
            find_parallel(text, targets, allowance)
            if targets
            else _assigned(text, find, name, verdict, allowance, start, end)
        ):
            taken[0] = span.end
            yield span


# In longer names the steps back of a pattern of Python would add up, and RE2 takes half a second for 1 MB of them.
LONGEST_READ = 80


def _assignments(text: str, taken: list[int], allowance: Allowance) -> Iterator[Found]:
    """Give each name with a sign of assignment behind it that starts behind the place in `taken`."""
    encoded, pattern = text.encode(), compiled(_ASSIGNING.pattern, captures=False)
    left = MOST_NAMES + len(text) // CHARACTERS_A_NAME
    while found := pattern.search(encoded, taken[0]):
        word, end = found.span()
        if not (left := left - 1):
            pattern = compiled(_SURELY_ASSIGNING, captures=False)
        elif left < 0:
            allowance.look(word)
        start = _name_start(text, word, taken[0])
        if end - start > LONGEST_READ and not allowance.reads(end - start):
            start = end - LONGEST_READ
            word = max(word, start)
        find = _read_assignment(text, encoded, start, word, end)
        if find is None:
            # What follows this name does not assign; with its last letters, as in `my_secret key =`, the next one may.
            after = max(cast(re.Match[str], _NAME.match(text, start)).end(), start + 1)
            kind = _BEFORE_NAME.search(text, max(after - LONGEST_KIND, start + 1), after + 1)
            taken[0] = kind.start() if kind else after
        else:
            taken[0] = find.span(0)[1]
            yield find


def _name_start(text: str, word: int, least: int) -> int:
    """Go back from a word of a name to where the name begins."""
    start, window = word, 64
    while start > least:
        piece = text[max(start - window, least) : start]
        kept = len(piece.rstrip(NAME_CHARACTERS))
        start -= len(piece) - kept
        if kept:
            break
        window *= 4
    before = _BEFORE_NAME.search(text, max(start - LONGEST_KIND, least), start)
    return before.start() if before else start


def _read_assignment(text: str, encoded: bytes, start: int, word: int, end: int) -> Found | None:
    if end - start > LONGEST_READ:
        match = compiled(_ASSIGNMENT).match(encoded, start)
        return Find(text, match) if match else None
    plain = _PLAIN_NAME.match(text, start)
    is_plain = plain and " " not in plain[1] and _NAME_WORD.match(text, word, plain.end(1))
    return plain if is_plain else _ANY_NAME.match(text, start)


# Names that are words of English as well, `Values to pass to …`, `PASS: test_login`; and a part of an ARN.
_VERBS = frozenset({"pass", "passes", "passed", "passing"})
_IN_ARN = re.compile(r"arn:[^\s\"']{1,76}\Z")


def _is_verb(text: str, find: Found) -> bool:
    name, operator, end = find[1], find[3], find.span(0)[1]
    word = next(iter(text[end : end + 120].split(None, 1)), "")
    is_role = operator == ":" and find[2].endswith(" ") and OPENING.isdisjoint(find[2])  # `Pass :meth:`
    is_scope = operator == ":" and text[end : end + 1] == ":"  # `llvm::Pass::run`
    return is_role or is_scope or "to" in operator or (operator == ":" and is_test(word, is_shouted=name.isupper()))


_OF_CHALLENGE = word_set("realm scope error error_description error_uri resource_metadata")  # to the browser
# The word before another one, and what begins a test that passed.
_WORD_BEFORE = re.compile(r"([A-Za-z]+|---) \Z")
_SECTION = re.compile(r"[\"']([\w:]+):\Z")  # `"Jwt:Key"`
_PLAIN, _SETTING = frozenset({"=", "==", ":=", "!=", "=>"}), frozenset({"=", ":"})
# The last name before the sign of an assignment.
_INNER_NAME = re.compile(r"[A-Za-z_$@][\w.$@-]*(?=[\"'\])]{0,3}[ \t]*:?=\Z)")


def _assigned(
    text: str, find: Found, name: str, verdict: NameVerdict, allowance: Allowance, start: int, end: int
) -> Iterator[SecretSpan]:
    """Judge what stands behind one name: a list of strings, or one value."""
    closers, operator = find[2], find[3]
    if operator not in _PLAIN:
        if (place := _value_place(text, find, name, verdict)) is None:
            return
        end, operator = place
    spaced = text[end : end + 1] in (" ", "\t") or closers.endswith((" ", "\t"))
    if verdict.mark and (operator in _SETTING or operator[-1] == " ") and (made := read_generated(text, end)):
        yield SecretSpan(made.start, made.end, verdict.mark)
        return
    if verdict.mark and text.startswith("[", end + spaced) and not text.startswith("[]", end + spaced):
        long = _LONG_STRING.match(text, end + spaced) if "=" in operator else None
        if long and is_secret_literal(
            Literal(long[2], *long.span(2), quoted=True), verdict, Assignment(name, "=", spaced, False), allowance
        ):
            yield SecretSpan(*long.span(2), verdict.mark)
        for item in filter(partial(is_quoted_secret, mark=verdict.mark), read_list(text, end + spaced + 1)):
            yield SecretSpan(item.start, item.end, verdict.mark)
        return
    said = operator[-1] in (" ", FOREIGN)
    literal = read_block(text, end) or read_literal(
        text, end, in_query=text[start - 1 : start] in ("?", "&", "#"), within=LONGEST_SAID if said else None
    )
    is_selector = closers.strip() not in BARE_SELECTED or text[start - 1 : start] == "="
    is_option = operator == "," and name[0] == "-" and literal and literal.quoted
    if literal and is_option and (literal.text[:1] == "-" or is_secret_name(literal.text)):
        literal = read_default(text, end)  # behind other names of the same option
    elif literal and operator == "," and not (is_selector and _between_quotes(text, find, literal, verdict.mark)):
        literal = _given(text, find, literal, verdict.mark)
    if literal is None or (operator == ":" and literal.quoted and opens_block(text, find.span(0), find[2], literal)):
        return
    is_poor = operator == ".set(" and not (verdict.mark == "PASSWORD" and literal.telling and has_digit(literal.text))
    if is_poor or (operator == ":" and literal.quoted and is_of_psql(text, name, start, literal)):
        return
    is_foreign = FOREIGN in literal.text or FOREIGN in operator
    holds = _HOLDS_WORD.search
    # Of a password some letters may be of another script, of a rule most are.
    bare = literal.text.replace(FOREIGN, "")
    is_mixed = 2 * len(bare) >= len(literal.text) and operator in ("=", ":") and "(" not in bare
    held = bare if is_mixed else literal.text
    if is_foreign and not literal.quoted and not (holds(held) and holds(without_sums(held))):
        return  # `パスワードは8文字以上`: a rule
    if said:
        long_word = literal.quoted and " " not in literal.text and len(literal.text) >= LONG_WORD
        if is_algorithm(literal.text) or not (long_word or (literal.telling and has_digit(literal.text))):
            return
        if operator.strip(": ") in _AMBIGUOUS_VERBS and not (
            literal.quoted or literal.is_noise or _is_foreign(name, operator)
        ):
            return
    if "phrase" in name.casefold() and (words := _PHRASE.match(text, literal.start)):
        literal = Literal(words[0], *words.span(0), quoted=True)
    starts_line, behind = _starts_line(text, start), text[literal.end : literal.end + 2]
    is_closed = not literal.quoted and literal.text.rstrip(":;")[-1:] == ")" and "(" not in literal.text
    closed = ")" if is_closed else behind[:1]
    is_last = behind[:1] == "," and starts_line and behind[1:] in ("", "\n", "\r")
    beside = Assignment(
        name, operator.strip(), spaced, starts_line,
        is_argument=is_last or (closed in (",", ")") and bool(_IN_CALL.search(text, max(start - 80, 0), start))),
        goes_on=behind[:1] == " " and behind[1:2].isalpha(),
        is_expression=behind[:1] == " " and goes_on_as_code(text, literal.end),
    )  # fmt: skip
    if starts_line and not literal.quoted and operator in (":", "=") and not name.isupper():
        line = text[literal.start : literal.start + LONGEST_SAID].partition("\n")[0]
        if is_label(line.rstrip(), verdict.mark or ""):  # of a file of translations
            return
    is_secret = is_secret_literal(literal, verdict, beside, allowance)
    variable = f"${name}" if text.startswith("$env:", max(start - 5, 0)) else name
    is_secret = is_secret and not counts_or_refers(variable, literal.text, text[literal.start - 1])
    parts = list[SecretSpan]()
    if verdict.mark and not literal.quoted and (joined := _JOINED_TO.match(text, end)):
        for part in read_expression(text, None, joined.end()):
            if part.telling and len(part.text) >= SHORTEST_PART and has_digit(part.text):
                yield SecretSpan(part.start, part.end, verdict.mark)
        return
    if verdict.mark and not said and (literal.quoted or not (is_secret and literal.telling)):
        first = literal if literal.quoted else None
        for part in read_expression(text, first, end) if first or has_string(text, end) else ():
            if is_secret_literal(part, verdict, beside, allowance) and (is_secret or not is_secret_name(part.text)):
                parts.append(SecretSpan(part.start, part.end, verdict.mark))
    # Of `is_test ? "…" : other` the word before is none.
    if is_secret and (literal.quoted or not parts):
        if not verdict.mark:  # a name that tells was counted when it was found
            allowance.spend(start)
        yield SecretSpan(literal.start, literal.end, verdict.mark or "API_KEY")
        turned = _TURNED_INTO.match(text, literal.end)  # as a plan, or what tells of a change, shows it
        new = read_literal(text, turned.end()) if turned and verdict.mark else None
        if new and new.quoted == literal.quoted and is_secret_literal(new, verdict, beside, allowance):
            yield SecretSpan(new.start, new.end, verdict.mark or "")
    yield from parts


_IN_CALL = re.compile(r"[\w\])]\([^()\n]*\Z")
_TURNED_INTO = re.compile(rf"[\"'`]?[ \t]+(?:[-=]>|{FOREIGN})[ \t]+(?=\S)")
_PHRASE = re.compile(r"(?:[a-z]{3,12}[ -]){2,11}[a-z]{3,12}(?=[\"'\r\n]|\Z)")
# A string of Lua; what is added to a name; letters and digits in one word, where the rest is of another script.
_LONG_STRING = re.compile(r"\[(=*)\[([^\s\[\]\"',]{4,200})\]\1\]")
_JOINED_TO = re.compile(
    r"[ \t]*[A-Za-z_$][\w.$>-]{0,60}?[ \t]+(?:(?:\+|\.{1,2}|&|<>)[ \t]+(?=[\"'])|\+[ \t]+(?=[A-Za-z_$]))"
)
SHORTEST_PART = 5
_HOLDS_WORD = re.compile(r"(?=[!-~]{0,40}[0-9])(?=[!-~]{0,40}[A-Za-z])(?i:(?!sha|md[0-9]|utf|aes))[!-~]{5}")


def _value_place(text: str, find: Found, name: str, verdict: NameVerdict) -> tuple[int, str] | None:
    """Give where the value begins, and the sign before it: a type, a size or a call may stand between."""
    operator, end = find[3], find.span(0)[1]
    # Behind a quote stands no type: `type="password" class="…"`.
    is_attribute = find[2][:1] in OPENING and _ATTRIBUTE.match(operator)
    if name == find[1] and is_attribute and operator.rstrip(" \t=") not in _HOLDING:
        return None
    if operator[-1] in QUOTES:  # a slip: nothing stands between two quoted strings
        return end - 1, ","
    if operator[0] == "," and name == find[1]:
        return find.span(3)[0] + 1, ","
    if operator[0] == "[" and verdict.mark not in ("PASSWORD", "SECRET") and not _SIZE.match(operator):
        return None
    if (operator[0] == "." and len(operator) > 3) or operator == "->":
        is_checked = operator[:3].casefold() in (".to", ".pe")  # `expect(user.password).toBe("…")`
        return (end, operator) if is_checked or not OPENING.isdisjoint(find[2]) else None
    if name == find[1] and (colon := _NO_TYPE.match(operator)) and text[end : end + 1] not in (*QUOTES, " ", "\t"):
        word = split_words(colon[2])[-1:]
        if operator[-1] == "=" and KINDS.isdisjoint((colon[2].casefold(), *word)) and not _CLASS.fullmatch(colon[2]):
            return find.span(3)[0] + colon.end(1), ":"
    if operator[-1] == ":" and (typed := read_type(text, end)):
        return typed if typed[1] else None
    return end, operator


_SIZE, _CLASS = re.compile(r"\[\w*\]"), re.compile(r"[A-Z][A-Za-z]*(?:8|16|32|64)?")
_ATTRIBUTE, _HOLDING = re.compile(r"\w+[ \t]*=\Z"), frozenset({"value", "default", "content", "val"})
_NO_TYPE = re.compile(r"([?!]?:)[ \t]*(\w+)=+\Z")
# A comma between what is given to one of these stands for an assignment.
_GIVING = word_set(
    "set put add append define register store save insert update send fill type with replace export env environment "
    "header putenv setenv setitem setattr setdefault setproperty default setq setx def defvar defparameter defconstant"
)
_GIVEN_TO = re.compile(r"([\w-]{2,40})(?:\(\s{0,8}(?:[\w.]{1,30},\s?)?|[ \t]{1,4})[\"'`]?[#.]?\Z|\{\s{0,8}[\"']\Z")


def _given(text: str, find: Found, literal: Literal, mark: str | None) -> Literal | None:
    """Give the value of what a call such as `Header.Set("X-Api-Key", "…")` takes, of a broken object, of an option."""
    if not literal.quoted or not mark:
        return None if OPENING.isdisjoint(find[2]) else read_default(text, find.span(3)[0] + 1)
    start = find.span(0)[0]
    if find[1].startswith("CURLOPT_"):
        return None if literal.text.startswith("CURLOPT_") else literal
    call = _GIVEN_TO.search(text, max(start - LONGEST_NAME, 0), start)
    is_slip = find[3][-1] in QUOTES and find[2][:1] in OPENING
    if is_secret_name(literal.text) or not (is_slip or call):
        return None
    if not literal.telling:
        is_word = mark == "PASSWORD" and len(literal.text) >= LEAST_OF_WORD and not METHOD.search(literal.text)
        return literal if is_word and not is_slip and _SETS.search(text, max(start - LONGEST_NAME, 0), start) else None
    if call and call[1] and _GIVING.isdisjoint(split_words(call[1])) and not is_slip:
        return None
    return literal if mark == "PASSWORD" or has_digit(literal.text) else None


# What a setting is given to, where an ordinary word may be the value; maps of messages and of types are others.
_SETS = re.compile(
    r"(?i)(?:\bdefine|\bputenv|\bsetenv|(?:prop|propertie|conf|config|setting|env|param|option|cred|info)s?\.put"
    r"|\.set_?property)\(\s{0,8}[\"']\Z"
)
LONGEST_NAME, LEAST_OF_WORD = 60, 6


def _is_foreign(name: str, operator: str) -> bool:
    """Say whether a name is of another language; behind a dash every name of a password counts."""
    return not _ENGLISH_NAMES.search(name) or (operator == "- " and judge(name).mark == "PASSWORD")


_NAMES_NEXT = re.compile(r"\\?[\"'`][ \t]*(?::|=>)")  # `{"login": "Password", "logout.first": "Bye"}`


def _between_quotes(text: str, find: Found, literal: Literal, mark: str | None) -> bool:
    """Say whether a comma parts two quoted strings of which the second is no mere word of a list, and names nothing."""
    name, closers = find[1], find[2]
    if _NAMES_NEXT.match(text, literal.end):
        return False
    is_constant = name.isupper() and literal.text.isupper() and literal.text.replace("-", "_").isidentifier()
    if is_constant and (literal.text.startswith(f"{name.partition('_')[0]}_") or not literal.text.isalnum()):
        return False  # `"DB_PASSWORD", "DB_HOST"`, `"URL-PASSWORD", "URL-USERID"`
    if is_secret_name(literal.text) and is_spelt(literal.text):  # `"old_password", "new_password1"`
        return False
    if not literal.quoted or closers.strip() not in QUOTES_BEFORE_COMMA + SELECTED:
        return False
    return literal.is_noise or (mark == "PASSWORD" and literal.telling and not literal.text.isalpha())


def _starts_line(text: str, start: int) -> bool:
    """Say whether only white space, a list dash or a word such as `export` stands before on the line."""
    # No further back than this, or one long line would be walked through for each name in it.
    before = text[max(text.rfind("\n", max(start - 40, 0), start) + 1, start - 40) : start].strip(" \t\"'`-#*$")
    return before.casefold() in _LEADS


FINDERS = (Finder.of(_ASSIGNING, find_assignments, is_usual=True),)
