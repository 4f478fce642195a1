import { HttpAgent, type RunAgentInput } from "@ag-ui/client";

/** HttpAgent reads protobuf but does not ask for it. This one does. */
export class BinaryHttpAgent extends HttpAgent {
  protected override requestInit(input: RunAgentInput): RequestInit {
    const init = super.requestInit(input);
    const headers = new Headers(init.headers);
    headers.set("Accept", "application/vnd.ag-ui.event+proto, text/event-stream");
    return { ...init, headers };
  }
}
