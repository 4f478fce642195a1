"""Compiles proto/ into the descriptor set that the package ships.

`python tools/compile_proto.py` writes agui_wire/codecs/protobuf/schema.binpb; it needs
grpcio-tools. A test compares the shipped file with what this compiles.
"""

from __future__ import annotations

import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "proto"
SCHEMA = ROOT / "agui_wire" / "codecs" / "protobuf" / "schema.binpb"


def compile_schema() -> bytes:
    """The files under proto/ as one FileDescriptorSet, each behind those it imports.

    google/protobuf/struct.proto is not in it: the loader turns its types into bytes. Raises
    RuntimeError where protoc refuses the sources; it has then told why on standard error.
    """
    names = sorted(str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.proto"))
    with (
        tempfile.TemporaryDirectory() as scratch,
        as_file(files("grpc_tools") / "_proto") as well_known,
    ):
        out = Path(scratch) / "schema.binpb"
        arguments = ["protoc", f"-I{SOURCES}", f"-I{well_known}", f"--descriptor_set_out={out}"]
        status = protoc.main(arguments + names)
        if status != 0:
            raise RuntimeError(f"protoc ended with {status}")
        schema = FileDescriptorSet.FromString(out.read_bytes())
    return schema.SerializeToString(deterministic=True)


if __name__ == "__main__":
    SCHEMA.write_bytes(compile_schema())
