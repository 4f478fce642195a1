"""Assembly: from events to messages, state and outcome (protocol page "processing")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from .._warnings import WarningLog
from ..events import (
    CustomEvent,
    Event,
    RawEvent,
    ReasoningEndEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
)
from ..messages import Interrupt, Message, TokenUsage
from ._message_events import MESSAGE_HANDLERS
from ._transcript import Transcript
from .patch import Document, PatchError

__all__ = ["MessageAssembler"]

_NO_STATE: Any = {}


class MessageAssembler:
    """What a stream of events amounts to: messages, state, and how its last run went.

    Takes the messages and the state to start from, those of the run input, and `warnings`, the
    log of the stream it is part of. Events are taken as verified, with chunks expanded; one that
    cannot be placed is left out with a warning, and nothing raises.

    What is given is never changed, and what is handed out does not change with later events.
    Both are shared, not copied: treat them as read-only too. Messages and state go on over the
    runs of one stream; the attributes are about the last run:

    - `outcome`: None while it is open
    - `error`: the RUN_ERROR event, with its `message` and `code`, or None
    - `result`: that of RUN_FINISHED, or None
    - `interrupts`: what an interrupted run waits for
    - `usage`: the tokens it reported
    """

    def __init__(
        self,
        messages: Iterable[Message] = (),
        state: Any = _NO_STATE,
        *,
        warnings: WarningLog | None = None,
    ) -> None:
        self._warn = (WarningLog() if warnings is None else warnings).warn
        self._transcript = Transcript(messages, self._warn)
        self._state = Document({} if state is _NO_STATE else state)
        self._begin_run()

    def _begin_run(self) -> None:
        self.outcome: Literal["success", "interrupt", "cancelled", "error"] | None = None
        self.error: RunErrorEvent | None = None
        self.result: Any = None
        self.interrupts: list[Interrupt] = []
        self.usage: list[TokenUsage] = []
        self._named_pending: list[str] = []
        self._transcript.begin_run()

    @property
    def messages(self) -> list[Message]:
        """The messages in order, in a list of the caller's own."""
        return self._transcript.read()

    @property
    def state(self) -> Any:
        """The shared state; `{}` where there is none yet."""
        return self._state.read()

    @property
    def pending_tool_call_ids(self) -> list[str]:
        """The calls of the last run that wait for a result.

        Those that its success outcome names, else those it started that got none.
        """
        if self._named_pending:
            return list(self._named_pending)
        return self._transcript.unanswered()

    def partial_arguments(self, tool_call_id: str) -> Any:
        """A call's arguments as a JSON value, as far as `messages` has them.

        A string that is not complete is given as far as it goes; None where nothing can be read
        yet, and for a call that is not known. Raises ImportError without the extra `partial`.
        """
        try:
            import jiter
        except ImportError as error:
            raise ImportError(
                "partial_arguments needs jiter: pip install 'agui-wire[partial]'"
            ) from error
        call = self._transcript.calls.get(tool_call_id)
        if call is None:
            return None
        text = call.value.function.arguments
        if call.arguments is not None:
            text = call.arguments.read(self._warn)
        try:
            return jiter.from_json(text.encode(), partial_mode="trailing-strings")
        except ValueError:
            return None

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        handler = MESSAGE_HANDLERS.get(type(event))
        if handler is not None:
            handler(self._transcript, event)
        else:
            _RUN_HANDLERS.get(type(event), MessageAssembler._unknown)(self, event)

    def _unknown(self, event: Any) -> None:
        name = type(event).__name__
        self._warn("unplaced", "/type", f"{name} is not assembled; chunks are to be expanded first")

    def _state_snapshot(self, event: StateSnapshotEvent) -> None:
        self._state = Document(event.snapshot)

    def _state_delta(self, event: StateDeltaEvent) -> None:
        try:
            self._state.patch(event.delta)
        except PatchError as error:
            self._warn("patch", f"/delta/{error.index}", f"the state stays as it is: {error}")

    def _run_started(self, event: RunStartedEvent) -> None:
        self._begin_run()
        if event.input is not None:
            for message in event.input.messages:
                if message.id not in self._transcript.by_id:
                    self._transcript.add(message)

    def _run_finished(self, event: RunFinishedEvent) -> None:
        outcome = event.outcome
        self.outcome = "success" if outcome is None else outcome.type
        self.result = event.result
        self.usage = list(event.usage or ())
        if isinstance(outcome, RunFinishedInterruptOutcome):
            self.interrupts = list(outcome.interrupts)
        elif isinstance(outcome, RunFinishedSuccessOutcome):
            self._named_pending = list(outcome.pending_tool_call_ids or ())

    def _run_error(self, event: RunErrorEvent) -> None:
        self.outcome = "error"
        self.error = event
        # A late error takes back what RUN_FINISHED said.
        self.result = None
        self.interrupts = []
        self.usage = list(event.usage or self.usage)

    def _nothing(self, event: Event) -> None:
        """This event builds nothing."""


_RUN_HANDLERS: dict[type, Callable[[MessageAssembler, Any], None]] = {
    StateSnapshotEvent: MessageAssembler._state_snapshot,
    StateDeltaEvent: MessageAssembler._state_delta,
    RunStartedEvent: MessageAssembler._run_started,
    RunFinishedEvent: MessageAssembler._run_finished,
    RunErrorEvent: MessageAssembler._run_error,
    **dict.fromkeys(
        (
            ReasoningStartEvent,
            ReasoningEndEvent,
            StepStartedEvent,
            StepFinishedEvent,
            RawEvent,
            CustomEvent,
            SubagentStartedEvent,
            SubagentFinishedEvent,
            SubagentErrorEvent,
        ),
        MessageAssembler._nothing,
    ),
}
