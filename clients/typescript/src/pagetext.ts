// The text of a page as a client holds it: PROTOCOL.md section 5, Deltas.
const REF = /^ *(@e\d+) \[/;
const RUN = /^(@e\d+)(?: to @e\d+)?, (\d+) lines$/;
const BELOW = / with (\d+) lines? below$/;
const TOKEN = / [^ =\]]+(?:="(?:[^"\\]|\\.)*"|=[^ \]]+)?/y;
const FOLDED = /^\[more\] (at least )?\d+ (nodes|like siblings) not shown here/;
const COVER = /^~ (not )?covered: /;

function find(lines: string[], said: string, from: number): number {
  const ref = REF.exec(said)?.[1];
  const i = ref ? lines.findIndex((l) => REF.exec(l)?.[1] === ref) : lines.indexOf(said, from);
  if (i < 0) throw new Error("the text does not have " + said);
  return i;
}

function cover(line: string, covered: boolean): string {
  const open = line.indexOf("[");
  const head = open + /^[^ \]]+/.exec(line.slice(open))![0].length;
  let tokens: string[] = [];
  TOKEN.lastIndex = head;
  for (let at = head; line[at] === " "; at = TOKEN.lastIndex) tokens.push(TOKEN.exec(line)![0]);
  const end = head + tokens.join("").length;
  tokens = tokens.filter((t) => t !== " covered");
  const later = tokens.findIndex((t) => t === " offscreen" || (t.includes("=") && (!t.endsWith('"') || t.startsWith(" value="))));
  if (covered) tokens.splice(later < 0 ? tokens.length : later, 0, " covered");
  return line.slice(0, head) + tokens.join("") + line.slice(end);
}

/** Holds a page's text: apply each result, read text. After an error: take a snapshot. */
export class PageText {
  #lines: string[] = [];
  #more: string[] = []; // the [more] line that ends the text
  #removed = new Map<string, string[]>(); // from each line of a folded run to its end

  get text(): string {
    return [...this.#lines, ...this.#more].join("\n");
  }

  /** Takes the snapshot or the delta of a result, and returns the text. */
  apply(result: { snapshot?: { text: string }; delta?: { text: string } }): string {
    if (result.snapshot) this.#snapshot(result.snapshot.text);
    else if (result.delta) this.#delta(result.delta.text);
    return this.text;
  }

  #snapshot(text: string): void {
    [this.#lines, this.#more, this.#removed] = [text.split("\n").slice(1), [], new Map()];
    const last = this.#lines.at(-1);
    if (last?.startsWith("[more] ") && !FOLDED.test(last)) this.#more = this.#lines.splice(-1);
  }

  #delta(text: string): void {
    const rows = text ? text.split("\n") : [];
    const end = rows.map((r) => /^[+~>]/.test(r)).lastIndexOf(true) + 1;
    const changed = rows.slice(0, end);
    const old = [...this.#lines];
    const removed = new Map(this.#removed);
    let more = this.#more;
    for (const row of changed) {
      const said = COVER.exec(row);
      for (const part of said ? row.slice(said[0].length).split(", ") : []) {
        const [first, last = first] = part.split(" to ");
        const to = find(old, last + " [", 0);
        for (let i = find(old, first + " [", 0); i <= to; i++) if (REF.test(old[i]!)) old[i] = cover(old[i]!, !said![1]);
      }
    }
    const left = new Set<number>();
    let at = 0;
    for (const row of rows.slice(end)) {
      if (row[0] === "*") continue;
      if (row[0] === "[" || row === "- [more]") {
        more = row[0] === "[" ? [row] : [];
        continue;
      }
      const run = RUN.exec(row.slice(2));
      const i = find(old, run ? run[1] + " [" : row.slice(2), at);
      at = i + (run ? Number(run[2]) : 1);
      for (let k = i; row[0] === "-" && k < at; k++) {
        left.add(k);
        const ref = REF.exec(old[k]!)?.[1];
        if (run && ref) removed.set(ref, old.slice(k, at));
      }
    }
    const moved = new Map<string, string[]>();
    for (const row of changed.filter((r) => r[0] === ">")) {
      const below = BELOW.exec(row);
      const first = row.slice(2, below?.index);
      const i = find(old, first, 0);
      const deeper = first.search(/[^ ]/) - old[i]!.search(/[^ ]/);
      const lines = old.slice(i + 1, i + 1 + Number(below?.[1] ?? 0));
      moved.set(row, [first, ...lines.map((l) => (deeper < 0 ? l.slice(-deeper) : " ".repeat(deeper) + l))]);
      for (let k = i; k <= i + lines.length; k++) left.add(k);
    }
    const out = old.filter((_, i) => !left.has(i));
    at = 0;
    for (const row of changed) {
      const said = row.slice(2);
      if (COVER.test(row)) continue;
      if (row[0] === " " || row[0] === "~") {
        at = find(out, said, at) + 1;
        if (row[0] === "~") out[at - 1] = said;
        continue;
      }
      const run = RUN.exec(said);
      const lines = row[0] === ">" ? moved.get(row)! : run ? removed.get(run[1]!)!.slice(0, Number(run[2])) : [said];
      out.splice(at, 0, ...lines);
      at += lines.length;
    }
    [this.#lines, this.#more, this.#removed] = [out, more, removed];
  }
}
