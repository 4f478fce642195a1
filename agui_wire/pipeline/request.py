"""The run input as an HTTP body: what a server reads and what a client writes.

The rules are those of the protocol page "processing", "Run input".
"""

from __future__ import annotations

import re
from typing import Any, Union

from .._plain import Policy, plain
from .._spelling import camelise
from .._warnings import OnWarning, WarningLog
from ..codecs import sse
from ..errors import EncodeError, MalformedEvent, RunInputError
from ..media_types import PROTOCOL_VERSION
from ..run_input import RunAgentInput
from .enforce import convert, fill_lists, prune
from .owners import shown
from .retired import upgrade_message

__all__ = ["read_run_input", "write_run_input"]

_VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")

# Servers before 1.0 require these.
_ALWAYS_SENT: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}


def read_run_input(
    body: Union[bytes, bytearray, memoryview], *, on_warning: OnWarning | None = None
) -> RunAgentInput:
    """The run input in a request body.

    Absent tools, context and resume read as empty lists, absent state as `{}`; unknown members
    are removed with a warning. Raises RunInputError, whose `path` names what is wrong and whose
    `http_status` is 400, also for another major protocol version.
    """
    log = WarningLog(on_warning)
    try:
        obj = sse.decode_object(bytes(body), warn=log.warn)
        messages = obj.get("messages")
        if type(messages) is list:
            obj["messages"] = [
                upgrade_message(message, f"/messages/{index}", log.warn)
                if type(message) is dict
                else message
                for index, message in enumerate(messages)
            ]
        pruned = prune(RunAgentInput, obj, "", log.warn)
        run_input: RunAgentInput = convert(pruned, RunAgentInput)
    except MalformedEvent as error:
        raise RunInputError(error.reason, error.path) from None
    _check_version(run_input.protocol_version, log)
    fill_lists(run_input)
    if run_input.state is None:
        run_input.state = {}
    return run_input


def _check_version(version: str | None, log: WarningLog) -> None:
    if version is None or version == PROTOCOL_VERSION:
        return
    match = _VERSION.fullmatch(version)
    ours = PROTOCOL_VERSION.partition(".")[0]
    if match is None:
        message = f"the client's protocolVersion {shown(version)} is not MAJOR.MINOR"
    elif match[1] != ours:
        raise RunInputError(
            f"protocol version {shown(version)} is not served here, only {ours}.x",
            "/protocolVersion",
        )
    else:
        message = f"the client speaks protocol {shown(version)}, newer than {PROTOCOL_VERSION}"
    log.warn("protocol-version", "/protocolVersion", message)


def write_run_input(run_input: RunAgentInput | dict[str, Any]) -> bytes:
    """The request body for a run input, as JSON.

    Declares `protocolVersion` where it is absent, leaves out activity messages, upgrades
    retired `binary` parts, and writes the lists, state and forwardedProps that servers before
    1.0 require. Raises EncodeError with the path of what is malformed: it is not sent.
    """
    if not isinstance(run_input, (RunAgentInput, dict)):
        raise EncodeError(f"{type(run_input).__name__} is no run input")
    obj: dict[str, Any] = plain(run_input, Policy(), _ignore)
    if isinstance(run_input, dict):
        obj = camelise(RunAgentInput, obj)
    messages = obj.get("messages")
    if type(messages) is list:
        obj["messages"] = [
            upgrade_message(message, "", _ignore) if type(message) is dict else message
            for message in messages
            if not (type(message) is dict and message.get("role") == "activity")
        ]
    try:
        valid = prune(RunAgentInput, obj, "", _refuse)
        convert(valid, RunAgentInput)
    except MalformedEvent as error:
        raise EncodeError(error.reason, error.path) from None
    return sse.encode_object({"protocolVersion": PROTOCOL_VERSION, **_ALWAYS_SENT, **valid})


def _ignore(kind: str, path: str, message: str) -> None:
    pass


def _refuse(kind: str, path: str, message: str) -> None:
    if kind != "null":
        raise EncodeError(message, path)
