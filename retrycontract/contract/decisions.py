"""What an operator can decide about a Blocked call: labels, demands, effects and texts stand in one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from retrycontract.contract.lifecycle import CallState, Status
from retrycontract.contract.outputs import Kind

NEVER_PARSED = "the output never parsed"
NOT_OF_KIND = "the agent writes it itself"
NO_FILE = "the output holds no whole file that compiles"
DEFAULT_GRANT = 2  # attempts after a hint
MAX_GRANT = 5


class Decision(StrEnum):
    """Name the operator's answers."""

    HINT = "hint"
    CORRECTED = "corrected"
    ACCEPT = "accept"
    REJECT = "reject"

    @property
    def entry(self) -> DecisionEntry:
        """Give the decision's row."""
        return DECISIONS[self]

    @property
    def leads_to(self) -> CallState:
        """Give the state that the answer moves a call to."""
        return self.entry.leads_to

    @property
    def status(self) -> Status:
        """Give what the answer makes of the Blocked submission: its agent goes on, may try again, or stops."""
        return {CallState.ACCEPTED: Status.VALID, CallState.GUIDED: Status.RETRY}.get(self.leads_to, Status.BLOCKED)

    def barred(self, kind: Kind, *, is_parsed: bool) -> str:
        """Say why nobody can decide so about an output, for the middle of a sentence; empty where they can."""
        if kind in self.entry.not_of:
            return NOT_OF_KIND
        if self.entry.keeps_output and not is_parsed:
            return NO_FILE if kind is Kind.SOURCE_FILE else NEVER_PARSED
        return ""

    def grant(self, asked: int | None = None) -> int:
        """Give how many attempts the answer grants; `asked` counts where the operator may choose."""
        least, usual, most = self.entry.grants
        return min(max(asked or usual, least), most)


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """Describe one decision.

    `title`, `what` and `given` are for the desk, with the words of the output's kind in braces ({noun}, {whole},
    {these}, {use}, {used}, {judge}). `lead` and `end` are what the agent reads before and after the operator's words:
    of tool calls, and of other outputs; `{name}` and `{attempt}` are filled in.
    """

    title: str
    what: str
    given: str
    leads_to: CallState
    lead: tuple[str, str]
    end: tuple[str, str]
    grants: tuple[int, int, int] = (0, 0, 0)  # least, usual, most
    needs_text: bool = True
    takes_arguments: bool = False
    keeps_output: bool = False  # the output of the answered attempt counts as it is, so it must have parsed
    may_stand: bool = False  # its words fit the next agent that makes the mistake
    group: str = ""  # what the form for many calls says of it; empty where it fits a single output only
    not_of: frozenset[Kind] = frozenset()


DECISIONS: dict[Decision, DecisionEntry] = {
    Decision.HINT: DecisionEntry(
        title="Hint",
        what="Say what to change. The agent corrects its {whole} itself.",
        given="Hint",
        leads_to=CallState.GUIDED,
        lead=("A person answered your Blocked call of tool '{name}'", "A person answered your Blocked {noun} '{name}'"),
        end=(
            "Nothing was executed so far. Correct the arguments and call the tool again",
            "Nothing was {used} so far. Correct the {noun} and send all of it again",
        ),
        grants=(1, DEFAULT_GRANT, MAX_GRANT),
        may_stand=True,
        group="Say what to change. Each agent corrects its own output.",
    ),
    Decision.CORRECTED: DecisionEntry(
        title="Corrected {noun}",
        what="Write the {noun}. The agent sends exactly {these}.",
        given="Corrected {noun}",
        leads_to=CallState.GUIDED,
        lead=(
            "A person corrected the arguments of your Blocked call of tool '{name}'",
            "A person corrected your Blocked {noun} '{name}'",
        ),
        end=(
            (
                "They replace your earlier call, which was not executed: do not send that one again. "
                "Call the tool with the corrected arguments now"
            ),
            (
                "It replaces your earlier {noun}, which was not {used}: do not send that one again. "
                "Send the corrected {noun} now"
            ),
        ),
        grants=(1, 1, 1),
        needs_text=False,
        takes_arguments=True,
        group="Each agent sends its own output with the suggested fix made to it.",
        not_of=frozenset({Kind.SOURCE_FILE}),  # a file is sent whole, so nobody corrects it at the desk
    ),
    Decision.ACCEPT: DecisionEntry(
        title="Accept as is",
        what="The output is right, the {judge} too strict. The agent {use}.",
        given="Accepted as is",
        leads_to=CallState.ACCEPTED,
        lead=(
            "A person accepted your arguments of attempt {attempt} for tool '{name}' as they are",
            "A person accepted your {noun} '{name}' of attempt {attempt} as it is",
        ),
        end=("Run the tool with exactly those arguments", "Go on with exactly that {noun}"),
        grants=(1, 1, 1),
        keeps_output=True,
    ),
    Decision.REJECT: DecisionEntry(
        title="Reject",
        what="Stop. Nothing is {used}, and the agent is told so.",
        given="Rejected",
        leads_to=CallState.REJECTED,
        lead=("A person rejected your call of tool '{name}'", "A person rejected your {noun} '{name}'"),
        end=(
            "Nothing was executed. Do not try this call again; stop, or take another way",
            "Nothing was {used}. Do not send this {noun} again; stop, or take another way",
        ),
        group="Stop them all. Nothing is executed, and the agents are told so.",
    ),
}
