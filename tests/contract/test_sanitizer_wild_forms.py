"""Passwords as people, tools and libraries write them: in columns, sentences, calls, dumps; and what is harmless."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from tests.contract.test_sanitizer_forms import made

SANITIZER = ValueSanitizer()

TELLING = [
    # In columns, before and after a change.
    '      + password                     = "§"', "password                     : §",
    'const char *password          = "§";',
    'api_key                              = "§"', "'password'            => '§',", 'password = "Old1x9" -> "§"',
    "password: Old1x9 → §", '  ~ password = "Old1x9" => "§"',
    # A sign within the value, a label's star or colon within its quotes.
    "password: ab=§", "password: §=", "password: §==", '{"user":"b","password":"<§"}', '{"user":"b","password":",§"}',
    '{"user":"b","password":";§"}', '{"user":"b","password":")§"}', 'password = "{§"', "DB_PASSWORD=aB3k;§",
    "spring.datasource.password=aB3k<§", 'Password: aB3k"§', "<c><password>§]§</password></c>",
    '{"Password:":"§","user":"b"}', '{"password*":"§"}', "Password*: §", "Password [required]: §",
    # Beside what a test, a library, a type and a list of names look like.
    "PASS: §/x", "spring.datasource.password:§", "set_password = §", "password: §, old_password: x",
    'mail("password", "§")', "f(password=§)", "connectionString=mongodb://ana:§@localhost",
    # Sentences.
    "Here's the password:\n§", "Here is the password you asked for: §", "The password for staging is also §",
    "I changed the password from Old12345 to §", "the password, which is §, must be changed",
    "Use § as the password.", "Verwende § als Passwort.", "§ is the password for the staging box",
    "type § when asked for the password", '"§" is my new password', "Das Passwort für den Server ist §",
    "Passwort für den Server: §", "Le mot de passe de la base est §", "Mot de passe du wifi : §",
    "La contraseña del servidor es §", "Senha do banco: §", "Password del wifi: §", "Wachtwoord voor de server: §",
    "Hasło do bazy to §", "<p>Your password is <code>§</code>.</p>", "<p>Password: <b>§*§</b></p>",
    # Below a sentence, a label of a page or the end of a line.
    "Your temporary password is:\n\n§", "Ihr neues Passwort lautet:\n§", "Secret access key\n§Xy7\nHide",
    "API Key\nq7§Xy7kk9\nCopy", "Both accounts use the password\n§z9 and more",
    "Log in with the new password\n  `§z9`.", "* - Password\n  - §\n* - User\n  - bob\n",
    # In chats, prompts and asides.
    "alice: can you send me the password\nbob: sure, it's §", "[10:02] ana: pw for staging?\n[10:03] bob: §",
    "My password has always been §, don't tell", "It asks for a password; type §", "Password [q7§k9Zx]:",
    # A user and a password.
    "Login: admin / §", "creds are ana / §", "Demo credentials — a@b.c / §", "Created admin user (admin@x.io / §)",
    "Default Login**: `admin` / `§`", "Login default: admin/§", "user/pass: ana/§", "u/p: ana/§", "Testkonto: ana / §",
    "Zugangsdaten: ana/§", "Compte de test : ana / §", "初始账号 admin / §", "Логин по умолчанию: admin / §",
    # What programs print.
    "[Note] A temporary password is generated for root@localhost: §", "Password for 'https://bob@github.com': §",
    "Enter passphrase for key '/home/bob/.ssh/id_rsa': §",
    "Password for the elastic user (reset with `x -u elastic`):\n  §",
    '["password"]=>\n  string(12) "§"', 's:8:"password";s:12:"§";',
    "user        password\nbob         §\nalice       x1y2z3",
    "COPY public.users (id, name, password) FROM stdin;\n1\tbob\t§\n\\.",
    "bob:§@tcp(127.0.0.1:3306)/db?parseTime=true",
    # Files of settings.
    "bindpw §", "rootpw §", "rootpw --plaintext §", "set password §", "fastcgi_param DB_PASSWORD §;",
    "jdbc.password   §", "pasword: §", "passowrd: §", "pswd: §", "psswd: §", '{"passwrd":"§"}', "remotepass = §",
    "ldap_default_authtok = §", "WIFI_KEY=§",
    # What files hold, as a search prints it.
    "password.txt:12:§", "passwords.txt:§", 'password.py:12:PASSWORD = "§"', "password.yml:3:password: §",
    "password.py:§",
    # Program text, patterns and tables that hold one.
    'if (a.password!=="§") {', 'e.password==="§"&&n(e)', "a.password='§',a.token=c",
    'sed -i "s/password=.*/password=§/" x', "sed -i 's/password: .*/password: §/' config.yml",
    'vault.password.get("PW", "§")', 'token.set_password("§")',
    "'passwords' => ['ana' => '§'],", "'passwords' => ['§', 'Other1x9'],", 'args: ["--token", "§"]',
    "| DB_PASSWORD | USER |\n|---|---|\n| `§` | ana |", "redis:6379,password=§,ssl=True",
    # Program text.
    'curl_setopt($ch, CURLOPT_USERPWD, "bob:§");', 'curl_easy_setopt(curl, CURLOPT_PASSWORD, "§");',
    "await page.fill('input[name=\"password\"]', '§');", 'if "§" == password:', "expect(user.password).toBe('§')",
    'mysqli_connect("localhost", "bob", "§", "db");', "new PDO('mysql:host=x;dbname=d', 'bob', '§');",
    'DriverManager.getConnection("jdbc:mysql://h/db", "bob", "§");', 'pymysql.connect("localhost", "bob", "§", "db")',
    "ssh.connect('host', 22, 'bob', '§')", 'smtp.PlainAuth("", "bob@x.com", "§", "smtp.x.com")',
    'User.objects.create_user("bob", "b@x.y", "§")', "[System.Net.NetworkCredential]::new('bob','§')",
    'WiFi.begin("HomeNet", "§");', "jwt.sign({ id }, '§')", 'jwt.encode({"a":1}, "§", algorithm="HS256")',
    'hmac.new(b"§", msg, "sha256")', "crypto.createHmac('sha256', '§')", "bcrypt.hash('§', 10)",
    'generate_password_hash("§")', "{'auth': ('bob', '§'), 'timeout': 3}",
    # JSON.
    '{"DBPassword":{"Type":"String","NoEcho":true,"Default":"§"}}', '{"db_password":{"type":"string","default":"§"}}',
    '{"fields":[{"name":"id"},{"name":"password"}],"data":[[1,"§"]]}',
    '{"header":["user","password"],"body":[["bob","§"]]}',
]  # fmt: skip


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("form", TELLING)
def test_a_password_is_found_as_people_and_programs_write_it(form: str, kind: int) -> None:
    secret = made(kind, form)
    text = form.replace("§", secret)
    redacted = SANITIZER.redact_text(text)
    assert secret not in redacted
    assert SANITIZER.redact_text(redacted) == redacted


# Words that people choose, and that program text would have in other places.
WEAK = {
    "my_secret_password": ("password=§", "[client]\npassword = §\n", "export db_password=§", "default_pass = §",
                           "helm install x y --set auth.password=§", "user=bob password=§ host=x",
                           "login failed for (user=bob password=§)", "Password=§;Server=x"),
    "secret": ("postgres://app:§@db/x", "DATABASE_URL=redis://:§@r:6379", "curl https://elastic:§@h:9200/"),
    "$ecret": ("DB_PASSWORD=§", "spring.datasource.password=§", "[wifi]\npsk=§", "passwd: §",
               "Array\n(\n    [password] => §\n)"),
    "0x1234abcd": ("wep_key0=§", "DB_PASSWORD=§", "password: §", "---> PASS §", "https://x.y/c?sig=§&se=1"),
    "files": ("password = §", '{"password": "§"}', "- POSTGRES_PASSWORD=§", "PGPASSWORD=§ psql -h x"),
    "same-origin": ("password: §", '{"password": "§"}'),
    "vault:v1:9dkK2": ("password: §", "DB_PASSWORD=§"),
    "the": ("password: §\n", "mysql.pass: §"),
    "$ecretpw": ('curl -u "ana:§" https://x.io', "DB_PASSWORD=§"),
    "Summer-Time": ('$password = "§"', "password = §", "$password = '§'"),
    "SWORDFISH_X": ("| user | password |\n|---|---|\n| ana | `§` |",),
    "aB,k9x!zz": ("DB_PASSWORD=§",), "Abc.def": ("redis:6379,password=§,ssl=True",),
    "aB3dEf9hIjK1mN0pQr": ("Authorization, §", 'Bearer token="§"', 'const bearer string = "§"'),
    "hunter2": ("creds are ana / §", "Login: admin / §", "Default user: `admin`/`§`", "user/pass: ana/§",
                "Zugangsdaten: ana/§", "mit dem Passwort §", "with the password §", "utilisateur ana, mot de passe §",
                "usuario ana y contraseña §", "初始账号 admin / §", "login with ana / §", "--password §", "-pass §"),
    "Summer2024!": ("Test account: demo@x.io / §", "Login: admin/§"),
    "12345678": ("password.txt:§", "db.password:§", "app.secret:§"),
    "correcthorse": ("password::§", "db.password::§"),
    "c2VjcmV0": ("userPassword:: §", "userPassword::§"),
    "bluemonkey": (
        "define( 'DB_PASSWORD', '§' );", 'props.put("password", "§");', 'p.setProperty("db.password", "§");',
        '<property name="hibernate.connection.password">§</property>', '<entry key="password">§</entry>',
        "<name>javax.jdo.option.ConnectionPassword</name><value>§</value>", "[sudo] password for ana: §",
        "GENERATED ROOT PASSWORD: §", 'variable "db_password" { default = "§" }', "ALTER USER postgres PASSWORD '§';",
        "CREATE ROLE app WITH LOGIN PASSWORD '§';", '{"password": "§', '{"user": "ana", "password": "§',
        'password_field.send_keys("§")', 'onView(withId(R.id.password)).perform(typeText("§"))',
    ),
    "correct-horse-battery": ('curl -H "Authorization: Bearer §" https://x', "Authorization: Bearer §"),
    "swordfish": ("{user :'ana', password :'§'}", "{'user' :'ana', 'password' :'§'}"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), [(form.replace("§", word), word) for word in WEAK for form in WEAK[word]])
def test_a_weak_password_is_found_in_settings(text: str, secret: str) -> None:
    assert secret not in SANITIZER.redact_text(text)


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("form", [form for form in TELLING if form.startswith('{"')])
def test_what_was_redacted_within_json_is_json_still(form: str, kind: int) -> None:
    json.loads(SANITIZER.redact_text(form.replace("§", made(kind, form))))


HARMLESS = [
    # Pages and forms.
    '<input type="password" id="password" class="form-control" required>',
    '<input type="password" name="pw" autocomplete="new-password">', "fetch(url, { credentials: 'same-origin' })",
    # Variables, constants and types.
    "client = X(api_key=resolved_api_key)", "    password=raw_password,\n", "f(user=u, password=raw_password, n=1)",
    "session_token=aws_session_token,", "return Token.query.filter_by(access_token=token_string).first()",
    "token = TOKEN_BLOCK_BEGIN", "struct credential cred = CREDENTIAL_INIT;", "pass => $test,",
    "my $pass = $self->is_passing();", 'passwd=$(getent passwd "$user")', "password: Buffer",
    "def f(password: str=None, token: SecretStr=Depends(x)):", 'def login(user: str, password: str="", n: int=3):',
    'GRANT_TYPE_REFRESH_TOKEN = "refresh_token"', 'ENV_API_KEY = "ANTHROPIC_API_KEY"',
    "refresh_token_key = 'refresh_token'", 'id_token_signed_response_alg = "RS256"', "_DD_SIGNATURE = 0x08074b50",
    "else if (token === 'throttle' && x) {", 'elif token == "#bygroup":',
    'token = "not in"',
    "credentials = '{0}:{1}'.format(user, passwd).encode()", "user_pass = '%s:%s' % (unquote(user),",
    # Variables of shells, PowerShell and psql, descriptors, and flags with what is put in.
    'mysql -p"$PW" shop', "mysqldump -u root -p$PW shop > x.sql", "PGPASSWORD=$pw psql", 'curl -u "ana:$PW" https://x.io',
    "curl -u ana:$P https://x.io", 'helm upgrade x y --set auth.password="$PW"', 'redis-cli -a "$RP" ping',
    'kubectl create secret generic db --from-literal=password="$PW"', 'sshpass -p "$SP" ssh ana@host',
    '$password = Read-Host "Enter password" -AsSecureString', '$password = Read-Host -AsSecureString "Password"',
    '$env:PGPASSWORD = Read-Host -Prompt "pw"', "$env:PGPASSWORD = $other_pw", "$pwd = Get-Location",
    "$secret = Get-AzKeyVaultSecret -VaultName v -Name n", "CREATE USER app WITH PASSWORD :'pw';",
    "ALTER ROLE app LOGIN PASSWORD :'app_pw';", "CREATE USER app WITH PASSWORD :\"pw\";", "gpg --passphrase-fd 3 -d x",
    'cmd.extend(["--batch", "--passphrase-fd", "0"])', 'creds = "--username=%s --password=%s" % (user, pw)',
    'creds = "-u ${user} -p ${pw}"', 'token_range = "%d,%d-%d,%d:" % (start + end)', 'token_re = r"[^\\W\\d]\\w*"',
    # Ids of tests, members of modules and classes, lines of source files.
    "tests/test_password.py::test_reset PASSED [ 10%]", "FAILED tests/test_token.py::test_token_expired - KeyError",
    "tests/test_auth.py::TestPassword::test_password_too_short FAILED", "tests/x.py::TestSecret::test_2 PASSED",
    "pytest tests/test_password.py::test_reset2[a-b] -x", "Password::make($value)", "use App\\Password::make;",
    "auth::password::hash_password(x)", "src/token.py:12:5: E501 line", "  at Password.run (src/password.js:12:5)",
    "src/auth/password.ts:42:17 - error TS2322: Type", "/app/password.py:1234: DeprecationWarning: x",
    "password_reset.html.erb:1234:in `x'", "webpack:///./src/password.vue:1234", "src/password.go:1234",
    # Program text without blanks, styles, annotations, roles, modules, patterns.
    "return e.password===t&&n(e)", "function f(e,t){return e.password==t||e.pin==t}(a,b);", "return e.token==t?n(e):r",
    'if(e.token!==t.token)throw Error("token");', "a.password=b.password,a.token=c,d.secret=e(f)",
    'var t={token:"token ",keyword:"keyword"};', ".token.keyword,.token.tag{color:#d73a49}",
    'authorization = authorization[1].encode("ascii")', 'authorization = headers["authorization"]',
    'private_key: "RSAPrivateKey"', ":type passphrase: :py:data:`bytes`", ":param password: :class:`str`",
    'nobody = pwd.getpwnam("nobody")[2]', "const strongPassword = /^(?=.*[a-z])(?=.*[0-9]).{8,}$/;",
    "sed -i \"s/password=.*/password=$PW/\" app.conf", 'sed -i "s|^password: .*|password: ${PW}|" app.conf',
    # Lists of headers, variables, options and words, challenges, grammars, scripts by name.
    "Access-Control-Allow-Headers: Authorization, X-Api-Key, X-CSRF-Token",
    'WWW-Authenticate: Bearer error="invalid_token"', 'WWW_AUTH = \'Bearer error="invalid_token", scope="x"\'',
    "| `DB_PASSWORD` | required | Password of the database |\n| `MAX_TOKENS` | 4096 | Limit |",
    "| Option | Default |\n|---|---|\n| `--password` | prompt |\n| `--max-tokens` | 1024 |",
    "['pwd$', 're$read', 'x']", "'CURLOPT_PASSWORD', 'CURLOPT_READDATA'", '"DB_PASSWORD", "DB_HOST"',
    "#   token          = 1*tchar", "--from-file=password=./password.txt",
    "'passwords' => ['users' => ['table' => 'password_reset_tokens', 'expire' => 60]],",
    '{"login": "Password", "logout.first": "Bye"}', "{'a': 'Kennwort', 'login.x1' => 'Hello'}",
    '{"scripts": {"test": "jest --token", "reset-password": "node x.js"}}',
    # What is said of one.
    "        password: The password of the user.", "@pwd:                the key file password.",
    "I connect SSL/TLS here", "Values to pass to `foo_bar2`.", "Pass :meth:`peek` a default value",
    "PASS: test_login (0.03s)", "The password is required.", "Is the password still valid?",
    "credentials: oauth2 / saml2", "Login: SSO / OAuth2", "login: app/views/login2.html", "Logins: 10/20",
    "test / ubuntu-22.04", "root / 4.3G", "Login: v1/v2", "Login attempts: 3 / 5", "Test account: Stripe/acct_1",
    # Options, where they are listed and spoken of.
    "  -W, --password           force password prompt", " -pass val            passphrase source",
    "openssl pkcs12 [-help] [-passin arg] [-secret arg] [-twopass]", "  --password arg\n", "gpg --sign-key name",
    "kubectl config set-credentials NAME [--token=bearer_token] [--password=basic_password]",
    "  --secretkeyid val  the id", "-u, --user <user:password>   Server user and password",
    "Use --token instead of --api-key.", "Pass --token explicitly or set it",
    "the --ftp-user and --ftp-password command\nswitches", "Same as --pass but used for a proxy.",
    "See also --proxy-tlspassword. Added in 7.52.0.", "use a default login and password to avoid a prompt",
    "The user forgot the password\nbase64 of it is kept", "API Key\nRequired\nCopy", "Password\nutf8mb4\nEdit",
    "with the password policy", "mit dem Passwort SHA256", "the password [8 characters]:",
    "# the password\nuser: admin1x\n", "need the password? ask bob",
    # Rules, types, codes of errors, ids of keys and pins of boards.
    '{"errors":{"password":["This password is too short. It must contain at least 8 characters."]}}',
    '{"errors":{"password":["must contain 1 digit"]}}', '{"password":"must have between 8 and 64 characters"}',
    '{"Password":{"shape":"PasswordString","documentation":"<p>The password for the user.</p>"}}',
    "JSON-RPC error -32602 is the code for invalid params", "404 is the status code for missing pages",
    "To see an authorization, run:", "GnuPG key: 0x7EC2DBB6F4DBF434", "Pin: GPIO17", "LED pin = PA5",
    # Algorithms.
    "The secret is RSA-2048 encrypted.", "password is SHA-256 hashed", "The token is base64-encoded.",
    "Use SHA256 as the password hash.", "The token is HS256-signed.", "the secret is HMAC-SHA256 of the body",
    "The password for the user is Argon2id-hashed.", "The key was P-256", "password is AES-256-GCM encrypted",
    "Use a strong password as the password.", "The token for the request is also sent.",
    "The password for the user is also hashed with bcrypt.", "Type the password when asked for the password",
    "user        password\nbob         required\nalice       optional",
    # Where it lies, and what stands for it.
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbCdEf", "DB_PASSWORD=op://Private/db/password",
    '"Resource": "arn:aws:secretsmanager:*:*:secret:app/*"', "DB_PASSWORD=vault:secret/data/db#password",
    "password: file:///run/secrets/db", "passwd: files systemd", "OLDPWD=/tmp", "https://username:password@host",
    # Of libraries, kinds and addresses.
    "#define TLS1_CK_PSK_WITH_RC4_128_SHA 0x0300008A", "#define CKM_SSL3_MASTER_KEY_DERIVE          0x00000371UL",
    "const PASS8 = 0x1234abcd;", "napi_status napi_create_string_utf16(napi_env env,", '"passphrase": "string?",',
    '{"petstore_auth": ["write:pets", "read:pets"]}', "redis://[[username]:[password]]@localhost:6379/0",
    "amqp://[USER:PASSWORD@]BROKER[:PORT]", "https://user:pass@host:port/path", "authorization: Optional[str] = None",
    "gpg --keyserver hkps://keys.openpgp.org --recv-keys 5BE8A3F6C8A5C01D106C0AD820B1A390B168D356",
    "    private_key: CERTIFICATE_PRIVATE_KEY_TYPES,", "#password_encryption = scram-sha-256",
    'PASSWORD_HASHERS = [\n    "django.contrib.auth.hashers.PBKDF2PasswordHasher",\n    "x.y.ScryptPasswordHasher",\n]',
    '# METHOD can be "trust", "reject", "md5", "password", "scram-sha-256",', 'if password == "-":',
    "} else if (token === LEFT_BRACE) {", "  authorization = cast(", "PQchangePassword.restype = PGresult_ptr",
    'userpass = b":".join((to_bytes(username), to_bytes(password)))', "using llvm::Pass::doInitialization;",
    '@sensitive_variables("password1", "password2")', 'MovedAttribute("HTTPPasswordMgr", "urllib2", "urllib.request")',
    "client_secret: params.ClientSecret | NotGiven = NOT_GIVEN,", 'Authorization: OAuth realm="Example",',
    "* @GNUTLS_KX_DHE_PSK: DHE-PSK key-exchange algorithm.", "HostKeyAlgorithms sk-ssh-ed25519-cert-v01@openssh.com",
    r'{"secrets": {"description": "has a \"example.com/mount-secrets\" annotation set to \"true\". The"}}',
    # Tests by their files, what a program chooses, combines and is given, types and lists of names.
    "PASS: tests/test_core.py", "PASS: gdb.base/langs.exp: up to main", "pass: tests/unit/a2.sh", "PASS: test-1.2",
    'usable_password = value and not value.startswith("!")', "f(token=inferred)", "set_password = reset = get_password",
    "_M_token = _S_token_ord_char;", "this._noAuthorization = obj.a;", "DEFAULT_TOKEN_CHANNEL = DEFAULT_CHANNEL",
    "password: _PasswordType | None", "def f(secret: str,version: str,)", 'TOKEN = r"[a-z0-9._~-]+"',
    '["old_password", "new_password1", "new_password2"]', '("authorization", "x-amz-content-sha256")',
    'if hasattr(credentials, "with_gdch_audience"):', 'pwd = (self.password.encode("utf-8"))',
    "headers['Proxy-Authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`;",
    'register(self, name="session")\n\n    @classmethod', "# login / password\nlogin_i = (0 if x else 1)",
    "Value(name='COOKIE', index=1, number=1)", 'TOKEN = re.compile(r"^[!#$%&\'*+.^_`|~0-9A-Za-z]+$")',
    'if not is_of(kind="string", format_token=inferred):', 'keyring.get_password("system", "username")',
    '"client_secret": "clientSecret"', "'secret_namespace': 'secretNamespace',", "help_password: _StrOrPromise",
    "'PROXY', 'PROXYUSERPWD', 'RANDOM_FILE', 'RANGE'", "'URL-ENCODE',\n 'URL-PASSWORD',\n 'URL-USERID',",
    "nvidia/cu13/include/nvtx3/nvToolsExtSync.h,sha256=abc\nnvidia/cu13/include/nvtx3/nvToolsExtSync",
    "'PostgresDsn': (__spec__.parent, '.networks'),\n'Secret': (__spec__.parent, '.types'),",
    # Libraries, targets of makefiles, dumps.
    "io.jsonwebtoken:jjwt-api:jar:0.11.5:compile", "com.google.auth:google-auth-library-oauth2-http:1.19.0",
    "androidx.credentials:credentials:1.3.0", "implementation 'com.auth0:java-jwt:4.4.0'",
    "com.nimbusds:nimbus-jose-jwt:jar:9.22:compile", "git-credential-osxkeychain: git-credential-osxkeychain.o",
    "00000ed0: 2600 0000 0000 0000 a502 0000 1100 1a00", "5432 5482 5494 5477 549A 549B 5484",
    "connectionString=mongodb://localhost", "--secret=projects/p/secrets/s/versions/1",
    "existingSecret: rabbitmq-secrets-v2", "nox-session: test-3.8", "dnsAuthorization:\n  name: dnsAuthorization",
    # What has the place of a password and is none.
    'errors.put("password", "mismatch");', "define('PASSWORD_HINT', 'forgotten');", 'm.put("password", "Passwort");',
    '<string name="password">Passwort</string>', '<data name="Password"><value>Kennwort</value></data>',
    "Authorization: Bearer your-access-token", "Authorization: Bearer some-opaque-value", 'hashlib.new("sha256")',
    "[sudo] password for ana: Sorry, try again.", 'variable "db_password" { default = "" }',
    'variable "password_name" { default = "database" }', "Invalid API key provided: none", "New value: required",
    'props.put("passwordEncoder", "bcrypt");', '<property name="passwordEncoder">bcrypt</property>',
    'columns.put("password", "varchar");', 'config["password"].set("description", x)',
    'passwordInput.fill("required")', "await user.type(nameInput, 'Ana Meier2');", "git clone me@10.0.0.1:app1",
    "docker exec web2 passwd", "net use Z: \\\\nas\\share", "openssl passwd -salt xyz", "mail a:b@example.org",
    # Letters in their order, and a picture.
    'BASE62_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"',
    "data = iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAAABHNCSVQICAgIfAhkiAAABSZJREFU",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_names_or_describes_one_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text


ARGUMENTS: list[dict[str, Any]] = [
    {"command": "sudo -S ls", "input": "§"}, {"command": "docker login --password-stdin", "stdin": "§"},
    {"cmd": "gh auth login --with-token", "input": "§\n"}, {"prompt": "Password:", "response": "§"},
    {"expect": "password:", "send": "§\r"}, {"type": "password", "text": "§"}, {"x-functions-key": "§"},
    {"path": "/run/secrets/db_password", "content": "§\n"}, {"file_path": "keys/api_key.txt", "contents": "§"},
    {"Name": "/prod/db", "Value": "§", "Type": "SecureString"},
    {"DBPassword": {"Type": "String", "NoEcho": True, "Default": "§"}},
    {"db_password": {"type": "string", "default": "§"}}, {"security_answer": "§"},
    {"fields": [{"name": "id"}, {"name": "password"}], "data": [[1, "§"]]},
    {"header": ["user", "password"], "body": [["bob", "§"]]},
]  # fmt: skip


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=json.dumps)
def test_an_argument_is_known_by_what_stands_beside_it(arguments: dict[str, Any], kind: int) -> None:
    secret = made(kind, json.dumps(arguments))
    given = json.loads(json.dumps(arguments).replace("§", secret).replace("\\u00a7", secret))
    assert secret not in json.dumps(SANITIZER.redact(given))


ORDINARY: list[Any] = [
    {"prompt": "reset password", "response": "Click the link to reset it"}, {"command": "ls -S", "input": "hello"},
    {"path": "src/auth/token.py", "content": "import os"}, {"path": "docs/password", "content": "How to reset it"},
    {"type": "password", "text": "Enter your password"}, {"type": "password", "label": "Password", "name": "pw"},
    {"password": {"type": "string", "description": "The password", "default": None}}, {"session": {"default": 3600}},
    {"query": "SELECT * FROM t WHERE id = :id", "params": {"id": "abc123"}}, {"prompt": "A story",
    "response": "Once"},
]  # fmt: skip


@pytest.mark.parametrize("arguments", ORDINARY, ids=json.dumps)
def test_arguments_without_one_stay(arguments: Any) -> None:
    assert SANITIZER.redact(arguments) == arguments
