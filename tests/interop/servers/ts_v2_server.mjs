// A server made with version 2 of the TypeScript SDK.
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod/v4";

const server = new McpServer({ name: "shop", version: "1.0.0" });
server.registerTool(
  "price",
  { description: "The price of an item", inputSchema: z.object({ item: z.string() }), outputSchema: z.object({ price: z.number() }) },
  async ({ item }) => {
    const structuredContent = { price: item.length * 10 };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  },
);
server.registerTool("greet", { description: "Greets", inputSchema: z.object({ name: z.string() }) }, async ({ name }) => ({
  content: [{ type: "text", text: `Hello, ${name}` }],
}));
await server.connect(new StdioServerTransport());
