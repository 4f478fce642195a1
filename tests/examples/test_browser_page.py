"""What docs/browser.md shows, as far as it can be checked without a browser."""

from __future__ import annotations

import aiohttp
import pytest

from agui_wire import AGUI_MEDIA_TYPE
from tests.examples.serving import serving
from tests.http.harness import RUN_INPUT
from tests.snippets import ROOT, examples, execute

ORIGIN = "https://app.example.com"


def test_the_recipe_is_the_one_that_the_page_uses() -> None:
    recipe = (ROOT / "examples" / "browser" / "src" / "binary_agent.ts").read_text("utf-8")
    assert f"```typescript\n{recipe}```\n" in (ROOT / "docs" / "browser.md").read_text("utf-8")


@pytest.mark.parametrize(("origin", "allowed"), [(ORIGIN, ORIGIN), ("https://evil.example", None)])
async def test_the_documented_server_answers_its_page(origin: str, allowed: str | None) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x"}
    app = execute(examples(ROOT / "docs" / "browser.md")["server"]).app
    async with serving(app) as url, aiohttp.ClientSession(headers={"Origin": origin}) as session:
        async with session.options(url, headers=asked) as preflight:
            assert preflight.headers.get("Access-Control-Allow-Origin") == allowed
            assert ("Access-Control-Allow-Headers" in preflight.headers) == bool(allowed)
        headers = {"Accept": AGUI_MEDIA_TYPE}
        async with session.post(url, json=RUN_INPUT, headers=headers) as response:
            assert response.headers.get("Access-Control-Allow-Origin") == allowed
            assert response.content_type == AGUI_MEDIA_TYPE
