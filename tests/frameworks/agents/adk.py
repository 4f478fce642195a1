from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from ag_ui_adk import ADKAgent
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

from .script import ARGUMENTS, CALL_ID, TOOL, answer, forecast


class ScriptedModel(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        if not any(part.function_response for part in parts):
            call = types.FunctionCall(id=CALL_ID, name=TOOL, args=json.loads(ARGUMENTS))
            yield _response([types.Part(function_call=call)])
            return
        said = ""
        for delta in answer(parts[0].text or ""):
            said += delta
            yield _response([types.Part(text=delta)], partial=True)
        yield _response([types.Part(text=said)])


def _response(parts: list[types.Part], partial: bool = False) -> LlmResponse:
    content = types.Content(role="model", parts=parts)
    return LlmResponse(content=content, partial=partial, turn_complete=not partial)


agent = ADKAgent(
    adk_agent=LlmAgent(name="travel", model=ScriptedModel(model="scripted"), tools=[forecast]),
    app_name="travel",
    user_id="u",
)
