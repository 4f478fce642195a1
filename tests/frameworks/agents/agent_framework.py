from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

from .script import ARGUMENTS, CALL_ID, TOOL, answer, forecast


class ScriptedClient(FunctionInvocationLayer, BaseChatClient):
    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            if not any(part.type == "function_result" for part in messages[-1].contents):
                call = Content.from_function_call(CALL_ID, TOOL, arguments=ARGUMENTS)
                yield ChatResponseUpdate(role="assistant", contents=[call])
                return
            prompt = [message for message in messages if message.role == "user"][-1].text
            for delta in answer(prompt):
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(delta)])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


agent = Agent(client=ScriptedClient(), name="travel", tools=[forecast])
