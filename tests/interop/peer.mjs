// The published TypeScript packages behind one JSON object a line, in and out.
//
//   {op: "encode", event}   -> {ok: true, hex}      one protobuf payload, without its prefix
//   {op: "decode", hex}     -> {ok: true, event}
//   {op: "run", body, contentType, input}           a whole response, through HttpAgent
//       body: {events} or {hex};  input: {threadId, runId, messages, state, tools, context,
//       forwardedProps, resume}, each optional
//                           -> {ok, error, delivered, messages, state, outcome, pending, runError,
//                               warnings, request}
//   a failure of encode or decode, or of the bridge -> {ok: false, error}

import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";
import { decode, encode } from "@ag-ui/proto";

const SSE = "text/event-stream";

// Only answers may stand on standard output.
let warnings = [];
const collect = (...parts) => warnings.push(parts.map(String).join(" "));
console.log = console.info = console.debug = () => {};
console.warn = console.error = collect;

function responseBody({ events, hex }) {
  if (hex !== undefined) return Buffer.from(hex, "hex");
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

async function run({ body, contentType = SSE, input = {} }) {
  let request = null;
  const agent = new HttpAgent({
    url: "http://peer.invalid/",
    threadId: input.threadId,
    initialMessages: input.messages,
    initialState: input.state,
    fetch: async (_url, init) => {
      request = JSON.parse(init.body);
      return new Response(responseBody(body), { headers: { "content-type": contentType } });
    },
  });
  const delivered = [];
  const ending = { outcome: null, pending: null, runError: null };
  const subscriber = {
    onEvent({ event }) {
      delivered.push(structuredClone(event));
    },
    onRunStartedEvent() {
      Object.assign(ending, { outcome: null, pending: null, runError: null });
    },
    onRunFinishedEvent({ outcome, pendingToolCallIds }) {
      Object.assign(ending, { outcome, pending: pendingToolCallIds ?? null });
    },
    onRunErrorEvent({ event }) {
      Object.assign(ending, { outcome: "error", runError: event.message });
    },
  };
  const { runId, tools, context, forwardedProps, resume } = input;
  let error = null;
  try {
    await agent.runAgent({ runId, tools, context, forwardedProps, resume }, subscriber);
  } catch (reason) {
    error = String(reason?.message ?? reason);
  }
  return {
    ok: error === null,
    error,
    delivered,
    messages: agent.messages,
    state: agent.state,
    ...ending,
    request,
  };
}

const operations = {
  encode: ({ event }) => ({ ok: true, hex: Buffer.from(encode(event)).toString("hex") }),
  decode: ({ hex }) => ({ ok: true, event: decode(Buffer.from(hex, "hex")) }),
  run,
};

async function answer(line) {
  warnings = [];
  try {
    const request = JSON.parse(line);
    const result = await operations[request.op](request);
    return { ...result, warnings };
  } catch (reason) {
    return { ok: false, error: String(reason?.message ?? reason), warnings };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
