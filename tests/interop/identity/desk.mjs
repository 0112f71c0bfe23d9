// An upstream of the tools that its arguments name: each answers with the arguments that it was called with, and is described by WORDING.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "desk", version: "0" });
const wording = process.env.WORDING ?? "Does";
for (const tool of process.argv.slice(2)) {
  const inputSchema = { item: z.string(), queue: z.string().optional() };
  server.registerTool(tool, { description: `${wording} ${tool}.`, inputSchema }, (given) => ({ content: [{ type: "text", text: JSON.stringify({ tool, ...given }) }] }));
}
await server.connect(new StdioServerTransport());
