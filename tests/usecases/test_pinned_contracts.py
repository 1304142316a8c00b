"""The versions of schemas that this process holds: when they are compiled, and how many are kept."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest

from retrycontract.contract.checks.composition import InstancePlace, unknown_fields
from retrycontract.contract.schemas.costs import Combined, Judged
from retrycontract.contract.schemas.graph import SchemaPlace
from retrycontract.contract.schemas.telling_costs import SECOND
from retrycontract.contract.tool import Tool
from retrycontract.usecases.calls.check_output import Submitted, is_quick
from retrycontract.usecases.tools.contracts import EARNED, KEPT_TOGETHER, LEAST_OF_ONE, PinnedContract, pinned
from retrycontract.usecases.tools.register_tool import register_tool
from tests.bombs import Bomb, known
from tests.factories import make_agent, make_tool, use_often
from tests.usecases.conftest import NOON

pytestmark = pytest.mark.django_db


def test_who_registers_a_tool_compiles_it_so_that_no_attempt_waits_for_that() -> None:
    done = register_tool(make_agent(), "t", {"properties": {"a": {"type": "string"}}}, now=NOON)
    contract = pinned(done.tool, done.version, "tool_call")
    assert contract._compiled is not None
    assert contract._is_judged_apart is False


def test_a_large_schema_is_compiled_here_once_its_uses_are_worth_it() -> None:
    """Of hundreds that are used once each the door stood still for 50 ms."""
    schema = {"anyOf": [{"type": "integer", "minimum": number} for number in range(1_500)]}
    tool = make_tool(make_agent(), schema=schema)
    assert tool.current_version is not None
    contract = pinned(tool, tool.current_version, "tool_call")
    uses, is_compiled = [], []
    for _ in range(12):
        uses.append(contract.use())
        is_compiled.append(contract._compiled is not None)
    assert uses == is_compiled
    assert uses[0] is False
    assert uses == sorted(uses)
    assert 2 <= uses.index(True) + 1 <= contract.weight.compiling / SECOND / EARNED


def test_what_is_used_is_kept_however_many_others_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key's new tools pushed out those of all others, which were compiled anew with each submit."""
    monkeypatch.setattr("retrycontract.usecases.tools.contracts.KEPT_TOGETHER", 5 * LEAST_OF_ONE)
    agent, made = make_agent(), []
    used = register_tool(agent, "used", {"type": "object"}, now=NOON)
    kept = pinned(used.tool, used.version, "tool_call")
    for number in range(20):
        made.append(register_tool(agent, f"t{number}", {"type": "object", "title": f"{number}"}, now=NOON))
        assert pinned(used.tool, used.version, "tool_call") is kept
    first = pinned(made[0].tool, made[0].version, "tool_call")
    assert first._compiled is None, "what nobody used was let go"


SHARED: dict[str, Any] = {
    "$id": "https://example.com/order", "$defs": {"name": {"$anchor": "name", "type": "string", "pattern": "^[a-z]+$"}},
    "properties": {"a": {"$ref": "#name"}, "b": {"anyOf": [{"$ref": "#/$defs/name"}, {"items": {"minimum": 1}}]}},
    "patternProperties": {"^x": {"enum": [1, 2]}}, "unevaluatedProperties": False,
}  # fmt: skip


def parts() -> int:
    return sum(isinstance(each, SchemaPlace | InstancePlace | Combined | Judged) for each in gc.get_objects())


def test_what_is_let_go_is_free_at_once() -> None:
    """It held itself: all threads stood still for 100 to 300 ms while the collector looked through 400,000 parts."""
    gc.collect()
    gc.disable()
    try:
        before = parts()
        contract = PinnedContract(Tool(name="t", input_schema=SHARED))
        assert contract.use()
        assert contract.weight.estimate({"a": "x", "b": [1], "x1": {}}).valid > 0
        assert unknown_fields(contract.index, {"a": "x", "b": [1]}) == []
        assert parts() > before + 10
        del contract
        assert parts() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("bomb", known(), ids=lambda bomb: bomb.name)
def test_who_sends_a_dear_output_compiles_nothing(bomb: Bomb) -> None:
    """Of many versions not all are kept compiled: it would hold up the door for what a child judges anyway."""
    contract = PinnedContract(Tool(name="t", input_schema=bomb.schema))
    assert not is_quick(Submitted(output=bomb.value, tool_name="t"), contract)
    assert contract._compiled is None


def test_compiled_versions_are_kept_by_what_they_hold_not_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """190 patterns hold 3 MB; two thousand such versions, of one agent in minutes, would hold 6 GB."""
    agent, together = make_agent(), KEPT_TOGETHER / 8
    monkeypatch.setattr("retrycontract.usecases.tools.contracts.KEPT_TOGETHER", together)

    def register(number: int) -> ref[PinnedContract]:
        patterns = {f"p{at}": {"pattern": f"^{number:016}{at:016}[a-z]+$"} for at in range(190)}
        tool = make_tool(agent, "many", {"type": "object", "properties": patterns})
        return ref(use_often(tool))

    kept = [register(number) for number in range(24)]
    gc.collect()
    held = [found.holds for each in kept if (found := each()) is not None]
    assert 0 < len(held) < 24
    assert sum(held) <= together
    assert kept[-1]() is not None
