// The published client on real connections, one JSON object a line, in and out.
//
//   {url, accept, encoding, limit} -> {error, types, text, state, contentType, contentEncoding}
//
// With a limit over 0 the run is aborted after that many events.

import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";

console.log = console.info = console.debug = console.warn = console.error = () => {};

async function call({ url, accept, encoding, limit }) {
  let response;
  const agent = new HttpAgent({
    url,
    threadId: "t",
    fetch: async (to, init) => {
      const headers = new Headers(init.headers);
      headers.set("accept", accept);
      headers.set("accept-encoding", encoding);
      response = await fetch(to, { ...init, headers });
      return response;
    },
  });
  const types = [];
  let error = null;
  const subscriber = {
    onEvent({ event }) {
      types.push(event.type);
      if (types.length === limit) agent.abortRun();
    },
  };
  try {
    await agent.runAgent({ runId: "r" }, subscriber);
  } catch (reason) {
    error = String(reason?.message ?? reason);
  }
  return {
    error,
    types,
    text: agent.messages.map(({ content }) => content).join("|"),
    state: agent.state,
    contentType: response.headers.get("content-type"),
    contentEncoding: response.headers.get("content-encoding"),
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await call(JSON.parse(line)))}\n`);
}
