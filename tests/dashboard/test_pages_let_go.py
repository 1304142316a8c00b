"""Pages of megabytes leave nothing that only the collector of garbage would take away: it stops everybody meanwhile."""

from __future__ import annotations

import gc
import json
import re
from typing import Any

import pytest
from django.test import Client

from dashboard.navigation import Role
from tests.factories import make_agent, make_tool, make_user, submit
from tests.usecases.conftest import judge_all

MANY = 20_000


class BareClient(Client):
    """Answer without keeping what a page was made of, as tests' own client does."""

    def request(self, **given: Any) -> Any:
        return self.handler(self._base_environ(**given))


@pytest.mark.usefixtures("no_collector")
def test_a_page_of_many_values_is_gone_without_a_collection(db: None) -> None:
    client, agent = BareClient(), make_agent()
    client.force_login(make_user("ada", Role.ADMIN))
    tool = make_tool(agent, schema={"properties": {"n": {"type": "integer"}, "l": {"type": "array"}}})
    value = {"n": "one", "l": [[]] * MANY}
    call = submit(agent, value).call
    for _ in range(2):
        judge_all()
        submit(agent, value, call=call)
    judge_all()
    page = f"/calls/{call.public_id}/"
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', client.get(page).content.decode()))
    right = hidden | {"decision": "corrected", "arguments": json.dumps(value | {"n": 1}), "text": "", "grant": "1"}
    wrong = right | {"arguments": json.dumps(value)}
    tried = {"schema": json.dumps({"required": ["m"]}), "output": json.dumps(value)}
    refused, good = ({"type": of, "enum": [[]] * MANY} for of in ("objekt", "array"))
    new = {"agent": agent.pk, "name": "new", "kind": tool.kind}
    shown: list[tuple[str, dict[str, str] | None]] = [
        (page, None), (f"{page}?whole=2", None), (f"{page}preview/", right), (f"{page}preview/", wrong),
        (page, wrong), (f"/tools/{tool.pk}/", None), ("/playground/", tried),
        (f"/tools/{tool.pk}/schema/", {"schema": json.dumps(refused)}),
        (f"/tools/{tool.pk}/schema/", {"schema": json.dumps(refused)[:-1]}),
        (f"/tools/{tool.pk}/schema/", {"schema": json.dumps(good)}),
        ("/tools/new/", new | {"schema": json.dumps(refused)}),
        ("/tools/new/", new | {"schema": json.dumps(good)}),
        (f"/admin/retrycontract/attempt/{call.attempts.latest('pk').pk}/change/", None),
        (page, right), (page, None), ("/?tab=answered", None), (f"/admin/retrycontract/call/{call.pk}/change/", None),
        ("/admin/retrycontract/guidance/1/change/", None),
    ]  # fmt: skip
    for address, form in shown:
        gc.collect()
        answer = client.get(address) if form is None else client.post(address, form)
        assert answer.status_code in (200, 302, 422), (address, answer.status_code)
        del answer
        assert gc.collect() < MANY / 4, (address, form)
