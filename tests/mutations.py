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
    Mutation("FR-001", "__init__.py", '    "ValidationError",\n    "ValueSanitizer",\n', '    "ValueSanitizer",\n'),
    Mutation(
        "FR-018", "contract/feedback/formatter.py", "first_line(kind, tool_name or", "first_line(tool_name, kind or"
    ),
    Mutation(
        "FR-045",
        "contract/lifecycle.py",
        "return Move(CallState.BLOCKED, Status.BLOCKED, opens_escalation=True)",
        "return Move(CallState.RETRYING, Status.RETRY)",
    ),
    Mutation("FR-050", "contract/feedback/feedback_text.py", "attempt=int(attempt),", "attempt=int(max_attempts),"),
    Mutation("NFR-005", "contract/outputs/json_text.py", "if not isinstance(key, str):", "if not key:"),
    Mutation(
        "NFR-016",
        "usecases/counts/keep_count.py",
        "[(Measure.FAILURE, code, 1) for code in codes]",
        "[(Measure.FAILURE, code, 1) for code in codes - codes]",
    ),
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
    Mutation("FR-034", "contract/feedback/hints.py", "(-error.severity, pointers", "(error.severity, pointers"),
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
        "return [record for record, _ in track.history]",
        "return [record for record, _ in track.history if [each for each in self._tracks]]",
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
        '"""Add a tool, or replace the one of the same name;',
        '_ = """Add a tool, or replace the one of the same name;',
    ),
    Mutation("NFR-020", "contract/feedback/tool_result.py", 'FORMAT = "retrycontract/1"', 'FORMAT = "retrycontract/2"'),
    Mutation("FR-002", "contract/errors.py", '"error_code": self.error_code.value', '"error_code": "VAL-001"'),
    Mutation("FR-004", "contract/errors.py", '"message": self.message', '"message": ""'),
    Mutation("FR-005", "contract/errors.py", '"severity": self.severity.name.lower()', '"severity": "error"'),
    Mutation("FR-006", "contract/errors.py", '"expected_value": self.expected_value', '"expected_value": None'),
    Mutation("FR-008", "contract/errors.py", "ERROR = 2", "ERROR = -1"),
    Mutation("FR-009", "contract/codes.py", 'REQUIRED_FIELD_MISSING = "VAL-001"', 'REQUIRED_FIELD_MISSING = "VAL-091"'),
    Mutation("FR-010", "contract/codes.py", 'TYPE_MISMATCH = "VAL-002"', 'TYPE_MISMATCH = "VAL-092"'),
    Mutation("FR-011", "contract/codes.py", 'CONSTRAINT_VIOLATION = "VAL-003"', 'CONSTRAINT_VIOLATION = "VAL-093"'),
    Mutation("FR-012", "contract/codes.py", 'INVALID_JSON_SYNTAX = "VAL-004"', 'INVALID_JSON_SYNTAX = "VAL-094"'),
    Mutation("FR-014", "contract/codes.py", 'ARRAY_LENGTH_VIOLATION = "VAL-006"', 'ARRAY_LENGTH_VIOLATION = "VAL-096"'),
    Mutation("FR-015", "contract/codes.py", 'PATTERN_MISMATCH = "VAL-007"', 'PATTERN_MISMATCH = "VAL-097"'),
    Mutation("FR-016", "contract/codes.py", 'INVALID_ENUM_VALUE = "VAL-008"', 'INVALID_ENUM_VALUE = "VAL-098"'),
    Mutation("FR-017", "contract/codes.py", 'OBJECT_SCHEMA_VIOLATION = "VAL-015"', 'OBJECT_SCHEMA_VIOLATION = "VAL15"'),
    Mutation(
        "FR-019",
        "contract/feedback/formatter.py",
        'return "\\n\\n".join(parts)\n\n    def _bullet',
        'return "\\n".join(parts)\n\n    def _bullet',
    ),
    Mutation(
        "FR-022",
        "contract/feedback/formatter.py",
        'head = f"• {shown_pointer(error.field_path, layout.pointer)} (',
        'head = f"• / (',
    ),
    Mutation("FR-024", "contract/feedback/formatter.py", 'yield f"  Actual: ', 'yield f"  Got: '),
    Mutation(
        "FR-026",
        "contract/feedback/answer.py",
        "if verdict.status is Status.VALID:\n        return None",
        "if verdict.status:\n        return None",
    ),
    Mutation(
        "FR-029",
        "contract/feedback/answer.py",
        "tool_call_id=tool_call_id, content=content,",
        'tool_call_id=tool_call_id, content="",',
    ),
    Mutation(
        "FR-030",
        "contract/feedback/tool_result.py",
        '"tool_use_id": result.tool_call_id,',
        '"tool_call_id": result.tool_call_id,',
    ),
    Mutation(
        "FR-031",
        "contract/checks/schema_engine.py",
        "if len(found) < most:",
        "if not found:",
    ),
    Mutation(
        "FR-033",
        "contract/feedback/hints.py",
        "pointers.sort_key(error.field_path), error.error_code",
        "(), error.error_code",
    ),
    Mutation("FR-037", "contract/tracker.py", "tuple(errors), at))", "(), at))"),
    Mutation("FR-039", "contract/tracker.py", "return track.attempts if track else 0", "return 0"),
    Mutation("FR-040", "in_process.py", "max_attempts or self._allowed(self._tools", "self._allowed(self._tools"),
    Mutation("FR-044", "contract/feedback/escalation.py", "repeats = len(prints) - len(set(prints))", "repeats = 0"),
    Mutation("FR-046", "contract/feedback/formatter.py", "        parts = [frame.first]\n", "        parts = []\n"),
    Mutation("FR-047", "contract/feedback/formatter.py", 'head = f"• ', 'head = f"- '),
    Mutation(
        "FR-048", "contract/feedback/formatter.py", "        if layout.hints and groups:\n", "        if False:\n"
    ),
    Mutation(
        "FR-049",
        "contract/feedback/feedback_text.py",
        "(attempt {attempt}/{max_attempts})",
        "(attempt {max_attempts}/{max_attempts})",
    ),
    Mutation(
        "FR-051", "contract/redaction/previews.py", 'return "".join(head) + ELLIPSIS + ', 'return "".join(head) + '
    ),
    Mutation(
        "FR-053", "contract/redaction/sanitizer.py", 'parts.insert(-1 if parts else 0, "...")', 'parts.append("...")'
    ),
    Mutation("FR-054", "contract/redaction/sanitizer.py", "f\"... {_counted(cut.total, 'key')}\"", '"..."'),
    Mutation(
        "FR-055",
        "contract/feedback/formatter.py",
        "limit = max_length or self._configuration.max_message_length",
        "limit = max_length or 4_000",
    ),
    Mutation("FR-057", "contract/feedback/formatter.py", "else self._configuration.max_errors_shown", "else 10"),
    Mutation("FR-062", "contract/events.py", '"tool_name": elide_middle(tool_name, LONGEST_NAME)', '"tool_name": ""'),
    Mutation("FR-063", "contract/events.py", '"error_count": len(errors)', '"error_count": 1'),
    Mutation("FR-064", "contract/events.py", '"retry_attempt": attempt', '"retry_attempt": 1'),
    Mutation("FR-065", "contract/events.py", '"path": elide_middle(error.field_path, LONGEST_NAME)', '"path": ""'),
    Mutation(
        "FR-066",
        "contract/events.py",
        '"code": error.error_code.value}',
        '"code": error.error_code.value, "actual": error.actual_value}',
    ),
    Mutation(
        "NFR-007",
        "contract/redaction/previews.py",
        "head = _take((match.group() for match in _UNIT.finditer(beginning)), head_room, show)",
        "head = _take(beginning, head_room, show)",
    ),
    Mutation("NFR-009", "in_process.py", "self._sanitizer.redact_name(call.tool_name),", "call.tool_name,"),
    Mutation("NFR-010", "contract/configuration.py", "redact_secrets: bool = True", "redact_secrets: bool = False"),
    Mutation("NFR-011", "contract/configuration.py", "relativize_paths: bool = True", "relativize_paths: bool = False"),
    Mutation(
        "NFR-013",
        "in_process.py",
        "logger.warning(events.FAILED, extra=fields)",
        "logger.debug(events.FAILED, extra=fields)",
    ),
    Mutation("NFR-014", "in_process.py", "logger.info(events.RETRIED, extra=fields)", "pass"),
    Mutation("NFR-017", "contract/codes.py", "\"Unknown field '{field}'\"", "\"Unexpected field '{field}'\""),
    Mutation("NFR-018", "contract/feedback/hints.py", 'return f"Please {_and(said)}."', 'return f"Now {_and(said)}."'),
)
