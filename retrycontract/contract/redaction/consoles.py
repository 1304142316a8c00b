"""Judge what a command or an expression shows, and find what a console or a call of a tool then answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Finder, Head, has_digit
from retrycontract.contract.redaction.field_names import is_secret_name, judge, split_words, word_set
from retrycontract.contract.redaction.foreign import MARK
from retrycontract.contract.redaction.likeness import ENDS, is_plainly_secret
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.scan_copies import ascii_copy, folded_copy

# What a command or an expression that shows a secret has in it.
SHOWN_WORDS = r"pass|pw|secret|token|key|cred|auth|rand|vault|[ \"']op[ \t]|\.gpg|sops|keyring|decrypt"
LONGEST_ASKED, LONGEST_ANSWER, MOST_LINES = 600, 4_000, 40
_ANY_MARKS = frozenset({"PASSWORD", "SECRET"})  # of which an ordinary word may be one
_MARKS = _ANY_MARKS | {"API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "TOKEN", "CREDENTIAL", "AUTHORIZATION", "OTP"}
# What stands beside a secret in a store of them.
_OTHERS = word_set(
    "user username login email mail host hostname url uri port name id crt cert ca public count type created region "
    "path file version status title tags metadata expiry expires"
)
# What a tool that gives a secret is called after, and what then has to look like one, for it may be an id instead.
_GIVING = word_set(
    "get fetch read show print reveal retrieve lookup access load view find decrypt obtain resolve export cat echo env"
)
_MAKING = word_set("generate create new make issue mint rotate reset request renew regenerate random")

_FLAGS = r"(?:-[\w-]+(?:=\S+)? )*"
_FLAGGED = r"(?:-\S+ (?:[0-9]+ )?)*"
_START, _QUOTE = r"(?:^|[\s;&|(/\"'])", r"\\?[\"']?"
_BETWEEN = {" ": r"[ \t]+", " ...": r"[ \t][^\n]*", "...": r"[^\n]*"}


def _any(*forms: str) -> str:
    """Join forms in which a blank stands for any number of them, and `...` for what else is in the line."""
    return re.sub(r" ?\.{3}| ", lambda sign: _BETWEEN[sign[0]], "|".join(forms))


# By RE2, for a line of them may repeat how each begins. Commands that show nothing but a secret.
_SHOWING = Head(
    "(?i)" + _START + "(?:" + _any(
        r"(?:go)?pass (?:show|otp) \S", r"(?:go)?pass [\w.@-]+/[\w.@/-]+\s*$", "lpass show ...--password",
        r"r?bw get (?:password|totp)\b", "rbw get", "op read", "op item get ...(?:password|credential)",
        "keepassxc-cli show ...-a password", r"security find-(?:generic|internet)-password ...-\w*w",
        r"secret-tool lookup|keyring get\b", "vault print token|vault token create ...-field",
        "gcloud secrets versions access", "gcloud auth ...print-(?:access|identity)-token",
        "az keyvault secret show", "az account get-access-token",
        "aws ssm get-parameters? ...--with-decryption", "aws secretsmanager get-secret-value",
        "aws (?:ecr|codeartifact) get-(?:login-password|authorization-token)",
        "argocd admin initial-password", "heroku auth:token", "(?:gh|glab|fly|flyctl) auth token",
        "oc whoami (?:-t|--show-token)", "kubectl create token", "chamber read", "infisical secrets get",
        r"openssl rand\b|(?:pwgen|apg|xkcdpass|makepasswd|pwqgen)\b", "gpg2? ...--gen-random", "wg gen(?:key|psk)",
        r"...?/dev/u?random\b...\|", r"uuidgen \| (?:sha|md5)", r"composer config (?:--\w+ )*[\w-]*oauth",
        r"config get (?:requirepass|masterauth)\b", r"secrets\.token_\w+\(", r"securerandom\.\w+",
        r"crypto\.randombytes\(", r"getpass(?:\.getpass)?\(",
    ) + ")"
)  # fmt: skip
# Commands that show what they name.
_NAMED = Head(
    "(?i)" + _START + "(?:" + _any(
        rf"(?:echo|printf|write-(?:output|host)|print) (?:-\w+ )*(?:\\?[\"']%s(?:\\+n)?\\?[\"'] )?{_QUOTE}"
        rf"(?:\$(?:\{{|env:|env\[)?|%)(\w+)[}}\]%]?{_QUOTE}\s*$",
        rf"printenv {_FLAGS}(\w+)\s*$", r"\$env:(\w+)\s*$",
        rf"(?:config:get|config (?:--)?get|(?:secrets|configure|env) get) {_FLAGS}([^\s-]\S*)",
        rf"git config {_FLAGS}([\w.-]+)\s*$", rf"(?:terraform|tofu|terragrunt) output {_FLAGS}([\w.-]+)",
        rf"[jy]q (?:-\w+ |e(?:val)? )*{_QUOTE}[\w.\[\]\\\"]*\.\\?\"?([\w-]+)\\?[\"']*\]?(?: [\w./~-]+)?\s*$",
        r"sops ...--extract ...\[\\?[\"']([\w-]+)\\?[\"']\]",
        r"(?:get|hget|getex|getdel) (?:\S+ )?[\w.:-]*?([\w-]+)\s*$",
        r"select (?:distinct |top 1 )?[\"`\[]?(?:\w+\.)?(\w+)[\"`\]]?(?: as \w+)? from\b",
    ) + ")"
)  # fmt: skip
# Those that show what may be the name beside a secret as well.
_CLUSTER = r"\b(?:kubectl|oc|k) ...\bsecrets?[\s/]..."
_FIELD = Head(
    _any(
        rf"\bvault ...-field[=\s]{_QUOTE}([\w.-]+)", rf"\bop read .../([\w.-]+){_QUOTE}\s*$",
        rf"{_CLUSTER}\.(?:data|stringData)(?:\.|\[\\?[\"'])((?:\w|-|\\\.)+)",
        rf"{_CLUSTER}index \.data \\?\"([\w.-]+)",
    )
)  # fmt: skip
_READING = Head(
    "(?i)" + _START + _any(
        r"(?:cat|bat|less|more|head|tail|type|gc|get-content|strings|nl|gpg2?|age|ansible-vault|sops|sudo|read)"
        rf" (?:(?:decrypt|view|show|-d|--decrypt|--?output|-o|-) )*{_FLAGGED}"
        rf"{_QUOTE}([^\s\"'|;&<>]+){_QUOTE}\s*$"
    )
)  # fmt: skip
_DECRYPTING = Head(r"\b(?:gpg2?|age|sops)[ \t][^\n]*?(?:-d|--decrypt)\b|\bansible-vault[ \t]+(?:view|decrypt)\b")
# Behind a pipe, what leaves a secret as it is; and what goes elsewhere.
_FILTERS = re.compile(
    r"(?:base64|basenc|tr|head|tail|xargs|cat|cut|sed|awk|rev|fold|openssl[ \t]+(?:base64|enc)|python3?|perl|out-string"
    r"|convertfrom-json|select(?:-object|-string)?|[jy]q|sha\d+sum|md5sum|gunzip|decode|grep[ \t]+-\w*[oP])\b",
    re.IGNORECASE,
)  # fmt: skip
_CUT = Head(r"\bgrep[ \t]+(?:-\S+[ \t]+)*\\?[\"']?\^?([\w-]+)[=:\\\"'K.*+ \t]*[^|]*\|[ \t]*(?:cut|sed|awk)\b")
_ELSEWHERE = re.compile(r"(?<![0-9&=<>-])>{1,2}[ \t]*[^\s&=>]")
# Without a way back: blanks between the signs could be shared out in ever more ways.
_TAIL = re.compile(r"(?:[ \t]*+(?:;|&&|\|\||\n)[ \t]*+(?:echo|true|exit)?)++\s*\Z")
_PART = re.compile(r"&&|;|\n|(?<!\|)\|\|(?!\|)")
_WRAPPED = re.compile(
    r"\A\s*(?:return|await|puts|pp?|print|po|echo|frame variable|display|inspect|x/s|output|call|var_dump|print_r|repr"
    r"|str|(?:console\.log|fmt\.Print(?:ln|f)?|System\.out\.println|println!?|pprint)(?=\())[ \t(]+(.*?)[ \t;)]*\Z",
    re.DOTALL,
)
_PARTS = (
    r"(?:(?:\?\.|\.|->|::)\$?[A-Za-z_]\w*|\[\s*:?\\?[\"']?[\w.:-]+\\?[\"']?\s*\]"
    r"|\(\s*(?:\\?[\"'][\w./:@ -]*\\?[\"'](?:\s*,\s*\\?[\"']?[\w./:@-]*\\?[\"']?){0,3})?\s*\))"
)
_CHAIN = re.compile(rf"[$@]{{0,2}}(?:[A-Za-z_]\w*!?)(?:{_PARTS})*")
_WORD = re.compile(r"[A-Za-z_][\w-]*(?:[./][\w-]+)*")
_FURTHER = re.compile(r",[^()]*+(?=\))")
# What only gives the value of what stands before it.
_NEUTRAL = word_set(
    "get_secret_value getsecretvalue decode encode strip trim reveal expose_secret unwrap to_s to_str tostring "
    "value get plaintext utf8 utf-8 ascii hex base64 rstrip as_str text expose secretstring lower"
)


@lru_cache(maxsize=2_048)
def shown_secret(asked: str, *, is_code: bool = False) -> str | None:
    """Give the mark of the secret that a command or an expression shows; `is_code` where a bare name is one."""
    if not 3 < len(asked) <= LONGEST_ASKED:
        return None
    asked = _TAIL.sub("", ascii_copy(asked.strip()))
    return _shown_by_command(asked) or _shown_by_expression(asked, is_code=is_code)


def _shown_by_command(asked: str) -> str | None:
    if _ELSEWHERE.search(asked):
        return None
    first, *filters = re.split(r"(?<!\|)\|(?!\|)", asked)
    if any(not _FILTERS.match(each.strip()) for each in filters):
        return None
    if filters and (cut := _CUT.first(f"{first}|{filters[0]}")):
        mark = judge(cut[1]).mark
        return mark if mark in _MARKS else None
    last = asked if "--extract" in asked else _PART.split(asked)[-1]
    named = _NAMED.first(last.rstrip("\"')} ")) or _NAMED.first(last)
    if named and (mark := judge(named.told).mark) in _MARKS:
        return mark
    if field := _FIELD.first(last):
        name = field.told.replace("\\.", ".")
        mark = judge(name).mark
        return mark if mark in _MARKS else None if not _OTHERS.isdisjoint(split_words(name)) else "SECRET"
    if _SHOWING.first(last):
        return "SECRET"
    file = _READING.first(_PART.split(first)[-1].rstrip("\"')"))
    return mark_of_file(file[1], decrypted=bool(_DECRYPTING.first(first))) if file else None


def mark_of_file(path: str, *, decrypted: bool = False) -> str | None:
    """Give the mark of a file that is named for a secret and holds nothing else."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    for end in (".txt", ".gpg", ".asc", ".age", ".enc"):
        name = name.removesuffix(end)
    name = name.lstrip(".")
    if name.endswith((".key", ".secret", ".token", ".pass", ".pw", ".password")):
        return "API_KEY"
    if "." in name and not decrypted:
        return None
    mark = judge(name).mark
    if mark in _MARKS or decrypted:
        return mark if mark in _MARKS else "SECRET"
    return "SECRET" if folder.endswith(("/run/secrets", "/etc/secrets")) and not _is_of_others(name) else None


def _is_of_others(name: str) -> bool:
    return not _OTHERS.isdisjoint(split_words(name))


def _shown_by_expression(asked: str, *, is_code: bool) -> str | None:
    expression = _PART.split(asked)[-1].strip()
    if wrapped := _WRAPPED.match(expression):
        expression, is_code = wrapped[1].strip("\"'"), True
    expression = _FURTHER.sub("", expression)
    if len(expression) > LONGEST_ASKED // 3 or not _CHAIN.fullmatch(expression):
        return None
    words = list(_WORD.findall(expression.replace("\\", "")))
    is_bare = len(words) == 1 and expression[0] not in "$@"
    words = [part for word in words for part in ([word] if "/" in word else word.split("."))]
    while len(words) > 1 and words[-1].casefold() in _NEUTRAL:
        words.pop()
    if is_bare and expression.isidentifier() and not is_code:
        return None
    mark = judge(words[-1]).mark
    if mark is None and len(words) > 1 and expression.endswith((")", "]")) and expression[-2] in "\"'":
        return mark_of_tool(words[-2])
    if expression.endswith(")") and expression[-2] not in "\"'":
        return mark_of_tool(words[-1])
    return mark if mark in _MARKS else None


def mark_of_tool(name: str) -> str | None:
    """Give the mark of what a tool gives: `get_password` and `vault.read_secret` give one, `set_password` does not."""
    words = split_words(name)
    mark = judge(name).mark
    return mark if mark in _MARKS and not (_GIVING | _MAKING).isdisjoint(words) else None


# What a program says instead.
_SAID = word_set(
    "ok okay true false null none nil undefined yes no y n done success successful successfully succeeded failed "
    "failure error errors found missing empty unknown denied forbidden unauthorized invalid valid expired active "
    "inactive enabled disabled saved updated created deleted copied set unset exists pending running stopped ready "
    "healthy completed complete skipped changed unchanged redacted hidden masked encrypted decrypted protected "
    "secret password token key value result output response answer string bytes object not_found notfound n/a na "
    "timeout cancelled canceled accepted rejected granted permission nothing default test"
)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@~-]+(?:/[\w.@~-]*)*|[\w.-]+(?:/[\w.-]+)*\.[a-z][a-z0-9]{0,4}(?::[0-9]+)*:?|[A-Za-z]:\\.*"
)
_NUMBERS = re.compile(r"[-+]?[0-9]{1,5}(?:[.,:%/-][0-9]*)*[A-Za-z%]{0,3}|v?[0-9]+(?:\.[0-9]+)+\S*|[0-9][0-9:,.TZ/+-]*")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TYPE = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]*)*|[A-Z_]+")
_STATE = re.compile(r"(?i)(?:err(?:or)?|http|status|code|exit|rc)[-_:=]?[0-9]{1,5}")
_OPENED = re.compile(r"[<({\[*|+=#&^`]")


def is_answer(text: str, mark: str, *, is_sure: bool = True) -> bool:
    """Say whether the one word that was answered is the secret, rather than a state, a number, a path or a type."""
    literal = Literal(text, 0, len(text), quoted=False)
    if not 4 <= len(text) <= LONGEST_ANSWER or literal.is_placeholder or literal.is_word_of_code:
        return False
    if text.rstrip(ENDS).casefold() in _SAID or text.endswith((":", "...")) or _OPENED.match(text) or "://" in text:
        return False
    if any(form.fullmatch(text) for form in (_PATH, _MAIL, _STATE)):
        return False
    if _NUMBERS.fullmatch(text):
        return mark in _ANY_MARKS and text.isdigit() and len(text) > 5
    if literal.is_noise or literal.is_dense or is_plainly_secret(text, "PASSWORD"):
        return True
    if is_secret_name(text) or _TYPE.fullmatch(text) or "(" in text:
        return False
    if has_digit(text):
        return literal.telling and len(text) > 5
    return is_sure and mark in _ANY_MARKS and len(text) > 5 and text.rstrip("!?").replace("-", "").isalpha()


# How an answer is written: quoted, behind `=>`, `Out[3]:`, `$1 = 0x…`, `2)`.
_SHOWN = (
    r"[ \t]*(?:(?:Out ?\[[0-9]+\]:|=>"
    r"|(?:\$[0-9]+|\(\w+\)[ \t]\$?\w+)[ \t]=[ \t](?:\([^()\n]*\)[ \t])?(?:0x[0-9a-f]+[ \t])?"
    r"|[0-9]\)|string\([0-9]+\)|\(nil\)|->)[ \t]*)?b?"
)
_ANSWER = re.compile(
    rf"{_SHOWN}(?:\\*(?P<quote>[\"'])(?P<quoted>[^\"'\n\\]+)\\*(?P=quote)|(?P<bare>[^\s\"'`]+))"
    r"[ \t]*[;,]?[ \t]*\r?(?:\n|\Z)"
)


def answers(text: str, mark: str, start: int = 0, end: int | None = None) -> Iterator[SecretSpan]:
    """Find the secret in what was answered: the one word, or of several lines each word that looks like one."""
    stop = len(text) if end is None else end
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    if stop - start > LONGEST_ANSWER:
        return
    whole = _ANSWER.match(text, start, stop)
    if whole and whole.end() == stop:
        begin, finish = whole.span("quoted" if whole["quoted"] else "bare")
        if not text.startswith(MARK, begin) and is_answer(text[begin:finish], mark):
            yield SecretSpan(begin, finish, mark)
        return
    position = start
    for _ in range(MOST_LINES):
        behind = text.find("\n", position, stop) + 1 or stop
        words = list(re.finditer(r"[^\s\"'`|]+", text[position:behind]))
        # More words are prose, or a table of other things.
        if words and len(words) <= 3:
            first, last = (position + place for place in words[-1].span())
            if is_plainly_secret(text[first:last], "PASSWORD"):
                yield SecretSpan(first, last, mark)
        position = behind
        if position >= stop:
            return


def redacted_answer(text: str, mark: str) -> str:
    """Redact what was answered to a command or an expression that shows a secret."""
    copy = folded_copy(text)
    spans = [copy.original(span) for span in answers(copy.text, mark)]
    for start, end, _ in reversed(spans):
        text = f"{text[:start]}{MARK}{mark}]{text[end:]}"
    return text


_OF_SHELL = r"(?:\[?[\w.-]+@[\w.-]+[ :][^\s$#%>]*\]?|\([\w.-]+\)|~|[\w.-]+)?[ \t]?[$#%]"
_OF_OTHERS = (
    r">{1,3}|\(\w+\)|In \[[0-9]+\]:|(?:irb|pry|php|sqlite|mysql|redis|mongo|SQL|node|deno)[^\n>]*>|PS[^\n>]*>|\w+=[>#]"
    r"|[0-9.]+:[0-9]+>"
)
_CONSOLE = Head(
    rf"(?m)^[ \t]*({_OF_SHELL}|{_OF_OTHERS})[ \t]+([^\n]*(?i:{SHOWN_WORDS})[^\n]*)\n"
    rf"{_SHOWN}(?:[\"'][^\"'\n]+[\"']|[^\s\"'`]+)[ \t]*[;,]?[ \t]*\r?$"
)
_REDIS = re.compile(r"[ \t]*1\) \"(?:requirepass|masterauth)\"[ \t]*\r?\n")
_NEXT = re.compile(rf"\s*(?:\Z|\n|```|[$#%>(]|{_OF_SHELL}|{_OF_OTHERS}|In \[)")


def find_in_consoles(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find what a console answers on the line below `>>> settings.SECRET_KEY` and `$ pass show db`."""
    for find in _CONSOLE.all(text, allowance):
        prompt, asked = find[1], find[2].strip()
        is_shell, is_open = prompt[-1] in "$#%", prompt in (">", ">>")
        if is_shell:
            mark = _shown_by_command(_TAIL.sub("", asked)) if 3 < len(asked) <= LONGEST_ASKED else None
        else:
            mark = shown_secret(asked, is_code=not is_open)
        if mark is None:
            continue
        allowance.spend(find.span(0)[0])
        line = text.find("\n", find.span(2)[1]) + 1
        if header := _REDIS.match(text, line):
            line = header.end()
        answer = _ANSWER.match(text, line)
        if answer is None or (is_open and not answer["quoted"]):
            continue
        group = "quoted" if answer["quoted"] else "bare"
        is_end = bool(answer["quoted"]) or _NEXT.match(text, answer.end()) is not None
        if is_answer(answer[group], mark, is_sure=is_end):
            yield SecretSpan(*answer.span(group), mark)


FINDERS = (Finder.of(_CONSOLE, find_in_consoles),)
