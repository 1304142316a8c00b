"""How the doctor tells what it found: to people, to programs, and never with a secret."""

from __future__ import annotations

import json
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from retrycontract.management.commands.doctor import examine
from retrycontract.management.doctor import Finding, Level
from tests.file_database import file_database as file_database
from tests.management.conftest import printed
from tests.management.test_doctor import Setup, found, lose_key, open_folder
from tests.management.test_doctor import service as service
from tests.serving import running
from tests.serving.forked import forked
from tests.serving.service import ROOT, Service


def test_the_lines_are_aligned_and_the_exit_status_says_whether_all_is_well(
    service: Setup, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [line.split()[0] for line in printed("doctor").splitlines()] == ["ok"] * len(examine(timezone.now()))
    lose_key(service)
    with pytest.raises(SystemExit) as ended:
        call_command("doctor")
    assert ended.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("FAIL  keys         ")]


def test_a_warning_alone_is_no_failure(service: Setup) -> None:
    open_folder(service)
    assert "\nwarn  data folder  " in printed("doctor")


def test_programs_read_the_findings_as_json(service: Setup) -> None:
    findings = json.loads(printed("doctor", "--json"))
    assert [Finding(Level(found["level"]), found["name"], found["text"]) for found in findings]
    assert {tuple(finding) for finding in findings} == {("level", "name", "text")}


def test_no_finding_holds_a_secret(service: Setup) -> None:
    service.wait(timedelta(hours=3))
    for _, text in ((finding.name, finding.text) for finding in examine(timezone.now())):
        for secret in (service.settings.RETRYCONTRACT.secret_key, *service.settings.RETRYCONTRACT.encryption_keys):
            assert secret not in text


@pytest.mark.parametrize(
    ("variables", "config", "advice"),
    [
        ({"RETRYCONTRACT_JUDGE": "sometimes"}, "", "RETRYCONTRACT_JUDGE: Input should be 'auto' or 'worker'"),
        ({}, "tools: {validation: {retry: {max_attempts: 99}}}", "max_attempts"),
    ],
)
def test_a_service_that_cannot_even_start_is_told_why(
    tmp_path: Path, variables: dict[str, str], config: str, advice: str
) -> None:
    service = Service(tmp_path, variables)
    (tmp_path / "config.yml").write_text(config)
    environ = service._environ() | {"DJANGO_SETTINGS_MODULE": "retrycontract.settings"}
    command = forked(str(ROOT / "manage.py"), "doctor")
    run = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("The service cannot start with these settings.")
    assert advice in run.stderr
    assert "Traceback" not in run.stderr


def test_the_doctor_examines_a_running_service_from_outside(tmp_path: Path) -> None:
    with running(Service(tmp_path / "data")) as service:
        command = forked(str(ROOT / "manage.py"), "doctor")
        run = subprocess.run(command, cwd=ROOT, env=service._environ(), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "FAIL" not in run.stdout


@pytest.mark.parametrize("host", ["hooks..example.com", f"{'a' * 300}.com"], ids=["empty label", "long label"])
def test_an_address_that_no_name_can_be_is_one_finding_among_all(service: Setup, host: str) -> None:
    service.set(notify_webhook_url=f"https://{host}/x")
    assert [finding.level for finding in found("certificates")] == [Level.WARN]
    assert len(examine(timezone.now())) > 10
