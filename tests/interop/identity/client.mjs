// The official TypeScript client signs in and runs a program. It knows the server's URL alone. Prints the program's text, what the server says of
// its tool, and the token.
// Usage: client.mjs URL PERSON PYTHON WALK [PROGRAM]
import { execFileSync } from "node:child_process";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, person, python, walk, program = "(+ 40 2)"] = process.argv.slice(2);
const callback = "http://127.0.0.1:33999/callback";
const saved = {};
const authProvider = {
  redirectUrl: callback,
  clientMetadata: { client_name: "interop", redirect_uris: [callback], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none", application_type: "native" },
  clientInformation: () => saved.client,
  saveClientInformation: (client) => { saved.client = client; },
  tokens: () => saved.tokens,
  saveTokens: (tokens) => { saved.tokens = tokens; },
  redirectToAuthorization: (link) => { saved.link = link; },
  saveCodeVerifier: (verifier) => { saved.verifier = verifier; },
  codeVerifier: () => saved.verifier,
};
const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider });

const first = transport();
try {
  await new Client({ name: "interop", version: "0" }).connect(first);
  throw new Error("it was let in without a token");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
const back = execFileSync(python, [walk, String(saved.link), person, callback], { encoding: "utf8" });
await first.finishAuth(new URL(back.trim()).searchParams.get("code"));
const client = new Client({ name: "interop", version: "0" });
await client.connect(transport());
const { tools } = await client.listTools();
const result = await client.callTool({ name: "lisp_eval", arguments: { program } });
console.log(JSON.stringify({ text: result.content[0].text, description: tools[0].description, token: saved.tokens.access_token, scope: saved.link.searchParams.get("scope") }));
await client.close();
