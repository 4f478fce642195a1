// One question to one agent, over two wires side by side.
//
//   index.html?agent=URL     the agent to ask; without it, the one behind the page's next port

import { type BaseEvent, HttpAgent, randomUUID } from "@ag-ui/client";
import { BinaryHttpAgent } from "./binary_agent";

const query = new URLSearchParams(location.search);
const url = query.get("agent") ?? `http://${location.hostname}:${Number(location.port) + 1}/`;

function find<T extends HTMLElement>(selector: string, root: ParentNode = document): T {
  const found = root.querySelector<T>(selector);
  if (found === null) throw new Error(`no ${selector}`);
  return found;
}

/** One column of the page: runs the agent over its wire and shows what comes. */
class Column {
  events: BaseEvent[] = [];
  bytes = 0;
  private agent?: HttpAgent;

  constructor(
    private readonly root: HTMLElement,
    private readonly Agent: typeof HttpAgent,
  ) {}

  async run(runId: string): Promise<void> {
    this.events = [];
    this.bytes = 0;
    find(".text", this.root).textContent = "";
    this.show("state", "running");
    this.show("type", "…");
    const agent = new this.Agent({
      url,
      threadId: "browser",
      initialMessages: [{ id: "u1", role: "user", content: "Where to in May?" }],
      fetch: (to, init) => this.counting(to, init),
    });
    this.agent = agent;
    try {
      await agent.runAgent(
        { runId },
        {
          onEvent: ({ event }) => {
            this.events.push(event);
            this.count();
          },
          onTextMessageContentEvent: ({ event }) => {
            find(".text", this.root).append(event.delta);
          },
        },
      );
      this.show("state", agent.abortController.signal.aborted ? "stopped" : "finished");
    } catch (error) {
      this.show("state", error instanceof Error ? error.message : String(error));
    }
    this.count();
  }

  stop(): void {
    this.agent?.abortRun();
  }

  /** fetch, with the bytes of the body counted as they pass. */
  private async counting(to: string, init: RequestInit): Promise<Response> {
    const response = await fetch(to, init);
    this.show("type", response.headers.get("content-type") ?? "none");
    const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, body) => {
        this.bytes += chunk.byteLength;
        body.enqueue(chunk);
      },
    });
    return new Response(response.body?.pipeThrough(counter), response);
  }

  private count(): void {
    this.show("events", this.events.length.toLocaleString("en"));
    this.show("bytes", this.bytes.toLocaleString("en"));
  }

  private show(name: string, text: string): void {
    find(`.${name}`, this.root).textContent = text;
  }
}

const columns = {
  sse: new Column(find("#sse"), HttpAgent),
  protobuf: new Column(find("#protobuf"), BinaryHttpAgent),
};

async function run(): Promise<void> {
  const start = find<HTMLButtonElement>("#run");
  const stop = find<HTMLButtonElement>("#stop");
  const runId = randomUUID();
  find("#verdict").textContent = "";
  start.disabled = true;
  stop.disabled = false;
  const { sse, protobuf } = columns;
  await Promise.all([sse.run(runId), protobuf.run(runId)]);
  start.disabled = false;
  stop.disabled = true;
  if (sse.events.length > 0 && sse.events.length === protobuf.events.length) {
    const share = Math.round((100 * protobuf.bytes) / sse.bytes);
    find("#verdict").textContent = `The same events: protobuf took ${share}% of SSE's bytes.`;
  }
}

function stop(): void {
  for (const column of Object.values(columns)) column.stop();
}

find("#run").addEventListener("click", () => void run());
find("#stop").addEventListener("click", stop);
// In the back/forward cache a page that was left would keep its runs open.
addEventListener("pagehide", stop);

// For the console: columns.protobuf.events
Object.assign(globalThis, { columns });
