// Two MCP servers in one file, with nothing but node: `shop` lists items, `desk` knows what is reserved.
"use strict";
const which = process.argv[2];
const tools = {
  shop: { name: "items", description: "All items", inputSchema: { type: "object", properties: {} } },
  desk: {
    name: "reserved",
    description: "How many pieces of an item are reserved",
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
};
const items = [{ name: "tea", price: 3, stock: 19 }, { name: "cup", price: 12, stock: 4 }];
const answers = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: which, version: "1" } }),
  "tools/list": () => ({ tools: [tools[which]] }),
  "tools/call": () => ({ content: [{ type: "text", text: which === "shop" ? JSON.stringify({ items }) : "1" }] }),
  ping: () => ({}),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const rest = answer ? { result: answer(params) } : { error: { code: -32601, message: "unknown method" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...rest }) + "\n");
});
