// A real authorization server: npm `oidc-provider`, with all that upstreams of 2026 ask of a client.
// Prints `{"issuer": …}` when it listens, then one JSON object for each thing that happens to a grant.
// Environment: TTL, the seconds an access token lives; DOCUMENTS, a JSON file of client ID metadata documents by URL.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const TTL = Number(process.env.TTL ?? 60);
const SCOPES = ["mcp:read", "mcp:write"];
const documents = process.env.DOCUMENTS ? JSON.parse(readFileSync(process.env.DOCUMENTS, "utf8")) : {};
const say = (facts) => console.log(JSON.stringify(facts));

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    // An application of one's own, as servers without registration ask for.
    { client_id: "registered", client_secret: "registered-secret-0123456789", redirect_uris: ["http://127.0.0.1:33418/callback", "http://localhost:33418/callback"], application_type: "native",
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "client_secret_post" },
    // A machine without a browser.
    { client_id: "terminal", redirect_uris: [], application_type: "native", response_types: [], token_endpoint_auth_method: "none",
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"] },
    // Nobody signs in for this one.
    { client_id: "service", client_secret: "service-secret-0123456789", redirect_uris: [], response_types: [], grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_basic" },
  ],
  scopes: ["openid", "offline_access", ...SCOPES],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async (_context, client) => client.grantTypeAllowed("refresh_token"),
  ttl: { AccessToken: TTL, ClientCredentials: TTL, RefreshToken: 3600, Session: 3600, Grant: 3600, Interaction: 600, IdToken: 600, DeviceCode: 300 },
  // The documents of this test stand for what their hosts would serve; nothing leaves this machine.
  fetch: async (url) => {
    const document = documents[String(url)];
    return document ? new Response(JSON.stringify(document), { headers: { "content-type": "application/json" } }) : new Response("", { status: 404 });
  },
  features: {
    registration: { enabled: true },
    deviceFlow: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context, resource) => ({ scope: SCOPES.join(" "), audience: resource, accessTokenFormat: "jwt", accessTokenTTL: TTL, jwt: { sign: { alg: "RS256" } } }),
    },
  },
});
provider.on("grant.success", (context) => say({ event: "granted", grant: context.oidc.params.grant_type, client: context.oidc.client.clientId, resource: context.oidc.params.resource ?? null }));
provider.on("grant.error", (context, error) => say({ event: "refused", grant: context.oidc?.params?.grant_type ?? null, error: error.error }));
provider.on("grant.revoked", () => say({ event: "revoked" }));
provider.on("refresh_token.destroyed", () => say({ event: "refresh_token_destroyed" }));
provider.on("registration_create.success", (_context, client) => say({ event: "registered", client: client.clientId }));
provider.on("server_error", (_context, error) => say({ event: "server_error", error: String(error?.stack ?? error) }));
server.on("request", provider.callback());
say({ issuer });
