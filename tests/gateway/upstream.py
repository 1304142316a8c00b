"""An MCP server for the tests, with the SDK, as a process of its own: `python upstream.py [FOLDER [--http]]`.

It writes into FOLDER what it was told, so that a test can tell what reached it; with --http also the port it serves.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else None
PAGE = 4

READ_FILE = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^/"},
        "encoding": {"enum": ["utf-8", "ascii"]},
        "api_key": {"type": "string"},
    },
    "required": ["path"],
}
NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
ANYTHING = {"type": "object"}
SURE = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
ELSEWHERE = {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}}
TOOLS = [
    types.Tool(
        name="read_file",
        title="Read a file",
        description="Gives back what it was told.",
        input_schema=READ_FILE,
        annotations=types.ToolAnnotations(read_only_hint=True, title="Reads"),
        _meta={"com.example/kept": [1, 2]},
    ),
    types.Tool(name="double", input_schema=NUMBER, output_schema=NUMBER),
    types.Tool(name="elsewhere", description="Its schema points outside.", input_schema=ELSEWHERE),
    types.Tool(name="fail", description="Always fails, in its own words.", input_schema=ANYTHING),
    types.Tool(name="slow", description="Reports progress and never ends.", input_schema=ANYTHING),
    types.Tool(name="crash", description="Ends the server.", input_schema=ANYTHING),
    types.Tool(name="ask", description="Asks the client for its model, its roots and its user.", input_schema=ANYTHING),
    types.Tool(
        name="confirm", description="Wants its user to say yes first (stateless protocol).", input_schema=NUMBER
    ),
    types.Tool(
        name="grow", description="Adds a tool, changes it or takes it away, and says so.", input_schema=ANYTHING
    ),
]


def grown(needs: str | None) -> types.Tool:
    schema = {"type": "object", "properties": {needs: {"type": "string"}}, "required": [needs]} if needs else NUMBER
    return types.Tool(name="grown", input_schema=schema)


def told(name: str, what: Any) -> None:
    if FOLDER is not None:
        with (FOLDER / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")


def text(value: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(value))])


async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    start = int(params.cursor) if params and params.cursor else 0
    following = start + PAGE
    cursor = str(following) if following < len(TOOLS) else None
    return types.ListToolsResult(tools=TOOLS[start:following], next_cursor=cursor)


async def call_tool(
    context: Any, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    arguments = params.arguments or {}
    told("calls", {"tool": params.name, "arguments": arguments})
    match params.name:
        case "double":
            doubled = {"number": 2 * arguments["number"]}
            return text(doubled).model_copy(update={"structured_content": doubled})
        case "fail":
            content = [types.TextContent(type="text", text="The disk is full.")]
            return types.CallToolResult(content=content, is_error=True, _meta={"com.example/disk": 0})
        case "slow":
            await run_slowly(context)
        case "crash":
            os._exit(3)
        case "ask":
            return text(await ask(context.session))
        case "confirm" if not params.input_responses:
            question = types.ElicitRequestFormParams(message="Sure?", requested_schema=SURE)
            return types.InputRequiredResult(
                input_requests={"sure": types.ElicitRequest(params=question)}, request_state="asked"
            )
        case "grow":
            TOOLS[:] = [tool for tool in TOOLS if tool.name != "grown"]
            TOOLS.extend([] if arguments.get("gone") else [grown(arguments.get("needs"))])
            await context.session.send_tool_list_changed()
    return text({params.name: arguments})


async def run_slowly(context: Any) -> None:
    try:
        await context.session.report_progress(1.0, 3.0, "a third")
        await anyio.sleep_forever()
    finally:
        told("cancelled", "slow")


async def ask(session: Any) -> dict[str, Any]:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say yes."))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the SDK calls them deprecated; clients still offer them
        sampled = await session.create_message([message], max_tokens=5)
        roots = await session.list_roots()
        await session.send_log_message("info", "asked")
    elicited = await session.elicit_form("Sure?", SURE)
    return {"model": sampled.content.text, "roots": [str(root.uri) for root in roots.roots], "user": elicited.content}


async def list_resources(context: Any, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri="memo://one", name="one")])


async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="a memo")])


async def list_prompts(context: Any, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet")])


async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    content = types.TextContent(type="text", text=f"Greet {(params.arguments or {}).get('who')}.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def complete(context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[params.argument.value + "!"]))


async def serve() -> None:
    server: Server[Any] = Server(
        "upstream",
        version="7",
        instructions="Read before you write.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    told("environment", dict(os.environ))
    told("process", os.getpid())
    if "--http" in sys.argv:
        await serve_http(server)
        return
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_http(server: Server[Any]) -> None:
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    manager = StreamableHTTPSessionManager(server)
    listening = socket.create_server(("127.0.0.1", 0))
    told("port", listening.getsockname()[1])
    async with manager.run():
        config = uvicorn.Config(
            manager.handle_request, interface="asgi3", log_level="warning", lifespan="off", timeout_graceful_shutdown=1
        )
        await uvicorn.Server(config).serve([listening])


if __name__ == "__main__":
    anyio.run(serve)
