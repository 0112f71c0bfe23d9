// Programs ask the users of real clients: the TypeScript SDK of both generations, in both eras. Usage: asked.mjs URL | COMMAND ARGS...; TOKEN for a URL
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { httpOptions } from './cases.mjs';

const [target, ...args] = process.argv.slice(2);
const isHttp = target.startsWith('http');
const stdio = { command: target, args, stderr: 'inherit' };
const ask = (message, schema = '') => `(ask {:message "${message}" ${schema}})`;
const region = ':schema {:type "object" :properties {:region {:type "string" :enum ["eu" "us"]}} :required ["region"]}';

// The user: says what the question asks for.
function user(asked) {
  return ({ params }) => {
    asked.push(params.message);
    if (params.message.endsWith('No?')) return { action: 'decline' };
    if (params.message.endsWith('Gone?')) return { action: 'cancel' };
    // The first answer of this one does not fit.
    if (params.message.includes('Twice?') && !params.message.includes('wanted')) return { action: 'accept', content: { n: 'many' } };
    if (params.message.includes('Twice?')) return { action: 'accept', content: { n: 7 } };
    return { action: 'accept', content: params.requestedSchema.properties.region ? { region: 'us' } : {} };
  };
}

const cases = [
  [`(:value ${ask('Which region?', region)})`, '{"region" "us"}', 1],
  [`(:value ${ask('Sure?')})`, '{}', 1],
  [`(:reason ${ask('No?')})`, ':declined', 1],
  [`(:reason ${ask('Gone?')})`, ':cancelled', 1],
  // Three rounds, with what was done before them.
  [`(do (println "once") (reduce (fn [sum n] (+ sum (count (:value ${ask('Which region?', region)})))) 0 (range 3)))`, '3', 3],
  // All that are open at a time are asked together.
  [`(count (filter :ok (pmap (fn [n] ${ask('Sure?')}) (range 5))))`, '5', 5],
  [`(get (:value ${ask('Twice?', ':schema {:type "object" :properties {:n {:type "integer"}} :required ["n"]}')}) "n")`, '7', 2],
];

const clients = [];
for (const [mode, era] of [['legacy', 'legacy'], [{ pin: '2026-07-28' }, 'modern']]) {
  const client = new Client({ name: 'interop', version: '0' }, { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } });
  const transport = isHttp ? new StreamableHTTPClientTransport(new URL(target), httpOptions()) : new StdioClientTransport(stdio);
  clients.push([`SDK 2, ${era}`, client, transport, (handle) => client.setRequestHandler('elicitation/create', handle)]);
}
const client1 = new Client1({ name: 'interop', version: '0' }, { capabilities: { elicitation: {} } });
clients.push(['SDK 1', client1, isHttp ? new Http1(new URL(target), httpOptions()) : new Stdio1(stdio),
  (handle) => client1.setRequestHandler(ElicitRequestSchema, handle)]);

for (const [name, client, transport, listen] of clients) {
  const asked = [];
  listen(user(asked));
  await client.connect(transport);
  for (const [program, value, questions] of cases) {
    asked.length = 0;
    const result = await client.callTool({ name: 'lisp_eval', arguments: { program } });
    const got = result.content?.[0]?.text ?? '';
    if (result.isError || !got.includes(value) || asked.length !== questions) {
      console.log(`${name}: ${program}\n  gave ${JSON.stringify(result)} after ${JSON.stringify(asked)}`);
      process.exit(1);
    }
  }
  await client.close();
}
console.log(`${cases.length} cases, ${clients.length} clients`);
