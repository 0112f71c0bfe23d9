// Runs every case on a connected client and complains of the first difference.
export async function runCases(client, cases) {
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  if (!names.includes('lisp_eval')) throw new Error(`lisp_eval is not listed: ${names}`);
  for (const { program, context, text, contains, error } of cases) {
    const result = await client.callTool({ name: 'lisp_eval', arguments: { program, ...(context && { context }) } });
    const got = result.content?.[0]?.text ?? '';
    const right = (result.isError ?? false) === (error ?? false) && (text === undefined || got === text) && got.includes(contains ?? '');
    if (!right) {
      console.log(`${program}\n  gave ${JSON.stringify(result)}`);
      process.exit(1);
    }
  }
  console.log(`${cases.length} cases`);
}

// What a transport over HTTP needs to be let in.
export function httpOptions() {
  return { requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } } };
}
