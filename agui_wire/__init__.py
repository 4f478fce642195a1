"""AG-UI event streams over HTTP: protobuf, MessagePack and SSE; bytes in, events out, and back."""

from __future__ import annotations

from . import dropin, events, messages, run_input
from ._warnings import StreamWarning
from .codecs.protobuf import protobuf_engine
from .convert import from_dict, to_dict
from .decoder import FrameReader, StreamDecoder, decode
from .encoder import EventEncoder, encode
from .errors import (
    AguiWireError,
    DepthExceeded,
    EncodeError,
    FrameTooLarge,
    MalformedEvent,
    MalformedFrame,
    ProtocolViolation,
    RunInputError,
    StreamError,
    TruncatedStream,
    UnexpectedResponse,
)
from .events import Event, EventType
from .media_types import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    PROTOCOL_VERSION,
    SSE_MEDIA_TYPE,
    negotiate,
)
from .messages import Message
from .pipeline.assemble import MessageAssembler
from .pipeline.consumer import StreamConsumer
from .pipeline.request import read_run_input, write_run_input
from .run_input import RunAgentInput

__version__ = "0.1.0"

__all__ = [
    "AGUI_MEDIA_TYPE",
    "MSGPACK_MEDIA_TYPE",
    "PROTOCOL_VERSION",
    "SSE_MEDIA_TYPE",
    "AguiWireError",
    "DepthExceeded",
    "EncodeError",
    "Event",
    "EventEncoder",
    "EventType",
    "FrameReader",
    "FrameTooLarge",
    "MalformedEvent",
    "MalformedFrame",
    "Message",
    "MessageAssembler",
    "ProtocolViolation",
    "RunAgentInput",
    "RunInputError",
    "StreamConsumer",
    "StreamDecoder",
    "StreamError",
    "StreamWarning",
    "TruncatedStream",
    "UnexpectedResponse",
    "decode",
    "dropin",
    "encode",
    "events",
    "from_dict",
    "messages",
    "negotiate",
    "protobuf_engine",
    "read_run_input",
    "run_input",
    "to_dict",
    "write_run_input",
]
