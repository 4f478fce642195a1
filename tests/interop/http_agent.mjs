// One run over HTTP, as the published client sees it:
//
//   node http_agent.mjs URL protobuf|sse [THREAD_ID]   -> {contentType, delivered, messages, state, error}

import { HttpAgent } from "@ag-ui/client";
import { BinaryHttpAgent } from "./binary_agent.mjs";

const [url, wire, threadId = "t"] = process.argv.slice(2);
const Agent = { protobuf: BinaryHttpAgent, sse: HttpAgent }[wire];

let contentType = null;
const agent = new Agent({
  url,
  threadId,
  initialMessages: [{ id: "u1", role: "user", content: "Where to in May?" }],
  fetch: async (address, init) => {
    const response = await fetch(address, init);
    contentType = response.headers.get("content-type");
    return response;
  },
});

const delivered = [];
let error = null;
try {
  await agent.runAgent({ runId: "r" }, { onEvent: ({ event }) => void delivered.push(event.type) });
} catch (reason) {
  error = String(reason?.message ?? reason);
}
const { messages, state } = agent;
process.stdout.write(JSON.stringify({ contentType, delivered, messages, state, error }));
