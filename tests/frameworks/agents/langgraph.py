from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ag_ui_langgraph import LangGraphAgent
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from .script import ARGUMENTS, CALL_ID, TOOL, answer, forecast


class ScriptedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        if not isinstance(messages[-1], ToolMessage):
            # As providers do: the name comes without arguments.
            named = (TOOL, CALL_ID, "")
            for name, call_id, part in (
                named,
                (None, None, ARGUMENTS[:9]),
                (None, None, ARGUMENTS[9:]),
            ):
                call = tool_call_chunk(name=name, args=part, id=call_id, index=0)
                message = AIMessageChunk(content="", tool_call_chunks=[call])
                yield ChatGenerationChunk(message=message)
            return
        prompt = [message for message in messages if message.type == "human"][-1]
        for delta in answer(str(prompt.content)):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=delta))
            if run_manager:
                run_manager.on_llm_new_token(delta, chunk=chunk)
            yield chunk

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        text = "".join(str(chunk.message.content) for chunk in self._stream(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])


graph = create_agent(ScriptedModel(), tools=[forecast], checkpointer=InMemorySaver())
agent = LangGraphAgent(name="travel", graph=graph)
