"""Passwords that services, devices, commands and people put at places of their own, and codes that messages tell."""

from __future__ import annotations

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from tests.contract.test_sanitizer_forms import made

SANITIZER = ValueSanitizer()

TELLING = [
    # Files of services.
    "    stats auth admin:§", "sentinel auth-pass mymaster §", "[smtp.gmail.com]:587 ana@example.org:§",
    "*.example.org:ana@example.org:§", "ana@example.org:{PLAIN}§:1000:1000::::", "dnpass = §",
    "auth-user-pass file:\nvpnuser\n§\n", "cat > /etc/openvpn/auth.txt <<EOF\nvpnuser\n§\nEOF", 'ana : XAUTH "§"',
    'ana : EAP "§"', '# client  server  secret  IP\nana  *  "§"  10.1.1.2', "vpnuser1\tl2tpd\t§\t*",
    "rocommunity § 10.0.0.0/8", '"postgres" "§"', '   user_ana="§";', "spark.hadoop.fs.s3a.secret.key §",
    '    option key "§"', 'user = "ana:§"', "realm=x.org\nuser=ana:§", "# /etc/rsyncd.secrets\nbackup:§", "$USER3$=§",
    "# /etc/racoon/psk.txt\n203.0.113.1\t§", 'set superusers="root"\npassword root §', "socks5 10.0.0.1 1080 ana §",
    "'passwordsalt' => '§',", '<String><Key>Password</Key><Value Protect="True">§</Value></String>',
    "password: ${DB_PASSWORD}  # was §", 'createUser ops SHA "§" AES "x"', 'user = "ana:§^yT=Jj"',
    "cache_peer proxy.x.org parent 3128 0 login=ana:§", 'Host imap.x.org\nPass "§"', "HTTP_Passwd §",
    "uci set wireless.@wifi-iface[0].key='§'",
    # Devices.
    "snmp-server user ops OPS v3 auth sha § priv aes 128 Other1x99", "  key-string §", "  pre-shared-key local §",
    " ip ospf authentication-key §", " standby 1 authentication md5 key-string §", "ntp authentication-key 1 md5 §",
    " security wpa psk set-key ascii 0 §", 'set security ike policy P1 pre-shared-key ascii-text "§"',
    "  set psksecret §", "username admin role network-admin secret 0 §",
    "local-user admin password irreversible-cipher §", " set authentication password simple §",
    "radius server ISE1\n key §\n",
    # What programs print and are told.
    "Password for the [elastic] user successfully reset.\nNew value: §", "PASSWORD kibana_system = §",
    "    Key Content            : §", "Generated Password [§]", "C: a001 LOGIN ana §", 'a1 LOGIN "ana@x.org" "§"',
    "/msg NickServ IDENTIFY §", "PASS oauth:§", "Please use the following password to proceed:\n\n§\n",
    '127.0.0.1:6379> HGETALL user:1\n1) "password"\n2) "§"', "Username ........ ana\nPassword ........ §",
    "password -> §", 'print("Your password: " + "§")',
    # Commands.
    "doveadm pw -s SHA512-CRYPT -p §", "ipmitool user set password 2 §", "radtest ana § 127.0.0.1 0 testing",
    "./add-user.sh -u admin -p '§' -s", "ejabberdctl register ana x.org §", "slappasswd -s §",
    "prosodyctl register ana x.org '§'", 'register_new_matrix_user -u ana -p "§" -a http://x',
    "kdb5_util create -s -P '§'", 'check_mysql -H db -u nagios -p "§"', "security import c.p12 -k b.keychain -P '§'",
    "curl --cert c.p12:§ https://x.org", "bundle config set --global gems.x.org ana:§",
    'usermod -p "$(openssl passwd -6 §)" ana', "qpdf --encrypt '§' o 256 -- a b",
    "echo '§' | npx wrangler secret put API_KEY", "echo § | vercel env add KEY production",
    "echo § | zfs load-key tank/enc", "echo '§' > ~/.vault_pass.txt", 'echo "§" > .restic-password',
    "read -s PASSWORD <<< §", 'bin/elasticsearch-keystore add -x bootstrap.password <<< "§"',
    'sed -i "s/password_here/§/" wp-config.php', "sed -i 's/# requirepass foobared/requirepass §/' redis.conf",
    "CONNECT TO ORDERS USER db2inst1 USING §;", ".LOGON tdprod/dbc,§;", "ATTACH DATABASE 'enc.db' AS e KEY '§';",
    "mysql -uroot '-p§' -e 'show databases'", 'echo -n x | openssl dgst -sha256 -hmac "§"',
    "7z a '-p§' -mhe=on o.7z d", "java -jar jenkins-cli.jar -s http://j:8080 -auth 'admin:§' list-jobs",
    # Program text.
    'jedis.auth("§")', 'new SecretKeySpec("§".getBytes(), "AES")', 'cx_Oracle.connect("scott", "§", "db1/ORCL")',
    "Connection(server, 'cn=admin,dc=x', '§', auto_bind=True)", 'l.simple_bind_s("cn=admin,dc=x", "§")',
    "Elasticsearch(['h'], http_auth=('elastic', '§'))", "PlainTextAuthProvider('cassandra', '§')",
    'client.username_pw_set("sensor", "§")', "hashlib.pbkdf2_hmac('sha256', b'§', salt, 1)",
    'Minio("play.min.io", "minioadmin", "§", secure=True)', "tweepy.OAuthHandler('ck', '§')",
    "new Sequelize('db', 'user', '§', { dialect: 'postgres' });", "crypto.scryptSync('§', 'salt', 32);",
    "headers.Authorization = 'Basic ' + btoa('ana:§')", "ftp_login($conn, 'ana', '§');",
    "ldap_bind($ds, 'cn=admin', '§');", "ssh2_auth_password($c, 'root', '§');",
    "openssl_encrypt($d, 'AES-256-CBC', '§', 0, $iv);", "hash_hmac('sha256', $body, '§');",
    "imap_open('{imap.x.org:993/ssl}INBOX', 'ana', '§');", "['password' => Hash::make('§')]",
    'ks.load(new FileInputStream("k.jks"), "§".toCharArray());',
    'new PBEKeySpec("§".toCharArray(), salt, 65536, 256);', 'Credentials.basic("ana", "§");',
    "Sql.newInstance('jdbc:mysql://h/d', 'root', '§', 'com.mysql.jdbc.Driver')",
    'await userManager.CreateAsync(user, "§");', 'signInManager.PasswordSignInAsync("ana", "§", true, false);',
    'new SymmetricSecurityKey(Encoding.UTF8.GetBytes("§"))', 'new X509Certificate2("c.pfx", "§");',
    'var jwtKey = []byte("§")', 'bcrypt.GenerateFromPassword([]byte("§"), 10)',
    'c.get(u).basic_auth("ana", Some("§")).send()', 'Credentials::new("a@x.org".to_string(), "§".to_string())',
    "req.basic_auth 'ana', '§'", "password: \"{{ '§' | password_hash('sha512') }}\"",
    "$ua->credentials('x.org:80', 'realm', 'ana', '§');", "SELECT pgp_sym_encrypt(ssn, '§');",
    "AES_ENCRYPT('hello', '§')", "SELECT 1 FROM postgresql('pg:5432', 'orders', 'customers', 'app', '§');",
    "EXEC sp_addlogin 'app', '§', 'db';", "subprocess.run(['sudo', '-S', 'ls'], input='§', text=True)",
    "MOVE '§' TO WS-PASSWORD.", "await page.type('input[type=password]', '§');",
    "    Input Password    id=password    §", 'When I fill in "Password" with "§"',
    'And I enter "§" in the "Password" field',
    # Files of clouds.
    'resource "aws_ssm_parameter" "p" {\n  name  = "/prod/db/password"\n  type  = "SecureString"\n  value = "§"\n}',
    'resource "azurerm_key_vault_secret" "s" {\n  name = "db-password"\n  value = "§"\n}', '  plaintext_value = "§"',
    '{"type": "random_password", "instances": [{"attributes": {"length": 20, "result": "§"}}]}',
    # Sentences.
    "I changed the root password to § yesterday.", "Please reset Bob's password and set it to §", "WLAN-Schlüssel: §",
    "Use § as the database password.", "Q: what's the admin password?\nA: §", "the wifi password? it's §",
    "[10:02] bob: what's the db password?\n[10:03] ana: §", "rotate DB pw (currently §)",
    "Lösenordet till servern är §", "Heslo k serveru je §", "Parola serverului este §",
    "Kata sandi servernya adalah §", "Пароль до бази: §", "He tried with §, the password we sent him.",
    # What a call or a type makes, and several values at once.
    'passwords = dict(bob="§", al="x")', 'passwords = dict([("bob", "§")])', '$passwords = array("bob" => "§");',
    'Map<String, String> passwords = Map.of("bob", "§");', 'val passwords = mapOf("bob" to "§")',
    'let passwords: HashMap<&str, &str> = HashMap::from([("bob", "§")]);', 'passwords = OrderedDict(bob="§")',
    'passwords := map[string]string{"bob": "§"}', '$passwords = @{ bob = "§" }', 'declare -A passwords=([bob]="§")',
    'var passwords = new Dictionary<string, string> { ["bob"] = "§" };', 'PASSWORDS: dict[str, str] = {"bob": "§"}',
    'var passwords = new Dictionary<string,string> { {"bob", "§"} };', 'user, password = ("bob", "§")',
    '(user, password) = ("bob", "§")', 'let (user, password) = ("bob", "§");', 'val (user, pw) = Pair("bob", "§")',
    # Letters of other scripts, and quotes, within one that stands bare.
    "password=§Größe64", "DB_PASSWORD=§Ключ52", "password: §naïve31", "password=§\"cd34'ef56",
    "password=ab12\"§'ef56\n",
]  # fmt: skip
# These tell less, so that a value has to look like one.
MIXED = [
    "Credentials: `admin` / `§`", "creds are ana / §", "Zugangsdaten: ana / §", "# TODO remove: login admin / §",
    "u: ana p: §", "change the password from § to something better", "Ich habe das Passwort auf § geändert.",
    "J'ai changé le mot de passe en §", "Cambié la contraseña a §", "unlock it with §", "Mật khẩu của máy chủ là §",
    "$ kubectl get secret db -o jsonpath='{.data.password}' | base64 -d\n§",
    '$ terraform output -raw db_password\n"§"', "virsh secret-set-value --secret u --base64 $(echo -n § | base64)",
    "creds = ('ana', '§')", 'db_creds = ["ana", "§"]',
]  # fmt: skip
FIXED = [
    # Words for a secret with a number that people add.
    ("user,password\nana,secret123", "secret123"), ('user.setPassword("Secret2024")', "Secret2024"),
    ("| user | password |\n|---|---|\n| ana | Test-Pass-123 |", "Test-Pass-123"),
    *((text.replace("§", "kX9vQ2mTz7wL"), "kX9vQ2mTz7wL") for text in (
        "PEPPER=§", "export AUTH_PEPPER=§", "pepper: §", "DEK=§", "data_dek = '§'", "tenant.kek: §",
    )),
    # What is encoded, and keys.
    ("AUTH LOGIN\n334 VXNlcm5hbWU6\nYW5h\n334 UGFzc3dvcmQ6\nUmFMYk8xM09ZQmhj\n235 ok", "UmFMYk8xM09ZQmhj"),
    ("dn: uid=ana,dc=x\nuserPassword:: QmRLMXZmZ1RaZ29y", "QmRLMXZmZ1RaZ29y"),
    ("wg set wg0 private-key <(echo 0ZkxasONnym8EB0DiiyRngAIj9zTanqiq1fZvb/2BsY=)", "0ZkxasONnym8"),
    ("$ wg genkey\nYBWiQ77Ht6BVRZ/xPdMSMCU/Xhb9JRKtfTMKsSn2oJg=", "YBWiQ77Ht6BV"),
    ("Recovery Key:\n  591866-400334-553872-261657-354090-492877-445280-335896", "553872"),
    ("Unseal Key 1: /zRPtHn/HLyqAM9yqDnu+0dU/7sEgun4MCaAahNhJjI=", "HLyqAM9yqDnu"),
    ("openssl enc -aes-256-cbc -K c1065b0896c635e6d4125f7e0fe0c2ce048797c94fca1390667d2d49 -in f", "c1065b0896c6"),
    ("openssl dgst -mac HMAC -macopt hexkey:b7c6abf0f8db404996661ae08b1afa87 f", "b7c6abf0f8db"),
    ('curl -H "Authorization: Splunk edd5d65e-0c1b-4eb1-a1cf-b7f41f66c8f3" x', "edd5d65e"),
    ("echo db51fc60415c73dda739a54974ae8edf > config/master.key", "db51fc60415c"),
    ("Client('AC0123456789abcdef0123456789abcdef', 'f14de21e032cc2b8cfa3c213c5465621')", "f14de21e032c"),
    ('w3.eth.account.from_key("0x11f4d46b7b087aa7aa72cb8be3802a2ab7e84d3c05cdf77519662b5adc65f50d")', "11f4d46b7b08"),
    ("advanced:\n  network_key: [22, 193, 210, 115, 227, 126, 182, 75, 140, 33, 148, 39, 205]", "210, 115"),
    ("slmgr /ipk 1HF14-K04N5-K832K-J2NPQ-D243B", "K832K"),
    # Addresses that let somebody in.
    ("https://app.x.org/callback?code=aV8nF6eM8d2MQiBqVdgjsOcsMchPOcy6tVuYwOmI&state=xyz", "aV8nF6eM8d2M"),
    ("https://x.org/reset-password/j0Qq5o7GXtzKcmWQizTpyuULC6iTE0Od27XZSh9G", "j0Qq5o7GXtzK"),
    ("https://x.org/login/magic?t=3pBbLXZ75AU5SCMh13JmBLwviG9WW8zlFR0fVlnz", "3pBbLXZ75AU5"),
    # Codes.
    ("706187 is your Acme verification code. Don't share it.", "706187"),
    ("G-723593 is your Google verification code.", "723593"), ("Ihr Bestätigungscode lautet 126393.", "126393"),
    ("Votre code de vérification est 792092", "792092"), ("Tu código de verificación es 408381", "408381"),
    ("Ihre TAN für die Überweisung: 166023", "166023"), ("User: the 2FA code is 473018", "473018"),
    ("Die PIN der Karte ist 5186", "5186"), ("exp 12/29 cvv 756", "756"),
    ("INFO Sending OTP 2fa code 923905 to +49 170 0000000", "923905"),
    ("The access code for the meeting room is 557621", "557621"),
    ("Your recovery codes:\n\ne7f3d-906b2\ne56bb-7156c\n92bdb-9777a\n", "e56bb-7156c"),
    ("## Recovery codes\n- `szyi1ysj`\n- `zhudl3xr`\n", "zhudl3xr"),
    ("use backup code 3f3cb-bdfc0 to get in", "3f3cb-bdfc0"),
]  # fmt: skip
HARMLESS = [
    "salt and pepper: to taste", "pepper: 2 tsp", "PEPPER=black", "dek: the deck of a ship", "creds = (user, given)",
    'passwords = dict(request.form, name="x")', "passwords = list(map(str.strip, lines))", "a, token = next(it), None",
    "user, password = (args.user, args.password)", 'passwords = {n: os.environ["PW"]}', 'form.get("password1")',
    "The security code 42 rules apply", "error code 404", "exit code 1", "The access code path is /door",
    "PIN layout: see page", "verification code length: 6 digits", "recovery codes are listed below",
    "## Backup codes\nSee the documentation\n", "https://x.org/reset-password/confirm",
    "https://x.org/callback?code=200", "git commit -m 'login / logout'", "sed -i 's/password/passphrase/' README.md",
    "echo done > token_count.txt", "static inline int *\nextern const char *\n", "password -> bcrypt hash",
    "key-value pairs", "the password? it's optional", "password (was changed in 2023)", "ana@example.org: hello there",
    'Feature: fill in "Name" with "Ana"', "user = ana", "user bob sudo", "option key '1'", "Key Content Type",
    'users: "postgres" "admin"', "echo hello > passwords.md", "splituser('user[:passwd]@host[:port]') --> 'a', 'b'",
]  # fmt: skip


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("form", TELLING)
def test_a_password_at_its_place_is_hidden(form: str, kind: int) -> None:
    secret = made(kind, form)
    assert secret not in SANITIZER.redact_text(form.replace("§", secret))


@pytest.mark.parametrize("form", MIXED)
def test_one_that_is_told_in_passing_is_hidden_where_it_looks_like_one(form: str) -> None:
    secret = made(2, form)
    assert secret not in SANITIZER.redact_text(form.replace("§", secret))


@pytest.mark.parametrize(("text", "secret"), FIXED)
def test_keys_and_codes_of_a_form_of_their_own_are_hidden(text: str, secret: str) -> None:
    assert secret not in SANITIZER.redact_text(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_speaks_of_such_a_place_stays(text: str) -> None:
    assert SANITIZER.redact_text(text) == text
