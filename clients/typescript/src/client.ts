// A connection that carries JSON-RPC 2.0: PROTOCOL.md sections 1 and 2.
import { lstatSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import type { ConnectionOptions } from "node:tls";
import { type CallOptions, Commands, ConnectionLost, type ErrorData, errorOf, type Event } from "./commands.ts";
import { WebSocket } from "./websocket.ts";

export interface Options {
  url?: string; // ws://host:port/v1/ws or wss://…; left out: this user's daemon
  token?: string; // left out: BROWSERD_TOKEN, or else the token of this user's daemon
  session?: string; // the name of an open session, to go on with
  tls?: ConnectionOptions; // whom to trust at wss://
  timeout?: number; // milliseconds until a connection is open; left out: 10,000
}

const grace = 5000; // milliseconds for an answer beyond timeout_ms, within which the daemon promises it
const eventsKept = 1024; // the oldest go first

interface Pending {
  resolve(result: any): void;
  reject(reason: unknown): void;
}

/** Connects to a daemon. */
export async function connect(options: Options = {}): Promise<Client> {
  const client = new Client(options);
  await client.ready();
  return client;
}

/** A connection to a daemon. One that was lost is made again by the next command, which goes
 * on with the session that the last result named; nothing is sent twice. */
export class Client extends Commands {
  #options: Options;
  #ws?: Promise<WebSocket>;
  #closed = false;
  #last = 0;
  #pending = new Map<number, Pending>();
  #events: Event[] = [];
  #wake: (() => void)[] = [];
  #resume = false; // the connection does not know session yet
  session?: string; // the one that the last result named

  constructor(options: Options = {}) {
    super();
    this.#options = options;
    this.session = options.session;
  }

  /** Makes the connection, where there is none. */
  async ready(): Promise<void> {
    await this.#connection();
  }

  #connection(): Promise<WebSocket> {
    if (this.#closed) throw new ConnectionLost("the client is closed");
    return (this.#ws ??= this.#open().catch((e) => {
      this.#ws = undefined;
      throw e;
    }));
  }

  async #open(): Promise<WebSocket> {
    const { url, tls, timeout = 10_000 } = this.#options;
    const token = this.#options.token || process.env.BROWSERD_TOKEN || readFileSync(join(stateDir(), "token"), "utf8").trim();
    const open = (path?: string) => WebSocket.open(new URL(url ?? "ws://127.0.0.1:9333/v1/ws"), token, timeout, tls, path);
    const path = url ? undefined : localSocket();
    const ws = await open(path).catch((e) => {
      if (!path || e.syscall !== "connect") throw e;
      return open(); // the socket was left by a daemon that has ended
    });
    if (this.#closed) ws.close();
    this.#resume = this.session !== undefined;
    void this.#read(ws);
    return ws;
  }

  async #read(ws: WebSocket): Promise<void> {
    try {
      for (;;) this.#take(JSON.parse(await ws.receive()));
    } catch (e) {
      ws.close();
      this.#ws = undefined;
      const lost = e instanceof ConnectionLost ? e : new ConnectionLost(String(e), { cause: e });
      for (const p of this.#pending.values()) p.reject(lost);
      this.#awake();
    }
  }

  #take(message: { id?: number; result?: any; error?: { message: string; data: ErrorData }; params?: Event }): void {
    const { id, result, error, params } = message;
    if (params) {
      if (this.#events.push(params) > eventsKept) this.#events.shift();
      return this.#awake();
    }
    if (result?.session) [this.session, this.#resume] = [result.session, false];
    const pending = this.#pending.get(id!);
    if (error) pending?.reject(errorOf({ ...error.data, message: error.message }));
    else pending?.resolve(result);
  }

  /** Sends a command and waits for its result. Commands are sent in the order of the calls. */
  override async call(method: string, params: object = {}, { signal }: CallOptions = {}): Promise<any> {
    signal?.throwIfAborted();
    const ws = await this.#connection();
    signal?.throwIfAborted();
    if (this.#resume && method !== "session_open") params = { session: this.session, ...params };
    const id = ++this.#last;
    const limit = ((params as { timeout_ms?: number }).timeout_ms ?? 30_000) + grace;
    let timer: NodeJS.Timeout | undefined, abort: (() => void) | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const giveUp = (reason: unknown) => {
          if (this.#ws) ws.send(JSON.stringify({ jsonrpc: "2.0", id: ++this.#last, method: "cancel", params: { id } }));
          reject(reason);
        };
        this.#pending.set(id, { resolve, reject });
        timer = setTimeout(() => giveUp(new ConnectionLost(`${method}: no answer within ${limit} ms`)), limit);
        signal?.addEventListener("abort", (abort = () => giveUp(signal.reason)), { once: true });
        ws.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      });
    } finally {
      clearTimeout(timer);
      if (abort) signal?.removeEventListener("abort", abort);
      this.#pending.delete(id);
    }
  }

  /** The events as they come, each to one reader. It ends with close() and with signal, and
   * throws ConnectionLost where the connection was lost: then subscribe again. */
  async *events({ signal }: CallOptions = {}): AsyncGenerator<Event, void> {
    const awake = () => this.#awake();
    signal?.addEventListener("abort", awake);
    try {
      while (!signal?.aborted) {
        const event = this.#events.shift();
        if (event) yield event;
        else if (this.#closed) return;
        else if (!this.#ws) throw new ConnectionLost("the connection was lost");
        else await new Promise<void>((wake) => this.#wake.push(wake));
      }
    } finally {
      signal?.removeEventListener("abort", awake);
    }
  }

  #awake(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Ends the connection. The session goes on in the daemon. */
  close(): void {
    this.#closed = true;
    this.#ws?.then((ws) => ws.close(), () => {});
    this.#awake();
  }
}

function stateDir(): string {
  const { XDG_STATE_HOME: base = "", LocalAppData = "" } = process.env;
  if (process.platform === "win32") return join(LocalAppData, "browserd");
  if (process.platform === "darwin") return join(homedir(), "Library/Application Support/browserd");
  return join(isAbsolute(base) ? base : join(homedir(), ".local/state"), "browserd");
}

/** The daemon's unix socket, where it is this user's and no other can write to it. */
function localSocket(): string | undefined {
  const path = join(stateDir(), "127.0.0.1:9333.sock");
  try {
    for (const p of [stateDir(), path]) {
      const { uid, mode } = lstatSync(p);
      if (![0, process.geteuid?.()].includes(uid) || mode & 0o022) return undefined;
    }
    return path;
  } catch {
    return undefined; // none is there
  }
}
