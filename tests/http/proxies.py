"""Proxies in front of a server: real programs, with the configurations of docs/proxies."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ["DOCUMENTED", "PROXIES", "READ_TIMEOUT", "Proxy", "behind"]

DOCS = Path(__file__).resolve().parents[2] / "docs" / "proxies"
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])

# Seconds without a byte after which a proxy gives a server up, where it has such a limit.
READ_TIMEOUT = 1


class Proxy(NamedTuple):
    """A program, how it is started, and its configuration as the documentation has it."""

    program: str
    arguments: tuple[str, ...]
    """With places for the file and its folder."""
    configuration: str
    replaced: tuple[tuple[str, str], ...]
    """What differs in a test: each text of the configuration, and what stands for it."""
    around: str = "{inside}"
    gives_up: bool = True
    """Whether it limits how long a server may be silent."""

    @property
    def path(self) -> str | None:
        return shutil.which(self.program, path=_PATH)


# What nginx has by default or commonly, around a server block; all of it may hold events back.
_NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    # The workers of a root's nginx may not write to its folder.
    client_body_buffer_size 10m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_proxied any;
    {inside}
}}
"""
_BARE = """
server {
    listen 8080;
    location / {
        proxy_pass http://127.0.0.1:8000;
        proxy_http_version VERSION;
        proxy_read_timeout 60s;
    }
}
"""
_NGINX_ARGUMENTS = ("-p", "{folder}", "-c", "{file}")
_NGINX_REPLACED = (
    ("listen 8080;", "listen 127.0.0.1:{port};"),
    ("http://127.0.0.1:8000;", "http://{upstream};"),
    ("proxy_read_timeout 60s;", f"proxy_read_timeout {READ_TIMEOUT}s;"),
)


def _nginx(configuration: str, around: str = _NGINX) -> Proxy:
    return Proxy("nginx", _NGINX_ARGUMENTS, configuration, _NGINX_REPLACED, around)


def _read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


DOCUMENTED = ("nginx", "caddy", "haproxy")

PROXIES = {
    "nginx": _nginx(_read("nginx.conf")),
    "nginx, bare": _nginx(_BARE.replace("VERSION", "1.1")),
    "nginx, HTTP/1.0": _nginx(_BARE.replace("VERSION", "1.0")),
    "nginx, compressing": _nginx(
        _BARE.replace("VERSION", "1.1"), _NGINX.replace("gzip on;", "gzip on; gzip_types *;")
    ),
    "caddy": Proxy(
        "caddy",
        ("run", "--adapter", "caddyfile", "--config", "{file}"),
        _read("Caddyfile"),
        ((":8080 ", "http://127.0.0.1:{port} "), ("127.0.0.1:8000", "{upstream}")),
        "{{\n\tadmin off\n\tauto_https off\n}}\n{inside}",
        gives_up=False,
    ),
    "haproxy": Proxy(
        "haproxy",
        ("-db", "-f", "{file}"),
        _read("haproxy.cfg"),
        (
            ("bind :8080", "bind 127.0.0.1:{port}"),
            ("127.0.0.1:8000", "{upstream}"),
            ("timeout server  60s", f"timeout server  {READ_TIMEOUT}s"),
        ),
    ),
}


@asynccontextmanager
async def behind(proxy: Proxy, folder: Path, upstream: str) -> AsyncIterator[str]:
    """The URL of a proxy that passes everything on to `upstream`."""
    assert proxy.path is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inside = proxy.configuration
    for text, other in proxy.replaced:
        assert text in inside, f"the configuration has no {text!r}"
        upstream_host = upstream.removeprefix("http://").rstrip("/")
        inside = inside.replace(text, other.format(port=port, upstream=upstream_host))
    file = folder / "configuration"
    file.write_text(proxy.around.format(folder=folder, inside=inside))
    arguments = [each.format(folder=folder, file=file) for each in proxy.arguments]
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(folder))
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            proxy.path, *arguments, stdout=log, stderr=log, env={**os.environ, **homes}
        )
    try:
        for _ in range(1000):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                assert process.returncode is None, (folder / "log").read_text()
                await asyncio.sleep(0.01)
            else:
                writer.close()
                break
        yield f"http://127.0.0.1:{port}/"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
