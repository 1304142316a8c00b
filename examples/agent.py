"""An agent that gets stuck, asks for a person, and finishes: only HTTP, no package needed.

`model` stands in for your LLM. It makes the same mistake again and again, and does as a person says.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

URL = os.environ.get("RETRYCONTRACT_URL", "http://127.0.0.1:8000") + "/api/v1"
KEY_FILE = Path("data/demo_agent_key")  # which `retrycontract up` makes
KEY = os.environ.get("RETRYCONTRACT_API_KEY") or (KEY_FILE.is_file() and KEY_FILE.read_text().strip())
SESSION = os.environ.get("RETRYCONTRACT_SESSION", f"demo-{int(time.time())}")
FIRST_TURN = int(time.time())  # later than in any run before: started again, the agent goes on with its Blocked call


def http(method, path, body=None):
    """Send one request and return the answer's JSON."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Prefer": "wait=60"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=90) as answer:
        if answer.status == 202:  # nothing yet; a service that is about to stop says so at once
            time.sleep(int(answer.headers["Retry-After"]))
        return json.load(answer)


def model(messages, guidance=None):
    """Write the arguments of a tool call, as an LLM would."""
    if guidance and guidance["arguments"]:
        return guidance["arguments"]
    if guidance:
        return {"origin": "ZRH", "destination": "LHR", "date": "2027-03-14", "cabin": "business", "passengers": 2}
    guesses = [
        {"from": "Zurich", "destination": "LHR", "date": "14 March", "cabin": "Buisness", "passengers": "2"},
        {"origin": "Zurich", "destination": "LHR", "date": "14.03.2027", "cabin": "biz", "passengers": 2},
        {"origin": "Zürich", "destination": "London", "date": "2027-03-14", "cabin": "first class", "passengers": 2},
    ]
    return guesses[min(len(messages), len(guesses) - 1)]


def main():
    """Book a flight, with a person's help when the model is stuck."""
    messages, guidance, call_id = [], None, None
    goal = {"goal": "Book two seats to London", "last_user_message": "Two business seats to London on 14 March"}
    while True:
        attempt = {"tool": "book_flight", "arguments": model(messages, guidance), "tool_call_id": f"c{len(messages)}",
                   "session_id": SESSION, "turn": FIRST_TURN + len(messages), "context": goal}  # fmt: skip
        verdict = http("POST", "/calls", attempt | ({"call_id": call_id} if call_id else {}))
        call_id = verdict["call_id"]
        if verdict["status"] == "valid":
            return print("The flight is booked:", json.dumps(attempt["arguments"]))
        messages.append(verdict["tool_result"])
        print(verdict["tool_result"]["content"], end="\n\n")
        while verdict["state"] == "blocked":
            verdict |= http("GET", f"/calls/{call_id}/wait?for=guidance")
            guidance = verdict["guidance"]
        if verdict["state"] in ("accepted", "rejected", "expired"):
            return print(guidance["text"] if guidance else verdict["expiry"])


if __name__ == "__main__":
    if not KEY:
        sys.exit("There is no key: set RETRYCONTRACT_API_KEY, or start this where 'retrycontract up' has made data/.")
    try:
        main()
    except urllib.error.HTTPError as refusal:
        sys.exit(f"{URL} refuses it: {json.load(refusal)['detail']}")
    except OSError as error:
        sys.exit(f"No service answers at {URL} ({error}): start one with 'retrycontract up', or set RETRYCONTRACT_URL.")
