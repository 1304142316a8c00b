"""Values that stand apart from their names, at their places in calls, and what sentences say of codes and changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from tests.contract.test_sanitizer_forms import made

SANITIZER = ValueSanitizer()
TELLING = [
    'Parameters:\n  DBPassword:\n    Type: String\n    NoEcho: true\n    Default: §',
    'Parameters:\n  DBPassword:\n    NoEcho: true\n    Default: "§"\n    Type: String',
    'resource "aws_ssm_parameter" "p" {\n  name  = "/app/db_password"\n  type  = "SecureString"\n  value = "§"\n}',
    'resource "aws_ssm_parameter" "p" {\n  name  = "/app/db_password"\n  type  = "SecureString"\n  value = "§"\n}',
    "String.fromEnvironment('DB_PASSWORD', defaultValue: '§')",
    'parser.add_argument("--password", "-p", default="§", help="x")', '@click.option("--password", "-p", default="§")',
    '${PASSWORD}    §', 'Set Variable    ${PASSWORD}    §',
    '<entry><string>password</string><string>§</string></entry>',
    '<array><string>--password</string><string>§</string></array>', '+  password:\n+    §',
    "1 validation error\npassword\n  String should be longer [type=string_too_short, input_value='§', input_type=str]",
    "1 error\nuser.password\n  Value error, too weak [type=value_error, input_value='§', input_type=str]",
    'container.register("JWT_SECRET", { useValue: "§" })', 'container.bind("DB_PASSWORD").toConstantValue("§")',
    'bind(String).annotatedWith(named("db.password")).toInstance("§")',
    'credentials: rds.Credentials.fromPassword("app", SecretValue.unsafePlainText("§"))',
]  # fmt: skip
# These tell less, so that a value has to look like one.
MIXED = [
    '{ provide: "JWT_SECRET", useValue: "§" }', '{ provide: API_KEY, useValue: "§" }',
    'setattr(settings, "API_KEY", "§")', "const apiKey = String.fromEnvironment('API_KEY', defaultValue: '§');",
    # What a test types into a field of a form.
    'password_field.send_keys("§")', "await user.type(screen.getByLabelText(/password/i), '§');",
    "fireEvent.change(passwordInput, { target: { value: '§' } });", "await passwordInput.fill('§');",
    'onView(withId(R.id.password)).perform(typeText("§"))', "await this.passwordInput.type('§');",
    'passwordField.sendKeys("§");', "find('#password').set('§')",
    "await element(by.id('passwordInput')).typeText('§');",
    'app.secureTextFields["Password"].typeText("§")', "await userEvent.type(passwordInput, '§')",
    'rule.onNodeWithTag("password").performTextInput("§")', "await $('#password').addValue('§')",
    'await tester.enterText(find.byKey(Key("password")), "§");', "    Fill Text    id=password    §",
    # What is encoded, hashed and taken by default; and a text that was cut off within a string.
    'encode_base64("chris:§")', "base64_encode('chris:§')", 'root_password = optional(string, "§")',
    "SELECT crypt('§', gen_salt('bf'));", 'hashlib.sha256(b"§")', "CryptoJS.AES.encrypt(text, '§')",
    "WARN  Invalid API key provided: §", "config:\n  app:dbPassword:\n    secure: §", 'setPassword("§',
    "jwt.sign(claims, '§", 'mysqli_connect("localhost", "root", "§', 'os.getenv("DB_PASSWORD") or "§',
    "INSERT INTO users (name, password) VALUES ('ana', '§",
    'r = redis.Redis("cache.internal", 6379, 0, "§")', "r = StrictRedis('h', 6379, 0, '§')",
    'url = URL.create("postgresql", "app", "§", "db01", 5432, "shop")',
    'c = Connection(Server("ldap://dc01"), "cn=svc,dc=acme", "§", auto_bind=True)',
    'c = InfluxDBClient("influx", 8086, "root", "§", "metrics")', 'zf.extractall("out", None, b"§")',
    'zf.extractall(path, members, b"§")', 'reader.decrypt("§")', 'pdf_writer.encrypt("§")',
    'xhr.open("GET", "/x", true, "ana", "§");', 'net use Z: \\\\nas\\share /user:ana §',
    'assert login(client, "ana", "§").status_code == 200', "log_in(page, 'ana', '§')",
    'await loginAs(page, "ana", "§");', 'ldapClient.bind("cn=root", "§", cb);',
    'new UsernamePasswordAuthenticationToken("ana", "§");', 'given().auth().preemptive().basic("ana", "§").get("/x");',
    'new LoginRequest("ana@acme.io", "§");', 'http.httpBasic("ana", "§");',
    'var result = await sut.LoginAsync("ana", "§");', 'sign_in_as("ana", "§")', 'await signUp("ana@x.io", "§")',
    'authService.register("ana", "§")', 'cipher = AES.new(b"§", AES.MODE_CBC, iv)', 'kdf.derive(b"§")',
    'Jwts.builder().setSubject("ana").signWith(SignatureAlgorithm.HS256, "§").compact();',
    'String encoded = new BCryptPasswordEncoder().encode("§");', 'builder.Configuration["Jwt:Key"] = "§";',
    'JWT.encode payload, "§", "HS256"', 'Jwts.parserBuilder().setSigningKey("§".getBytes()).build();',
    'Keys.hmacShaKeyFor("§".getBytes(StandardCharsets.UTF_8));',
    "node -e 'console.log(require(\"bcryptjs\").hashSync(\"§\", 10))'", 'echo -n "§" | sha256sum',
    'const decipher = crypto.createDecipheriv("aes-256-cbc", "§", iv);',
    'expect(await bcrypt.compare("§", user.passwordHash)).toBe(true);', 'expect(user.authenticate("§")).to be_truthy',
    'assert!(verify("§", &hash).unwrap());', 'argon2.hash("§")', 'Fernet("§")',
    'The database password should be set to §.', 'The password must be changed to §', 'A senha foi alterada para §.',
    'Le mot de passe a été changé en §.', 'La contraseña fue cambiada a §.', 'La password è stata cambiata in §.',
    'Das Passwort wurde auf § geändert.', 'Het wachtwoord is gewijzigd in §.', "Parola d'ordine: §",
    "La parola d'ordine nuova: §", 'Пароль от базы: §', 'Пароль від сервера: §', 'Пароль от вайфая — §.',
    'Hasło administratora to §.', 'Heslo správce je §.', 'The password used to be §, now it is NewFish!96.',
    'Log in as `ana` with `§`', 'cfg := Config{"db01", 5432, "app", "§"} // Host, Port, User, Password',
    'new UserDto("ana", "a@b.io", "§", Role.ADMIN); // name, mail, password',
    'DB = ("localhost", "app", "§")  # host, user, password',
]  # fmt: skip
FIXED: list[tuple[Any, str]] = [
    ("Your PIN is 4829 and your PUK is 83920174.", "83920174"), ("Die PUK ist 83920175, die PIN 7732.", "7732"),
    ("Recovery codes: 8f3k-29dk, x92m-1k3d, p02l-8s7q", "p02l-8s7q"),
    ("Backup codes: 84920174 19283746 55829103", "19283746"), ("The safe's combination is 38-14-62.", "38-14-62"),
    ("Der Freischaltcode lautet GX71-KL29-QQ83.", "KL29"), ("Der Türcode ist 4490.", "4490"),
    ("Code de la porte : 45A78", "45A78"), ("暗証番号は4417です。", "4417"), ("ПИН-код карты — 8812.", "8812"),
    ("Ваш PIN-код 8813.", "8813"), ("Код доступа: 771290", "771290"), ("支付密码是662810", "662810"),
    ("Use the API key aK7dP2mX9qLw4Zt8 for staging.", "aK7dP2mX9qLw4Zt8"),
    ("yagmail.SMTP('ana@gmail.com', 'abcd efgh wxyz klmn')", "wxyz"),
    ("twilio('ACe9029629fa947bab3ae8e9ea7c72bb0b', 'cc6bc4552e9071590d292a283a2043d7')", "cc6bc4552e90"),
    (r'key = b"\xbd\x5c\x65\x2a\x9f\x30\xb1\x78\x9a\x6c\x52\xcf\x63\xc0\x33\x78"', r"\x9f\x30"),
    # Of the two meanings of a word in Spanish, the value tells which one it has.
    ("Usuario: ana, clave: Paella#2024", "Paella"), ("Entra con el usuario ana y la clave Gazpacho!7x.", "Gazpacho"),
    ("La clave es Paella!2025.", "Paella"), ("Clave del wifi: Paella!2028", "Paella"),
    ('String clave = "Clv!Pw73x";', "Clv!Pw73x"), ({"usuario": "ana", "clave": "Clv!Pw74x"}, "Clv!Pw74x"),
    ({"Jwt:Key": "Sommer!2024xyz"}, "Sommer"),
]  # fmt: skip
HARMLESS = [
    'parser.add_argument("--password", "-p", default=None, help="x1")', '${PASSWORD}    ${EMPTY}',
    '<string>password</string><string>Password 1</string>', '<string>password</string><string>reset_password</string>',
    'Parameters:\n  DBPassword:\n    Type: String\n    MinLength: 12',
    '  DBPasswordLength:\n    Type: Number\n    Default: 12345678',
    'resource "x" "p" {\n  name  = "/app/db_password"\n  type  = "SecureString"\n  value = var.db_password\n}',
    "password\n  Field required [type=missing, input_value={'a': '1abcdefg'}, input_type=dict]",
    "user\n  Field required [type=missing, input_value='Winter2024!', input_type=dict]",
    '{ provide: "TOKEN", useClass: "Service2x" }',
    'Parameters:\n  DBPassword:\n    Type: AWS::SSM::Parameter::Value<String>\n    Default: /app/db/password1',
    'redis.Redis("cache1.internal", 6379, 0, "utf-8")', 'socket.bind("tcp://127.0.0.1:5555", "x12345")',
    'register("user-create", "UserCreate2View")', 'admin.site.register("a1", "Model-12-x")',
    'login_page.open("http://x1", "page-2024a")', 'router.register("users", "v1/users-2024")',
    'loginButton("Sign in", "btn-login-42")', 'signal("x", "handler-42-x")', 'sign_in(page, "Welcome back 2", "h1")',
    'encoder.encode("hello")', 'TextEncoder().encode("hello2world")', 'echo -n "hello" | sha256sum',
    'echo -n "v1.2.3" | sha256sum', 'zf.extractall("out", None, pwd)', 'kdf.derive(b"salt")',
    "h.derive(\"m/44'/60'/0'/0/0\")", 'basic("usage", "of-Things-12")', '"Dialog:Key": "Enter1234"',
    'verify("step-12345", hashes)', 'The code in section 12-34-56 is fine.', 'Die PIN muss 4 Ziffern haben.',
    'Recovery codes: see page 12', 'Backup codes: 10 codes of 8 digits', 'The combination of 12 items',
    'The password should be set to a strong one in 2024', 'Пароль от 8 до 12 символов: буквы',
    'Пароль от базы: минимум 8 символов', 'Hasło musi mieć 8 znaków', 'Hasło administratora to minimum 8 znaków',
    'Das Passwort wurde auf Seite 3 geändert.', 'La clave primaria es id_2024', 'clave: user_id2',
    '"clave": "nombre2"', 'Use the API key from page 12.', 'The password used to be 8 characters, now it is 12.',
    'parole board: section 12', 'PUK stands for PIN Unlock Key 2', 'the API key authentication2 scheme', 'kod: 404',
    'The status code is 404.', 'Код ошибки: 404123', 'error code: 45A78',
    'key = b"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00"', 'DB = ("localhost2x", "app")  # host, user',
    'x = f("Winter2024!", 1)  # key, value', 'foo("Abcdef12", "b")  # name, password is missing',
]  # fmt: skip


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("form", TELLING)
def test_a_password_apart_from_its_name_is_hidden(form: str, kind: int) -> None:
    secret = made(kind, form)
    assert secret not in SANITIZER.redact_text(form.replace("§", secret))


@pytest.mark.parametrize("form", MIXED)
def test_one_at_its_place_is_hidden_where_it_looks_like_one(form: str) -> None:
    secret = made(2, form)
    assert secret not in SANITIZER.redact_text(form.replace("§", secret))


@pytest.mark.parametrize(("value", "secret"), FIXED)
def test_codes_and_keys_are_hidden(value: Any, secret: str) -> None:
    assert secret not in json.dumps(SANITIZER.redact(value), ensure_ascii=False).replace("\\\\", "\\")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_stands_at_such_a_place_and_is_none_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text
