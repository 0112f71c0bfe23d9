// The official suite's fixture tools, as an upstream: a server of the official TypeScript SDK with sessions over HTTP. What each tool
// does is what its scenario asks for. Prints its URL.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, CreateMessageResultSchema, ElicitResultSchema, ListRootsResultSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { setTimeout as pause } from "node:timers/promises";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
const text = (text) => ({ content: [{ type: "text", text }] });
const image = { type: "image", data: png, mimeType: "image/png" };
const resource = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const choices = ["option1", "option2", "option3"];
const titled = (kind) => [1, 2, 3].map((n) => ({ const: `value${n}`, title: `${["First", "Second", "Third"][n - 1]} ${kind}` }));
const object = (properties, required) => ({ type: "object", properties, ...(required && { required }) });

const schema2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

// --- questions: by requests of the server in both eras; `ptc` makes them what its client knows ---------------------------------
const elicit = (extra, message, requestedSchema) => extra.sendRequest({ method: "elicitation/create", params: { message, requestedSchema } }, ElicitResultSchema);
async function told(extra, message, requestedSchema) {
  const { action, content } = await elicit(extra, message, requestedSchema);
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
}
async function sampled(extra, prompt) {
  const messages = [{ role: "user", content: { type: "text", text: prompt } }];
  const { content } = await extra.sendRequest({ method: "sampling/createMessage", params: { messages, maxTokens: 100 } }, CreateMessageResultSchema);
  return text(`LLM response: ${content.text}`);
}
async function greeted(extra) {
  const { content } = await elicit(extra, "What is your name?", object({ name: { type: "string" } }, ["name"]));
  return text(`Hello, ${content?.name}!`);
}
const log = (extra, data) => extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });

// --- the tools: what each does, and its schema if it takes arguments -----------------------------------------------------------
const tools = {
  test_simple_text: [() => text("This is a simple text response for testing.")],
  test_image_content: [() => ({ content: [image] })],
  test_audio_content: [() => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] })],
  test_embedded_resource: [() => ({ content: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")] })],
  test_multiple_content_types: [
    () => ({ content: [{ type: "text", text: "Multiple content types test:" }, image, resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')] }),
  ],
  test_tool_with_logging: [
    async (_, extra) => {
      await log(extra, "Tool execution started");
      await pause(50);
      await log(extra, "Tool processing data");
      await pause(50);
      await log(extra, "Tool execution completed");
      return text("done");
    },
  ],
  test_logging_tool: [async (_, extra) => (await log(extra, "logged"), text("done"))],
  test_error_handling: [() => ({ isError: true, ...text("This tool intentionally returns an error for testing") })],
  test_tool_with_progress: [
    async (_, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
        await pause(50);
      }
      return text("done");
    },
  ],
  test_sampling: [({ prompt }, extra) => sampled(extra, prompt), object({ prompt: { type: "string" } }, ["prompt"])],
  test_missing_capability: [(_, extra) => sampled(extra, "Hello")],
  test_elicitation: [
    ({ message }, extra) => told(extra, message, object({ username: { type: "string", description: "User's response" }, email: { type: "string", description: "User's email address" } }, ["username", "email"])),
    object({ message: { type: "string" } }, ["message"]),
  ],
  test_streaming_elicitation: [(_, extra) => greeted(extra)],
  test_elicitation_sep1034_defaults: [
    (_, extra) =>
      told(
        extra,
        "Please check the defaults",
        object({
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        }),
      ),
  ],
  test_elicitation_sep1330_enums: [
    (_, extra) =>
      told(
        extra,
        "Please choose",
        object({
          untitledSingle: { type: "string", enum: choices },
          titledSingle: { type: "string", oneOf: titled("Option") },
          legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
          untitledMulti: { type: "array", items: { type: "string", enum: choices } },
          titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
        }),
      ),
  ],
  json_schema_2020_12_tool: [() => text("done"), schema2020],
  // Arguments that a client of this server would send in headers.
  test_custom_header: [({ region }) => text(region), object({ region: { type: "string", "x-mcp-header": "Region" } }, ["region"])],
  test_input_required_result_elicitation: [(_, extra) => greeted(extra)],
  test_input_required_result_sampling: [(_, extra) => sampled(extra, "What is the capital of France?")],
  test_input_required_result_tampered_state: [(_, extra) => greeted(extra)],
  test_input_required_result_multi_round: [
    async (_, extra) => {
      const name = await elicit(extra, "Step 1: What is your name?", object({ name: { type: "string" } }, ["name"]));
      const color = await elicit(extra, "Step 2: What is your favorite color?", object({ color: { type: "string" } }, ["color"]));
      return text(`${name.content?.name} likes ${color.content?.color}`);
    },
  ],
  test_trigger_tool_change: [async (_, extra) => (triggered++, await extra.sendNotification({ method: "notifications/tools/list_changed" }), text("done"))],
  test_input_required_result_list_roots: [async (_, extra) => text(JSON.stringify(await extra.sendRequest({ method: "roots/list" }, ListRootsResultSchema)))],
};

let triggered = 0;

function made() {
  const server = new Server({ name: "everything", version: "1.0.0" }, { capabilities: { tools: { listChanged: true }, logging: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => {
    const names = [...Object.keys(tools), ...Array.from({ length: triggered }, (_, n) => `triggered_${n}`)];
    return { tools: names.map((name) => ({ name, description: `The suite's ${name}.`, inputSchema: tools[name]?.[1] ?? object({}) })) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => tools[params.name][0](params.arguments ?? {}, extra));
  return server;
}

const sessions = new Map();
const listener = createServer(async (request, response) => {
  let transport = sessions.get(request.headers["mcp-session-id"]);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) });
    await made().connect(transport);
  }
  await transport.handleRequest(request, response);
});
await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
console.log(`http://127.0.0.1:${listener.address().port}/mcp`);
