// Calls the methods of the TypeScript client: a line of stdin is {"method", "params"}, one
// of stdout is {"result"} or {"error"}. "+wait" does not wait for its answer and has its id as
// the result; "-" is the answer of the last of these, "!" gives it up, and "?dialog" is the
// next event of that type.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline';

const [build, mode, url] = process.argv.slice(2);
const { BrowserdError, connect, errors, PageText } = await import(build);

async function next(client, type) {
  for await (const event of client.events()) if (event.type === type) return event;
  throw new Error('the events ended');
}

if (mode === 'corpus') {
  const page = new PageText();
  JSON.parse(readFileSync(url, 'utf8')).forEach((step, i) => {
    if (page.apply({ [step.kind]: { text: step.text } }) !== step.held) throw new Error(`step ${i}:\n${step.text}\nholds\n${page.text}\nnot\n${step.held}`);
  });
} else {
  const client = await connect({ url: url || undefined });
  const said = (call) =>
    call.then(
      (result) => ({ result }),
      (e) => ({ error: { code: e instanceof BrowserdError ? e.code : '', message: e.message, class: e instanceof BrowserdError && e.constructor !== errors[e.code] ? `${e}` : e.name } }),
    );
  const ended = new AbortController();
  const unread = client.events({ signal: ended.signal }).next(); // it is given up
  ended.abort();
  await unread;
  let ids = 0;
  const pending = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const { method, params } = JSON.parse(line);
    let answer;
    if (!'-?'.includes(method[0])) ids++;
    if (method === '-') answer = await pending.pop().answer;
    else if (method === '!') {
      const { abort, answer: call } = pending.pop();
      abort.abort();
      answer = await call;
    } else if (method[0] === '?') answer = await said(next(client, method.slice(1)));
    else {
      const abort = new AbortController();
      const call = said((async () => client[method.replace('+', '')](params ?? {}, { signal: abort.signal }))());
      if (method[0] === '+') {
        pending.push({ abort, answer: call });
        answer = { result: ids };
      } else answer = await call;
    }
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
  client.close();
}
