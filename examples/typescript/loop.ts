// An agent's loop on the TypeScript client: it shows a model the page, runs the command that
// the model answers with, and shows it what that changed, until the model has done its task.
//
//   npm install && npm run build
//   BROWSERD_TOKEN=… node loop.js ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
//
// The page is the app of `browserd demo`. The model is a function, in place of a language
// model: its task is to put oat milk on the list.
import { BrowserdError, connect, PageText, type PageResult } from '@browserd/client';

type Step = { command: 'click' | 'type'; params: { ref: string; text?: string } };

/** Reads the page and answers with a command, or with nothing when the task is done. */
function model(page: string): Step | undefined {
  const find = (role: string, name: string) => new RegExp(`^ *(@e\\d+) \\[${role}\\b(.*)\\] "${name}"$`, 'm').exec(page);
  const [field, add, items] = [find('textbox', 'New item'), find('button', 'Add'), find('link', 'Items')];
  if (page.split('\n').some((line) => line.includes('Oat milk') && !line.includes('[textbox'))) return undefined;
  if (field && add) {
    if (field[2]!.includes('value="Oat milk"')) return { command: 'click', params: { ref: add[1]! } };
    return { command: 'type', params: { ref: field[1]!, text: 'Oat milk' } };
  }
  if (items) return { command: 'click', params: { ref: items[1]! } };
  throw new Error('the model does not know what to do with\n' + page);
}

const [url, app] = process.argv.slice(2);
if (!url || !app) throw new Error('usage: BROWSERD_TOKEN=… node loop.js WEBSOCKET-URL APP-URL');
const client = await connect({ url });
const held = new PageText(); // the whole page, as the model would put it together of what it is shown
try {
  let result: PageResult = await client.open({ url: app });
  for (let steps = 0; steps < 10; steps++) {
    console.log((result.delta ?? result.snapshot)?.text);
    const step = model(held.apply(result));
    if (!step) break;
    result = await client.call(step.command, step.params, { signal: AbortSignal.timeout(60_000) });
  }
  console.log((await client.read({ kind: 'text' })).content);
  await client.session_close();
} catch (e) {
  // A language model reads it and tries something else.
  if (e instanceof BrowserdError) console.error(`${e.code}: ${e.message}; next: ${e.next}`);
  throw e;
} finally {
  client.close();
}
