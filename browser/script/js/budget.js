// The lines that a walk has written, and what is left of its budget.

const MAX_COUNT_AFTER_END = 60; // elements walked, after the budget's end, to count the lines that are left out

// With a smaller budget than these no siblings are folded: it has no space for the first ones
// and for what stands behind them.
const MIN_NODES = 40, MIN_CHARS = 2000;

export class Budget {
  constructor(o) {
    this.maxChars = o.max_chars;
    this.maxNodes = o.max_nodes;
    this.lines = []; // as they are written,
    this.said = []; // of each the name or the text,
    this.depths = []; // of a text its depth, else -1,
    this.sizes = []; // its characters,
    this.folded = []; // and the number of the fold that it is in, 0 for none
    this.frames = [];
    this.contexts = [];
    this.reasons = new Set();
    this.chars = 0;
    this.nodes = 0;
    this.rest = 0; // nodes below max_depth, and those that countLeft adds
    this.restTexts = 0;
    this.counting = 0; // elements left to walk after the budget's end; 0 before it
    /** @type {any} */ this.kept = null; // what there was at the budget's end
    this.mayFold = o.fold === true && o.max_nodes >= MIN_NODES && o.max_chars >= MIN_CHARS; // until nothing can be: what is behind that end is only counted then
    this.pending = false; // a line that stays is behind that end
    this.foldIds = 0;
    this.folds = []; // the runs of like siblings that folds.js folds
    this.wide = []; // frames that have been left in which there may be some
    this.framesLeft = []; // ids of the owners of frames whose lines are left out
    this.least = false; // more is left than rest says
    this.ended = false;
    this.naming = null; // the fold whose last sibling is walked for its name,
    this.nameless = 0; // and the lines of it before this one have none
  }

  write(line, said, depth, size) {
    this.lines.push(line);
    this.said.push(said);
    this.depths.push(depth);
    this.sizes.push(size);
    this.folded.push(0);
  }

  // unwrite takes back the last line.
  unwrite() {
    this.shorten(this.lines.length - 1);
    if (this.kept && this.lines.length < this.kept.lines && !this.ended) this.unstop();
  }

  shorten(n) {
    this.lines.length = this.said.length = this.depths.length = this.sizes.length = this.folded.length = n;
    this.nameless = Math.min(this.nameless, n);
  }

  // stop notes that a budget ends before the line that is written next; stays: that line is
  // not taken back where nothing is in it. Unless siblings can be folded, the walk goes on
  // for a while, so that what is left is counted as it would be written; countLeft takes it back.
  stop(reason, stays) {
    if (this.naming) return;
    this.pending ||= stays && this.mayFold;
    if (this.counting) return;
    this.reasons.add(reason);
    this.counting = MAX_COUNT_AFTER_END;
    this.kept = { reason, lines: this.lines.length, contexts: this.contexts.length, chars: this.chars };
  }

  // unstop goes on writing where a line that had room is taken back: what was behind it has
  // gone before, so there is room again, and nothing is left out.
  unstop() {
    if (!this.folds.length) this.reasons.delete(this.kept.reason);
    if (this.kept.reason === 'max_nodes') this.chars = this.kept.chars;
    this.proceed();
  }

  proceed() {
    this.counting = 0;
    this.kept = null;
    this.pending = false;
  }

  // countLeft takes back what was written behind the budget's end, and counts it.
  countLeft() {
    if (!this.kept) return;
    const lines = Math.min(this.kept.lines, this.lines.length);
    for (let i = lines; i < this.lines.length; i++) {
      if (this.depths[i] < 0) this.rest++;
      else this.restTexts++;
    }
    this.least ||= this.ended;
    if (!this.least && !this.rest && !this.restTexts) { // what had no room went again
      this.reasons.delete('max_nodes');
      this.reasons.delete('max_chars');
    }
    this.shorten(lines);
    this.contexts.length = this.kept.contexts;
    for (const [at, , owner] of this.frames) if (at > lines) this.framesLeft.push(owner);
    this.frames = this.frames.filter(([at]) => at <= lines);
  }
}
