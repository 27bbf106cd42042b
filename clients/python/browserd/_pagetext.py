"""The text of a page as a client holds it: PROTOCOL.md section 5, Deltas."""
import re
from typing import Any, Dict, List, Mapping, Set

REF = re.compile(r" *(@e\d+) \[")
RUN = re.compile(r"(@e\d+)(?: to @e\d+)?, (\d+) lines$")
BELOW = re.compile(r" with (\d+) lines? below$")
COVER = re.compile(r"~ (not )?covered: ")
# A line up to where it says covered, and that.
STATES = re.compile(r'^( *@e\d+ \[[^ \]]+(?: (?!covered[ \]]|offscreen[ \]]|value=)[^ =\]]+(?:="(?:[^"\\]|\\.)*")?(?=[ \]]))*)( covered)?')
FOLDED = re.compile(r"\[more\] (at least )?\d+ (nodes|like siblings) not shown here")


def _find(lines: List[str], said: str, at: int) -> int:
    ref = REF.match(said)
    for i in range(0 if ref else at, len(lines)):
        if lines[i].lstrip(" ").startswith(ref[1] + " [") if ref else lines[i] == said:
            return i
    raise ValueError("the text does not have " + said)


class PageText:
    """Holds a page's text: apply each result, read text. After an error: take a snapshot."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.more: List[str] = []  # the [more] line that ends the text
        self._removed: Dict[str, List[str]] = {}  # from each line of a folded run to its end

    @property
    def text(self) -> str:
        return "\n".join(self.lines + self.more)

    def apply(self, result: Mapping[str, Any]) -> str:
        """Takes the snapshot or the delta of a result, and returns the text."""
        if result.get("snapshot"):
            self.lines, self.more, self._removed = result["snapshot"]["text"].split("\n")[1:], [], {}
            if self.lines and self.lines[-1].startswith("[more] ") and not FOLDED.match(self.lines[-1]):
                self.more = [self.lines.pop()]
        elif result.get("delta") and result["delta"]["text"]:
            self._delta(result["delta"]["text"].split("\n"))
        return self.text

    def _delta(self, rows: List[str]) -> None:
        end = max((i + 1 for i, r in enumerate(rows) if r[0] in "+~>"), default=0)
        new, old, more, removed = rows[:end], list(self.lines), self.more, dict(self._removed)
        left: Set[int] = set()  # the lines of old that are removed, or moved away
        for row in new:
            cover = COVER.match(row)
            for part in row[cover.end():].split(", ") if cover else []:
                refs = part.split(" to ")
                for i in range(_find(old, refs[0] + " [", 0), _find(old, refs[-1] + " [", 0) + 1):
                    old[i] = STATES.sub(r"\1" if cover and cover[1] else r"\1 covered", old[i], count=1)
        at = 0
        for row in rows[end:]:
            if row[0] == "[" or row == "- [more]":
                more = [row] if row[0] == "[" else []
            elif row[0] != "*":
                run = RUN.match(row[2:])
                i = _find(old, run[1] + " [" if run else row[2:], at)
                at = i + (int(run[2]) if run else 1)
                if row[0] == "-":
                    left.update(range(i, at))
                    removed.update({REF.match(old[k])[1]: old[k:at] for k in range(i, at) if run and REF.match(old[k])})  # type: ignore[index]
        moved: Dict[str, List[str]] = {}
        for row in (r for r in new if r[0] == ">"):
            below = BELOW.search(row)
            first = row[2:below.start() if below else None]
            i = _find(old, first, 0)
            deeper = len(first) - len(first.lstrip(" ")) - len(old[i]) + len(old[i].lstrip(" "))
            last = i + 1 + (int(below[1]) if below else 0)
            moved[row] = [first] + [" " * deeper + l if deeper >= 0 else l[-deeper:] for l in old[i + 1:last]]
            left.update(range(i, last))
        out, at = [l for i, l in enumerate(old) if i not in left], 0
        for row in (r for r in new if not COVER.match(r)):
            run = RUN.match(row[2:])
            if row[0] in " ~":
                at = _find(out, row[2:], at) + 1
                out[at - 1] = row[2:]
            else:
                lines = moved[row] if row[0] == ">" else removed[run[1]][:int(run[2])] if run else [row[2:]]
                out[at:at] = lines
                at += len(lines)
        self.lines, self.more, self._removed = out, more, removed
