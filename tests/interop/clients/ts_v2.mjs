// The cases through the TypeScript SDK, second generation, in both eras and by finding out which one it is.
// Usage: ts_v2.mjs URL | COMMAND ARGS...; TOKEN for a URL
import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { httpOptions, runCases } from './cases.mjs';

const [target, ...args] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(process.env.CASES, 'utf8'));
for (const [mode, era] of [['legacy', 'legacy'], ['auto', 'modern'], [{ pin: '2026-07-28' }, 'modern']]) {
  const client = new Client({ name: 'interop', version: '0' }, { versionNegotiation: { mode } });
  const transport = target.startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(target), httpOptions())
    : new StdioClientTransport({ command: target, args, stderr: 'inherit' });
  await client.connect(transport);
  if (client.getProtocolEra() !== era) throw new Error(`${JSON.stringify(mode)} gave the ${client.getProtocolEra()} era`);
  await runCases(client, cases);
  await client.close();
}
