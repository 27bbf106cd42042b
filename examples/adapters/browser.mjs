// What the adapters share: the commands that MCP clients see by default, as tools, and what a model is told.
import { BrowserdError, tools } from '@browserd/client';

export const defaultTools = tools.filter((t) => t.mcpDefault);

/** Runs a tool, and returns what a model reads: the page, or what is wrong and what to do next. */
export async function run(client, name, args, signal) {
  try {
    const result = await client.call(name, args, { signal });
    const shown = result.snapshot?.text ?? result.delta?.text ?? result.content ?? JSON.stringify(result);
    return shown || 'nothing changed';
  } catch (e) {
    if (e instanceof BrowserdError) return `${e.code}: ${e.message}; next: ${e.next}`;
    throw e;
  }
}
