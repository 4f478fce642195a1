from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from llama_index.core.base.llms.types import LLMMetadata, MessageRole
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool

from .script import ARGUMENTS, CALL_ID, TOOL, answer, forecast


class ScriptedModel(FunctionCallingLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, model_name="scripted")

    async def astream_chat_with_tools(self, tools: Any, **kwargs: Any) -> Any:
        history: list[ChatMessage] = kwargs["chat_history"]

        async def responses() -> AsyncIterator[ChatResponse]:
            if not any("tool_call_id" in message.additional_kwargs for message in history):
                message = ChatMessage(role=MessageRole.ASSISTANT, content="")
                message.additional_kwargs["calls"] = [ARGUMENTS]
                yield ChatResponse(message=message)
                return
            prompt = next(message for message in history if message.role == MessageRole.USER)
            said = ""
            for delta in answer(prompt.content or ""):
                said += delta
                message = ChatMessage(role=MessageRole.ASSISTANT, content=said)
                yield ChatResponse(message=message, delta=delta)

        return responses()

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=CALL_ID, tool_name=TOOL, tool_kwargs=json.loads(arguments))
            for arguments in response.message.additional_kwargs.get("calls", [])
        ]

    def _prepare_chat_with_tools(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    chat = stream_chat = complete = stream_complete = _prepare_chat_with_tools
    achat = astream_chat = acomplete = astream_complete = _prepare_chat_with_tools


agent = ScriptedModel()
tools = [FunctionTool.from_defaults(forecast)]
