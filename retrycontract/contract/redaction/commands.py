"""Find secrets in command lines, and in lists of words that are such: each command takes its own in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from retrycontract.contract.redaction.allowance import Allowance, SecretSpan
from retrycontract.contract.redaction.detectors import Find, Finder, Head, WholePattern, has_digit
from retrycontract.contract.redaction.field_names import SECRET_NAME, is_telling_key, judge
from retrycontract.contract.redaction.literals import Literal
from retrycontract.contract.redaction.scan_copies import ascii_copy
from retrycontract.contract.redaction.surroundings import POSITIONAL, find_positional_passwords
from retrycontract.contract.redaction.values import closing_quote, read_literal, unquoted_end

_BETWEEN = r"\b[^\n|;]*?(?:[ \t]|[^,\s][ \t][\"'])"  # all of an option may stand in quotes
# Commands, and the flag behind which each takes a password, with a blank or without.
_FLAGS = {
    "sshpass": "-p", "mysql(?:dump|admin|import|sh)?": "-p", "mariadb(?:-dump)?": "-p",
    "(?:docker|podman|nerdctl|helm|oc|az|skopeo|buildah|crane|oras|regctl|cf|ibmcloud)[ \\t][^\\n|;]*?login": "-p",
    "mongo(?:sh|dump|restore|export|import)?": "-p",
    "7z[ar]?": "-p", "cqlsh": "-p", "redis-cli": "-a", "ldap(?:search|modify|add|delete|whoami|passwd)": "-[sw]",
    "(?:un)?zip": "-P", "(?:un)?rar": "-h?p", "twine": "-p", "mosquitto_(?:pub|sub|rr)": "-P", "ipmitool": "-P",
    "(?:nxc|netexec|crackmapexec|evil-winrm|psexec(?:64)?|rdesktop|snowsql|user(?:add|mod))": "-p",
    "gh[ \\t]+secret[ \\t]+set": "(?:--body|-b)", "security[ \\t]+add[-_]\\w+[-_]password": "-w", "snmp\\w+": "-[AX]",
    "cmdkey": "/pass:", "swaks": "-ap", "schtasks": "/rp[ \\t]", "netdom": "/password[do]:", "sendemail": "-xp",
    "(?:lftp|ncftp)": "-u[ \\t]*[^\\s,]+,",
    "(?:sqlcmd|osql|bcp|isql|tsql)": "-P", "az[ \\t]+keyvault[ \\t]+secret[ \\t]+set": "--value[= \\t]",
    "aws[ \\t]+ssm[ \\t]+put[-_]parameter[ \\t][^\\n|;]*?--type[= \\t]+[\"']?SecureString": "--value[= \\t]",
    "openssl[ \\t]+(?:enc|aes-?[\\w-]+)": "-[kK]", "openssl": "-pass(?:in|out)?[ \\t]+pass:",
    "openssl[ \\t]+passwd": "(?:-(?:[156]|apr1|salt[ \\t]+\\S+)[ \\t]+)+",
    "ssh-keygen": "-[NP]",
    "(?:rabbitmqadmin|ncftp\\w+|hydra|beeline|cypher-shell|conan|certutil|xcrun[ \\t]+altool)": "-p",
    "signtool": "/p[ \\t]",
    "security[ \\t]+unlock[-_]keychain": "-p", "security[ \\t]+set[-_]key[-_]partition[-_]list": "-k",
    "glab[ \\t]+auth[ \\t]+login": "-t[ \\t]", "wrangler[ \\t]+secret[ \\t]+put": "--value[= \\t]",
     "vsql": "-w", "dotnet[ \\t]+nuget[ \\t]+push": "(?:-k|--api-key)",
    "doctl[ \\t]+auth[ \\t]+init": "(?:-t|--access-token)[= \\t]",
    "ktpass(?:\\.exe)?": "[/-]pass[ \\t]", "p4": "-P[ \\t]", "(?:yt-dlp|youtube-dl)": "-p",
    "(?:mycli|pgcli|veracrypt|truecrypt|pihole)": "-p", "(?:az[ \\t]+sql|gitea[ \\t]+admin)": "-p",
    "(?:poetry[ \\t]+publish|supabase[ \\t]+link)": "-p",
    "(?:dotnet[ \\t]+)?nuget[ \\t]+(?:sources[ \\t]+)?add": "-p", "airflow[ \\t]+users": "-p", "pdftotext": "-[uo]pw",
    "(?:vercel|codecov|uv[ \\t]+publish|fly(?:ctl)?[ \\t]+\\w+)": "-t[ \\t]",
    "reg[ \\t]+add[ \\t][^\\n|;]*?(?i:password)": "/d[ \\t]",
    "databricks[ \\t]+secrets[ \\t]+put[-_\\w]*": "--string-value[= \\t]", "sonar-scanner": "-Dsonar\\.login=",
    "(?:hey|ab)": "-[aA][ \\t]+[\"']?[\\w.-]+:", "nikto": "-id[ \\t]+[\\w.-]+:",
    "llm[ \\t]+keys[ \\t]+set": "--value[= \\t]",
    "pulumi[ \\t]+config[ \\t]+set": "--secret[ \\t]+[\\w:.-]+[ \\t]",
    "(?:smbclient|rpcclient|winexe|net[ \\t]+(?:rpc|ads))": "(?:-U[ \\t]*|--user[= \\t])[\"']?[^\\s%]+%",
    "xfreerdp": "/p:", "(?:doveadm[ \\t]+pw|add-user\\.(?:sh|bat)|check_\\w+|register_new_\\w+|hdbsql|racadm)": "-p",
    "slappasswd": "-s", "(?:kadmin(?:\\.local)?|irssi)": "-w", "(?:kdb5_util|security[ \\t]+import)": "-P",
    "openssl[ \\t]+dgst": "(?:hexkey:|-hmac)", "qpdf": "--encrypt", "curl": "(?:--cert|-E)[ \\t]+[^\\s:]+:",
}  # fmt: skip
# Commands that take it as a word of its own, behind others.
_PLACED = (
    r"htpasswd(?:[ \t]+-\w+)*[ \t]+-\w*b\w*(?:[ \t]+-\w+)*(?:[ \t]+[^\s-]\S*){1,2}[ \t]+",
    rf"rabbitmqctl{_BETWEEN}(?:add_user|change_password|authenticate_user)[ \t]+(?:--[ \t]+)?\S+[ \t]+",
    rf"nmcli{_BETWEEN}(?:password|[\w.-]+\.(?:psk|password|wep-key\d))[ \t]+",
    r"(?:composer|poetry)[ \t]+config[ \t][^\n|;]*?http[-_]basic\.\S+[ \t]+\S+[ \t]+",
    r"(?:poetry[ \t]+config[ \t]+pypi[-_]token\.\S+|nuget[ \t]+(?:setapikey|push[ \t]+\S+\.nupkg))[ \t]+",
    r"(?:wandb[ \t]+login|snyk[ \t]+auth|cloudflared[ \t]+service[ \t]+install|rclone[ \t]+obscure)[ \t]+",
    r"(?:ngrok[ \t]+(?:config[ \t]+add[-_])?authtoken|vault[ \t]+operator[ \t]+unseal|bw[ \t]+unlock)[ \t]+",
    r"netsh[ \t][^\n|;]*?\bkey(?:material)?=|uci[ \t]+set[ \t]+[\w.@\[\]-]+\.key=",
    r"ansible[-_]vault[ \t]+encrypt_string[ \t]+",
    r"samba[-_]tool[ \t]+user[ \t]+(?:create|add|setpassword)[ \t]+\S+[ \t]+",
    r"(?:drush[ \t]+(?:user:password|upwd)|cf[ \t]+auth)[ \t]+\S+[ \t]+",
    r"(?:networksetup[ \t]+-setairportnetwork|mc[ \t]+admin[ \t]+user[ \t]+add)[ \t]+\S+[ \t]+\S+[ \t]+",
    r"mosquitto_passwd[ \t]+(?:-\w+[ \t]+)*-\w*b\w*[ \t]+(?:-\w+[ \t]+)*\S+[ \t]+\S+[ \t]+",
    r"bw[ \t]+login[ \t]+\S+@\S+[ \t]+",
    r"composer[ \t]+config[ \t][^\n|;]*?(?:oauth|token)\.\S+[ \t]+",
    r"git[ \t]+config[ \t]+(?:--\w+[ \t]+)*[\w.-]*password[ \t]+",
    r"grafana(?:[-_]cli|[ \t]+cli)[ \t][^\n|;]*?reset[-_]admin[-_]password[ \t]+",
    r"rclone[ \t]+config[ \t]+(?:create|update)[ \t][^\n|;]*?[ \t](?:pass|secret_access_key|token|client_secret)[ \t]+",
    r"pdftk[ \t][^\n|;]*?(?:user|owner|input)_pw[ \t]+",
    r"redis-cli[ \t][^\n|;]*?(?i:auth)[ \t]+(?:default[ \t]+)?",
    r"db2[ \t]+connect[ \t][^\n|;]*?using[ \t]+",
    r"smbclient[ \t]+[\"']?(?://|\\{2,4})\S+[ \t]+(?:-[UWIp][ \t]+[^\s%-][^\s%]*[ \t]+)*",
    r"mc[ \t]+(?:alias[ \t]+set|config[ \t]+host[ \t]+add)(?:[ \t]+\S+){3}[ \t]+",
    r"(?:(?:tacacs|radius)[-_]server[ \t][^\n]*?\bkey|crypto[ \t]+isakmp[ \t]+key)[ \t]+(?:[0-7][ \t]+)?",
    r"(?:message[-_]digest[-_]key[ \t]+\d+[ \t]+md5|ppp[ \t]+(?:chap|pap)[ \t][^\n]*?password)[ \t]+(?:[0-7][ \t]+)?",
    r"(?:iwconfig[ \t]+\S+[ \t]+key|wpa_cli[ \t][^\n|;]*?psk)[ \t]+",
    r"(?:impacket[-_]\w+|(?:secretsdump|(?:ps|wmi|smb|at)exec)\.py)[ \t]+(?:-\S+[ \t]+)*(?:[\w.-]+/)?[\w.$-]+:",
    r"(?i:acl[ \t]+setuser|user)[ \t]+\S+(?:[ \t]+(?:on|off|reset\w*|[~+&-]\S*|all\w+))*[ \t]+>",
    r"mysqladmin\b[^\n|;]*?[ \t]password[ \t]+",
    r"dotnet[ \t]+user[-_]secrets[ \t]+set[ \t]+(?:-\S+[ \t]+[^\s-]\S*[ \t]+)*(?:\"[^\"\n]+\"|[^\s-]\S*)[ \t]+",
    r"doppler[ \t]+secrets[ \t]+set[ \t]+\w+[ \t]+",
    r"(?:fly|flyctl|supabase)[ \t]+secrets[ \t]+set[ \t]+[\w-]+=",
    r"(?:radtest|ipmitool[ \t][^\n|;]*?set[ \t]+password|dscl[ \t][^\n|;]*?-passwd)[ \t]+\S+[ \t]+",
    r"(?:ejabberdctl|prosodyctl)[ \t]+(?:register|adduser|change_password)[ \t]+\S+[ \t]+\S+[ \t]+",
    r"bundle[ \t]+config[ \t]+(?:set[ \t]+)?(?:--\w+[ \t]+)*[\w.-]+[ \t]+[\w.-]+:",
    r"vault[ \t]+(?:kv[ \t]+)?put[ \t]+(?:-\S+[ \t]+)*[^\s=]+[ \t]+[\w-]+=",
)
# Those that take it without a flag, and words that do within one.
WITHOUT_FLAG = (
    r"(?:rabbitmqctl|wpa_passphrase|net|netdom|schtasks|cmdkey|smbclient|xfreerdp|mc|poetry|composer|vault|cargo|npm|setx"
    r"|aws|doppler|ngrok|wandb|snyk|bw|cf|drush|samba-tool|git|rclone|grafana-cli|pdftk|redis-cli|nuget|dotnet|htpasswd"
    r"|nmcli|mysqladmin|supabase|fly|flyctl|(?i:requirepass|masterauth))"
)
_HEADINGS = "|".join(rf"{command}{_BETWEEN}{flag}[ \t]*" for command, flag in _FLAGS.items())
_HEADINGS += "|" + "|".join(_PLACED)
_COMMAND = re.compile(rf"(?:{'|'.join(_FLAGS)}|ConvertTo-SecureString)\b")
# What a shell would read as several words, or as more than a word, is one word in a list.
_ONE_WORD = str.maketrans(dict.fromkeys(" \t\r\n\v\f\"'`;|", "_"))
# Ports of a container, and the commands within the command whose `-p` is something else.
_PORTS = WholePattern(r"(?:[0-9.]+:)?[0-9]{1,5}:[0-9]{1,5}(?:/\w+)?")
ARTICLES = frozenset({"the", "a", "an", "this", "your", "our"})  # of a sentence about the command
_PROMPTING = re.compile(r"(?:mysql|mariadb)(?!admin\b[^\n]*\spassword\s)")
# Names of methods and kinds are mixed as a password is: `password Argon2id`.
# The short ones only where a part of a word begins, and of versions no more than is one: passwords hold `V8`, too.
METHOD = re.compile(
    r"(?i)argon|pbkdf|crypt|sha-?[1-35]|hmac|oauth|base\d|ascii|x509|http|(?<![a-z0-9])(?:md[245]|aes|utf|rfc|iso)"
    r"|(?<![a-z0-9])(?-i:[A-Z]{0,8}v)\d{1,2}(?:[._]\d+)*(?:[-+._]?(?-i:[A-Z]?[a-z]{2,}|[A-Z]{2,}))?(?![a-z0-9])"
)
_OTHER_COMMAND = re.compile(r"[ \t](?:mkdir|cp|ssh|scp|tar)[ \t]")
# What stands behind `-p`, or begins with it, where options are listed; a word of English is a poor password.
_OPTIONS = re.compile(
    r"-p(?:ackage|age|arallel|arams|arent|arse|ath|aths|attern|id|lain|latform|lugin|olicy|ort|orts|refix|rint|riority"
    r"|rocess|rofile|roject|rotocol|roxy|ublic)(?:[ \t]|$)"
    r"|-p[ \t]+(?:path|port|ports|print|profile|project|protocol)(?:[ \t]|$)"
)
# Characters within which most commands end; one whose password stands further behind is found where no other one is.
REACH = 5_000
_PASSWORD = Head(rf"\b(?:{_HEADINGS})([^\s-][^\s]*)", reach=REACH)
_NETRC = Head(r"(?i)\blogin\s+[^\s/]\S*\s+password\s+([^\s,;]+)")
_OF_BOTH = re.compile(r"(?i)login\s+(?:and|or)\s")  # `a default login and password to avoid a prompt`
_REQUIRED = Head(r"(?i)\b(?:(?:requirepass|masterauth)[ \t]+|(?-i:PASSWORD)\()([^\s-][^\s;]*)")
_IDENTIFIED = Head(
    r"(?i)\b(identified\s+(?:with\s+[\w\"'`]+\s+(?:by|as)|by)(?:\s+(?:values|password))?)\s+([^\s-][^\s;]*)"
)
# Before `identified by`; elsewhere these are words of English.
_ACCOUNT = re.compile(
    r"(?:(?i:\b(?:create|alter)\s+(?:(?:or\s+replace|public|shared|database)\s+)*(?:user|role|link)\s)|\bGRANT\b)[^;]*\Z"
)
LONGEST_STATEMENT = 400
# Of a page one may log in to as well: a token has digits.
_VAULT = Head(
    r"(?:\b(?:(?:vault|cargo)[ \t]+login|snmp(?:[-_]server)?[ \t]+community|snmp\w+[ \t][^\n|;]*?-c)"
    r"|(?m:^|>[ \t])AUTH(?:[ \t]+\w+)?)"
    r"[ \t]+(?:-[\w-]+(?:=\S+)?[ \t]+)*([^\s=-][^\s=]*[0-9][^\s=]*)"
)
_SECURE_VALUE = Head(
    r"\baws[ \t]+ssm[ \t]+put[-_]parameter[ \t][^\n|;]*?--value[= \t]+(\S+)[^\n|;]*?--type[= \t]+[\"']?SecureString"
)
_TOLD = (_VAULT, _SECURE_VALUE, _PASSWORD, _NETRC, _REQUIRED, _IDENTIFIED)
# Commands that read a password or a secret, and nothing else, from their input.
_READERS = (
    r"(?:sudo[ \t]+(?:-\w+[ \t]+)*(?:-S|--stdin)\b"
    r"|(?:(?:arch-)?chroot|docker|podman|kubectl|ssh|lxc|systemd-nspawn)[ \t][^\n|;<]*?[ \t](?:ch)?passwd\b"
    r"|(?:sudo[ \t]+)?(?:chpasswd|passwd|smbpasswd|cryptsetup|kinit|vncpasswd|su|ansible-vault[ \t]+encrypt_string)\b"
    r"|[a-z][\w-]*[ \t][^\n|;<]*?(?:--passw(?:or)?d-(?:on-)?stdin|--with-token)\b|gpg2?[ \t][^\n|;<]*?--passphrase-fd"
    r"|(?:npx[ \t]+)?(?:gh|wrangler)[ \t]+secret[ \t]+(?:set|put)\b|(?:docker|podman)[ \t]+secret[ \t]+create\b"
    r"|vercel[ \t]+env[ \t]+add\b|hdiutil[ \t][^\n|;<]*?-stdinpass|zfs[ \t]+load-key|keepassxc-cli\b"
    r"|elasticsearch-keystore[ \t]+add\b|read[ \t]+-\w*s\w*[ \t]"
    r"|gcloud[ \t]+secrets[ \t][^\n|;<]*?--data-file=-|pass[ \t]+insert\b)"
)
_READER = Head(rf"\b{_READERS}")
_PIPED = Head(rf"\(?\b(?:echo|printf|yes)[ \t]((?:[^\n|\"']|\"[^\"|]*\"|'[^'|]*')+)\|[ \t]*{_READERS}")
_PIPED_WORD = re.compile(r"(?<![^\s\"'();=<])(?!-[neE]+\s|echo\s|\\|%s)[^\s\"'();]+")
_VARIABLE = re.compile(r"\$[A-Za-z_{(]")
MOST_PIPED = 4
_HANDED = Head(rf"\b{_READERS}[^\n|;<]*<<<[ \t]*(\$?[\"'][^\"'\n]+(?:\n[^\"'\n]+)?|[^\s\"']+)")
# A document for such a command, or for a variable; one line, or the same twice, is a password.
_DOCUMENT = r"<<[-~<]?[ \t]*[\"']?[A-Za-z]\w*[\"']?[^\n]{0,80}\n"
_FED = Head(rf"\b{_READERS}[^\n|;<]*{_DOCUMENT}")
_FILLED = Head(rf"(?i)({SECRET_NAME})[\"']?[ \t]*(?::?=[ \t]*(?:[\"']?\$\(cat[ \t]*)?)?{_DOCUMENT}")
_DOCUMENT_LINE = re.compile(r"<<[-~<]?[ \t]*[\"']?(\w+)[^\n]*\n[ \t]*(\S+)[ \t]*\n(?:[ \t]*(\2)[ \t]*\n)?[ \t]*\1\b")
_SECRET_LITERALS = Head(r"\bcreate[ \t]+secret[ \t][^\n|;]*--from-literal[^\n|;]*")
_LITERAL = re.compile(r"--from-literal[= \t]+[\"']?[\w.-]+=[\"']?([^\s\"']+)")
_SSHPASS = Head(r"\bSSHPASS=[\"']?([^\s\"';]+)")
_USER = Head(r"(?:^|\s)(?:-u|--user|--proxy-user)(?:[ \t]+|=)([^\s]+)")
_JOINED_USER = Head(
    r"\b(?:curl\b[^\n|;]*?[ \t]-\w*[uU]|(?:https?|xhs?)[ \t](?:[^\n|;]*?[ \t])?(?:-a|--auth))"
    r"[ \t=]*([^\s:=-][^\s:]*:[^\s]+)"
)
_COOKIE = Head(r"\bcurl\b[^\n|;]*?[ \t](?:-b|--cookie)[ \t=]*[\"']?(\w[^=\s\"']*=[^\n\"']+)")


def find_passwords(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `sshpass -p value`, `mysql -pvalue`, netrc lines and their relatives."""
    for find in head.telling(text, allowance):
        literal = read_literal(text, find.span(2 if head is _IDENTIFIED else 1)[0])
        if not literal or literal.is_placeholder or literal.is_word_of_code or literal.text == "|":
            continue
        if head is _NETRC and METHOD.match(literal.text):
            continue
        if head is _NETRC and _OF_BOTH.match(text, find.span(0)[0]) and not has_digit(literal.text):
            continue
        if head is _IDENTIFIED and not _identifies(text, find, literal):
            continue
        is_other = head is _PASSWORD and (
            # Behind a blank a client of MySQL takes the name of a database; people and models err.
            (
                _PROMPTING.match(text, find.span(0)[0])
                and text[literal.start - 1] in " \t"
                and not is_telling_key(literal.text)
            )
            or _PORTS.fits(literal.text)
            or literal.text in ARTICLES
            or _OTHER_COMMAND.search(text, find.span(0)[0], literal.start)
            or _OPTIONS.match(text, text.rfind("-p", find.span(0)[0], literal.start + 1), literal.end + 1)
        )
        if not is_other:
            yield SecretSpan(literal.start, literal.end, "PASSWORD")
        if head is _IDENTIFIED and (old := _REPLACED.match(text, literal.end)):
            yield SecretSpan(*old.span(1), "PASSWORD")
        if head is _PASSWORD and (again := _SECOND.match(text, literal.end)) and _TWICE.match(text, find.span(0)[0]):
            yield SecretSpan(*again.span(1), "PASSWORD")
        is_of_pdf = head is _PASSWORD and text.startswith("qpdf", find.span(0)[0])
        if is_of_pdf and (owner := _OWNER.match(text, literal.end)):
            yield SecretSpan(*owner.span(1), "PASSWORD")


_REPLACED = re.compile(r"[\"']?\s{1,8}(?i:replace)\s{1,8}[\"']?([^\s\"';]+)")
_OWNER = re.compile(r"[\"']?[ \t]+[\"']?([^\s\"'-][^\s\"']*)[\"']?[ \t]+(?:40|128|256)\b")
# Commands that take two, behind flags of the same kinds.
_TWICE, _SECOND = (
    re.compile(r"snmp|openssl|ssh-keygen|ldappasswd"),
    re.compile(r"[^\n|;]{0,200}?[ \t](?:-[AXNPsw]|-pass(?:in|out)?[ \t]+pass:)[ \t]*([^\s-]\S*)"),
)


def _identifies(text: str, find: Find, literal: Literal) -> bool:
    """Tell a statement of SQL, or a piece of one, from `users are identified by their names`."""
    start = find.span(1)[0]
    if _ACCOUNT.search(text[max(start - LONGEST_STATEMENT, 0) : start]):
        return True
    return literal.quoted and (find[1].isupper() or (literal.telling and has_digit(literal.text)))


def is_of_psql(text: str, name: str, start: int, literal: Literal) -> bool:
    """Say whether a statement takes a variable of psql, `CREATE USER app WITH PASSWORD :'pw'`."""
    is_variable = name.isupper() and literal.text.isidentifier() and text[literal.start - 2] == ":"
    return is_variable and is_of_account(text, start)


def is_of_account(text: str, start: int) -> bool:
    """Say whether a statement of SQL that makes or changes an account goes on at the place."""
    return _ACCOUNT.search(text, max(start - LONGEST_STATEMENT, 0), start) is not None


def one_word(text: str, *, is_first: bool) -> str:
    """Write an item of a list as one word of a command line of the same length."""
    if text.isalnum():
        return text
    word = text.translate(_ONE_WORD) if len(text) > 1 or text.isspace() else text
    if word.startswith("-"):
        return word
    folder, slash, name = word.rpartition("/")
    if is_first and name.endswith(".exe"):
        name = f"{name[:-4]}    "
    # Packages and folders are often named for a program: `mcp-server-mysql`, `/var/lib/mysql`.
    if slash and not is_first and not folder.endswith("bin") and _COMMAND.match(name):
        folder, slash, name = "", "", word.replace("/", "_")
    return f"{folder}{slash}{name if '-' not in name or _COMMAND.match(name) else name.replace('-', '_')}"


def find_piped_passwords(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `echo value | sudo -S`, `sudo -S … <<< value` and `SSHPASS=value`."""
    for find in head.telling(text, allowance):
        words = [*_PIPED_WORD.finditer(text, *find.span(1))]
        # More are a sentence or a script.
        for word in words if len(words) <= MOST_PIPED else ():
            start, end = word.span()
            start += text[start] == "$" and text[start + 1 : start + 2] in ("'", '"')
            literal = Literal(text[start:end], start, end, quoted=False)
            if literal.text and not literal.is_placeholder and not _VARIABLE.match(literal.text):
                yield SecretSpan(start, end, "PASSWORD")


def reads_password(command: str) -> bool:
    """Say whether a command reads a password, and nothing else, from its input."""
    return next(_READER.each(ascii_copy(command)), None) is not None


def find_documents(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find the one line of a document that a command reads a password from, or that fills a variable."""
    for find in head.all(text, allowance):
        mark = judge(find[1]).mark if head is _FILLED else "PASSWORD"
        start, end = find.span(0)
        line = _DOCUMENT_LINE.search(text, start, end + LONGEST_STATEMENT)
        if mark and line:
            allowance.spend(start)
            literal = Literal(line[2], *line.span(2), quoted=False)
            if not literal.is_placeholder and not literal.is_word_of_code:
                yield from (SecretSpan(*line.span(group), mark) for group in (2, 3) if line[group])


def find_secret_literals(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `--from-literal=name=value`."""
    for find in _SECRET_LITERALS.telling(text, allowance):
        for literal in _LITERAL.finditer(text, *find.span(0)):
            if not Literal(literal[1], *literal.span(1), quoted=False).is_placeholder:
                yield SecretSpan(*literal.span(1), "SECRET")


def find_users(head: Head, text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `curl -u user:password`."""
    for find in head.telling(text, allowance):
        yield from _user_and_password(text, *find.span(1))


def has_password(word: str) -> bool:
    """Say whether a word behind `-u` is `user:password`: a URL, a place and `:/` of `git add -u :/` are not."""
    user, _, password = word.partition(":")
    secret = password.strip("\"'{} ")
    is_path = secret[:1] in ("/", ":") and not user
    is_form = word.startswith("<") and word.find(">") in (-1, len(word) - 1)  # `--user <user:password>`
    return bool(secret) and not is_path and not is_form and "::" not in word and "://" not in word


def _user_and_password(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    if text[start] in "\"'":
        end = closing_quote(text, start) or max(unquoted_end(text, start), end)
    user, _, password = text[start:end].partition(":")
    secret = password.strip("\"'{} ")
    if not has_password(text[start:end]) or user.endswith("[REDACTED"):
        return
    if not Literal(secret, start, end, quoted=False).is_placeholder:
        yield SecretSpan(start + len(user) + 1, end - (text[end - 1] in "\"'"), "PASSWORD")


def find_cookies(text: str, allowance: Allowance) -> Iterator[SecretSpan]:
    """Find `curl -b name=value`."""
    for find in _COOKIE.telling(text, allowance):
        yield SecretSpan(*find.span(1), "COOKIE")


# Each by itself: where one stands in a text, the others need not be sought in all of it.
COMMAND_FINDERS = (
    *(
        Finder.of(head, partial(find, head))
        for heads, find in (
            (_TOLD, find_passwords), ((_PIPED, _HANDED, _SSHPASS), find_piped_passwords),
            ((_FED, _FILLED), find_documents),
            (POSITIONAL, find_positional_passwords), ((_USER, _JOINED_USER), find_users),
        )
        for head in heads
    ),
    Finder.of(_SECRET_LITERALS, find_secret_literals),
    Finder.of(_COOKIE, find_cookies),
)  # fmt: skip
