"""The text of a page as a client holds it: PROTOCOL.md section 5, Deltas."""
import re
from typing import Any, Dict, List, Mapping, Optional, Set

REF = re.compile(r" *(@e\d+) \[")
RUN = re.compile(r"(@e\d+)(?: to @e\d+)?, (\d+) lines$")
BELOW = re.compile(r" with (\d+) lines? below$")
TOKEN = re.compile(r' [^ =\]]+(?:="(?:[^"\\]|\\.)*"|=[^ \]]+)?')
FOLDED = re.compile(r"\[more\] (at least )?\d+ (nodes|like siblings) not shown here")


def _find(lines: List[str], said: str, at: int) -> int:
    ref = REF.match(said)
    for i in range(0 if ref else at, len(lines)):
        if lines[i].lstrip(" ").startswith(ref[1] + " [") if ref else lines[i] == said:
            return i
    raise ValueError("the text does not have " + said)


def _cover(line: str, covered: bool) -> str:
    head = at = re.compile(r"[^ \]]+").match(line, line.index("[")).end()  # type: ignore[union-attr]
    tokens: List[str] = []
    while line[at] == " ":
        tokens.append(TOKEN.match(line, at)[0])  # type: ignore[index]
        at += len(tokens[-1])
    tokens = [t for t in tokens if t != " covered"]
    if covered:
        later = [i for i, t in enumerate(tokens) if t == " offscreen" or "=" in t and (t[-1] != '"' or t.startswith(" value="))]
        tokens.insert(later[0] if later else len(tokens), " covered")
    return line[:head] + "".join(tokens) + line[at:]


class PageText:
    """Holds a page's text: apply each result, read text. After an error: take a snapshot."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.more: Optional[str] = None
        self._removed: Dict[str, List[str]] = {}

    @property
    def text(self) -> str:
        return "\n".join(self.lines + ([self.more] if self.more else []))

    def apply(self, result: Mapping[str, Any]) -> str:
        """Takes the snapshot or the delta of a result, and returns the text."""
        if result.get("snapshot"):
            self.snapshot(result["snapshot"]["text"])
        elif result.get("delta"):
            self.delta(result["delta"]["text"])
        return self.text

    def snapshot(self, text: str) -> None:
        self.lines, self.more, self._removed = text.split("\n")[1:], None, {}
        if self.lines and self.lines[-1].startswith("[more] ") and not FOLDED.match(self.lines[-1]):
            self.more = self.lines.pop()

    def delta(self, text: str) -> None:
        rows = text.split("\n") if text else []
        end = max((i + 1 for i, r in enumerate(rows) if r[:1] in ("+", "~", ">")), default=0)
        new, gone, old = rows[:end], rows[end:], list(self.lines)
        more, removed = self.more, dict(self._removed)
        for row in new:
            cover = re.match(r"~ (not )?covered: ", row)
            for part in row[cover.end():].split(", ") if cover else []:
                refs = part.split(" to ")
                for i in range(_find(old, refs[0] + " [", 0), _find(old, refs[-1] + " [", 0) + 1):
                    if REF.match(old[i]):
                        old[i] = _cover(old[i], not cover[1])  # type: ignore[index]
        left: Set[int] = set()
        at = 0
        for row in gone:
            if row[0] == "*":
                continue
            if row[0] == "[" or row == "- [more]":
                more = row if row[0] == "[" else None
                continue
            run = RUN.match(row[2:])
            i = _find(old, run[1] + " [" if run else row[2:], at)
            at = i + (int(run[2]) if run else 1)
            if row[0] == "-":
                left.update(range(i, at))
                for k in range(i, at) if run else ():
                    ref = REF.match(old[k])
                    if ref:
                        removed[ref[1]] = old[k:at]
        moved: Dict[str, List[str]] = {}
        for row in new:
            if row[0] == ">":
                below = BELOW.search(row)
                first = row[2:below.start()] if below else row[2:]
                i = _find(old, first, 0)
                deeper = len(first) - len(first.lstrip(" ")) - len(old[i]) + len(old[i].lstrip(" "))
                last = i + 1 + (int(below[1]) if below else 0)
                moved[row] = [first] + [" " * deeper + l if deeper >= 0 else l[-deeper:] for l in old[i + 1:last]]
                left.update(range(i, last))
        out, at = [l for i, l in enumerate(old) if i not in left], 0
        for row in new:
            said = row[2:]
            if row[0] == "~" and re.match(r"(not )?covered: ", said):
                continue
            if row[0] in " ~":
                at = _find(out, said, at) + 1
                if row[0] == "~":
                    out[at - 1] = said
                continue
            run = RUN.match(said)
            lines = moved[row] if row[0] == ">" else removed[run[1]][:int(run[2])] if run else [said]
            out[at:at] = lines
            at += len(lines)
        self.lines, self.more, self._removed = out, more, removed
