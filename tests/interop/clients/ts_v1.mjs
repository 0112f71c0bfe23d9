// The cases through the TypeScript SDK, first generation. Usage: ts_v1.mjs URL | COMMAND ARGS...; TOKEN for a URL
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { httpOptions, runCases } from './cases.mjs';

const [target, ...args] = process.argv.slice(2);
const client = new Client({ name: 'interop', version: '0' }, { capabilities: {} });
const http = target.startsWith('http') && new StreamableHTTPClientTransport(new URL(target), httpOptions());
await client.connect(http || new StdioClientTransport({ command: target, args, stderr: 'inherit' }));
await runCases(client, JSON.parse(readFileSync(process.env.CASES, 'utf8')));
if (http) await http.terminateSession();
await client.close();
