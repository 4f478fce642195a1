"""Records one run of a pydantic-ai agent as its AG-UI adapter writes it.

`python tools/record_pydantic_ai.py OUT.jsonl` needs Python 3.11 or newer and
`pip install "pydantic-ai-slim[ag-ui]>=2.68" "ag-ui-protocol>=1.0"`. Nothing is asked of the
network: a FunctionModel plays the script below. The body that left the ASGI app is cut at its
blank lines, and what stood behind each `data: ` becomes one line of OUT.jsonl, unchanged. The
text and its pieces are the same in every recording; ids and timestamps are not. Versions,
content type and event counts go to standard output.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, MutableMapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID, uuid4

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
)
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext, ToolReturn
from pydantic_ai.messages import (
    CustomEvent,
    ModelMessage,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.ui import StateDeps
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.requests import Request

SEED = 20261


class Stop(BaseModel):
    city: str
    nights: int
    why: str


class Day(BaseModel):
    date: str
    title: str
    plan: str


class Booking(BaseModel):
    stay_id: str
    city: str
    check_in: str
    nights: int
    price_eur: float
    note: str | None = None


class Trip(BaseModel):
    title: str = ""
    start: str = ""
    travellers: int = 0
    budget_eur: float = 0.0
    spent_eur: float = 0.0
    rail_pass: str | None = None
    open_questions: list[str] = []
    stops: list[Stop] = []
    bookings: list[Booking] = []
    days: list[Day] = []
    packing: dict[str, list[str]] = {}


Context: TypeAlias = RunContext[StateDeps[Trip]]


@dataclass(kw_only=True)
class FareSeenEvent(CustomEvent):
    train: str
    fare_jpy: int
    seats_left: int | None


@dataclass(kw_only=True)
class ForwardedEvent(CustomEvent):
    """Carries an AG-UI event out of a tool that still runs."""

    event: BaseEvent

    def to_payload(self) -> BaseEvent:
        return self.event


TRAINS: dict[str, list[tuple[str, int, int | None]]] = {
    "Kanazawa": [("Kagayaki 505 かがやき", 14180, 12), ("Hakutaka 555 はくたか", 13850, None)],
    "Takayama": [("Nōhi bus 濃飛バス", 4200, 7), ("Hida 4 ワイドビューひだ", 5610, 31)],
    "Kyōto": [("Hida 10 → Nozomi 231", 10320, 0), ("Thunderbird 20 → Hokuriku", 9980, 44)],
}
STAYS = {
    "Kanazawa": [("kz-17", "Machiya Kazue-machi 主計町", 148.0), ("kz-22", "Intergate", 119.5)],
    "Takayama": [("ta-03", "Ryokan Sumiyoshi 寿美吉旅館", 176.25), ("ta-08", "Kuwataniya", 94.0)],
}


async def plan_trip(
    ctx: Context, title: str, start: str, travellers: int, budget_eur: float, stops: list[Stop]
) -> ToolReturn:
    """Start the shared trip plan."""
    trip = ctx.deps.state
    trip.title, trip.start, trip.travellers = title, start, travellers
    trip.budget_eur, trip.stops = budget_eur, stops
    trip.open_questions = ["JR pass or single tickets?", "Onsen with tattoos? ♨️"]
    return ToolReturn(
        return_value=f"Plan “{title}” created with {len(stops)} stops.",
        metadata=[StateSnapshotEvent(snapshot=trip)],
    )


async def search_trains(ctx: Context, origin: str, target: str, date: str) -> ToolReturn:
    """Look for trains; shows its progress as an activity while it runs."""
    activity: dict[str, Any] = {"message_id": str(uuid4()), "activity_type": "TRAIN_SEARCH"}
    content = {"from": origin, "to": target, "date": date, "found": [], "done": False}
    await ctx.emit(ForwardedEvent(event=ActivitySnapshotEvent(**activity, content=content)))
    found: list[Any] = []
    for train, fare, seats in TRAINS[target]:
        await asyncio.sleep(0.03)
        option = {"train": train, "fare_jpy": fare, "seats_left": seats}
        found.append(option)
        add: list[Any] = [{"op": "add", "path": "/found/-", "value": option}]
        await ctx.emit(ForwardedEvent(event=ActivityDeltaEvent(**activity, patch=add)))
        await ctx.emit(FareSeenEvent(train=train, fare_jpy=fare, seats_left=seats))
    done: list[Any] = [{"op": "replace", "path": "/done", "value": True}]
    return ToolReturn(return_value=found, metadata=[ActivityDeltaEvent(**activity, patch=done)])


async def search_stays(ctx: Context, city: str, nights: int, max_price_eur: float) -> ToolReturn:
    """Look for places to sleep; its activity comes with the result."""
    activity: dict[str, Any] = {"message_id": str(uuid4()), "activity_type": "STAY_SEARCH"}
    found = [
        {"id": key, "name": name, "price_eur": price, "total_eur": round(price * nights, 2)}
        for key, name, price in STAYS[city]
        if price <= max_price_eur
    ]
    content = {"city": city, "nights": nights, "checked": 0, "best": None}
    patch: list[Any] = [
        {"op": "replace", "path": "/checked", "value": len(STAYS[city])},
        {"op": "replace", "path": "/best", "value": found[0]},
    ]
    return ToolReturn(
        return_value={"city": city, "stays": found},
        metadata=[
            ActivitySnapshotEvent(**activity, content=content),
            ActivityDeltaEvent(**activity, patch=patch),
        ],
    )


async def book_stay(
    ctx: Context, stay_id: str, city: str, check_in: str, nights: int, note: str | None = None
) -> ToolReturn:
    """Book a place to sleep and enter it in the shared plan."""
    trip = ctx.deps.state
    if check_in < trip.start:
        raise ModelRetry(f"check_in {check_in} is before the trip starts ({trip.start})")
    price = next(each for key, _, each in STAYS[city] if key == stay_id) * nights
    booking = Booking(
        stay_id=stay_id, city=city, check_in=check_in, nights=nights, price_eur=price, note=note
    )
    trip.bookings.append(booking)
    trip.spent_eur = round(trip.spent_eur + price, 2)
    delta: list[Any] = [
        {"op": "add", "path": "/bookings/-", "value": booking.model_dump()},
        {"op": "replace", "path": "/spent_eur", "value": trip.spent_eur},
    ]
    return ToolReturn(
        return_value={"status": "confirmed", "reference": f"{stay_id.upper()}-7Q"},
        metadata=[StateDeltaEvent(delta=delta)],
    )


async def write_day(ctx: Context, date: str, title: str, plan: str) -> ToolReturn:
    """Add one day to the itinerary."""
    day = Day(date=date, title=title, plan=plan)
    ctx.deps.state.days.append(day)
    delta: list[Any] = [{"op": "add", "path": "/days/-", "value": day.model_dump()}]
    return ToolReturn(return_value="ok", metadata=[StateDeltaEvent(delta=delta)])


async def pack(ctx: Context, carry_on: list[str], backpack: list[str]) -> ToolReturn:
    """Write the packing list and settle the question of the rail pass."""
    trip = ctx.deps.state
    trip.packing = {"carry-on/cabin": carry_on, "backpack": backpack}
    trip.open_questions.pop(0)
    trip.rail_pass = "none"
    delta: list[Any] = [
        {"op": "test", "path": "/rail_pass", "value": None},
        {"op": "replace", "path": "/rail_pass", "value": "none"},
        {"op": "remove", "path": "/open_questions/0"},
        {"op": "add", "path": "/packing/carry-on~1cabin", "value": carry_on},
        {"op": "add", "path": "/packing/backpack", "value": backpack},
    ]
    return ToolReturn(return_value="Packed. 🎒", metadata=[StateDeltaEvent(delta=delta)])


class Turn(NamedTuple):
    """One answer of the model: its thoughts, a search of its own, its text, its tool calls.

    A call is the tool's name, a space and the arguments as JSON.
    """

    think: str = ""
    lookup: str = ""
    say: str = ""
    calls: tuple[str, ...] = ()


TURNS = [
    Turn(
        think="""The user wants ten days in central Japan in late October for two adults and a
child, by train, with a budget of about 4,200 €. Crowds tire them; their daughter is seven. Tōkyō
is where they land, but they said they have seen it. So: Kanazawa (金沢) for gardens and crafts,
Takayama (高山) for the mountains, Kyōto (京都) at the end.

Autumn colours: in the Alps they start in mid-October, in Kyōto only in the second half of
November. I should not promise red maples in Kyōto. Let me check this year's forecast before I
write anything, then create the shared plan so that they can edit it while I search.""",
        lookup="koyo 2026 autumn colour forecast Takayama Kanazawa Kyoto",
        say="""What a lovely idea, and a good season for it 🍁. Ten days are enough for three
places if you resist the temptation to add a fourth. I would go **against** the usual direction:
first the Sea of Japan coast, then the mountains, and Kyōto last, when you already know how
buses, baths and convenience stores work.

The colour forecast says that the Alps around Takayama will be at their best in the last week of
October. Kyōto will still be mostly green, which also means that it will be *much* emptier.

I am creating the plan now; you can watch it fill up on the right.""",
        calls=(
            r"""plan_trip {"title": "Herbst in den japanischen Alpen 🍁", "start": "2026-10-21",
"travellers": 3, "budget_eur": 4200.5, "stops": [{"city": "Kanazawa", "nights": 3, "why":
"Kenroku-en 兼六園, gold leaf, fish"}, {"city": "Takayama", "nights": 3, "why": "Old town, onsen
♨️, day trip to Kamikōchi"}, {"city": "Kyōto", "nights": 4, "why": "Fushimi Inari at 6 a.m.,
nothing before lunch"}]}""",
        ),
    ),
    Turn(
        think="""The plan exists. Now transport and beds, which do not depend on each other, so I
can ask for all of them at once. With a seven-year-old, a direct train matters more than twenty
minutes saved. From Kanazawa to Takayama the bus over Shirakawa-gō is shorter than the train
round by Toyama, and it stops where they would want to take photographs anyway.""",
        say="""Next come trains and places to sleep. I will look at all three legs together,
because the bus over the pass sells out weeks ahead in autumn.""",
        calls=(
            r"""search_trains {"origin": "Tōkyō", "target": "Kanazawa", "date": "2026-10-21"}""",
            r"""search_trains {"origin": "Kanazawa", "target": "Takayama", "date": "2026-10-24"}""",
            r"""search_trains {"origin": "Takayama", "target": "Kyōto", "date": "2026-10-27"}""",
            r"""search_stays {"city": "Kanazawa", "nights": 3, "max_price_eur": 150}""",
            r"""search_stays {"city": "Takayama", "nights": 3, "max_price_eur": 180.0}""",
        ),
    ),
    Turn(
        think="""Kazue-machi is a teahouse quarter by the river, quiet at night: 148 € for a whole
wooden house is a good price, three nights make 444 €. The Sumiyoshi in Takayama has a family
bath that can be locked, which also answers the question about tattoos. 176.25 times three is
528.75. Together 972.75 €, well inside the budget. Book both.""",
        say="""Good news: the small townhouse by the Asano river is free, and so is the old
ryokan in Takayama, whose bath can be locked from inside, so nobody will mind a tattoo. I am
booking both; each can be cancelled free of charge until 14 days before you arrive.""",
        calls=(
            r"""book_stay {"stay_id": "kz-17", "city": "Kanazawa", "check_in": "2026-10-21",
"nights": 3, "note": "Kind (7) schläft auf dem Futon; Ankunft gegen 17:40 Uhr"}""",
            r"""book_stay {"stay_id": "ta-03", "city": "Takayama", "check_in": "2026-01-24",
"nights": 3}""",
        ),
    ),
    Turn(
        think="""I swapped month and year end: it must be the 24th of October. Correct it and try
again, and leave a word about dinner, since ryokan kitchens want to know allergies in advance.""",
        calls=(
            r"""book_stay {"stay_id": "ta-03", "city": "Takayama", "check_in": "2026-10-24",
"nights": 3, "note": "アレルギー: そば (buckwheat allergy, one adult).
夕食は18時でお願いします。"}""",
        ),
    ),
    Turn(
        say="""Both are confirmed. My first attempt had the wrong month in it, and the booking
tool rightly refused; nothing was charged twice.

Now the days themselves. I keep each of them to one thing in the morning and one in the
afternoon, with an open evening.""",
        calls=(
            r"""write_day {"date": "2026-10-21", "title": "Tōkyō → 金沢", "plan": "Kagayaki 505
at 10:24, seats D and E face the Alps. Drop the bags, walk along the Asano river, supper at a
counter in Ōmichō market (近江町市場)."}""",
            r"""write_day {"date": "2026-10-22", "title": "Gardens first, museums when it rains",
"plan": "Kenroku-en opens at 7:00 and is free before eight. Afterwards the pool at the 21st
Century Museum: \"is she under water?\" — every child asks."}""",
            r"""write_day {"date": "2026-10-24", "title": "Over the pass by bus 🚌", "plan": "Two
hours in Shirakawa-gō (白川郷) between two buses:\n- viewpoint by shuttle\n- Wada house\n- soft
ice cream with chestnut\nTakayama by 16:30, bath before dinner."}""",
            r"""write_day {"date": "2026-10-26", "title": "Kamikōchi ⛰️", "plan": "First bus at
6:50. Flat river walk to Myōjin pond and back, 7 km, about 3½ hours with a child; macaques 🐒
keep their distance if you keep yours."}""",
        ),
    ),
    Turn(
        think="""What remains is the rail pass and the packing list. Single tickets: 14,180 plus
4,200 plus 10,320 yen per adult is 28,700 yen, half of that for the child, so 71,750 yen for the
family. A seven-day pass costs 50,000 yen per adult and 25,000 for the child, 125,000 in all. Not
worth it. Late October in Kamikōchi is near freezing in the morning, while Kyōto may still reach
22 degrees.""",
        say="""One question is settled by arithmetic: **no rail pass**. Single tickets come to
¥71,750 for the three of you, the pass to ¥125,000.""",
        calls=(
            r"""pack {"carry_on": ["passports", "IC cards (Suica/ICOCA)", "one warm layer each",
"玩具 🧸"], "backpack": ["rain jackets", "slip-on shoes: you take them off twelve times a day",
"small towel per person", "coin purse", "Reiseapotheke"]}""",
        ),
    ),
    Turn(
        say="""Here is where we are. ✨

## The route

| Leg | How | Time | Fare (adult) |
| --- | --- | --- | --- |
| Tōkyō → Kanazawa 金沢 | Shinkansen *Kagayaki* 505 🚄 | 2 h 28 min | ¥14,180 |
| Kanazawa → Takayama 高山 | Nōhi bus, with a stop in Shirakawa-gō | 2 h 15 min | ¥4,200 |
| Takayama → Kyōto 京都 | *Hida* 10, then *Nozomi* 231 | 3 h 20 min | ¥10,320 |

## Where you sleep

- **Kanazawa, three nights:** a wooden townhouse in Kazue-machi, 444.00 €. The stairs are steep,
so let your daughter go down backwards.
- **Takayama, three nights:** Ryokan Sumiyoshi (寿美吉旅館), 528.75 € with breakfast. The kitchen
knows about the buckwheat allergy; remind them anyway when you sit down, 「そばアレルギーです」
is all you need to say.
- **Kyōto, four nights:** still open. I would wait a week. Families of three fit well into one of
the small houses near Nijō castle, and prices there fall in early October when tour groups
release their rooms.

## What could go wrong

The *Hida* 10 was already sold out when I looked, so either take the next one, which costs you
the late lunch, or go back through Kanazawa with the *Thunderbird*. Typhoons 🌀 are rare by then
but not unheard of: if one is announced, trains stop early and hotels are kind about it. And the
road to Kamikōchi closes in mid-November, so this cannot slide by more than two weeks.

As for money: you have spent 972.75 € of 4,200.50 €. Trains will take about 440 €, which leaves
roughly 2,790 € for Kyōto, food and everything that a seven-year-old discovers in a capsule toy
shop. That is comfortable, though perhaps not for the third round of *kaiten-zushi* 🍣.

Shall I hold two houses in Kyōto, and would you rather sleep near the station or near the river?
Gute Reise, 良い旅を, and give my regards to the macaques! 👩‍👩‍👧🐒""",
    ),
]

TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]+|\s+")


def unwrapped(text: str) -> str:
    """`text` without the line ends that only this file's margin asked for."""
    return re.sub(r"(?<!\n)\n(?![\n|-])", " ", text)


def pieces(text: str, rng: Random) -> Iterator[str]:
    """`text` cut about as finely as a language model streams it."""
    for token in TOKEN.findall(text):
        rest = token
        while len(rest) > (8 if rest.isascii() else 4):
            cut = rng.randint(2, 6 if rest.isascii() else 3)
            yield rest[:cut]
            rest = rest[cut:]
        yield rest


def answer(turn: Turn, rng: Random) -> Iterator[str | dict[int, Any]]:
    """The deltas that a provider would have sent for `turn`, keyed by part."""
    for piece in pieces(unwrapped(turn.think), rng):
        yield {0: DeltaThinkingPart(content=piece)}
    if turn.think:
        yield {0: DeltaThinkingPart(signature=base64.b64encode(rng.randbytes(180)).decode())}
    if turn.lookup:
        native: dict[str, Any] = {"tool_name": "web_search", "provider_name": "function"}
        native["tool_call_id"] = f"srvtoolu_{rng.getrandbits(64):016x}"
        url = "https://example.org/koyo?area=飛騨"
        found = [{"title": "紅葉情報 2026", "url": url, "peak": "10/25", "score": 0.8125}]
        yield {1: NativeToolCallPart(**native, args={"query": turn.lookup})}
        yield {2: NativeToolReturnPart(**native, content=found)}
    yield from pieces(unwrapped(turn.say), rng)
    for part, call in enumerate(turn.calls, start=3):
        name, _, arguments = unwrapped(call).partition(" ")
        yield {part: DeltaToolCall(name=name)}
        # Providers differ in whether they escape what is not ASCII; so do the odd and even calls.
        if part % 2 == 0:
            arguments = json.dumps(json.loads(arguments))
        for piece in pieces(arguments, rng):
            yield {part: DeltaToolCall(json_args=piece)}


async def travel_model(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    rng = Random(SEED + turn)
    for delta in answer(TURNS[turn], rng):
        # A provider's pace, so that the timestamps are as varied as in the field.
        await asyncio.sleep(rng.uniform(0.002, 0.02))
        yield delta


agent = Agent(
    FunctionModel(stream_function=travel_model, model_name="travel-planner"),
    deps_type=StateDeps[Trip],
    tools=[plan_trip, search_trains, search_stays, book_stay, write_day, pack],
    instructions="You plan journeys by train. Keep the shared plan up to date.",
)

ASGIMessage = MutableMapping[str, Any]


async def ask(body: bytes) -> tuple[str, bytes]:
    """The content type and the body of the adapter's response to `body`, over ASGI."""
    headers = [(b"content-type", b"application/json"), (b"accept", b"text/event-stream")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": headers,
    }
    started: dict[bytes, bytes] = {}
    chunks: list[bytes] = []

    async def receive() -> ASGIMessage:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: ASGIMessage) -> None:
        if message["type"] == "http.response.start":
            if message["status"] != 200:
                raise RuntimeError(f"the adapter answered {message['status']}")
            started.update(message["headers"])
        else:
            chunks.append(message["body"])

    response = await AGUIAdapter.dispatch_request(
        Request(scope, receive), agent=agent, deps=StateDeps(Trip()), include_usage=True
    )
    await response(scope, receive, send)
    return started[b"content-type"].decode(), b"".join(chunks)


def data_lines(body: bytes) -> list[bytes]:
    """What stands behind `data: ` in each event of an SSE body. Raises RuntimeError for others."""
    *events, rest = body.split(b"\n\n")
    if rest or not all(event.startswith(b"data: ") and b"\n" not in event for event in events):
        raise RuntimeError("the adapter no longer writes one data line for each event")
    return [event.removeprefix(b"data: ") for event in events]


def main(out: Path) -> None:
    rng = Random(SEED)
    question = (
        "Ten days in central Japan at the end of October, two adults and our daughter (7), by "
        "train, about 4,200 €. We know Tōkyō already, and crowds wear us out. 🙏"
    )
    run_input = {
        "threadId": str(UUID(int=rng.getrandbits(128), version=4)),
        "runId": str(UUID(int=rng.getrandbits(128), version=4)),
        "state": Trip().model_dump(),
        "messages": [{"id": "msg-user-1", "role": "user", "content": question}],
        "tools": [],
        "context": [{"description": "locale", "value": "de-AT"}],
        "forwardedProps": {},
        "protocolVersion": "1.0",
    }
    content_type, body = asyncio.run(ask(json.dumps(run_input).encode()))
    lines = data_lines(body)
    out.write_bytes(b"".join(line + b"\n" for line in lines))
    for package in ("pydantic-ai-slim", "ag-ui-protocol", "pydantic", "starlette"):
        print(f"{package} {version(package)}")
    print(f"content-type: {content_type}; {len(lines)} events, {len(body)} bytes")
    for kind, count in Counter(json.loads(line)["type"] for line in lines).most_common():
        print(f"{count:6} {kind}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: record_pydantic_ai.py OUT.jsonl")
    main(Path(sys.argv[1]))
