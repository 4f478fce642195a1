// The measuring process of the published TypeScript packages; worker.py tells the requests.
//
//   node --expose-gc worker.mjs     in a directory whose node_modules holds the packages

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// The packages are the user's, so they are looked for where the user is.
const require = createRequire(`${process.cwd()}/`);
const out = process.stdout;
console.log = console.info = console.debug = console.warn = console.error = () => {};

const SSE = "text/event-stream";
const PROTO = "application/vnd.ag-ui.event+proto";
const CHUNK = 64 * 1024;
const WARM_LOOPS = 4;

const lines = (path) => readFileSync(path, "utf8").split("\n").filter(Boolean);
const sum = (sizes) => sizes.reduce((total, size) => total + size, 0);

function encoding(make) {
  return ({ path }) => {
    const encode = make();
    const events = lines(path).map((line) => JSON.parse(line));
    const size = sum(events.map((event) => Buffer.byteLength(encode(event))));
    const run = () => {
      for (const event of events) encode(event);
    };
    return { run, events: events.length, size };
  };
}

// `hold` keeps what was read; the browser's own JSON.parse reads text that is already decoded.
function decoding(make, { hold = false } = {}) {
  return ({ path }) => {
    const { source, decode } = make();
    const events = lines(path).map((line) => source(line));
    const size = sum(events.map((event) => event.length));
    const run = () => {
      if (hold) return events.map(decode);
      for (const event of events) decode(event);
    };
    return { run, events: events.length, size };
  };
}

const text = () => {
  const decoder = new TextDecoder();
  return {
    source: (line) => Buffer.from(line),
    decode: (bytes) => JSON.parse(decoder.decode(bytes)),
  };
};
const proto = () => {
  const { encode, decode } = require("@ag-ui/proto");
  return { source: (line) => encode(JSON.parse(line)), decode };
};
const encoder = () => new (require("@ag-ui/encoder").EventEncoder)({ accept: PROTO });

function bodyOf(events, wire) {
  const encode = encoder();
  const frames = events.map((event) =>
    wire === SSE ? Buffer.from(encode.encodeSSE(event)) : Buffer.from(encode.encodeBinary(event)),
  );
  return Buffer.concat(frames);
}

function streamOf(body) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(new Uint8Array(body.subarray(at, at + CHUNK)));
      at += CHUNK;
    },
  });
}

function consuming(body, wire, count) {
  const { HttpAgent } = require("@ag-ui/client");
  const run = async () => {
    const agent = new HttpAgent({
      url: "http://benchmark.invalid/",
      fetch: async () => new Response(streamOf(body), { headers: { "content-type": wire } }),
    });
    await agent.runAgent({});
    if (agent.messages === undefined) throw new Error("the run left no messages");
    return agent;
  };
  return { run, events: count, size: body.length };
}

const pipeline =
  (wire) =>
  ({ path }) => {
    const events = lines(path).map((line) => JSON.parse(line));
    return consuming(bodyOf(events, wire), wire, events.length);
  };

function messageLength({ value }) {
  const run = { threadId: "t", runId: "r" };
  const events = [
    { type: "RUN_STARTED", ...run },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    ...Array.from({ length: value }, () => ({
      type: "TEXT_MESSAGE_CONTENT",
      messageId: "m",
      delta: " word",
    })),
    { type: "TEXT_MESSAGE_END", messageId: "m" },
    { type: "RUN_FINISHED", ...run },
  ];
  return consuming(bodyOf(events, SSE), SSE, events.length);
}

const makers = {
  "encode/JSON.stringify": encoding(() => (event) => JSON.stringify(event)),
  "encode/@ag-ui/encoder SSE": encoding(() => {
    const encode = encoder();
    return (event) => encode.encodeSSE(event);
  }),
  "encode/@ag-ui/encoder protobuf": encoding(() => {
    const encode = encoder();
    return (event) => encode.encodeBinary(event);
  }),
  "encode/@ag-ui/proto": encoding(() => require("@ag-ui/proto").encode),
  "decode/JSON.parse": decoding(text),
  "decode/@ag-ui/proto": decoding(proto),
  "hold/JSON.parse": decoding(text, { hold: true }),
  "hold/@ag-ui/proto": decoding(proto, { hold: true }),
  "pipeline/@ag-ui/client sse": pipeline(SSE),
  "pipeline/@ag-ui/client protobuf": pipeline(PROTO),
  "assemble/@ag-ui/client sse": pipeline(SSE),
  "scaling: message length/@ag-ui/client": messageLength,
};

const ready = new Map();

// Seconds of the processor, helper threads included.
async function timed(run, loops) {
  if (loops >= WARM_LOOPS) await run();
  const start = process.cpuUsage();
  for (let n = 0; n < loops; n++) {
    const result = run();
    if (result instanceof Promise) await result;
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

const operations = {
  async prepare({ id, axis, name, cold, ...context }) {
    const prepared = makers[`${axis}/${name}`](context);
    ready.set(id, prepared);
    let seconds = 0;
    if (!cold) {
      // The compiler needs to see code run for a while.
      for (let spent = 0, passes = 0; passes < 2 || spent < 0.1; passes++, spent += seconds) {
        seconds = Math.max(await timed(prepared.run, 1), 1e-6);
      }
    }
    return { events: prepared.events, size: prepared.size, seconds };
  },
  async run({ id, loops }) {
    return { seconds: await timed(ready.get(id).run, loops) };
  },
  async memory({ id }) {
    globalThis.gc?.();
    const before = process.memoryUsage();
    const result = await ready.get(id).run();
    const after = process.memoryUsage();
    globalThis.gc?.();
    const held = process.memoryUsage().heapUsed - before.heapUsed;
    const resident = Math.max(0, after.rss - before.rss);
    return { blocks: null, held: Math.max(0, held), peak: null, resident, kept: result != null };
  },
  async forget({ id }) {
    ready.delete(id);
    if (ready.size === 0) globalThis.gc?.();
    return {};
  },
  async about() {
    const versions = {};
    for (const name of ["client", "encoder", "proto"]) {
      try {
        versions[`@ag-ui/${name}`] = require(`@ag-ui/${name}/package.json`).version;
      } catch {
        // not installed
      }
    }
    return { runtime: `Node.js ${process.versions.node}`, versions };
  },
};

async function answer(request) {
  try {
    return await operations[request.op](request);
  } catch (reason) {
    if (reason?.code === "MODULE_NOT_FOUND") {
      return { error: `not installed: ${/'(.*?)'/.exec(reason.message)?.[1]}` };
    }
    return { error: String(reason?.message ?? reason).slice(0, 300) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  out.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
