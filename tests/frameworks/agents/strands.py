from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ag_ui_strands import StrandsAgent
from strands import Agent, tool
from strands.models import Model

from .script import ARGUMENTS, CALL_ID, TOOL, answer, forecast


class ScriptedModel(Model):
    def update_config(self, **model_config: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        yield {"messageStart": {"role": "assistant"}}
        calls = not any("toolResult" in part for part in messages[-1]["content"])
        if calls:
            start = {"toolUse": {"name": TOOL, "toolUseId": CALL_ID}}
            yield {"contentBlockStart": {"start": start}}
            for part in (ARGUMENTS[:9], ARGUMENTS[9:]):
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": part}}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            for delta in answer(messages[0]["content"][0]["text"]):
                yield {"contentBlockDelta": {"delta": {"text": delta}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


model = ScriptedModel()
# Its default handler prints the answer.
agent = StrandsAgent(Agent(model=model, tools=[tool(forecast)], callback_handler=None), "travel")
