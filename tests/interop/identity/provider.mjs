// A real issuer of access tokens: npm `oidc-provider`. Prints `{"issuer": …}` when it listens. POST /rotate replaces its key.
// Environment: FORMAT, `jwt` or `opaque`; PAGES, where the pages of a server come back to (`--http-login-client`).
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const SCOPES = "mcp:read mcp:write";
const GROUPS = { ann: ["support"], ben: ["dev"] };
const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

let keys = 0;
const freshKey = () => {
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  return { ...key, kid: `key-${++keys}`, use: "sig", alg: "RS256" };
};

// Clients and grants outlive a provider: its store belongs to the module.
const provider = () => {
  const made = new Provider(issuer, {
    jwks: { keys: [freshKey()] },
    clients: [
      // The protected resource, which asks about opaque tokens.
      { client_id: "resource", client_secret: "resource-secret-0123456789", redirect_uris: [], response_types: [], grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_basic" },
      ...(process.env.PAGES ? [{ client_id: "pages", client_secret: "pages-secret-0123456789", redirect_uris: [process.env.PAGES], response_types: ["code"], grant_types: ["authorization_code"], token_endpoint_auth_method: "client_secret_basic" }] : []),
    ],
    scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
    pkce: { required: () => true },
    extraTokenClaims: async (_context, token) => ({ groups: GROUPS[token.accountId] ?? [] }),
    ttl: { AccessToken: 600, RefreshToken: 3600, Session: 3600, Grant: 3600, Interaction: 600, IdToken: 600 },
    features: {
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: SCOPES, audience: resource, accessTokenFormat: process.env.FORMAT, accessTokenTTL: 600, jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
  made.on("server_error", (_context, error) => console.error(error));
  return made.callback();
};

let serve = provider();
server.on("request", (request, answer) => {
  if (request.method === "POST" && request.url === "/rotate") {
    serve = provider();
    answer.end();
  } else {
    serve(request, answer);
  }
});
console.log(JSON.stringify({ issuer }));
