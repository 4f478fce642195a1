// @ag-ui/client reads protobuf but does not ask for it. This one does.
import { HttpAgent } from "@ag-ui/client";

export class BinaryHttpAgent extends HttpAgent {
  requestInit(input) {
    const init = super.requestInit(input);
    const accept = "application/vnd.ag-ui.event+proto, text/event-stream";
    return { ...init, headers: { ...init.headers, Accept: accept } };
  }
}
