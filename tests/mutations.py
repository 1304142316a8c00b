"""Changes of the source that break a requirement: the tests that docs/requirements.md names for it must notice each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Mutation:
    """Put one text, which stands once in a file below retrycontract/, into the place of another."""

    requirement: str
    file: str
    old: str
    new: str


MUTATIONS: Final = (
    Mutation("FR-003", "contract/errors.py", '"field_path": self.field_path', '"field_path": ""'),
    Mutation(
        "FR-007",
        "contract/redaction/sanitizer.py",
        "return self._quoted(self._strings.redact_string(value, field_path))",
        "return self._quoted(value)",
    ),
    Mutation("FR-013", "contract/codes.py", 'UNKNOWN_FIELD = "VAL-005"', 'UNKNOWN_FIELD = "VAL-099"'),
    Mutation(
        "FR-020",
        "contract/feedback/feedback_text.py",
        "for {kind} '{shown_name(name)}' (attempt",
        "for {kind} (attempt",
    ),
    Mutation("FR-021", "contract/feedback/formatter.py", 'text += f"\\n\\n...and {hidden} more"', 'text += ""'),
    Mutation("FR-023", "contract/feedback/formatter.py", 'line = f"  Expected: ', 'line = f"  Wanted: '),
    Mutation(
        "FR-025", "contract/feedback/formatter.py", "            if len(text) <= limit:\n", "            if text:\n"
    ),
    Mutation("FR-027", "contract/feedback/tool_result.py", "is_error: bool = True", "is_error: bool = False"),
    Mutation(
        "FR-028",
        "contract/feedback/answer.py",
        "return ToolResult(tool_call_id=tool_call_id,",
        'return ToolResult(tool_call_id="",',
    ),
    Mutation(
        "FR-032",
        "contract/feedback/hints.py",
        "if key not in unique or error.severity > unique[key].severity:",
        "if True:",
    ),
    Mutation("FR-034", "contract/feedback/hints.py", "return -error.severity,", "return error.severity,"),
    Mutation("FR-035", "contract/feedback/hints.py", "return groups[: self._max_errors],", "return groups,"),
    Mutation("FR-036", "contract/tracker.py", "track.attempts += 1", "track.attempts = 1"),
    Mutation(
        "FR-038",
        "contract/tracker.py",
        "self.get_current_attempt(call_id) >= (",
        "self.get_current_attempt(call_id) > (",
    ),
    Mutation("FR-041", "contract/lifecycle.py", "return self.made >= self.allowed", "return self.made > self.allowed"),
    Mutation(
        "FR-042",
        "contract/feedback/escalation.py",
        "MAX_ERRORS_A_LINE:MAX_PLACES]",
        "MAX_ERRORS_A_LINE:MAX_ERRORS_A_LINE]",
    ),
    Mutation(
        "FR-043", "in_process.py", "call.first_tool_call_id or call.last_tool_call_id,", "call.last_tool_call_id,"
    ),
    Mutation(
        "FR-043",
        "usecases/calls/record_verdict.py",
        "history[0].tool_call_id if history else call.last_tool_call_id,",
        "call.last_tool_call_id,",
    ),
    Mutation("FR-052", "contract/configuration.py", "max_value_preview: int = 100", "max_value_preview: int = 300"),
    Mutation("FR-056", "contract/configuration.py", '"max_attempts": (1, 10)', '"max_attempts": (0, 20)'),
    Mutation(
        "FR-058", "contract/configuration.py", '"max_message_length": (500, 4000)', '"max_message_length": (500, 8000)'
    ),
    Mutation("FR-059", "contract/configuration.py", "max_attempts: int = 3", "max_attempts: int = 4"),
    Mutation("FR-060", "config/configuration_file.py", 'Path(".agent/config.yml")', 'Path(".agents/config.yml")'),
    Mutation("FR-061", "in_process.py", "logger.warning(events.FAILED, extra=fields)", "pass"),
    Mutation(
        "NFR-001",
        "contract/feedback/formatter.py",
        "ordered = in_order(errors)",
        "ordered = [in_order(errors) for _ in range(200)][-1]",
    ),
    Mutation(
        "NFR-002",
        "contract/feedback/hints.py",
        "ordered = in_order(whole_errors(errors))",
        "ordered = [in_order(whole_errors(errors)) for _ in range(20)][-1]",
    ),
    Mutation(
        "NFR-003",
        "contract/tracker.py",
        "            self._finished.pop(call_id, None)\n            track.attempts",
        "            [str(each) for each in self._tracks]\n            track.attempts",
    ),
    Mutation("NFR-004", "contract/tracker.py", "MAX_HISTORY_BYTES = 10_000 ", "MAX_HISTORY_BYTES = 10_000_000 "),
    Mutation("NFR-006", "contract/feedback/hints.py", "in_order(whole_errors(errors))", "in_order(errors or ())"),
    Mutation(
        "NFR-008",
        "contract/tracker.py",
        '"""Count one more attempt and return its number, from 1."""\n        with self._lock:',
        '"""Count one more attempt and return its number, from 1."""\n        if True:',
    ),
    Mutation("NFR-012", "contract/feedback/feedback_text.py", '.replace("\'", "’")', ""),
    Mutation(
        "NFR-015",
        "in_process.py",
        "logger.warning(events.ESCALATED, extra=fields)",
        "logger.info(events.ESCALATED, extra=fields)",
    ),
    Mutation(
        "NFR-019",
        "in_process.py",
        '"""Add a tool, or replace the one of the same name.',
        '_ = """Add a tool, or replace the one of the same name.',
    ),
    Mutation("NFR-020", "contract/feedback/tool_result.py", 'FORMAT = "retrycontract/1"', 'FORMAT = "retrycontract/2"'),
)
