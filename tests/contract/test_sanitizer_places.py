"""Places where models write secrets: encodings, files, command lines; and what resembles them."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from retrycontract.contract.configuration import RetryConfiguration
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from tests.contract.test_sanitizer_commands import COMMANDS, SECRET

SANITIZER = ValueSanitizer()


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def nested(value: Any, levels: int) -> str:
    """Write JSON in a string of JSON, so many times."""
    for _ in range(levels):
        value = json.dumps(value)
    return str(value)


PEM_LINE = "abcdEFGH1234" + "ijklMNOP5678"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx1\n{PEM_LINE}\n-----END RSA PRIVATE KEY-----"
BASIC = b64(f"ana:{SECRET}")

ENCODED = [
    (f"redirect=https%3A%2F%2Fx.org%2Fcb%3Fpassword%3D{SECRET}%26user%3Dana", SECRET),
    (f"https%3A%2F%2Fana%3A{SECRET}%40x.org%2Fa", SECRET),
    (quote(json.dumps({"password": SECRET})), SECRET),
    (quote(PEM), PEM_LINE),
    (f"Authorization: Basic {BASIC}", BASIC),
    (json.dumps({"auths": {"registry": {"auth": BASIC}}}, indent=2), BASIC),
    *[(nested({"password": SECRET}, levels), SECRET) for levels in (1, 2, 3, 4)],
    *[(nested({"key": PEM}, levels), PEM_LINE) for levels in (1, 2, 3)],
    (f'{{"pass\\u0077ord": "{SECRET}"}}', SECRET),
    (f"{{\\u0022password\\u0022: \\u0022{SECRET}\\u0022}}", SECRET),
    (f'<x a="{{&quot;password&quot;:&quot;{SECRET}&quot;}}">', SECRET),
    (f"密码：{SECRET}", SECRET),
    *[
        (f"<a href='data:{kind};base64,{b64(text)}'>", b64(text))
        for kind, text in (
            ("text/plain", f"password={SECRET}"),
            ("application/json;charset=utf-8", json.dumps({"password": SECRET})),
        )
    ],
    (f"ｐａｓｓｗｏｒｄ＝{SECRET}", SECRET),
    (f"contraseña: {SECRET}", SECRET),
    (f"password = “{SECRET}”", SECRET),
]

FILES = [
    f"A=1\nDB_PASSWORD={SECRET}\nB=2", f"A=1\\nDB_PASSWORD={SECRET}\\nB=2", f"export API_TOKEN={SECRET}",
    f'$env:API_TOKEN = "{SECRET}"', f"set DB_PASSWORD={SECRET}", f"ENV API_KEY {SECRET}9Zx81", f"ARG TOKEN={SECRET}",
    f"database:\n  user: ana\n  password: {SECRET}\n", f"password: |\n  {SECRET}\n", f"secret: >-\n  {SECRET}\nx: 1",
    f'[db]\npassword = "{SECRET}"', f"[db]\npassword={SECRET}", f"spring.datasource.password={SECRET}",
    f"<password>{SECRET}</password>", f"<password><![CDATA[{SECRET}]]></password>",
    f'<user name="a" password="{SECRET}"/>', f"<key>apiToken</key>\n<string>{SECRET}</string>",
    f"CREATE USER a IDENTIFIED BY '{SECRET}'", f"CREATE USER a IDENTIFIED BY {SECRET} DEFAULT",
    f"ALTER ROLE a WITH PASSWORD '{SECRET}'", f"SET PASSWORD FOR a = PASSWORD('{SECRET}')",
    f"GRANT ALL ON *.* TO 'a'@'%' IDENTIFIED BY '{SECRET}'", f"alter user a\n  identified by {SECRET};",
    f"IDENTIFIED BY '{SECRET}'", f"create user a identified with mysql_native_password by '{SECRET}'",
    f"UPDATE users SET password='{SECRET}' WHERE id=1", f"Set-Cookie: session={SECRET}; Path=/",
    f'document.cookie = "sid={SECRET}; path=/"', f"kind: Secret\nstringData:\n  plain: {SECRET}\n",
    f"machine x login a password {SECRET}", f"//registry/:_authToken={SECRET}", f"Server=h;Uid=a;Pwd={SECRET};",
    f"jdbc:mysql://h/db?user=a&password={SECRET}", f"**Password:** {SECRET}", f"Das Passwort lautet: {SECRET}",
]  # fmt: skip

ASSIGNED = [
    *(
        f"{before}password = {prefix}\"§\""
        for before in ("", "let ", "val ")
        for prefix in ("f", "F", "rf", "s", "r#", "$", "L")
    ),
    "password=f'§'", "const password = /*x*/ \"§\";", "f(password=f\"§-{n}\")",
    *(
        f"tool {flag} {option} §"
        for flag in ("--no-password", "--password-stdin", "-genkey", "--ask-pass -v", "--token")
        for option in ("--password", "-storepass", "--vault-password", "--token")
    ),
    "msg=login password=\"§\"", "INFO connect api_key=§ host=db", "shipping password=§", "auth login passwd='§'",
    "let password: &str = \"§\";", "const API_KEY: &'static str = \"§\";", "let secret = String::from(\"§\");",
    "let password: Option<&str> = Some(\"§\");", "let pwd = env::var(\"X\").unwrap_or(\"§\");",
    "password: Optional[str] = '§'", "password: str | None = '§'", "password = SecretStr(\"§\")", "(password := \"§\")",
    "password: str = Field(default=\"§\")", "api_key = os.getenv(\"K\") or \"§\"", "pwd = os.environ.get('K', '§')",
    "password = (\n    \"§\"\n)", "user, password = \"ana\", \"§\"", "password, user = \"§\", \"ana\"",
    "secret = None if x else '§'", "password = \"x1\" + \"§\"", "os.putenv(\"API_SECRET\", \"§\")",
    "add_argument(\"--password\", help=\"of the db\",\n  default=\"§\")", "const password = process.env.P || '§';",
    "const apiKey = process.env.P ?? '§';", "private password?: string = '§';", "const pwd = dev ? '§' : null;",
    "password ??= '§';", "localStorage.setItem('token', '§')", "char password[32] = \"§\";", "wchar_t pwd[] = L\"§\";",
    "QString password = QString(\"§\");", "string Password { get; set; } = \"§\";", "Dim password As String = \"§\"",
    "val password: String? = \"§\"", "val pwd = System.getenv(\"X\") ?: \"§\"", "Map(\"password\" -> \"§\")",
    "req.Header.Set(\"X-Api-Key\", \"§\")", "password <- \"§\"", "set(DB_PASSWORD \"§\")", "set -x DB_PASSWORD §",
    "(setq db-password \"§\")", "define(DB_PASSWORD, '§');", "-define(PASSWORD, \"§\").", "pwd VARCHAR2(30) := '§';",
    "DECLARE @password NVARCHAR(50) = '§'", "UPDATE users SET password = MD5('§')", "ENV.fetch('PASSWORD', '§')",
    "page.getByLabel('Password').fill('§')", "driver.find_element(By.ID, \"password\").send_keys(\"§\")",
    "document.getElementById('password').value = '§'", "fill_in \"Password\", with: \"§\"",
    "{\"user\": \"a\", \"password\" \"§\"}", "{\"password\": \"\"§\"\"}", "{\"password\": /* x */ \"§\"}",
    "{\"password\": \"\" + \"§\"}", "{\"api_key\", \"§\"}", "expect \"assword:\" { send \"§\\r\" }",
    "expect { \"password:\" { send \"§\\r\" } }", "expect \"*assword:*\"\nsend -- \"§\\r\"",
    "child.expect(\"password:\", timeout=5)\nchild.sendline(\"§\")", "keyring.set_password('github', 'bob', '§')",
    "password = 'a1''§''b2'", "{'password': 'x''§'}", "UPDATE u SET password = 'a1''§' WHERE id = 'b'",
    "curl -u \"bob:correct horse §\" http://x",
    "signInWithEmailAndPassword(auth, 'a@b.org', '§')", "accounts.create_password(\"service\", \"§\")",
]  # fmt: skip

HARMLESS = [
    "np.exp(2j*pi*f1/fs)", "the exp claim requires that the current date/time", "exp(x + 1/x)", "exp pi/180",
    "git add -u :/", "perldoc -u Some::Modulename", "token: OAuth2Token", "password: SecretStr", "key: Ed25519Key",
    "if token == 0x00:", "$light-token-str: #0451a5;", "PWD: '/Users/ana'", "-v `pwd`:/data",
    "authorization = authorization.split()", 'authorization = self.headers.get("authorization")',
    "github.com/x/y v1.2.3 h1:qnmsTTtNeDZhTdmOYsxxjBzMmqDKK3SFdjcQLBBuA5c=",
    "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8", "wandb login --relogin", "git config user.name Ana",
    "docker.exe login -u ana", "docker build \\\n  -p \\\n  .", "+ password = get_password()",
    "the user bob > ana", "cargo login asks for a token", "AUTH is the command", "snmp-server community public RO",
    '{"content": "Password:\\nRequired", "b": 1', "db2 connect to x user u using the console", "user x on >",
    'password = f"{settings.password}"', 'token = f"{user}:{pw}"', "password = f'{prefix}-{suffix}'",
    'headers = {"Authorization": f"Bearer {token}"}', "tool --no-password --token --verbose",
    "tool --no-cache --key-file a.pem",
    "max_tokens: 5", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "8f14e45f-ceea-467f-a9c4-0e2b1d5a7c33",
    "www.example.com", "report.final.pdf", "1.2.3", "Choose a strong password and never share it.",
    "The password is required.", "The password is wrong", "password = get_password()", "password = getpass.getpass()",
    "token: str", "token: Optional[str] = None", "os.environ[\"TOKEN\"]", "token = os.environ[\"TOKEN\"]",
    "token = os.getenv(\"GITHUB_TOKEN\")", "api_key=settings.API_KEY", "<your-token>", "TOKEN=<your-token>",
    "api_key: ${TOKEN}", "password=${DB_PASSWORD}", "password=xxxx", "api_key = \"xxxxxxxx\"",
    "API_KEY=your_api_key_here", "api_key: \"YOUR_API_KEY\"", "password: ********", "password: \"•••••\"",
    "token=...", "secret: <secret>", "Authorization: Bearer <token>", "Authorization: Bearer ${TOKEN}",
    "nmcli device wifi list", "rabbitmqctl list_users", "twine check dist/x", "curl -sSL http://x:80/a",
    "unrar x a.rar",
    "http GET example.org -v", "openssl passwd -help", "useradd -m ana", "gh secret list", "lftp -u ana ftp://x",
    "data:text/plain;base64,TGV0IHVzIG1lZXQgYXQgdGVuIG8nY2xvY2s=", "curl -H \"Authorization: Bearer $TOKEN\" x",
    "curl -u user:$PASS x", "mysql -u root -p",
    "mysql -u root -p < dump.sql", "git log -p main", "cp -p a b", "mkdir -p /srv/app", "tar -xpf a",
    "docker run -p 8080:80 nginx", "ssh -p 2222 host", "python -u main.py", "sort -u file", "100%", "50%20of",
    "%d tokens", "a%20b%3Dc", "https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc", "&lt;b&gt;x&lt;/b&gt;", "key: value",
    "primary key", "for key, value in items:", "if (token === null) return;", "token = next(tokens)",
    "password_field = forms.CharField()", "self.password = password", "password: { type: string }",
    "\"password\": {\"type\": \"string\", \"minLength\": 8}", "passwordInput.value",
    "<input type=\"password\" name=\"password\">", "<label>Password</label>", "SELECT password FROM users",
    "password VARCHAR(255) NOT NULL", "author: Ana",
    "tokenizer = AutoTokenizer.from_pretrained(\"bert-base-uncased\")", "const { token } = useAuth();",
    "session = requests.Session()", "cookie: true", "auth: none", "pin: left", "key=lambda x: x[1]",
    "sorted(d, key=len)", "import secrets", "from auth import login", "auth_required", "# TODO: rotate keys",
    "The API key is stored in the vault.", "Passwort vergessen?", "signature: def f(x)", "print(f\"Token: {token}\")",
    "\"token\": \"the\"", "{\"name\": \"token\", \"type\": \"string\"}", "cookies=None",
    "private_key_path = \"/etc/ssl/key.pem\"", "ssh-keygen -t ed25519", "keyboard shortcuts: ctrl+c",
    "password reset link", "login page at /login", "access token expired", "bearer of good news",
    "basic understanding", "Bearer token", "token bucket algorithm", "secret santa", "csrf_token()",
    "{{ csrf_token }}", "{% csrf_token %}", "@PasswordProperty", "pass the salt", "passport: A", "bypass=true",
    "compass: north", "x = y if key else z", "max_tokens=4096",
    "\"usage\": {\"prompt_tokens\": 12, \"total_tokens\": 30}", "sk-learn", "sk-SK", "key-value-store-configuration",
    "pat-downs", "test_user_can_login_with_password", "secret_key_base is missing", "v1.0-beta", "sha256:abc",
    "eyJust", "SG.UN", "AKIA", "AC power adapter", "re_compile_all_the_patterns",
    "Each order is identified by its number.", "Users are identified by email address.", "identified by UUID 4",
    "create the objects identified by name", "We grant rights to those identified by 2 keys",
    "WHO IDENTIFIED BY Smith et al.", "def parse(token):\n    \"\"\"Parse it.\"\"\"\n",
    "def parse(a,\n  token):\n    \"\"\"Parse it.\"\"\"\n", "def login(self, username, password):\n    \"Log in.\"\n",
    "class Session:\n    'Session 1 of 2.'\n", "def f(a) -> AccessToken:\n    \"Make it 1.\"\n",
    "if not self.api_key:\n    \"unreachable-1\"\n", "if password != password2:\n    fail()",
    "if token == START_ELEMENT:", "if a.token !== b.tokens {", "%wheel ALL=(ALL) NOPASSWD: /bin/systemctl",
    "#define SYS_a_secret __NR_a_secret", "password: Option<String>,", "fn f(password: Option<&str>) -> X {",
    "token, prefix=prefix", "netloc = f(password=password, netloc=netloc)",
    "'RawTokenFormatter': ('pygments.formatters.other', 'Raw tokens')", "_token = r'(?:[%s]+|%s)'",
    "jwt.decode(token, key, algorithms=['RS256'])", "set_password(user, \"new_password1\", commit=commit)",
    "expect \"Password:\"\nsend \"$password\\r\"", "expect \"login:\"\nsend \"bob1\\r\"",
    "{\"password\": \"\", \"user\": \"bob1\"}", "session[\"theme\"] = \"dark2\"",
    "Token.Comment: \"italic #A3AAB2\"", "SERVER_AUTH = \"1.3.6.1.5.5.7.3.1\"", "label.password = Passwort",
    "Passwort: mindestens 12 Zeichen", "mot de passe : obligatoire", "contraseña: mínimo 8 caracteres",
    "Пароль: обязательное поле", "Password: must be changed every 90 days", "sk_PKCS12_SAFEBAG_num(sk)",
    "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
    "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKkH4t", "1 5211 5212 5213 5214 5215",
    "Message-ID: <CAF1x2Kd8f7GhJ3kLmN9pQrStUvWxYz0a1b2c3d@mail.example.org>",
    "M0 0h24v24H0zM19 3H5c-1v14c0v1l1h4m2H4v2h4v2h8v2h8v6h7v8z",
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), ENCODED)
def test_a_secret_behind_an_encoding_is_redacted(text: str, secret: str) -> None:
    redacted = SANITIZER.redact_text(text)
    assert secret not in redacted
    assert "[REDACTED: " in redacted
    assert SANITIZER.redact_text(redacted) == redacted


@pytest.mark.parametrize("text", [*FILES, *COMMANDS, *(text.replace("§", SECRET) for text in ASSIGNED)])
def test_a_secret_in_a_file_or_a_command_line_is_redacted(text: str) -> None:
    redacted = SANITIZER.redact_text(text)
    assert SECRET not in redacted
    assert SANITIZER.redact_text(redacted) == redacted
    assert SECRET not in str(SANITIZER.redact({"content": f"first line\n{text}\nlast line"}))
    assert SECRET not in SANITIZER.preview({"command": text})


def test_what_stands_before_a_secret_stays() -> None:
    text = f'let password: Option<&str> = Some("{SECRET}");\nexpect {{ "password:" {{ send "{SECRET}\\r" }} }}'
    text = f'{text}\nkeyring.set_password("system", "username", "{SECRET}")'
    assert SANITIZER.redact_text(text) == text.replace(SECRET, "[REDACTED: PASSWORD]")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_resembles_a_secret_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text
    assert SANITIZER.redact({"text": [text]}) == {"text": [text]}


LISTS = [
    *[shlex.split(text) for text in COMMANDS],
    ["mysql", "-uroot", f"-p{SECRET}"], ["/usr/bin/mysql", "-u", "root", f"-p{SECRET}"],
    ["C:\\bin\\mysql.exe", f"-p{SECRET}"], ["sudo", "mysqldump", f"-p{SECRET}", "db"], ["mysqladmin", f"-p{SECRET}"],
    ["mariadb", f"-p{SECRET}"], ["docker", "exec", "db", "/usr/bin/mysql", f"-p{SECRET}"],
    ["mysql", "-P", 3306, f"-p{SECRET}"],
    ["sshpass", f"-p{SECRET}", "ssh", "a@b"], ["podman", "login", "-u", "x", "-p", SECRET, "reg"],
    ["redis-cli", f"-a{SECRET}"], ["ldapsearch", "-D", "cn=a", "-w", SECRET],
    ["smbclient", "//x/y", "-U", f"a%{SECRET}"],
    ["net", "use", "Z:", "\\\\srv\\s", SECRET], ["net", "user", "bob", SECRET, "/add"], ["xfreerdp", f"/p:{SECRET}"],
    ["htpasswd", "-b", "f", "ana", SECRET], ["openssl", "rsa", "-passin", f"pass:{SECRET}"], ["unzip", f"-P{SECRET}"],
    ["sqlplus", f"scott/{SECRET}@db"], ["curl", f"-uana:{SECRET}"], ["curl", "-b", f"sid={SECRET}"],
    ["sh", "-c", f"mysql -uroot -p{SECRET}"], ["mysql", f"-pall of {SECRET}; is it|\"so"], [f"PASSWORD={SECRET}"],
    ["echo", SECRET, "|", "sudo", "-S", "ls"], [["mysql", f"-p{SECRET}"]], {"env": [f"DB_PASSWORD={SECRET}"]},
    {"command": "mysql", "args": ["-uroot", f"-p{SECRET}"]}, {"args": [f"-p{SECRET}"], "command": "/usr/bin/mysql"},
    {"command": ["docker", "login"], "args": ["-u", "x", "-p", SECRET]},
    {"program": "mysql", "arguments": f"-p{SECRET}"},
    {"mcpServers": {"db": {"command": "docker", "args": ["exec", "db", "mysql", f"-p{SECRET}"]}}},
    {"entrypoint": ["sshpass"], "command": ["-p", SECRET, "ssh", "a@b"]},
]  # fmt: skip

HARMLESS_LISTS = [
    *[text.split() for text in HARMLESS if text.split()[0] in ("git", "cp", "mkdir", "tar", "docker", "ssh", "python")],
    ["docker", "run", "--name", "mysql", "-p", "3306:3306", "mysql"], ["-p", "8080:80"], ["-p", "22"],
    ["ssh", "-p", "22"],
    ["python", "-u", "x.py"], ["cp", "-p", "mysql", "b"], ["docker", "exec", "mysql", "mkdir", "-p", "/srv/a"],
    ["sshpass", "-e", "ssh", "-p", "2222", "host"], ["npx", "-y", "@x/mcp-server-mysql", "-path", "a/b"],
    ["tar", "-C", "/var/lib/mysql", "-pxzf", "a.tgz"], ["ls", "docs/mysql", "-p", "index.md"],
    ["mysql", "-u", "root", "-p"], ["mysql", "-path"], ["mysql", "-p", "port"], ["docker", "login", "-print"],
    ["read about mysql", "then cp -p a b"], ["docker", "login", "-u", "x", "--password-stdin"],
    ["mysql", "-p${DB_PASS}"],
    ["mysql", "-p<your password>"], ["net", "use", "help"],
    {"command": "docker", "args": ["run", "-p", "8080:80", "nginx"]},
    {"command": "npx", "args": ["-y", "mcp-server-mysql", "-path", "a"]}, {"command": "mysql", "args": ["-u", "root"]},
    {"command": "python", "args": "-u x.py"}, ["mysql", None, 7, True],
    {"command": "git", "args": ["-C", "sub/mysql", "log", "-p", "main"]},
]  # fmt: skip


@pytest.mark.parametrize("words", LISTS)
@pytest.mark.parametrize("sanitizer", [SANITIZER, ValueSanitizer(RetryConfiguration(sanitizer_mode="strict"))])
def test_a_secret_in_a_command_line_that_is_a_list_is_redacted(sanitizer: ValueSanitizer, words: Any) -> None:
    redacted = sanitizer.redact({"run": words})
    assert SECRET not in str(redacted)
    assert sanitizer.redact(redacted) == redacted
    assert SECRET not in sanitizer.preview({"run": words})
    assert SECRET not in str(sanitizer.redact(words))


WRITTEN = [
    ["--password", SECRET], ["tool", "--api-key", SECRET], ["mysql", "-u", "root", f"-p{SECRET}"],
    ["curl", "-u", f"bob:{SECRET}", "https://a.b"], ["docker", "login", "-u", "bob", "-p", SECRET],
    ["sshpass", "-p", SECRET, "ssh", "a@b"], ["redis-cli", "-a", SECRET],
]  # fmt: skip
WRITINGS: list[Callable[[list[str]], str]] = [
    lambda words: f"subprocess.run({json.dumps(words)})",
    lambda words: f"run({words!r}, check=True)",
    lambda words: f'{{"args": {json.dumps(words)}, "x": ',
    lambda words: f"cmd = {json.dumps(words, indent=2)}",
    lambda words: "new String[]{" + ", ".join(f'"{word}"' for word in words) + "}",
    lambda words: "command:\n" + "".join(f"  - {word}\n" for word in words),
    lambda words: "command:\n" + "".join(f'  - "{word}"\n' for word in words),
    lambda words: json.dumps(json.dumps(words)),
]


@pytest.mark.parametrize("words", WRITTEN, ids=lambda words: words[0])
@pytest.mark.parametrize("write", WRITINGS)
def test_a_secret_in_a_list_that_is_written_in_a_text_is_redacted(
    words: list[str], write: Callable[[list[str]], str]
) -> None:
    redacted = SANITIZER.redact_text(write(words))
    assert SECRET not in redacted
    assert redacted.count("[REDACTED: ") == 1
    assert SANITIZER.redact_text(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        '.option("--token", "the token to use")', 'options("-o", "--output", "a.txt")', '["a", "-b", "c"]',
        "run(['docker', 'run', '--name', 'mysql', '-p', '3306:3306'])", "- use mysql\n- then call it with -p\n",
        "args:\n  - -v\n  - --name\n  - a\n", '["mysql", "-p", "${PASS}"]', '["tar", "-C", "/var/lib/mysql", "-pxzf"]',
        '("--token-file", "/run/x")', '["--max-tokens", "500"]', 'f("mysql","-path")', 'choices=["mysql","-p","port"]',
    ],
)  # fmt: skip
def test_a_list_in_a_text_that_resembles_one_with_a_secret_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text


@pytest.mark.parametrize("words", HARMLESS_LISTS)
def test_a_list_that_resembles_one_with_a_secret_stays(words: Any) -> None:
    assert SANITIZER.redact({"run": words}) == {"run": words}


@pytest.mark.parametrize("unseen", ["\x07", "\x1b[0m", "\u200b", "\x85", "\u2028", "\x7f"])
def test_what_nobody_sees_in_a_list_moves_no_mark(unseen: str) -> None:
    words = ["docker", "login", "-u", f"a{unseen}b", "-p", SECRET, "x"]
    assert SANITIZER.redact(words) == [*words[:5], "[REDACTED: PASSWORD]", "x"]
    assert SANITIZER.redact(["sshpass", unseen, "-p", SECRET])[-1] == "[REDACTED: PASSWORD]"
    assert SECRET not in str(SANITIZER.redact({"command": "mysql", "args": [f"-h{unseen}", f"-p{unseen}{SECRET}"]}))


def test_of_a_list_only_the_secret_goes() -> None:
    mark = "[REDACTED: PASSWORD]"
    assert SANITIZER.redact(["mysql", "-uroot", f"-p{SECRET}", "db"]) == ["mysql", "-uroot", f"-p{mark}", "db"]
    assert SANITIZER.redact({"command": "mysql", "args": f"-uroot -p{SECRET} db"}) == {
        "command": "mysql",
        "args": f"-uroot -p{mark} db",
    }


def test_only_the_secret_behind_an_escape_is_replaced() -> None:
    text = f"a=%22b%22&next=%2Flogin%3Fpassword%3D{SECRET}%26user%3Dana"
    assert SANITIZER.redact_text(text) == text.replace(SECRET, "[REDACTED: PASSWORD]")
    text = nested({"a": "b", "password": SECRET, "c": 1}, 3)
    assert SANITIZER.redact_text(text) == text.replace(SECRET, "[REDACTED: PASSWORD]")


# A name of several words, one that an earlier word takes along, one that is too long to step back in.
@pytest.mark.parametrize("name", ["mat khau", "x = kata sandi", "import_secret api_key", "api key", "a_" * 250 + "pw",
                                  "key, " * 9 + "a.token", "token[token", "pass-key", "x@y.password"])  # fmt: skip
@pytest.mark.parametrize("sign", [" = ", "=", ": str = ", "[16] = "])
def test_a_value_is_found_beside_names_of_any_form(name: str, sign: str) -> None:
    assert SECRET not in SANITIZER.redact(f"{name}{sign}'{SECRET}'")


def test_a_long_table_with_a_flag_in_it_stays() -> None:
    rows = "".join(f"    ('{number}', '-', 'a{number}'),\n" for number in range(2000))
    table = f"TABLE = [\n    ('x', '-v'),\n{rows}]\n"
    assert SANITIZER.redact_text(table) == table
    assert SECRET not in SANITIZER.redact_text(f"{table}run(['mysql', '-p{SECRET}'])")


def test_a_text_of_nothing_but_secrets_is_redacted_from_where_it_grows_too_dense() -> None:
    lines = [f"token_{number}: {SECRET}{number}" for number in range(4000)]
    redacted = SANITIZER.redact_text("\n".join(["# accounts", *lines]))
    assert redacted.startswith("# accounts\ntoken_0: [REDACTED: TOKEN]\ntoken_1: [REDACTED: TOKEN]\n")
    assert redacted.endswith("[REDACTED: SECRET]")
    assert SECRET not in redacted
    assert SANITIZER.redact_text(redacted) == redacted


def test_a_list_of_more_secrets_than_are_judged_one_by_one_hides_all_of_them() -> None:
    secrets = [f"hZ{number}qw{number * 7}Lp" for number in range(240)]
    redacted = SANITIZER.redact([word for secret in secrets for word in ("redis-cli", "-a", secret, ";")])
    assert [secret for secret in secrets if secret in redacted] == []
