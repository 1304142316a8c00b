"""A server that speaks the protocol by hand, so that it can say and hear what no SDK lets through.

`python raw_upstream.py FOLDER` writes each line into FOLDER/heard as it came. While FOLDER/silent is there, it lists no
tools, and lists them when that has gone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

# And others that no SDK would declare, from the environment.
NAMES = [*json.loads(os.environ.get("RAW_TOOLS", "[]")), "write", "text", "strange", "torn", "deep", "crash"]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": name, "inputSchema": TEXT if name == "text" else {"type": "object"}} for name in NAMES]
TOOLS[NAMES.index("deep")]["outputSchema"] = {"type": "object"}
STRANGE = '{"jsonrpc":"2.0" , "id":%s,"result":{"content":[{"type":"text","text":"cut \\ud83d"}],"a":1e400,"b":NaN,"c":1,"c":2},"x":[1]}'  # noqa: E501
ANSWERS = {
    "strange": STRANGE,
    "torn": '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"te',
    "deep": '{"jsonrpc":"2.0","id":%s,"result":' + "[" * 3000 + "]" * 3000 + "}",
}


def answer(request: dict[str, object]) -> str:
    written = json.dumps(request["id"])
    method, params = request["method"], request.get("params")
    if method == "tools/call" and isinstance(params, dict):
        if params["name"] == "crash":
            os._exit(7)
        if params["name"] in ANSWERS:
            return ANSWERS[params["name"]] % written
    result = {"tools": TOOLS} if method == "tools/list" else {"content": [], "method": method}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw"}}
    return f'{{"jsonrpc": "2.0", "id": {written}, "result": {json.dumps(result)}}}'


def main() -> None:
    heard, silent = (Path(sys.argv[1]) / "heard").open("ab", buffering=0), Path(sys.argv[1]) / "silent"
    for line in sys.stdin.buffer:
        heard.write(line)
        try:
            read = json.loads(line)
        except ValueError:
            continue
        asked = [request for request in (read if isinstance(read, list) else [read]) if "id" in request]
        while any(request.get("method") == "tools/list" for request in asked) and silent.exists():
            time.sleep(0.05)
        answers = [answer(request) for request in asked if "method" in request]
        if answers:
            print(f"[{', '.join(answers)}]" if isinstance(read, list) else answers[0], flush=True)


if __name__ == "__main__":
    main()
