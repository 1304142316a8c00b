"""Forms in which people hand passwords over: documents, titles, tuples, commands; and what resembles them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def made(kind: int, form: str) -> str:
    """Make up a password as people do, the same for the same form: a word and a number, in a year, mixed."""
    random = Random(form)
    word = "".join(random.choices(LETTERS, k=random.randint(5, 9)))
    number = str(random.randint(1, 9999))
    return (word + number, word.capitalize() + "2024", f"{number}{word.capitalize()}x{number}")[kind]


TELLING = [
    "password = [[§]]", "local password = [[§]]", "db.password=[[§]]", "config.secret = [==[§]==]",
    "  password = [[§]],\n  user = [[bob]]", "{password=[[§]]}", "sudo -S ls <<EOF\n§\nEOF",
    "passwd --stdin bob <<EOF\n§\nEOF", "docker login -u bob --password-stdin <<'EOF'\n§\nEOF",
    "PASSWORD=$(cat <<EOF\n§\nEOF\n)", "read -r PASSWORD <<EOF\n§\nEOF", "kinit bob <<-END\n\t§\nEND",
    "passwd bob <<EOF\n§\n§\nEOF", "password = <<EOF\n§\nEOF\n", "$password = <<<EOT\n§\nEOT;",
    "password = <<~PW\n  §\nPW\n", "my $password = <<\"EOF\";\n§\nEOF\n",
    "export DB_PASSWORD=\"$(cat <<EOF\n§\nEOF\n)\"", "chpasswd <<EOF\nbob:§\nEOF",
    "cryptsetup luksOpen /dev/sda1 x <<EOF\n§\nEOF", "read DB_PASS << 'X'\n§\nX", "password = prefix + \"§\"",
    "password = PREFIX + \"§\" + suffix", "$password = $prefix . '§';", "local password = prefix .. \"§\"",
    "String password = base + \"§\";", "Dim password = prefix & \"§\"", "password := base + \"§\"",
    "db.password = user.name + \"§\"", "\"password\": prefix + \"§\"", "{password, \"§\"}",
    "[{user, \"bob\"}, {password, \"§\"}]", "{password, <<\"§\">>}", "{db_password,\"§\"}.",
    "{:password, \"§\"}", "[password: \"§\"]", "#user{password = \"§\"}", "{\"password\", \"§\"}",
    "(setq password \"§\")", "(setf password \"§\")", "(setq db-password \"§\")",
    "(defvar *db-password* \"§\")", "(define password \"§\")", "{:user \"bob\" :password \"§\"}",
    "(connect :user \"bob\" :password \"§\")", "'(password . \"§\")", "(setq user \"bob\" password \"§\")",
    "(def password \"§\")", "(let ((password \"§\")) (login password))", "(setf (password user) \"§\")",
    "(defconst smtp-password \"§\" \"Doc.\")", "Password:\n§", "User:\nbob\nPassword:\n§\n",
    "Username:\nbob\n\nPassword:\n§\n\nHost:\ndb1", "Password:\n\n§\n", "Passwort:\n§\n",
    "Database password:\n§\n", "# Password\n§\n", "## Password\n\n§\n", "# Login\n\n## Password\n§\n",
    "### Database password\n\n`§`\n", "Password\n========\n§\n", "Password\n--------\n\n§\n",
    "## Admin Password\n\n```\n§\n```\n", "## Password:\n\n§\n", "**Password**\n\n§\n", "== Password ==\n§\n",
    "*Password*\n§", "<password>\n<value>§</value>\n</password>", "<password><value>§</value></password>",
    "<db:password>\n  <db:value>§</db:value>\n</db:password>",
    "<password>\n<type>String</type>\n<value>§</value></password>",
    "<passwords>\n  <entry>§</entry>\n</passwords>", "<password>\n <value><![CDATA[§]]></value></password>",
    "vault login §", "vault login -no-print §", "vault login -method=token §", "echo § | su - bob -c ls",
    "echo § | su -c \"apt update\"", "su -c id <<< §", "echo § | openconnect --passwd-on-stdin vpn.x.org",
    "openconnect -u bob --passwd-on-stdin vpn.x.org <<< §", "echo -e \"§\\n§\" | passwd bob",
    "echo -e \"§\n§\" | passwd bob", "printf '§\\n§\\n' | passwd bob", "printf '%s\\n' § § | passwd bob",
    "(echo §; echo §) | passwd bob", "echo -e \"§\\n§\" | smbpasswd -a -s bob", "yes § | passwd bob",
    "passwd bob <<< $'§\\n§'", "mysqladmin -u root password §", "mysqladmin -u root password '§'",
    "mysqladmin -u root -pold password \"§\"", "osql -S srv -U sa -P §",
    "sqlcmd -S srv -U sa -P § -Q \"select 1\"", "sqlcmd -U sa -P'§'",
    "keytool -importkeystore -srckeystore a.p12 -srcstorepass § -destkeystore b.jks",
    "keytool -importkeystore -srckeystore a -destkeystore b -deststorepass §",
    "keytool -importkeystore -srckeystore a -srckeypass § -destkeypass x",
    "az keyvault secret set --vault-name v --name n --value §",
    "az keyvault secret set --name n --value '§' --vault-name v",
    "aws ssm put-parameter --name /db/x --type SecureString --value §",
    "aws ssm put-parameter --name /db/x --value § --type SecureString",
    "aws ssm put-parameter --name x --value \"§\" --overwrite --type \"SecureString\"",
    "aws secretsmanager create-secret --name x --secret-string §", "dotnet user-secrets set \"Db:Conn\" \"§\"",
    "dotnet user-secrets set Movies:ServiceApiKey §", "dotnet user-secrets set Foo § --project src",
    "fly secrets set FOO=§", "vault kv put secret/foo bar=§", "doppler secrets set FOO §",
    "pass insert -e foo <<< §", "echo '§' | gh secret set FOO",
    "echo -n § | gcloud secrets create foo --data-file=-", "echo -n \"§\" | docker secret create db -",
    "printf \"§\" | podman secret create db -", "echo § | wrangler secret put FOO",
    "echo § | ansible-vault encrypt_string --stdin-name x", "logged in with password §",
    "logged in as bob with password §", "I logged in with the password §", "user bob, password §",
    "User: bob, Password §", "user bob password §", "username bob, password §.", "enable password §",
    "enable secret §", "enable password 0 §", "username bob password 0 §", "username bob privilege 15 secret §",
    "line vty 0 4\n password §\n login", "enable password level 15 §", "USER bob\nPASS §",
    "USER bob\r\n331 Password required\r\nPASS §\r\n230 ok",
    "> USER bob\n< 331 please specify the password.\n> PASS §", "---> USER bob\n---> PASS §",
    "login bob, password §", "signed in with username bob and password §",
    "connect with user bob and password §", "the credentials are bob and password §", "ftp> user bob §",
]  # fmt: skip
HARMLESS = [
    "MasterUserPassword: !Ref DbPassword", "Password: !Ref DbPassword2", "  DBPassword: !GetAtt Secret.Value",
    "password: !secret wifi_password",
    "MasterUserPassword: !Sub \"{{resolve:secretsmanager:${DbSecret}:SecretString:password}}\"",
    "password: !ImportValue Stack-DbPassword", "Password: !Join [\"\", [a, b]]", "Token: !Select [0, !Ref Tokens]",
    "mysql -p mydb", "mysql -u root -p mydb", "mysql -h db -u root -p shop < dump.sql",
    "mysqldump -u root -p shop_production > x.sql", "mysql -p", "password_last_changed: 2026-01-01",
    "password_changed: 2026-01-01", "\"password_last_changed\": \"2026-01-01T10:00:00Z\"",
    "token_last_used: 2026-01-01", "secret_rotated: 2026-05-05", "passwordLastChanged = \"2026-01-01\"",
    "password_last_set: 2026-01-01", "key_last_rotated: 2026-01-01", "pwdLastSet: 2026-01-01", "pwdLastSet: 132514",
    "password_updated: 2026-01-01 10:00", "boarding pass: A12", "Boarding pass: A12B4", "ski pass: 3days",
    "bus pass: B12", "season pass: S2024", "mountain pass: K2", "Your boarding pass: 12A", "day pass: D2",
    "press pass: P55", "boarding_pass: A12", "boardingPass: \"A12\"", "second pass: x86", "first pass: O2",
    "compass: N12", "hall pass: H1", "パスワードは8文字以上で設定してください",
    "パスワードは英数字8文字以上で、記号を1つ以上含めてください。", "パスワードは90日ごとに変更してください",
    "パスワードは12文字以上、64文字以下です", "密码是8位以上的字符", "密码必须包含8个字符", "密码长度为6-16位",
    "密码至少8位", "비밀번호는 8자 이상이어야 합니다", "비밀번호는 영문과 숫자를 포함하여 8자 이상",
    "パスワード：8〜16文字", "パスワードは20文字以内", "密码：8-16位字母和数字", "密码应为6到20个字符",
    "パスワードが3回間違っています", "Пароль должен содержать 8 символов",
    "пароль из 8 символов", "Пароль: не менее 8 символов",
    "รหัสผ่านต้องมี 8 ตัว", "http://host:8080@x", "http://localhost:3000@x", "https://example.com:443@evil.com",
    "http://127.0.0.1:8080@x", "http://db.internal:5432@x/", "Password: [[Password policy]]",
    "passwords = [[1, 2], [3, 4]]", "tokens = [[1, 2]]", "tokens = [[a, b]]", "see [[password]]",
    "password: [[Reset your password]]", "token_ids = [[101, 2023, 102]]", "tokens = [[\"a\",\"b\"]]",
    "passwords = [[]]", "cat <<EOF\nhello1\nEOF",
    "password_help=$(cat <<EOF\nPlease enter your password below\nEOF\n)", "cout << password << endl;\nfoo2();\n",
    "cat <<EOF > x\nfoo1\nEOF", "policy = <<EOF\n{\"a\": 1}\nEOF", "secret_policy = <<EOF\nabc1\nEOF",
    "password = <<EOF\nThe password of the user\nEOF", "sudo tee x <<EOF\nline1\nEOF",
    "PASSWORD=$(cat <<EOF\n${OTHER}\nEOF\n)", "password << 2;\nfoo3\n", "password = prefix + \"_\"",
    "password_label = \"Password\" + \"1\"", "token = prefix + \"_token\"", "password = name + \": \"",
    "password = prefix + suffix", "key = prefix + \"/\" + id1", "print(\"password\" + \"is 8 chars\")",
    "password = getpass(\"Password for \" + user)", "token = header + \".\" + payload",
    "secret_name = env + \"/db2\"", "raise ValueError(password + \"is too short\")",
    "passwordField = \"#\" + \"password1\"", "password = \"\".join(x) + \"\"", "token = scheme + \" \" + value",
    "password_url = base + \"/reset2\"", "{password, Password}", "{error, \"bad password\"}",
    "{password, \"Password\"}", "{password, required}", "{password, string}", "{password_label, \"Password1\"}",
    "{token, \"abc\"}", "{pass, 3}", "{key, \"value1\"}", "(setq password nil)",
    "(define password-label \"Password 1\")", "(defvar password-cache nil \"Cache of 2 passwords.\")",
    "{:password nil}", "{:password string?}", "(defun password (x) \"Return 2.\")",
    "(setq password-file \"~/.pw2\")", "(s/def ::password string?)", "(defvar password-word-equivalents \"see\")",
    "[:input {:type :password :placeholder \"Password\"}]", "(:password \"Password\")", "Password:\nrequired",
    "Password:\n\nForgot it?", "Username:\nPassword:\nLogin", "Password:\nRemember me", "Password:\nuser: x1",
    "password:\n- item1", "Password:\nThe password must have 8 characters", "passwords:\nsee page2.",
    "Password:\n1. Open the page", "Password:\n8 characters", "Password:\nhttps://x.org/reset1", "Token:\nstep1\n",
    "Password:\n  type: string2", "Password:\n- min 8", "Password:\n(8+ characters)", "Secrets:\nchapter1\n",
    "Password:\n* * *", "## Password\n\nThe password must have 8 characters.", "## Password\n\n1. Open page2",
    "# Password\n\n[link](x1)", "## Password reset\n\nstep1", "## Tokens\n\nword1\n",
    "Password\n========\nA password is a word.", "## Passwords\n\n- use 12 characters",
    "## Password\n\n## Username2\n", "## Password\n\nUsername2:", "Password policy\n===\nv2\n",
    "## Password\n\nOptional\n", "## Secret\n\nsection3\n", "## Password\n\n![img2](x)", "## Password\n\n<b1>",
    "## Password\n\n```\n$ passwd bob1\n```\n", "<password>\n<value/>\n</password>",
    "<password><type>String</type></password>",
    "<password>\n<description>At least 8 characters</description></password>",
    "<password><minLength>8</minLength></password>", "<xs:element name=\"password\"><xs:simpleType>",
    "<passwords><count>12345678</count></passwords>", "<password><value>${pw1}</value></password>",
    "<token><id>Abc12345</id></token>", "<password><value>required</value></password>", "vault login",
    "vault login -method=userpass username=bob", "vault login --help", "su -c \"apt update\"", "su - bob -c ls",
    "echo hi | tee x", "echo $PW | su - bob", "echo -e \"a\\nb\" | sort", "echo -e \"$PW\\n$PW\" | passwd bob",
    "mysqladmin -u root password", "mysqladmin -u root -p password", "osql -S srv -E",
    "sqlcmd -S srv -Q \"select 1\"", "keytool -list -keystore a.jks",
    "az keyvault secret set --vault-name v --name n --file f1", "az tag create --value x1",
    "aws ssm put-parameter --name x --type String --value abc1", "aws ssm get-parameter --name x1",
    "dotnet user-secrets list", "dotnet user-secrets set \"Db:Conn\" \"$CONN\"",
    "dotnet user-secrets init --project p1", "vault kv get secret/foo1", "openconnect vpn1.x.org", "yes | passwd",
    "az keyvault secret set --name n --value \"$VALUE1\"", "fly secrets list", "echo hello1 | grep x",
    "vault kv put secret/foo @data.json", "echo \"done2\" | mail bob", "the vault login page",
    "doppler secrets set FOO", "logged in with password authentication", "logged in with password",
    "with password protection", "user bob, password required", "user bob, password expired",
    "user bob, password not set", "username and password v2", "enable password encryption",
    "service password-encryption", "enable password reset", "enable secret scanning", "no enable password",
    "PASS src/foo1.test.js", "PASS tests2", "ok  \tpkg/x1 0.2s\nPASS", "USER bob\nPASS_MAX 5", "--- PASS: TestA1",
    "USER node\nRUN pass1", "Dockerfile:\nUSER app\nCOPY x1 y", "username bob password encrypted",
    "users with password older than 90 days", "logged in with password (sha256)", "login with password md5",
    "user 42, password policy v2", "enable password caching", "the user bob, password and email2",
    "user, password, host1", "user=bob, password, 2nd", "USER PASS A1", "enable password 8 characters or more",
    "user bob, password 3 times wrong",
]  # fmt: skip


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("form", TELLING)
def test_a_password_is_redacted_in_whatever_form_it_is_handed_over(form: str, kind: int) -> None:
    secret = made(kind, form)
    text = form.replace("§", secret)
    assert secret not in SANITIZER.redact(text)
    assert secret not in SANITIZER.redact(f"See below.\n\n{text}\n\nThat is all.")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_has_such_a_form_and_no_password_stays(text: str) -> None:
    assert SANITIZER.redact(text) == text


def test_a_version_is_told_from_a_password_that_begins_like_one() -> None:
    assert "v21EGENAtSb" not in SANITIZER.redact("# Password\n\nv21EGENAtSb")
    for version in ("v2beta", "v21", "TLSv1.2", "SSLv23_METHOD", "v1-ALPHA"):
        assert SANITIZER.redact(f"# Password\n\n{version}") == f"# Password\n\n{version}"


def neighbours() -> Iterator[tuple[str, str]]:
    """Make up texts of a seed that hold a secret, and with each the secret; those that hold none have an empty one."""
    random = Random(15)

    def word(least: int = 4, most: int = 9) -> str:
        return "".join(random.choices(LETTERS, k=random.randint(least, most)))

    def digest() -> str:
        return "".join(random.choices("0123456789abcdef", k=random.choice([32, 40, 64])))

    def number() -> int:
        return random.randint(1, 400)

    names = ["password", "db_password", "PASSWORD", "passwd", "user_pwd", "admin_pass"]
    for _ in range(200):
        name, secret = random.choice(names), f"{word()}{random.choice('-_.!')}{number()}{word().upper()}"
        key = random.choice(["api_key", "apiKey", "client_secret", "db.secret_key", "accessToken"])
        equals, mark = "=" * random.randint(0, 3), random.choice(["plain", "plainText", "clear", "clearText"])
        other = random.choice([f"${word()}", f'"${word()}_{word()}"', f'"${name}{number()}"', f"${word().upper()}"])
        compare = random.choice(["=", "==", "!="])
        plain = word(6, 9)
        yield from [
            (f"{key} = [{equals}[{secret}]{equals}]", secret),
            (f"local {key} = [{equals}[{word(10, 20)}{word().upper()}{(long := word(10, 20))}]{equals}]", long),
            (f"<{name}><{mark}>{plain}</{mark}></{name}>", plain),
            (f"<user>{word()}</user>\n<{name}>\n  <{mark}>{secret}</{mark}>\n</{name}>", secret),
            (f"pass: {number()}/{secret}", secret),
            (f"[[ ${name} {compare} {secret} ]]", secret),
            (f"${name} = '${secret}';", secret),
            (f"パスワードは{secret}です", secret),
            (f"{random.choice(['passwd', 'read password'])} \"{secret}\"", secret),
            (f"{random.choice(['', 'tests ', 'Total: '])}pass: {number()}/{number()}", ""),
            (f"fail: {number()}, pass: {number()}/{number()}", ""), (f"Pass: {number()}%", ""),
            (f"pass: {number() % 100}.{number() % 10}%", ""), (f"[[ ${name} {compare} {other} ]]", ""),
            (f"if [ \"${name}\" {compare} {other} ]; then", ""), (f"${name} = {other};", ""),
            (f"パスワードは{number()}文字以上。SHA256: {digest()}", ""),
            (f"パスワード規則のファイルの{random.choice(['SHA256', 'MD5', 'SHA-1', 'sha512'])}は{digest()}です", ""),
            (f"密码文件的{random.choice(['SHA256', 'MD5', 'sha1'])}: {digest()}", ""),
            (f"(read-passwd \"{random.choice(['Password', 'Passphrase', 'New password', 'Token'])}: \")", ""),
            (f"prompt-password \"{random.choice(['Your', 'Enter', 'Old'])} password{random.choice(':?>')} \"", ""),
        ]  # fmt: skip


@pytest.mark.parametrize("is_telling", [True, False])
def test_neighbours_of_these_forms_are_told_apart(is_telling: bool) -> None:
    wrong = []
    for text, secret in neighbours():
        if bool(secret) == is_telling:
            redacted = SANITIZER.redact(text)
            wrong += [text] if (secret in redacted if secret else redacted != text) else []
    assert wrong == []
