"""Passwords that programs make of letters, digits and signs, where nothing quotes them; and code like one."""

from __future__ import annotations

import random
from string import ascii_letters, digits

import pytest

from retrycontract.contract.redaction.sanitizer import ValueSanitizer

SANITIZER = ValueSanitizer()
# The signs of Terraform's random_password, of AWS's get-random-password, of Bitwarden and of MySQL's first password.
SIGNS = {
    "terraform": "!@#$%&*()-_=+[]{}<>:?",
    "aws": "!#$%&()*+,-./:;<=>?@[]^_{|}~",
    "bitwarden": "!@#$%^&*",
    "mysql": "#%&*()_+-=<>,.;:/?!",
}
PLACES = [
    "DB_HOST=x\nDB_PASSWORD=§\nA=b", "[db]\npassword = §\nhost = x", "spring.datasource.password=§\n",
    "db:\n  user: app\n  password: §\n  host: x", "login user=ana password=§ ok", "The admin password is §",
    "| User | Password |\n|---|---|\n| ana | § |", '"Server=s;User Id=sa;Password=§;Encrypt=true"',
    "export PGPASSWORD=§\n", "env:\n- name: DB_PASSWORD\n  value: §\n- name: A\n  value: b", "ENV DB_PASSWORD §\n",
    "connect --user ana --password § --host x",
]  # fmt: skip
MOST_LEFT = 0.08  # of those, mostly such as begin with a sign of the place's own, `password: [x…`
EACH = 60


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", SIGNS)
def test_a_generated_password_is_hidden_to_its_end(kind: str, place: str) -> None:
    maker = random.Random(f"{kind} {place}")
    made = ["".join(maker.choices(ascii_letters + digits + SIGNS[kind], k=size)) for size in (16, 20, 24) * EACH]
    # What a place cannot hold unquoted, and what nobody tells from words.
    fit = [
        each for each in made
        if any(map(str.isdigit, each)) and any(map(str.islower, each)) and not set("|;&").intersection(each)
        and each[0].isalnum()
    ]  # fmt: skip
    left = [each for each in fit if each[-4:] in SANITIZER.redact_text(place.replace("§", each))]
    assert len(left) <= MOST_LEFT * len(fit), left
    assert len(fit) > EACH / 4


WHOLE = [
    ("DB_PASSWORD=v(Nqy3kbf^K+D!6v", "DB_PASSWORD=[REDACTED: PASSWORD]"),
    ("password=pV;4kkkYfpq9TP,z\nuser=ana", "password=[REDACTED: PASSWORD]\nuser=ana"),
    ("A temporary password is q;Kd8(mZ2xLp\n", "A temporary password is [REDACTED: PASSWORD]\n"),
    ("Server=s;Password=zU9K<k/1v{=%x;Encrypt=true", "Server=s;Password=[REDACTED: PASSWORD];Encrypt=true"),
    ("password=zU9K<k/1v{=%x&next=home", "password=[REDACTED: PASSWORD]&next=home"),
]
CODE = [
    'CHALLENGE_PASSWORD = ObjectIdentifier("1.2.840.113549.1.9.7")', "token=Rt[e1],n=t(R)",
    "{radio:!0,file:!0,password:!0,image:!0})b.pseudos[e]=B(e);for(e", "password = ${DB_PASSWORD_2}",
    'fe(e,"htmx:syntax:error",{token:o.shift()})}O(o,Ze)}while(o[0]===","&&o.shift());if(n){n[t]=r}return',
    "password = Sha256(Salt1,\n  b)", "token = parser.Next(Kind2)", "password: {{ vault.Db1 }}", "secret=cfg[Key1]",
    "api_key: $(aws ssm get-parameter)", "password = getpass(Prompt1)", "token: List[Token2]", "token = a.B[c1].D(e)",
]  # fmt: skip


@pytest.mark.parametrize(("text", "redacted"), WHOLE)
def test_what_stands_around_it_stays(text: str, redacted: str) -> None:
    assert SANITIZER.redact_text(text) == redacted


@pytest.mark.parametrize("text", CODE)
def test_code_that_reads_like_one_is_left_alone(text: str) -> None:
    assert SANITIZER.redact_text(text) == text
