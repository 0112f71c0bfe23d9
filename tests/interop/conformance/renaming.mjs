// A proxy between the suite, which calls tools by the names of its fixtures, and a `ptc` that exposes them as `everything__NAME`.
// It renames in requests, in the header that repeats their name, and in lists; event streams pass as they come.
// Prints its URL. Usage: renaming.mjs URL
import { createServer, request } from "node:http";

const prefix = "everything__";
const to = new URL(process.argv[2]);
const listener = createServer((asked, answer) => {
  const chunks = [];
  asked.on("data", (chunk) => chunks.push(chunk));
  asked.on("end", () => {
    let body = Buffer.concat(chunks);
    const headers = { ...asked.headers, host: asked.headers.host === listener.host ? to.host : asked.headers.host };
    const message = parsed(body);
    const name = message?.method === "tools/call" ? message.params?.name : undefined;
    // Tools of `ptc` itself have their own names.
    if (typeof name === "string" && !name.startsWith("lisp_")) {
      message.params.name = prefix + name;
      if (headers["mcp-name"] === name) headers["mcp-name"] = prefix + name;
      body = Buffer.from(JSON.stringify(message));
      headers["content-length"] = body.length;
    }
    const passed = request(to, { method: asked.method, headers }, (got) => {
      if (message?.method !== "tools/list") {
        answer.writeHead(got.statusCode, got.headers);
        answer.flushHeaders();
        got.pipe(answer);
        return;
      }
      const parts = [];
      got.on("data", (part) => parts.push(part));
      got.on("end", () => {
        const list = Buffer.from(Buffer.concat(parts).toString().replaceAll(`"name":"${prefix}`, '"name":"'));
        const { "transfer-encoding": _, ...kept } = got.headers;
        answer.writeHead(got.statusCode, { ...kept, "content-length": list.length });
        answer.end(list);
      });
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    passed.end(body);
  });
});
function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
listener.host = `127.0.0.1:${listener.address().port}`;
console.log(`http://${listener.host}${to.pathname}`);
