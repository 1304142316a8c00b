"""The MCP server over streamable HTTP: each request stands alone, and asks the API in this process with its own key."""

from __future__ import annotations

from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from retrycontract.client import AsyncClient
from retrycontract.judging.service_judge import ServiceJudge
from retrycontract.mcp.open_calls import connection_details
from retrycontract.mcp.server import ContractServer
from retrycontract.mcp.visiting import KeyedVisit


class ServerVisit(KeyedVisit):
    """Let the SDK answer one HTTP request."""

    async def answer(self, client: AsyncClient, key: str, receive: Any, send: Any, max_body_bytes: int) -> None:  # noqa: ARG002
        """Serve a connection of this request alone."""
        judge = ServiceJudge(client, "mcp", details=connection_details("mcp"), is_patient=False)
        server = ContractServer(judge, (), has_desk=True).as_server()
        manager = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=max_body_bytes)
        async with manager.run():
            await manager.handle_request(self._scope, receive, send)
