// The client's half of RFC 6455, without extensions, over node:net and node:tls: the
// WebSocket of a runtime sends no Authorization header and reaches no unix socket.
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { ConnectionLost, type ErrorData, errorOf, NotProved } from "./commands.ts";

const maxMessage = 256 << 20; // bytes of a frame
const maxHead = 1 << 20; // bytes of an HTTP answer

export class WebSocket {
  #socket: Socket;
  #wake = () => {}; // there is more to read, or nothing more

  private constructor(socket: Socket) {
    this.#socket = socket;
    for (const event of ["readable", "end", "close"]) socket.on(event, () => this.#wake());
  }

  /** Connects within timeout milliseconds, over TCP or to the path of a unix socket. */
  static async open(url: URL, token: string, timeout: number, tls?: ConnectionOptions, path?: string): Promise<WebSocket> {
    const secure = url.protocol === "wss:";
    const port = Number(url.port) || (secure ? 443 : 80);
    const name = url.hostname.replace(/^\[|\]$/g, "");
    const socket = path ? connectTcp(path) : secure ? connectTls({ servername: name, ...tls, host: name, port }) : connectTcp(port, name);
    const timer = setTimeout(() => socket.destroy(new ConnectionLost(`${url.host}: no connection within ${timeout} ms`)), timeout);
    try {
      await new Promise<void>((open, fail) => socket.once(secure && !path ? "secureConnect" : "connect", open).once("error", fail));
      socket.on("error", () => {}); // whoever reads is told
      socket.setNoDelay(true);
      const ws = new WebSocket(socket);
      const peer = socket.remoteAddress?.includes(":") ? `[${socket.remoteAddress}]` : socket.remoteAddress;
      // Through TLS, a certificate says who listens there; a unix socket is this user's.
      if (!path && !secure) await ws.#prove(token, `${name === "localhost" ? peer : url.hostname}:${port}`);
      await ws.#upgrade(url, token);
      return ws;
    } catch (e) {
      socket.destroy();
      throw e;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Has the daemon show that it knows the token, before the token is sent to it. */
  async #prove(token: string, host: string): Promise<void> {
    const nonce = randomBytes(32).toString("hex");
    this.#socket.write(`GET /proof?nonce=${nonce} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    try {
      const { status, body } = await this.#response();
      const answer = JSON.parse(body) as { nonce: string; proofs: string[] };
      const key = createHash("sha256").update(token).digest();
      const want = createHmac("sha256", key).update(["browserd proof 1", host.toLowerCase(), nonce, answer.nonce].join("\n")).digest();
      const proves = (p: string) => /^[0-9a-f]{64}$/.test(p) && timingSafeEqual(Buffer.from(p, "hex"), want);
      if (status === 200 && answer.nonce.length === 64 && this.#socket.readableLength === 0 && answer.proofs.some(proves)) return;
    } catch (cause) {
      throw new NotProved(`${host}: ${cause}`, { cause });
    }
    throw new NotProved(`${host} did not prove that it knows the token`);
  }

  async #upgrade(url: URL, token: string): Promise<void> {
    const key = randomBytes(16).toString("base64");
    this.#socket.write(
      `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\n` +
        `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Protocol: browserd.v1\r\n\r\n`,
    );
    const { status, headers, body } = await this.#response();
    const accept = createHash("sha1").update(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
    if (status === 101 && headers.get("sec-websocket-accept") === accept) return;
    let error: ErrorData | undefined;
    try {
      error = JSON.parse(body).error;
    } catch {} // it is no browserd's answer
    throw error?.code ? errorOf(error) : new ConnectionLost(`${url.host}: HTTP ${status}`);
  }

  /** An HTTP answer. A body has a Content-Length, as the daemon's have. */
  async #response() {
    let head = "";
    for (; !head.endsWith("\r\n\r\n"); head += (await this.#exactly(1)).toString("latin1")) if (head.length > maxHead) throw new ConnectionLost("the answer's head is too long");
    const [first, ...lines] = head.trim().split("\r\n");
    const headers = new Map(lines.map((l) => [l.slice(0, l.indexOf(":")).toLowerCase(), l.slice(l.indexOf(":") + 1).trim()]));
    const length = Number(headers.get("content-length") ?? 0);
    if (!(length >= 0 && length <= maxHead)) throw new ConnectionLost("the answer is too long");
    return { status: Number(first?.split(" ")[1]), headers, body: (await this.#exactly(length)).toString() };
  }

  async #exactly(n: number): Promise<Buffer> {
    for (;;) {
      const taken: Buffer | null = n ? this.#socket.read(n) : Buffer.alloc(0);
      if (taken?.length === n) return taken;
      if (taken || this.#socket.readableEnded || this.#socket.destroyed) throw new ConnectionLost("the daemon closed the connection");
      await new Promise<void>((wake) => (this.#wake = wake));
    }
  }

  /** The next message. It throws when the connection has ended. */
  async receive(): Promise<string> {
    for (const parts: Buffer[] = []; ; ) {
      const [first, second] = (await this.#exactly(2)) as unknown as [number, number];
      let n: number = second;
      if (n === 126) n = (await this.#exactly(2)).readUInt16BE();
      else if (n === 127) n = Number((await this.#exactly(8)).readBigUInt64BE());
      if (first & 112 || second & 128 || n > maxMessage) throw new ConnectionLost("the daemon sent a frame that RFC 6455 or this client does not allow");
      const payload = await this.#exactly(n);
      const opcode = first & 15;
      if (opcode === 8) throw new ConnectionLost("the daemon closed the connection: " + payload.subarray(2));
      if (opcode === 9) this.send(payload, 10);
      if (opcode < 3 && parts.push(payload) && first & 128) return Buffer.concat(parts).toString();
    }
  }

  close(): void {
    this.send(Buffer.from([1000 >> 8, 1000 & 255]), 8);
    this.#socket.end(() => this.#socket.destroy());
  }

  send(message: string | Buffer, opcode = 1): void {
    const payload = Buffer.from(message as string);
    const n = payload.length;
    const head = Buffer.alloc(n < 126 ? 2 : n < 1 << 16 ? 4 : 10);
    head[0] = 128 | opcode;
    head[1] = 128 | (n < 126 ? n : n < 1 << 16 ? 126 : 127);
    if (head.length === 4) head.writeUInt16BE(n, 2);
    if (head.length === 10) head.writeBigUInt64BE(BigInt(n), 2);
    const mask = randomBytes(4);
    const masked = Buffer.from(payload.map((b, i) => b ^ mask[i & 3]!));
    if (this.#socket.writable) this.#socket.write(Buffer.concat([head, mask, masked]));
  }
}
