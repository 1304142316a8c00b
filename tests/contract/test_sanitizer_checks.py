"""Passwords in the values that statements are given, in the tables of tests, and in what tests expect."""

from __future__ import annotations

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from tests.contract.test_sanitizer_forms import made

SANITIZER = ValueSanitizer()
TELLING = [
    'cur.execute("INSERT INTO users (name, password) VALUES (%s, %s)", ("ana", "§"))',
    'cur.execute("ALTER USER app PASSWORD %s", ("§",))',
    'await pool.query("UPDATE users SET password = $1 WHERE id = $2", ["§", 1]);',
    "db.query('INSERT INTO users (name, password) VALUES ($1, $2)', ['ana', '§'], (err, r) => {})",
    'db.Exec("INSERT INTO users (name, password) VALUES (?, ?)", "ana", "§")',
    'db.ExecContext(ctx, `INSERT INTO users (name, password) VALUES ($1, $2)`, "ana", "§")',
    'cur.executemany("INSERT INTO users (name, password) VALUES (?, ?)", [("ana", "§"), ("bob", "Summer2025!")])',
    'cur.execute(\n    "INSERT INTO users (name, password) "\n    "VALUES (%s, %s)",\n    ("ana", "§"),\n)',
    "cur.execute('''\n  INSERT INTO users (name, password)\n  VALUES (%s, digest(%s))\n''', ['ana', '§'])",
    'sql = "UPDATE users SET password = %s WHERE name = %s"\ncur.execute(sql, ("§", "ana"))',
    'ps = c.prepareStatement("INSERT INTO u (id, password) VALUES (?, ?)"); s.setString(1, "a"); s.setString(2, "§");',
    'jdbcTemplate.update("UPDATE users SET password = ? WHERE id = ?", "§", 1);',
    'jdbcTemplate.update("UPDATE users SET password = ? WHERE id = ?", new Object[]{"§", 1});',
    'sqlx::query("INSERT INTO users (name, password) VALUES ($1, $2)").bind("ana").bind("§")',
    '$stmt = $pdo->prepare("INSERT INTO users (name, password) VALUES (?, ?)"); $stmt->execute(["ana", "§"]);',
    '$stmt = $pdo->prepare("UPDATE users SET password = ?"); $stmt->bindValue(1, "§");',
    'cur.execute("INSERT INTO users (name, password) VALUES (:1, :2)", ["ana", "§"])',
    'cur.execute("CREATE USER ana IDENTIFIED BY ?", "§")', 'User.where("password = ?", "§")',
    "DB::insert('insert into users (name, password) values (?, ?)', ['ana', '§']);",
    'db.Exec("INSERT INTO users (name, password) VALUES (?, ?)", []any{"ana", "§"}...)',
    '@pytest.mark.parametrize("user,password", [("ana", "§")])',
    "@pytest.mark.parametrize(('username', 'pwd', 'ok'), [\n    ('ana', '§', True),  # it's\n])",
    '@pytest.mark.parametrize("user,password", [pytest.param("ana", "§", id="a1!xxxx")])',
    'it.each([["ana", "§"], ["bob", "Each-5572-row"]])("logs in %s with password %s", async (u, p) => {});',
    'test.each([["ana", "§"]])("logs in", async (user, password) => {});',
    '@parameterized.expand([("ana", "§")])\ndef test_x(self, user, password):',
    '[TestCase("ana", "§")]\npublic void Login(string user, string password)\n{ }',
    'tests := []struct{ user, password string; ok bool }{\n\t{"ana", "§", true},\n}',
    'tests := []struct {\n\tuser     string\n\tpassword string\n\tok       bool\n}{\n\t{"ana", "§", true},\n}',
    'assertEquals(config.getPassword(), "§")', 'assertEquals("§", config.getPassword())',
    'assert_eq!("§", cfg.password);', 'expect(cfg.password).to eq "§"', 'expect(cfg.getPassword()).toBe("§")',
    'expect(getPassword()).toEqual("§")', 'expect(cfg.password).to.equal("§")',
    'assertThat(user.getPassword()).isEqualTo("§");', 'assertThat(user.password, equalTo("§"));',
    'assertThat(user.password).isEqualTo("§");', 'when(x.getPassword()).thenReturn("§")',
    'every { cfg.password } returns "§"', 'doReturn("§").when(cfg).getPassword();',
    'given(x.getPassword()).willReturn("§")', 'mock.Setup(x => x.Password).Returns("§");',
    'allow(cfg).to receive(:password).and_return("§")', 'jest.spyOn(cfg, "getPassword").mockReturnValue("§");',
    '@patch("app.get_password", return_value="§")', '@patch("app.get_password", return_value = "§")',
    'mocker.patch("app.get_password", return_value="§")', 'getPassword: () => "§"',
    'secrets.compare_digest(password.encode(), b"§")', 'subtle.ConstantTimeCompare([]byte(pass), []byte("§"))',
    'crypto.timingSafeEqual(Buffer.from(password), Buffer.from("§"))', 'hash_equals("§", $password)',
    '"§".equals(password)', 'password in ("§",)', 'if password in ["§", "Summer2025!"]:',
    'match password:\n    case "§":\n        ok = True', 'switch (password) {\n    case "§":\n        return true;',
    'switch password {\n    case "§": return true', 'if got := cfg.Password; got != "§" { t.Fatal() }',
    'if got := cfg.Password(); got != "§" { t.Fatal() }', 'assert.Equal(t, "§", cfg.Password)',
    'require.Equal(t, cfg.Password, "§")', 'Assert.AreEqual("§", cfg.Password)', 'cfg.Password.Should().Be("§")',
    'assertThat(cfg.getPassword(), is("§"))', 'expect(screen.getByLabelText("Password")).toHaveValue("§");',
    "$this->assertSame('§', $cfg->getPassword());", "$this->assertSame('§', $cfg->password);",
    'assert_equal "§", user.password',
]  # fmt: skip
KEYS = [
    'hmac.compare_digest("§", token)', 'compare_digest(token, "§")', 'assert_eq!(cfg.token, "§");',
    'def api_key() -> str:\n    return "§"', 'const getApiKey = () => "§";', 'String getApiKey() => "§";',
    'get_api_key = lambda: "§"', 'assertThat(cfg.getApiKey()).isEqualTo("§");',
]  # fmt: skip
HARMLESS = [
    'cur.execute("INSERT INTO users (name, password) VALUES (%s, %s)", ("Winter2024!", password))',
    'cur.execute("INSERT INTO users (name, password) VALUES (%s, %s)", (name, "password"))',
    'cur.execute("UPDATE users SET name = %s WHERE password = %s", ("Winter2024!", pw))',
    'cur.execute("SELECT password FROM users WHERE name = %s", ("ana2024!",))',
    'cur.execute("INSERT INTO t (token_count, name) VALUES (%s, %s)", ("12345678", "Winter2024!"))',
    'cur.execute("UPDATE users SET password = %s", (os.environ["DB_PASSWORD2"],))',
    'log("select a password with ?", "Number 2024!")',
    '@pytest.mark.parametrize("user,password", [("ana2024!", "wrong"), ("bob", None)])',
    '@pytest.mark.parametrize("name,password_length", [("Winter2024!", 11)])',
    'it.each([["ana", 1]])("logs in %s with password %s", async (u, p) => {});',
    'expect(token.type).toBe("identifier2")', 'expect(passwordField.label).toBe("Password 2")',
    'self.assertEqual(token, "a.b.c")', "elif auth in ('md5', 'sha256', 'sha512'):",
    'when(x.getPassword()).thenReturn(null)', 'assertEquals("Enter password 1 time", page.getPassword())',
    'match token:\n    case "NUMBER1234":', 'switch (password) {\n  case "too short 1":',
    'assert.Equal(t, "test_password_1", cfg.Name)', 'get_auth_type = lambda: "oauth2.0-v1"',
    'const getTokenUrl = () => "https://x1.y/z";', 'def token_endpoint():\n    return "/oauth2/token2"',
    'assertEqual("Winter2024!", user.name); password = read()',
    'assertRaisesRegex(ValueError, "Bad key 1234", f, password)', 'assertEqual(hash_password("x"), "abc123def")',
    'expect(getByLabelText("Password")).toHaveAttribute("type", "password")',
]  # fmt: skip


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("form", TELLING)
def test_a_password_in_a_statement_or_a_test_is_hidden(form: str, kind: int) -> None:
    secret = made(kind, form)
    assert secret not in SANITIZER.redact_text(form.replace("§", secret))


@pytest.mark.parametrize("form", KEYS)
def test_a_key_that_a_test_expects_is_hidden(form: str) -> None:
    assert "cmp-Moss-7788" not in SANITIZER.redact_text(form.replace("§", "cmp-Moss-7788"))


@pytest.mark.parametrize("text", HARMLESS)
def test_names_labels_and_other_columns_stay(text: str) -> None:
    assert SANITIZER.redact_text(text) == text
