"""What every test may ask for: the corpus, and a firm word where something is missing."""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
from collections import Counter
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import httpcore2
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests.sampling import leave_long_tables_to_the_soak
from tests.serving import documentation, running, scaled
from tests.serving.desk import Desk
from tests.serving.reaper import watch_over_this_run
from tests.serving.servers import (
    NO_POSTGRESQL,
    NO_REDIS,
    PostgreSQL,
    Redis,
    postgresql_programs,
    redis_server,
    running_postgresql,
    running_redis,
)
from tests.serving.service import Service, shared_folder
from tests.serving.threads import busy_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

# The same few examples everywhere, or many that differ from run to run; no deadline in either, for machines are shared.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
hypothesis_settings.register_profile("quick", max_examples=25, derandomize=True, database=None, **PATIENT)
hypothesis_settings.register_profile("soak", max_examples=200, print_blob=True, **PATIENT)
hypothesis_settings.register_profile("chaos", max_examples=20_000, print_blob=True, **PATIENT)
hypothesis_settings.load_profile("quick")  # unless --hypothesis-profile names another one

# To read the system's authorities takes 40 ms, and thousands of clients are made that talk to this machine only.
of_authorities = cache(lambda _, make=httpcore2.default_ssl_context, **options: make(**options))
httpcore2.default_ssl_context = lambda **options: of_authorities(os.environ.get("SSL_CERT_FILE"), **options)

# Fixtures that start a program: one that all tests of a run share, or one of a test's or a module's own.
STARTS_ONE_FOR_ALL = frozenset({"service", "judged_service"})
STARTS_PROGRAMS = frozenset(
    {"start_service", "postgresql", "redis", "own_redis", "own_postgresql", "telling", "doomed"}
)
ABOUT_MS = {"minutes": 200_000, "browser": 4_000, "processes": 800, "django_db": 60}  # what a test takes, by its mark
INSTALLS = frozenset({"node", "python", "litellms_python"})  # into one folder, which two at once would spoil


def pytest_configure(config: pytest.Config) -> None:
    """See to it that nothing outlives this run, and that its processes share a first start."""
    if hasattr(config.option, "rerun_show_tracebacks"):
        config.option.rerun_show_tracebacks = True  # the second try may fail for what the first one left
    watch_over_this_run()
    shared_folder()
    gc.set_threshold(20_000, 20, 50)  # looks for garbage were a twelfth of the processor time


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what takes seconds to collect alone, by each process, unless the soak is asked for."""
    is_soak = not re.search(r"not \(?soak", config.getoption("markexpr"))
    return None if is_soak or collection_path.name != "test_schemathesis.py" else True


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark what starts programs, bring together what shares one, and begin with what takes longest."""
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        shared = STARTS_ONE_FOR_ALL & names
        imports_it = hasattr(getattr(item, "module", None), "subprocess")
        if shared or (STARTS_PROGRAMS | INSTALLS) & names or imports_it:
            item.add_marker(pytest.mark.processes)
        # Side by side, the same worker gets all that use a program, so that it is started once; else a module's tests
        # stay together. A browser's tests share no more than the browser, and there are many of them.
        group = min(INSTALLS & names or shared, default=item.nodeid.partition("::")[0])
        if group == "judged_service":
            group += getattr(item, "callspec").params["judged_service"]  # noqa: B009 - only some items have it
        item.add_marker(pytest.mark.xdist_group(group))  # behind that of a test which names its group itself
        # A machine that others load lets what waits for a program miss its time: the report names what needed a second
        # try. The plug-in asks its server over a socket before each test, for 20 ms: the others have one try.
        waits = any(map(item.get_closest_marker, ("browser", "services", "processes")))
        if waits and os.environ.get("CI") and config.pluginmanager.hasplugin("rerunfailures"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    leave_long_tables_to_the_soak(items)
    yield
    if getattr(config.option, "loadgroup", False):  # in a worker
        about: Counter[str] = Counter()
        for item in items:
            about[group_of(item)] += next(
                (each for mark, each in ABOUT_MS.items() if item.get_closest_marker(mark)), 10
            )
        # A group that begins last and takes minutes would hold up the end of the run.
        items.sort(key=lambda item: -about[group_of(item)])
        for item in items:  # xdist reads the group here, and writes it where pytest 9.2 no longer looks
            item._id = item.id.parse(f"{item.nodeid}@{group_of(item)}")
            assert item.nodeid.endswith(group_of(item)), "the groups of this run would be none"


def group_of(item: pytest.Item) -> str:
    """Name the tests that this one stays together with."""
    marker = item.get_closest_marker("xdist_group")
    assert marker is not None
    return str(marker.args[0])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Skip what was to run on PostgreSQL where there is none; with CI set, stop."""
    gc.freeze()  # a million objects of the collection stay to the end: no test need look through them again
    if os.environ.get("RETRYCONTRACT_TEST_DATABASE") != "postgresql" or postgresql_programs():
        return
    if os.environ.get("CI"):
        pytest.exit(f"needed where CI is set: {NO_POSTGRESQL}", returncode=1)
    for item in session.items:
        item.add_marker(pytest.mark.skip(reason=NO_POSTGRESQL))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what tests measured and hold to nothing: machines differ, and readers compare."""
    properties = [pair for report in terminalreporter.getreports("passed") for pair in report.user_properties]
    told = [value for name, value in properties if name == "figure"]
    if told:
        terminalreporter.section("figures")
        for figure in told:
            terminalreporter.line(str(figure))


def require(condition: object, reason: str) -> None:
    """Skip the test when the condition does not hold; with CI set, fail it: there nothing may go untested."""
    if condition:
        return
    if os.environ.get("CI"):
        pytest.fail(f"needed where CI is set: {reason}", pytrace=False)
    pytest.skip(reason)


def corpus_rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of `<RETRYCONTRACT_CORPUS>/<name>.jsonl`."""
    folder = os.environ.get("RETRYCONTRACT_CORPUS", "")
    require(folder, "RETRYCONTRACT_CORPUS names no folder of real data")
    path = Path(folder) / f"{name}.jsonl"
    require(path.is_file(), f"RETRYCONTRACT_CORPUS holds no {path.name}")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


class Corpus(Protocol):
    """`corpus("real_tools")` gives the rows of real_tools.jsonl, at least one."""

    def __call__(self, name: str) -> list[dict[str, Any]]: ...


@pytest.fixture(scope="session", autouse=True)
def _no_thread_computes_on() -> Iterator[None]:
    """Fail a run in which a test left a thread that is busy with nothing: it takes a core from all that follow."""
    yield
    assert busy_threads() == []


@pytest.fixture(autouse=True)
def _history_ends_with_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Flush what a transactional test leaves in the way that may delete history; the plug-in's own flush may not."""
    marker = request.node.get_closest_marker("django_db")
    if not (marker and marker.kwargs.get("transaction")) and "transactional_db" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")  # so that this ends before the plug-in flushes
    yield
    from django.core.management import call_command
    from django.db import transaction

    from retrycontract.store.history import forgetting

    with transaction.atomic(), forgetting():
        call_command("flush", interactive=False, verbosity=0, inhibit_post_migrate=True)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Leave garbage that holds itself where it is."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """Real data that others published; read, never copied into the repository."""

    def rows(name: str) -> list[dict[str, Any]]:
        found = list(corpus_rows(name))
        assert found, f"{name}.jsonl is empty"
        return found

    return rows


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server of the tests' own."""
    require(postgresql_programs(), NO_POSTGRESQL)
    with running_postgresql() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    """A Redis server of the tests' own."""
    require(redis_server(), NO_REDIS)
    with running_redis() as server:
        yield server


@pytest.fixture(
    scope="session", params=["at the door", pytest.param("by the worker", marks=pytest.mark.soak), "scaled out"]
)
def judged_service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The running service, once for each place where it judges: in one process, and in many."""
    folder = tmp_path_factory.mktemp("judged") / "data"
    judge = "auto" if request.param == "at the door" else "worker"
    chosen = (
        scaled(request, folder) if request.param == "scaled out" else Service(folder, {"RETRYCONTRACT_JUDGE": judge})
    )
    with running(chosen) as service:
        yield service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The running service as `manage.py up` starts it; tests share it, so each makes an agent of its own."""
    with running(Service(tmp_path_factory.mktemp("service") / "data")) as service:
        yield service


@pytest.fixture(scope="session")
def keys(service: Service) -> Iterator[str]:
    """Keys of new agents: a test that counts calls takes one of its own."""
    return (service.new_key(f"tested-{number}") for number in itertools.count())


@pytest.fixture(scope="session")
def desk(service: Service) -> Desk:
    """An operator who has logged in."""
    found = Desk(service)
    found.log_in()
    return found


class StartService(Protocol):
    """`start_service(tmp_path / "data", {…})` starts a service of the test's own."""

    def __call__(self, data_dir: Path, environment: dict[str, str] | None = None) -> Service: ...


@pytest.fixture
def start_service() -> Iterator[StartService]:
    """Start services that a test may stop, kill and change; they end with it."""
    with ExitStack() as services:
        yield lambda data_dir, environment=None: services.enter_context(running(Service(data_dir, environment or {})))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation site."""
    return documentation.build(tmp_path_factory.mktemp("documentation"))
