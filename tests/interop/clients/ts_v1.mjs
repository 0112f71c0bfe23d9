// The cases through the TypeScript SDK, first generation, over stdio. Usage: ts_v1.mjs COMMAND ARGS...
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { runCases } from './cases.mjs';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'interop', version: '0' }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
await runCases(client, JSON.parse(readFileSync(process.env.CASES, 'utf8')));
await client.close();
