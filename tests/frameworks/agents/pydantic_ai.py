from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

from .script import ARGUMENTS, CALL_ID, TOOL, answer, forecast

Delta = str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]


async def model(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Delta]:
    if not any(isinstance(message, ModelResponse) for message in messages):
        yield {0: DeltaThinkingPart(content="First the weather.")}
        yield {1: DeltaToolCall(name=TOOL, json_args=ARGUMENTS[:9], tool_call_id=CALL_ID)}
        yield {1: DeltaToolCall(json_args=ARGUMENTS[9:])}
        return
    prompts = [part for part in messages[0].parts if isinstance(part, UserPromptPart)]
    for delta in answer(str(prompts[-1].content)):
        yield delta


agent = Agent(FunctionModel(stream_function=model), tools=[forecast])
