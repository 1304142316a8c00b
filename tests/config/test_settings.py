"""The settings of the service: where values come from, what is refused, and the keys that are made once."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from retrycontract.config.service_settings import PREFIX, ServiceSettings, WrongSettingError, load, range_of
from retrycontract.config.variables import OF_THE_SERVICE
from tests.serving.forked import forked

ROOT = Path(__file__).resolve().parents[2]
# The same in every process that collects the tests: it stands in their names.
KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()


def load_with(folder: Path, **variables: str) -> ServiceSettings:
    environ = {f"{PREFIX}{name.upper()}": value for name, value in variables.items()}
    return load({f"{PREFIX}DATA_DIR": str(folder), **environ})


GIVEN: list[tuple[str, str, Any]] = [
    ("judge", "worker", "worker"),
    ("debug", "true", True),
    ("https", "0", False),
    ("allowed_hosts", "a.example, b.example ,", ["a.example", "b.example"]),
    ("trusted_origins", "", []),
    ("trusted_origins", "https://a.example", ["https://a.example"]),
    (
        "trusted_origins",
        "https://*.a.example, http://a.example:8000, https://[::1]",
        ["https://*.a.example", "http://a.example:8000", "https://[::1]"],
    ),
    (
        "allowed_hosts",
        ".a.example, B.example, 10.0.0.1, [::1], *, a_b.example.",
        [".a.example", "B.example", "10.0.0.1", "[::1]", "*", "a_b.example."],
    ),
    (
        "redis_url",
        "rediss://:p%2Fw@host:6379/0?ssl_cert_reqs=required",
        "rediss://:p%2Fw@host:6379/0?ssl_cert_reqs=required",
    ),
    ("redis_url", "redis://host", "redis://host"),
    ("trusted_proxies", "10.0.0.7, fd00::/8", ["10.0.0.7", "fd00::/8"]),
    ("trusted_proxies", "*", ["*"]),
    ("hsts_include_subdomains", "true", True),
    ("secret_key", "a,b-0123456789-0123456789-0123456789", "a,b-0123456789-0123456789-0123456789"),
    ("encryption_keys", f"{KEY}, {KEY}", [KEY, KEY]),
    ("lease_seconds", "1.5", 1.5),
    ("max_deliveries", "7", 7),
    ("config_file", __file__, Path(__file__)),
    ("doorbell", "a.b.C", "a.b.C"),
    ("public_url", "https://desk.example/", "https://desk.example"),
    ("public_url", "http://10.0.0.5:8000/desk/", "http://10.0.0.5:8000/desk"),
    ("notify_webhook_url", "https://hooks.example/services/T0/B0/x?a=b", "https://hooks.example/services/T0/B0/x?a=b"),
    ("email_port", "25", 25),
    ("log_level", "INFO", "info"),
    ("log_level", "warn", "warning"),
    ("log_level", "Warning", "warning"),
    ("email_from", "desk@desk.example", "desk@desk.example"),
]


@pytest.mark.parametrize(("name", "text", "value"), GIVEN)
def test_a_setting_comes_from_its_variable(tmp_path: Path, name: str, text: str, value: Any) -> None:
    assert getattr(load_with(tmp_path, **{name: text}), name) == value


@pytest.mark.parametrize(("name", "text", "value"), GIVEN)
def test_a_setting_may_stand_in_a_file(tmp_path: Path, name: str, text: str, value: Any) -> None:
    (tmp_path / "secret").write_text(f"{text}\n")
    assert getattr(load_with(tmp_path, **{f"{name}_file": str(tmp_path / "secret")}), name) == value


def test_what_is_not_given_has_its_default(tmp_path: Path) -> None:
    given = load_with(tmp_path)
    defaults = ServiceSettings()
    made = {"data_dir", "secret_key", "encryption_keys"}
    for name in set(ServiceSettings.model_fields) - made:
        assert getattr(given, name) == getattr(defaults, name), name


def test_nothing_is_read_behind_the_callers_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}JUDGE", "worker")
    assert load_with(tmp_path).judge == "auto"
    assert ServiceSettings().judge == "auto"


NUMBERS = {
    name: setting.annotation
    for name, setting in ServiceSettings.model_fields.items()
    if setting.annotation in (int, float)
}
WRONG: list[tuple[str, str, str]] = [
    ("judge", "sometimes", "'auto' or 'worker'"),
    ("lease_seconds", "soon", "valid number"),
    ("config_file", "/nowhere/confg.yml", "is not there"),
    ("config_file", "/", "/ is no file: correct the path"),
    ("secret_key", "x", "must be random, with at least 32 characters"),
    ("secret_key", "changeme" * 5, "must be random"),
    ("lease_seconds", "0", "greater than 0"),
    ("sweep_seconds", "-1", "greater than or equal to 0"),
    ("max_deliveries", "0", "greater than or equal to 1"),
    ("max_body_bytes", "10", "greater than or equal to 1024"),
    ("door_max_bytes", "-1", "greater than or equal to 0"),
    ("debug", "perhaps", "say true or false"),
    ("trusted_proxies", "10.0.0.7, nginx", "an address, a network such as 10.0.0.0/8, or *"),
    ("hsts_seconds", "-1", "greater than or equal to 0"),
    ("hsts_preload", "true", "needs RETRYCONTRACT_HSTS_INCLUDE_SUBDOMAINS=true and a year"),
    ("allowed_hosts", " , ", "name the hosts"),
    ("public_url", "desk.example", "must be an address such as https://host/path"),
    ("public_url", "https://desk.example/?a=b", "without a query"),
    ("notify_webhook_url", "http://hooks.example/x", "must begin with https"),
    ("notify_webhook_url", "https://127.0.0.1/x", "is not of the public internet, so nothing would be sent to it"),
    ("notify_webhook_url", "https://2130706433/x", "is not of the public internet"),
    ("notify_webhook_url", "https://chat.internal/x", "set RETRYCONTRACT_ALLOW_PRIVATE_WEBHOOKS"),
    ("notify_webhook_url", "hooks.example/x", "must be an address"),
    ("notify_webhook_url", "https:///x", "must be an address"),
    ("notify_webhook_url", "https://hooks.example:99999/x", "must be an address"),
    ("notify_webhook_url", "https://user:pass@hooks.example/x", "without a user"),
    ("notify_webhook_url", "https://hooks.example/x#y", "#part"),
    ("notify_webhook_url", "https://hooks.example/x y", "must be an address"),
    ("notify_webhook_url", "https://hooks.example/x\r\nHost: evil", "must be an address"),
    ("notify_webhook_url", "https://hööks.example/x", "must be an address"),
    ("notify_webhook_url", "ftp://hooks.example/x", "must be an address"),
    ("notify_webhook_url", "https://[::1/x", "must be an address"),
    ("notify_email", "ana@example.com, bo", "plain e-mail address"),
    ("notify_email", "Ana <ana@example.com>", "plain e-mail address"),
    ("notify_email", "ana@example.com", "needs RETRYCONTRACT_EMAIL_HOST and RETRYCONTRACT_EMAIL_FROM"),
    ("email_from", "desk@desk.example\nBcc: eve@example.com", "plain e-mail address"),
    ("email_password", "canary", "needs RETRYCONTRACT_EMAIL_USER"),
    ("email_user", "desk", "EMAIL_USER: needs RETRYCONTRACT_EMAIL_PASSWORD"),
    ("email_security", "ssl", "'starttls', 'tls' or 'none'"),
    ("email_port", "0", "greater than or equal to 1"),
    ("password_login", "false", "without RETRYCONTRACT_OIDC_ISSUER nobody could log in"),
    ("oidc_issuer", "https://id.example", "needs RETRYCONTRACT_OIDC_CLIENT_ID and RETRYCONTRACT_OIDC_ROLES"),
    ("oidc_client_id", "desk", "OIDC_CLIENT_ID: needs RETRYCONTRACT_OIDC_ISSUER"),
    ("oidc_client_secret", "canary", "OIDC_CLIENT_SECRET: needs RETRYCONTRACT_OIDC_ISSUER"),
    ("oidc_roles", "desk=admin", "OIDC_ROLES: needs RETRYCONTRACT_OIDC_ISSUER"),
    ("oidc_issuer", "http://id.example", "http only on this machine itself"),
    ("oidc_issuer", "id.example", "must be an address such as https://id.example.com"),
    ("oidc_issuer", "https://id.example/?a=b", "must be an address"),
    ("oidc_issuer", "https://user:pass@id.example", "must be an address"),
    ("oidc_roles", "desk", "each must be GROUP=ROLE"),
    ("oidc_roles", "desk=chief", "viewer, operator, admin"),
    ("oidc_roles", "=admin", "each must be GROUP=ROLE"),
    ("oidc_scopes", "profile, email", "needs the scope openid"),
    ("otel_endpoint", "collector:4318", "must be an address such as http://collector:4318"),
    ("otel_endpoint", "http://collector:4318/?token=x", "without a query"),
    *((name, "nan", "finite number") for name, kind in NUMBERS.items() if kind is float),
    *((name, "9" * 18, "(it must be ") for name in NUMBERS),
    *(
        ("allowed_hosts", host, "each must be a host name such as desk.example.com")
        for host in (
            "http://desk.example",
            "desk.example/",
            "desk.example:8000",
            "*.desk.example",
            "::1",
            "[::1]:80",
            "dešk.example",
            "a.example b.example",
            "a.example;b.example",
            "..example",
            "https://",
            "desk.example, http://b.example",
        )
    ),
    *(
        ("trusted_origins", origin, "each must be a scheme and a host such as https://desk.example.com")
        for origin in (
            "desk.example",
            "https://",
            "//desk.example",
            "https://desk.example/",
            "https://desk.example/desk",
            "https://desk.example?a",
            "ftp://desk.example",
            "https://a.example https://b.example",
            "https://a:99999",
            "https://me@desk.example",
            "null",
            "*",
            "https://a.example, b.example",
            "https:desk.example",
        )
    ),
    ("proxy_upstreams", "a=https://x,a=https://y", "names a twice"),
    ("proxy_upstreams", "https://x", "a name and an address"),
    ("proxy_upstreams", "a=x", "a name and an address"),
    *(
        ("redis_url", f"rediss://:p@host/0?{options}", told)
        for options, told in (
            ("socket_timeot=1", "its options may be ssl_cert_reqs, ssl_check_hostname"),
            ("socket_timeout=1", "its options may be"),
            ("db=zz", "its options may be"),
            ("ssl_cert_reqs=CERT_NONE", "ssl_cert_reqs may be required or optional or none"),
            ("ssl_ca_certs=", "ssl_ca_certs may be a path"),
        )
    ),
    ("redis_url", "redis://host/0?ssl_cert_reqs=none", "with rediss:// alone"),
    *(
        ("redis_url", url, "write it as redis://")
        for url in (
            "redis:///0",
            "redis://:@/0",
            "redis://host:99999/0",
            "redis://host:x/0",
            "redis://host/one",
            "redis://host/0/1",
            "host:6379",
            "redis://a b",
            "redis://[::1/0",
        )
    ),
    *(
        ("email_host", host, "must be a host name such as mail.example.com")
        for host in (
            "smtp://mail.example",
            "mail.example:587",
            "mail.example/",
            "a b",
            "me@mail.example",
            "a.example,b.example",
        )
    ),
    ("oidc_roles", "desk=viewer, desk=admin", "names desk twice"),
    ("oidc_scopes", "openid, profile email", "must be words with commas between them"),
    ("encryption_keys", "not-a-key-at-all", "Fernet key"),
    ("encryption_keys", f"{KEY},short", "Fernet key"),
]


@pytest.mark.parametrize(("name", "text", "advice"), WRONG)
def test_a_wrong_value_is_refused_with_its_variable_and_what_it_may_be(
    tmp_path: Path, name: str, text: str, advice: str
) -> None:
    with pytest.raises(WrongSettingError) as refused:
        load_with(tmp_path, **{name: text})
    message = str(refused.value)
    assert message.startswith(f"{PREFIX}{name.upper()}")
    assert advice in message


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_every_number_has_a_range(name: str) -> None:
    assert " and at most " in range_of(name)


def test_a_provider_on_this_machine_may_be_asked_without_tls(tmp_path: Path) -> None:
    given = {"oidc_issuer": "http://localhost:9400", "oidc_client_id": "desk", "oidc_roles": "*=viewer"}
    service = load_with(tmp_path, **given | {"oidc_roles": "cn=heads,dc=x=admin; *=viewer"}, password_login="false")
    assert [service.role_for(groups) for groups in ({"cn=heads"}, {"cn=heads,dc=x"})] == ["viewer", "admin"]
    assert load_with(tmp_path, **given | {"oidc_roles": "cn=a,dc=x=admin;"}).oidc_roles == ["cn=a,dc=x=admin"]
    assert load_with(tmp_path, **given | {"oidc_roles": "a=admin, b=viewer"}).role_for({"b"}) == "viewer"


def test_a_file_whose_name_is_blank_is_none(tmp_path: Path) -> None:
    assert load_with(tmp_path, config_file=" ").config_file == Path(".agent/config.yml")


MISSPELT: list[tuple[str, str]] = [
    ("JUGDE", "did you mean RETRYCONTRACT_JUDGE?"),
    ("OIDC_ISUER", "did you mean RETRYCONTRACT_OIDC_ISSUER?"),
    ("OTEL_ENDPIONT", "did you mean RETRYCONTRACT_OTEL_ENDPOINT?"),
    ("REDIS_URI", "did you mean RETRYCONTRACT_REDIS_URL?"),
    ("DATABASE_URL_FIEL", "did you mean RETRYCONTRACT_DATABASE_URL_FILE?"),
    ("DATABSE_URL_FILE", "did you mean RETRYCONTRACT_DATABASE_URL_FILE?"),
    ("MAX_ATEMPTS", "did you mean RETRYCONTRACT_MAX_ATTEMPTS?"),
    ("judge", "did you mean RETRYCONTRACT_JUDGE?"),
    ("", "docs/settings.md"),
    ("QQQQQQ", "docs/settings.md"),
]


def test_the_list_of_the_services_variables_is_whole() -> None:
    assert {name.upper() for name in ServiceSettings.model_fields} == OF_THE_SERVICE


@pytest.mark.parametrize(("name", "advice"), MISSPELT)
def test_a_variable_that_nothing_reads_is_refused_with_the_nearest_name(tmp_path: Path, name: str, advice: str) -> None:
    with pytest.raises(WrongSettingError) as refused:
        load({f"{PREFIX}DATA_DIR": str(tmp_path), f"{PREFIX}{name}": "a-secret"})
    message = str(refused.value)
    assert message.startswith(f"{PREFIX}{name} is no setting: ")
    assert advice in message
    assert "a-secret" not in message


@pytest.mark.parametrize(
    "name", ["retrycontract_judge", "RETRY_CONTRACT_JUDGE", "RetryContract_Judge", "retrycontract_jugde"]
)
def test_a_variable_in_another_spelling_is_refused_too(tmp_path: Path, name: str) -> None:
    with pytest.raises(WrongSettingError, match=f"^{name} is no setting: did you mean RETRYCONTRACT_JUDGE"):
        load({f"{PREFIX}DATA_DIR": str(tmp_path), name: "a-secret"})


@pytest.mark.parametrize(
    "name",
    [
        "URL",
        "API_KEY",
        "CORPUS",
        "GATEWAY_TOKEN",
        "TEST_DATABASE",
        "MAX_ATTEMPTS",
        "SESSION",
        "STORM_SHARE",
        "BOMBS_WRITE",
        "STORM_KILLS",
        "BOMBS",
        "E2E_MODEL",
    ],
)
def test_variables_of_the_client_the_contract_and_the_tests_are_let_through(tmp_path: Path, name: str) -> None:
    assert load({f"{PREFIX}DATA_DIR": str(tmp_path), f"{PREFIX}{name}": "3"})


def test_a_number_out_of_range_is_refused_with_its_range(tmp_path: Path) -> None:
    with pytest.raises(WrongSettingError, match=r"CLAIM_MINUTES: .*\(it must be more than 0 and at most 1440\)"):
        load_with(tmp_path, claim_minutes="2000")
    with pytest.raises(WrongSettingError, match=r"EMAIL_PORT: .*\(it must be at least 1 and at most 65535\)"):
        load_with(tmp_path, email_port="smtp")


def test_a_file_that_cannot_be_read_is_named_with_its_variable(tmp_path: Path) -> None:
    with pytest.raises(WrongSettingError, match=r"METRICS_TOKEN_FILE: .*/missing cannot be read: No such file"):
        load_with(tmp_path, metrics_token_file=str(tmp_path / "missing"))
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WrongSettingError, match="it is not UTF-8 text"):
        load_with(tmp_path, metrics_token_file=str(tmp_path / "image"))


def test_a_value_and_a_file_for_one_setting_are_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    with pytest.raises(WrongSettingError, match="METRICS_TOKEN and RETRYCONTRACT_METRICS_TOKEN_FILE are both set"):
        load_with(tmp_path, metrics_token_file=str(tmp_path / "token"), metrics_token="two")


@pytest.mark.parametrize("name", ["encryption_keys", "judge", "lease_seconds", "debug"])
def test_a_wrong_value_is_not_repeated(tmp_path: Path, name: str) -> None:
    with pytest.raises(WrongSettingError) as refused:
        load_with(tmp_path, **{name: "a-secret-in-the-wrong-place"})
    assert "a-secret" not in str(refused.value)


def test_a_webhook_may_use_http_inside_the_own_network(tmp_path: Path) -> None:
    url = "http://chat.internal:8065/hooks/x"
    given = load_with(tmp_path, notify_webhook_url=url, allow_private_webhooks="true")
    assert given.notify_webhook_url == url


def test_people_are_told_by_email_when_server_and_sender_are_known(tmp_path: Path) -> None:
    given = load_with(
        tmp_path, notify_email="ana@example.com, bo@example.com", email_host="mail.example", email_from="d@desk.example"
    )
    assert given.notify_email == ["ana@example.com", "bo@example.com"]


def test_all_wrong_values_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(WrongSettingError) as refused:
        load_with(tmp_path, judge="x", lease_seconds="y")
    assert len(str(refused.value).splitlines()) == 2


def test_settings_are_not_changed_in_passing() -> None:
    with pytest.raises(ValidationError):
        ServiceSettings().judge = "worker"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("JUDGE", "sometimes", "JUDGE: Input should be 'auto' or 'worker'"),
        ("COURIER", "foo.Bar", "COURIER: name a class that can be imported, as package.module.Class (No module named"),
        ("DOORBELL", "worker.embedded.EmbededDoorbell", "DOORBELL: name a class that can be imported"),
        ("DOORBELL", "os.system", "DOORBELL: os.system is no class with attempt_queued() and call_changed() and is_h"),
    ],
)
def test_the_service_does_not_start_with_a_wrong_value(tmp_path: Path, name: str, text: str, said: str) -> None:
    environ = os.environ | {f"{PREFIX}DATA_DIR": str(tmp_path), f"{PREFIX}{name}": text}
    environ["DJANGO_SETTINGS_MODULE"] = "retrycontract.settings"
    command = forked("manage.py", "check")
    run = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert (bool(run.returncode), "Traceback" in run.stderr) == (True, False)
    assert f"{PREFIX}{said}" in run.stderr
