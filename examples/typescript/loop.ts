// An agent loop in a few dozen lines, without a package: it speaks to a running
// `browserd serve` over HTTP, opens a page, and acts on it by refs that it reads
// in the snapshot, as a language model would.
//
//   BROWSERD_TOKEN=… node loop.ts http://127.0.0.1:9333 http://127.0.0.1:8080/
//
// Node runs it as it is from 22.18 on. The page is the app of `browserd demo`:
// the loop puts a thing on its list.

interface Shown {
  text: string;
}

/** The part of a result that the loop looks at. */
interface Result {
  session?: string;
  snapshot?: Shown;
  delta?: Shown;
  content?: string;
}

interface Refusal {
  error: { code: string; message: string; next: string };
}

/** One session of a daemon: the first command opens it, the others name it. */
class Browser {
  #base: string;
  #token: string;
  #session?: string;

  constructor(base: string, token: string) {
    this.#base = base.replace(/\/$/, '');
    this.#token = token;
  }

  async call(command: string, params: Record<string, unknown> = {}): Promise<Result> {
    const answer = await fetch(`${this.#base}/v1/${command}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(this.#session ? { session: this.#session, ...params } : params),
    });
    if (!answer.ok) {
      const { error } = (await answer.json()) as Refusal;
      throw new Error(`${command}: ${error.code}: ${error.message}; next: ${error.next}`);
    }
    const result = (await answer.json()) as Result;
    this.#session = result.session ?? this.#session;
    return result;
  }

  /** Takes a snapshot and finds the line of a role and name: @e7 [button …] "Add". */
  async ref(role: string, name: string): Promise<string> {
    const text = (await this.call('snapshot')).snapshot?.text ?? '';
    for (const line of text.split('\n')) {
      const found = /^ *(@e\d+) \[(\w+).*\] (".*")$/.exec(line);
      if (found?.[1] && found[2] === role && JSON.parse(found[3]!) === name) return found[1];
    }
    throw new Error(`no ${role} "${name}" in:\n${text}`);
  }
}

/** What an action changed; after a navigation, the new document. */
const shown = (result: Result) => (result.delta ?? result.snapshot)?.text;

const [door, app] = process.argv.slice(2);
if (!door || !app) throw new Error('usage: BROWSERD_TOKEN=… node loop.ts DAEMON-URL APP-URL');
const browser = new Browser(door, process.env.BROWSERD_TOKEN ?? '');

console.log(shown(await browser.call('open', { url: app })));
console.log(shown(await browser.call('click', { ref: await browser.ref('link', 'Items') })));
await browser.call('type', { ref: await browser.ref('textbox', 'New item'), text: 'Oat milk' });
console.log(shown(await browser.call('click', { ref: await browser.ref('button', 'Add') })));

const page = (await browser.call('read', { kind: 'text' })).content ?? '';
if (!page.includes('Oat milk')) throw new Error(`the page does not show what was added:\n${page}`);
console.log(page);
await browser.call('session_close');

export {};
