"""What others run us with: proxies, systemd, Kubernetes. Held by their own programs where those can be had."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import httpx2
import kubernetes_validate
import pytest
import yaml
from annotated_types import Le
from jsonschema import Draft7Validator

from retrycontract import __version__
from retrycontract.cli.program import program
from retrycontract.config.service_settings import PREFIX, ServiceSettings, load
from retrycontract.proxy.judged import ProxySettings
from tests.chart import CHART, VALUES, render
from tests.delivery.test_webhook import certificate
from tests.serving.servers import free_port, wait_for_port
from tests.serving.service import Service
from tests.test_deployment import in_container

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGING: Final = ROOT / "packaging"
INSTALL: Final = (ROOT / "docs" / "install.md").read_text()
PROXIES: Final = {path.name: path.read_text() for path in (PACKAGING / "proxies").iterdir()}
MANIFESTS: Final[list[dict[str, Any]]] = [
    manifest for name, text in render(VALUES).items() if name != "NOTES.txt" for manifest in yaml.safe_load_all(text)
]
PODS: Final = {
    manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"]
    for manifest in MANIFESTS
    if "template" in manifest["spec"]
}
VALUES_SCHEMA: Final = json.loads((CHART / "values.schema.json").read_text())
KUBERNETES: Final = ("1.28", "1.31", "1.34")


# The largest body that any setting admits, and the largest of a model's request that is judged.
LARGEST: Final = max(ProxySettings().max_request, *(
    bound.le for bound in ServiceSettings.model_fields["max_body_bytes"].metadata if isinstance(bound, Le)
))  # fmt: skip
UNITS: Final = {"k": 2**10, "m": 2**20, "MB": 10**6, "MiB": 2**20}  # nginx's, and Caddy's


def nginx(folder: Path, changed: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Write nginx's example below a folder, with some words changed, and give the command that takes it."""
    certificate(folder, "desk.example.com")
    example = PROXIES["nginx.conf"]
    files = {"/etc/ssl/desk.pem": f"{folder}/cert.pem", "/etc/ssl/desk.key": f"{folder}/key.pem"}
    for old, new in {**files, **changed}.items():
        example = example.replace(old, new)
    # Whoever is not root may not write where nginx puts bodies by itself.
    kept = "".join(
        f"{part}_temp_path {folder}/{part};" for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{ access_log off; {kept}\n{example}\n}}\n"
    )
    return ["nginx", "-c", f"{folder}/nginx.conf", "-p", str(folder)]


needs_nginx = pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")


@needs_nginx
def test_nginx_takes_its_example(tmp_path: Path) -> None:
    done = subprocess.run([*nginx(tmp_path), "-t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


@needs_nginx
@pytest.mark.parametrize("size", [3_000_000, 64 * 2**20])
def test_behind_nginx_the_service_itself_refuses_a_body_that_is_too_large(
    tmp_path: Path, service: Service, size: int
) -> None:
    plain, tls, key = free_port(), free_port(), service.new_key("large")
    ports = {"listen 80;": f"listen {plain};", "listen 443 ssl;": f"listen {tls} ssl;"}
    command = nginx(tmp_path, ports | {"127.0.0.1:8000": f"127.0.0.1:{service.port}"})
    with subprocess.Popen([*command, "-g", "daemon off; master_process off;"], stderr=subprocess.DEVNULL) as running:
        try:
            wait_for_port(tls, running)
            answer = httpx2.post(
                f"https://127.0.0.1:{tls}/api/v1/check", content=b" " * size, timeout=60, verify=False,
                headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            )  # fmt: skip
        finally:
            running.terminate()
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json"), answer.text
    assert answer.json()["code"] == "body-too-large"


@pytest.mark.parametrize("name", ["Caddyfile", "nginx.conf"])
def test_a_proxy_passes_on_what_any_setting_lets_the_service_take(name: str) -> None:
    [(number, unit)] = re.findall(r"(?:client_max_body_size|max_size) (\d+)(\w+)", PROXIES[name])
    assert int(number) * UNITS[unit] > LARGEST


def test_traefiks_example_is_whole() -> None:
    http = yaml.safe_load(PROXIES["traefik.yml"])["http"]
    [router] = http["routers"].values()
    assert router["service"] in http["services"]
    assert router["tls"]
    assert "middlewares" not in http, "buffering would hold streams back"


def test_caddys_example_is_balanced() -> None:
    text = re.sub(r"#.*", "", PROXIES["Caddyfile"])
    assert text.count("{") == text.count("}") == 4


@pytest.mark.parametrize("name", sorted(PROXIES))
def test_every_proxy_speaks_to_us_over_tls_and_keeps_metrics_inside(name: str) -> None:
    text = PROXIES[name]
    assert "127.0.0.1:8000" in text
    assert "/metrics" in text
    assert "RETRYCONTRACT_TRUSTED_PROXIES" in text
    assert name in INSTALL


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = (PACKAGING / "systemd" / "retrycontract.service").read_text()
    [program_of_unit] = re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE)
    assert program_of_unit in INSTALL
    (tmp_path / "retrycontract.service").write_text(unit.replace(program_of_unit, shutil.which("true") or ""))
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "retrycontract.service"], capture_output=True, text=True, check=False
    )
    assert "retrycontract.service:" not in done.stderr, done.stderr


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("number", range(len(MANIFESTS)))
def test_kubernetes_takes_every_manifest(number: int, version: str) -> None:
    kubernetes_validate.validate(MANIFESTS[number], version, strict=True)


@pytest.mark.parametrize("name", sorted(PODS))
def test_a_pod_has_no_powers_and_a_read_only_root(name: str) -> None:
    pod = PODS[name]
    [container] = pod["containers"]
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    # The cluster's own RETRYCONTRACT_PORT, for the service of that name, would be refused as a setting that is none.
    assert pod["enableServiceLinks"] is False
    assert container["resources"]["limits"]["memory"]
    assert container["envFrom"] == [{"secretRef": {"name": "retrycontract"}}]


@pytest.mark.parametrize("name", sorted(PODS))
def test_a_pod_runs_a_command_that_there_is(name: str) -> None:
    import click

    [container] = PODS[name]["containers"]
    first, command, *options = container["args"]
    assert first == "retrycontract"
    leaf = program.get_command(click.Context(program), command)
    assert leaf is not None
    leaf.make_context(command, list(options))


def test_the_cluster_has_what_it_needs_to_look_after_us() -> None:
    kinds = sorted((manifest["kind"], manifest["metadata"]["name"]) for manifest in MANIFESTS)
    assert kinds == [
        ("Deployment", "retrycontract-web"),
        ("Deployment", "retrycontract-worker"),
        ("HorizontalPodAutoscaler", "retrycontract-web"),
        ("HorizontalPodAutoscaler", "retrycontract-worker"),
        ("Job", "retrycontract-migrate-1"),
        ("PodDisruptionBudget", "retrycontract-web"),
        ("PodDisruptionBudget", "retrycontract-worker"),
        ("Service", "retrycontract"),
    ]
    [web] = PODS["retrycontract-web"]["containers"]
    assert {probe: web[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")} == {
        "startup": "/livez", "liveness": "/livez", "readiness": "/readyz",
    }  # fmt: skip
    [scaled] = [m for m in MANIFESTS if m["kind"] == "HorizontalPodAutoscaler" and "worker" in m["metadata"]["name"]]
    [metric] = scaled["spec"]["metrics"]
    assert f"`{metric['external']['metric']['name']}`" in (ROOT / "docs" / "operating.md").read_text()


def test_the_settings_of_the_cluster_are_taken(tmp_path: Path) -> None:
    for name, pod in PODS.items():
        variables = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
        settings = load(variables | {f"{PREFIX}DATA_DIR": str(tmp_path)})
        assert (settings.https, settings.judge) == (True, "worker"), name
        assert in_container("web", {})[f"{PREFIX}JUDGE"] == settings.judge


@pytest.mark.parametrize(
    "changed",
    [
        {"image": VALUES["image"] | {"tag": "2.0", "pullSecrets": [{"name": "registry"}]}},
        {"worker": VALUES["worker"] | {"metric": "", "maxReplicas": 40}},
        {
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "spot", "operator": "Exists"}],
            "podAnnotations": {"a": "1"},
        },
        {
            "settings": {
                "RETRYCONTRACT_HTTPS": True,
                "RETRYCONTRACT_RATE_LIMIT": 100,
                "RETRYCONTRACT_ALLOWED_HOSTS": 'a"b: {',
            }
        },
    ],
    ids=["image", "metric", "placing", "settings"],
)
def test_a_cluster_takes_what_other_values_make(changed: dict[str, Any]) -> None:
    values = VALUES | changed
    Draft7Validator(VALUES_SCHEMA).validate(values)
    for name, text in render(values, "other").items():
        for manifest in yaml.safe_load_all(text) if name != "NOTES.txt" else ():
            assert manifest["metadata"]["name"].startswith("other")
            kubernetes_validate.validate(manifest, KUBERNETES[-1], strict=True)
    assert "{{" not in "".join(render(values).values())


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"setings": {}}, ""),
        ({"web": {"replicas": 2}}, "web"),
        ({"worker": {"minReplicas": "two"}}, "worker/minReplicas"),
        ({"settings": {"RETRYCONTRACT_SECRET_KEY": "in the open"}}, "settings"),
        ({"settings": {"DEBUG": "1"}}, "settings"),
        ({"secret": ""}, "secret"),
        ({"image": {"repository": "x", "pullPolicy": "Sometimes"}}, "image/pullPolicy"),
    ],
)
def test_a_misspelt_value_of_the_chart_is_refused(changed: dict[str, Any], where: str) -> None:
    [error] = Draft7Validator(VALUES_SCHEMA).iter_errors(VALUES | changed)
    assert "/".join(map(str, error.absolute_path)) == where


def test_the_chart_names_the_version_and_every_value() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    assert set(VALUES_SCHEMA["properties"]) - {"global"} == set(VALUES)
    for name, part in VALUES.items():
        assert set(VALUES_SCHEMA["properties"][name].get("properties", part)) == set(part or {})
