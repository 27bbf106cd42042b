// The text of a page as a client holds it: PROTOCOL.md section 5, Deltas.
const REF = /^ *(@e\d+) \[/;
const RUN = /^(@e\d+)(?: to @e\d+)?, (\d+) lines$/;
const BELOW = / with (\d+) lines? below$/;
const COVER = /^~ (not )?covered: /;
// A line up to where it says covered, and that.
const STATES = /^( *@e\d+ \[[^ \]]+(?: (?!covered[ \]]|offscreen[ \]]|value=)[^ =\]]+(?:="(?:[^"\\]|\\.)*")?(?=[ \]]))*)( covered)?/;
const FOLDED = /^\[more\] (at least )?\d+ (nodes|like siblings) not shown here/;

function find(lines: string[], said: string, from: number): number {
  const ref = REF.exec(said)?.[1];
  const i = ref ? lines.findIndex((l) => REF.exec(l)?.[1] === ref) : lines.indexOf(said, from);
  if (i < 0) throw new Error("the text does not have " + said);
  return i;
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
  apply({ snapshot, delta }: { snapshot?: { text: string }; delta?: { text: string } }): string {
    if (snapshot) {
      [this.#lines, this.#more, this.#removed] = [snapshot.text.split("\n").slice(1), [], new Map()];
      const last = this.#lines.at(-1);
      if (last?.startsWith("[more] ") && !FOLDED.test(last)) this.#more = this.#lines.splice(-1);
    } else if (delta?.text) this.#delta(delta.text.split("\n"));
    return this.text;
  }

  #delta(rows: string[]): void {
    const end = rows.map((r) => /^[+~>]/.test(r)).lastIndexOf(true) + 1;
    const [changed, old, removed] = [rows.slice(0, end), [...this.#lines], new Map(this.#removed)];
    const left = new Set<number>(); // the lines of old that are removed, or moved away
    let [more, at] = [this.#more, 0];
    for (const row of changed) {
      const said = COVER.exec(row);
      for (const part of said ? row.slice(said[0].length).split(", ") : []) {
        const [first, last = first] = part.split(" to ");
        const to = find(old, last + " [", 0);
        for (let i = find(old, first + " [", 0); i <= to; i++) old[i] = old[i]!.replace(STATES, said![1] ? "$1" : "$1 covered");
      }
    }
    for (const row of rows.slice(end)) {
      if (row[0] === "[" || row === "- [more]") more = row[0] === "[" ? [row] : [];
      else if (row[0] !== "*") {
        const run = RUN.exec(row.slice(2));
        const i = find(old, run ? run[1] + " [" : row.slice(2), at);
        at = i + (run ? Number(run[2]) : 1);
        for (let k = i; row[0] === "-" && k < at; k++) {
          left.add(k);
          const ref = REF.exec(old[k]!)?.[1];
          if (run && ref) removed.set(ref, old.slice(k, at));
        }
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
    for (const row of changed.filter((r) => !COVER.test(r))) {
      const said = row.slice(2);
      const run = RUN.exec(said);
      if (row[0] === " " || row[0] === "~") {
        at = find(out, said, at) + 1;
        out[at - 1] = said;
      } else {
        const lines = row[0] === ">" ? moved.get(row)! : run ? removed.get(run[1]!)!.slice(0, Number(run[2])) : [said];
        out.splice(at, 0, ...lines);
        at += lines.length;
      }
    }
    [this.#lines, this.#more, this.#removed] = [out, more, removed];
  }
}
