// A protected MCP server: the official TypeScript SDK with its own bearer check, in front of two tools. Tokens are JWTs of
// ISSUER whose audience is this server. Prints `{"url": …}` when it listens, then one JSON object for each MCP request.
// Environment: OWN, a JSON object of the names of more tools, which are listed to that subject alone.
import { createServer } from "node:http";
import { createRemoteJWKSet, jwtVerify } from "jose";
import express from "express";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const issuer = process.env.ISSUER;
const own = JSON.parse(process.env.OWN ?? "{}");
const say = (facts) => console.log(JSON.stringify(facts));
const oauthMetadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri));
const application = express();
const listener = createServer(application);
await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
const url = new URL(`http://127.0.0.1:${listener.address().port}/mcp`);

const verifier = {
  async verifyAccessToken(token) {
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, audience: String(url), typ: "at+jwt", clockTolerance: 1 });
      return { token, clientId: payload.client_id, scopes: (payload.scope ?? "").split(" "), expiresAt: payload.exp, extra: { subject: payload.sub } };
    } catch (error) {
      throw new InvalidTokenError(error.code ?? String(error));
    }
  },
};
const notes = [];

function tools(subject) {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  server.registerTool("whoami", { description: "Says who is signed in.", inputSchema: {} }, (_none, { authInfo }) => {
    const facts = { subject: authInfo.extra.subject ?? null, client: authInfo.clientId, scopes: authInfo.scopes };
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  });
  server.registerTool("add_note", { description: "Keeps a note. Needs the scope mcp:write.", inputSchema: { text: z.string() } }, ({ text }) => {
    notes.push(text);
    return { content: [{ type: "text", text: String(notes.length) }] };
  });
  for (const name of own[subject] ?? []) {
    server.registerTool(name, { description: `Does ${name}.`, inputSchema: { item: z.string() } }, ({ item }) => ({ content: [{ type: "text", text: `${name} of ${item}` }] }));
  }
  return server;
}

const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url);
const needs = (...requiredScopes) => requireBearerAuth({ verifier, requiredScopes, resourceMetadataUrl });
const [reading, writing] = [needs("mcp:read"), needs("mcp:read", "mcp:write")];
application.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: url, scopesSupported: ["mcp:read", "mcp:write"], resourceName: "notes" }));
application.use(express.json());
application.use("/mcp", (request, response, next) => {
  response.on("finish", () => say({ event: "request", method: request.body?.method ?? request.method, status: response.statusCode }));
  const writes = request.body?.method === "tools/call" && request.body.params?.name === "add_note";
  (writes ? writing : reading)(request, response, next);
});
application.post("/mcp", async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  const server = tools(request.auth.extra.subject);
  response.on("close", () => { transport.close(); server.close(); });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
application.all("/mcp", (_request, response) => response.status(405).end());
say({ url: String(url) });
