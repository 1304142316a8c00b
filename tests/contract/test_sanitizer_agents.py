"""What agents say and write of passwords as people choose them: reports, notes, forms, settings, program text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
CHOSEN = ("Sommer" + "2024!", "S3cure" + "Me_now", "Wint3rs" + "Coming!")
KEY, HEX = "x8KUCERkj9Zh" + "x9PkOZAEyXYC", "ae923d5a4fd12aab" + "fe228f219e9cb0eb"

SAID = [
    "Seeded user alice@x.org with password §", "Email alice@x.org, Password §", "Login: admin@x.org / §",
    "Password updated: §", "Password changed to: §", "Your password has been reset. The new one is §.",
    "the sudo password on web1 is §", "Password is currently §", "Reset password for bob to §", "Netflix pw §",
    "(password §)", "When prompted for the password, enter §", "At the password prompt, type it. Password: §",
]  # fmt: skip
WRITTEN = [
    '{ "pass" : "§" }', '"smtp": { "user" : "b", "pass" : "§" }', "secrets:\n  db: §", "credentials:\n  admin: §",
    'def get_password():\n    return "§"', "function dbPassword() { return '§'; }", 'const getPassword = () => "§";',
    "'password' => bcrypt('§'),", 'hashed = get_password_hash("§")', 'user.setPassword(encoder.encode("§"));',
    'token.SignedString([]byte("§"))', 'hmac.New(sha256.New, []byte("§"))', "app.use(cookieParser('§'))",
    'Algorithm.HMAC256("§")', "printf '%s' '§' > .vault_pass", "$ echo $DB_PASSWORD\n§\n", "$ printenv DB_PASSWORD\n§",
    "ssh-keygen -p -P Old1x99 -N § -f k", "ldappasswd -s § -w Other1x9", "ldappasswd -s Other1x9 -w §",
    "ALTER USER a IDENTIFIED BY 'Other1x9' REPLACE '§'", "netsh wlan connect name=x key=§",
    "snmp-server host 10.1.1.9 version 2c §", "neighbor 10.1.1.2 password §",
    "uci set wireless.default_radio0.key='§'", "UPDATE settings SET value='§' WHERE name='smtp_password';",
    "UPDATE app SET `value` = '§', changed = 1 WHERE `key` = 'db.password'", 'new PDO($dsn, "root", "§");',
    'DriverManager.getConnection(url, "sa", "§");', "-Password (ConvertTo-SecureString § -AsPlainText -Force)",
]  # fmt: skip
HELD: list[Any] = [
    {"subject": "Your new password", "body": "§"}, {"question": "What is the wifi password?", "answer": "§"},
    {"title": "WiFi password", "content": "§"}, {"uid": "12_3", "value": "§", "description": "password field"},
    {"keystrokes": "§\n", "is_password": True}, {"inputType": "password", "text": "§"},
    {"kind": "password", "data": "§"},
    {"field": "password", "old": "§", "new": "§"}, {"name": "DB_PASSWORD", "default_value": "§"},
    {"ParameterName": "/prod/db/password", "Value": "§"}, {"name": "FOO", "value": "§", "secret": True},
    {"path": ".vault_pass", "content": "§"}, {"values": [["WiFi password", "§"]]}, {"pass_confirm": "§"},
    {"snmpCommunity": "§"},
]  # fmt: skip
FIXED: list[tuple[Any, str]] = [
    # Two words with a dot between read like a member of an object, which settings have not.
    ("DB_PASSWORD=Summer.Rain22", "Summer.Rain22"), ('{"env": ["DB_PASSWORD=Blue.Fish42"]}', "Blue.Fish42"),
    ("Server=db;Uid=sa;Pwd=Summer.Rain22;", "Summer.Rain22"), ("The password is kaffee.Tasse7.", "kaffee.Tasse7"),
    ("db:\n  password: kaffee.Tasse7\n", "kaffee.Tasse7"),
    # Passwords that hold a word for one.
    ("user,password\nbob,MyPassword1!", "MyPassword1!"),
    ("| User | Password |\n|---|---|\n| bob | AdminPass2024! |", "AdminPass"),
    # Phrases, which no rule and no message is.
    ({"password": "correct horse battery staple"}, "horse"), ({"password": "the fox is here for you"}, "fox"),
    ({"password": "string theory"}, "theory"), ({"token": "required reading"}, "reading"),
    # Keys.
    (f"Use API key {KEY}", KEY), (f"Use API key {HEX}", HEX), (f"api key - {KEY}", KEY),
    ({"path": "config/master.key", "content": HEX}, HEX), ({"path": "token.txt", "content": KEY}, KEY),
    (f"function getToken() {{ return '{KEY}'; }}", KEY), ({"GH_PAT": KEY}, KEY), ({"stripeKey": KEY}, KEY),
    (f".x.org\tTRUE\t/\tTRUE\t1893456000\tsessionid\t{HEX}", HEX),
    (f"-----BEGIN OpenVPN Static key V1-----\n{HEX}\n{HEX}\n-----END OpenVPN Static key V1-----", HEX),
    (f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{KEY}{KEY}\n{HEX}{KEY}", HEX),
    (json.dumps({"k": f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"rsa\"\n{KEY}\n{HEX}"}), HEX),
    ("GOOGLE: AQ.Ab8" + "RMD5kK1eGagNOYyjV990uFoIqbLiT5B1", "RMD5kK1e"), ("npg_" + "K7xQ2mLp9RtZ", "K7xQ2m"),
    ("mlsn." + HEX + HEX, HEX), (HEX + "." + "vp8phMBfT6s2xiuL", "vp8phMBf"),
    ("https://open.feishu.cn/open-apis/bot/v2/hook/0a1b2c3d-" + "4e5f-6071-8293-a4b5c6d7e8f9", "4e5f-6071"),
    # Codes.
    ("Use 831333 as your verification code", "831333"), ("Your PayPal code is: 186227", "186227"),
    ("Your code: 115685. Do not share it.", "115685"), ("Enter 168979 to verify your account", "168979"),
    ("您的验证码是425986", "425986"), ("認証コードは 636499 です", "636499"), ("[인증번호: 449861]", "449861"),
    ("Код подтверждения: 557738", "557738"), ("Twój kod weryfikacyjny to 149639", "149639"),
    ("Doğrulama kodu: 728834", "728834"), ("mTAN: 124735", "124735"), ({"puk": "734222"}, "734222"),
]  # fmt: skip
HARMLESS: list[Any] = [
    # Flags that a program declares, and that a sentence speaks of.
    'parser.add_argument("--password", help="database password")',
    '@click.option("--password", prompt=True, hide_input=True)',
    "Use the --username and --password options instead of the URL.", "the --token flag overrides the config file",
    # Variables, members, calls and types.
    "self.password = new_password", "password: hashedPassword,", "authorization = AuthorizationServer()",
    "authorization = base64.decodebytes(authorization)", "my $password = $ENV{DB_PASSWORD};",
    'password = password.encode("latin1")', 'pass("First test");', "def seek(self, cookie, whence=0):",
    "password = settings.Password", "password: config.Password2", "    api_key=keys.Main2,",
    # What a value has to be like, and where it goes.
    "'password' => 'required|string|min:8',", "auth.password=The provided password is incorrect.",
    'API_KEY_HEADER = "X-API-Key"', 'PASSWORD_REGEX = r"^(?=.*[A-Z])(?=.*\\d).{8,}$"',
    "export const RESET_PASSWORD = 'auth/resetPassword';", "TOKEN_FETCH_BREAKER_COOLDOWN = 30.0",
    {"parameters": {"password": "string", "token": "string (required)"}},
    {"validation": {"password": "required|min:8"}},
    {"errors": {"password": ["This field is required."]}}, {"password": "Password must be at least 8 characters"},
    'const TOKEN_HEADER = "X-Auth-Token";', "password: see below", "Passwort: siehe Zettel",
    "passwd: HTTPPasswordMgr", "expected_authorization=self._expected_authorization,",
    # Packages.
    {"dependencies": {"jsonwebtoken": "^9.0.2"}}, '{"dependencies": {"jsonwebtoken": "^9.0.2"}}',
    "secretstorage==3.3.3",
    "SecretStorage 3.2 or newer required", "update for pine 4.53", "# Passes Python2.7's test suite",
    # Keys that are public.
    "PublicKey = qRCwZSKInrMAq5sepfCdaCsRJaoLe5jhtzfiw7CjbwM=", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    '"publicKey": "qRCwZSKInrMAq5sepfCdaCsRJaoLe5jhtzfiw7CjbwM="', {"credentials": "include"},
    # Notes and forms.
    {"title": "Password policy", "content": "At least 12 characters."},
    {"title": "WiFi password", "content": "unknown"},
    {"subject": "Your new password", "body": "Please choose one."}, {"description": "password field", "value": "#pw"},
    {"inputType": "text", "text": "bluefish42"}, {"name": "FOO", "value": "bar", "secret": False},
    {"path": "docs/passwords.md", "content": "later2"}, {"question": "Which port?", "answer": "5432x1"},
    "Password updated: 2024-05-01", {"title": "Password reset page", "content": "v2.1.0-beta1"},
    {"description": "password strength meter", "value": "level3"}, "your country code is 12345", "use 4000 to continue",
    "UPDATE settings SET value='true' WHERE name='password_reset';",
    "UPDATE settings SET value='12' WHERE name='password_min_length'", 'connect(url, "sa", "master")',
    "the code for chapter 12345 is on the page", "Your country code: +49", "type 123 to count", "use 42 for testing",
]  # fmt: skip


@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("form", [*SAID, *WRITTEN])
def test_a_password_that_people_chose_is_hidden_in_what_agents_write(form: str, chosen: str) -> None:
    assert chosen not in SANITIZER.redact_text(form.replace("§", chosen))


@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("form", HELD, ids=json.dumps)
def test_what_stands_beside_tells_that_a_value_is_a_password(form: Any, chosen: str) -> None:
    held = json.loads(json.dumps(form).replace("§", chosen))
    assert chosen not in json.dumps(SANITIZER.redact(held))
    assert chosen not in SANITIZER.redact_text(json.dumps({"call": held}, indent=1)), "in a text"


@pytest.mark.parametrize(("value", "secret"), FIXED)
def test_keys_codes_and_words_that_read_like_code_are_hidden(value: Any, secret: str) -> None:
    assert secret not in json.dumps(SANITIZER.redact(value), ensure_ascii=False)


@pytest.mark.parametrize("value", HARMLESS, ids=json.dumps)
def test_what_reads_like_a_secret_and_is_none_stays(value: Any) -> None:
    assert SANITIZER.redact(value) == value
