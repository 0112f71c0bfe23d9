// The cases through the TypeScript SDK, second generation, over stdio, in both eras. Usage: ts_v2.mjs COMMAND ARGS...
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { runCases } from './cases.mjs';

const [command, ...args] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(process.env.CASES, 'utf8'));
for (const mode of ['legacy', { pin: '2026-07-28' }]) {
  const client = new Client({ name: 'interop', version: '0' }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
  await runCases(client, cases);
  await client.close();
}
