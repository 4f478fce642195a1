// How long this browser takes for one long run over each wire, from bytes that it already holds.

import { HttpAgent, parseProtoStream, parseSSEStream, runHttpRequest } from "@ag-ui/client";
import { BinaryHttpAgent } from "./binary_agent";

const query = new URLSearchParams(location.search);
const url = query.get("agent") ?? `http://${location.hostname}:${Number(location.port) + 1}/`;

const WIRES = {
  sse: { Agent: HttpAgent, accept: "text/event-stream", parse: parseSSEStream },
  protobuf: {
    Agent: BinaryHttpAgent,
    accept: "application/vnd.ag-ui.event+proto",
    parse: parseProtoStream,
  },
};
type Wire = keyof typeof WIRES;
const NAMES = Object.keys(WIRES) as Wire[];
const CHUNK = 16 * 1024;

interface Result {
  bytes: number;
  /** Milliseconds, one for each round. */
  times: number[];
}

/** The body of a run of `words` deltas. */
async function bodyOf(wire: Wire, words: number): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: WIRES[wire].accept },
    body: JSON.stringify({
      threadId: "measure",
      runId: "measure",
      messages: [],
      tools: [],
      context: [],
      forwardedProps: { words, pause: 0 },
    }),
  });
  if (response.headers.get("content-type") !== WIRES[wire].accept) throw new Error("wrong wire");
  return new Uint8Array(await response.arrayBuffer());
}

/** A response with this body, in chunks of 16 KiB. */
function responseOf(wire: Wire, body: Uint8Array<ArrayBuffer>): Response {
  let position = 0;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(out) {
      if (position >= body.length) return out.close();
      out.enqueue(body.subarray(position, position + CHUNK));
      position += CHUNK;
    },
  });
  return new Response(stream, { headers: { "Content-Type": WIRES[wire].accept } });
}

async function timed(work: () => Promise<number>, events: number): Promise<number> {
  const start = performance.now();
  const seen = await work();
  const taken = performance.now() - start;
  if (seen !== events) throw new Error(`${seen} events instead of ${events}`);
  return taken;
}

/** The client's parser of the wire alone. */
function decode(wire: Wire, body: Uint8Array<ArrayBuffer>): Promise<number> {
  return new Promise((resolve, reject) => {
    let seen = 0;
    WIRES[wire].parse(runHttpRequest(async () => responseOf(wire, body))).subscribe({
      next: () => {
        seen += 1;
      },
      error: reject,
      complete: () => resolve(seen),
    });
  });
}

/** The whole client: parser, verification, assembly of the messages, subscribers. */
async function run(wire: Wire, body: Uint8Array<ArrayBuffer>): Promise<number> {
  let seen = 0;
  const agent = new WIRES[wire].Agent({ url, fetch: async () => responseOf(wire, body) });
  await agent.runAgent({}, { onEvent: () => void (seen += 1) });
  return seen;
}

/** Times `rounds` rounds over a run of `words` deltas, after one to warm up; the wires take turns. */
async function measure(
  work: keyof typeof WORK,
  words: number,
  rounds: number,
  wires: Wire[] = NAMES,
): Promise<Partial<Record<Wire, Result>>> {
  const bodies = await Promise.all(wires.map((wire) => bodyOf(wire, words)));
  const results = bodies.map((body): Result => ({ bytes: body.length, times: [] }));
  for (let round = 0; round <= rounds; round++) {
    for (const [n, wire] of wires.entries()) {
      const taken = await timed(() => WORK[work](wire, bodies[n]!), words + 4);
      if (round > 0) results[n]!.times.push(taken);
    }
  }
  return Object.fromEntries(wires.map((wire, n) => [wire, results[n]]));
}

const WORK = { decode, run };

function show(column: number, results: Partial<Record<Wire, Result>>): void {
  for (const [wire, { times }] of Object.entries(results)) {
    const cell = document.querySelectorAll(`#${wire} td`)[column];
    if (cell) cell.textContent = Math.min(...times).toFixed(0);
  }
}

document.querySelector("#measure")?.addEventListener("click", async ({ currentTarget }) => {
  const button = currentTarget as HTMLButtonElement;
  button.disabled = true;
  show(0, await measure("decode", 20_000, 5));
  show(1, await measure("run", 2_000, 5));
  button.disabled = false;
});

// For the console: await measure("decode", 100, 3)
Object.assign(globalThis, { measure });
