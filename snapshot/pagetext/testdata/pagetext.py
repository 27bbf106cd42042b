"""Applies the deltas of PROTOCOL.md section 5. Reads a list of steps {kind, text, held}
from stdin, and fails where it does not hold the text that a step says."""
import json, re, sys

REF = re.compile(r' *(@e\d+) \[')
RUN = re.compile(r'(@e\d+)(?: to @e\d+)?, (\d+) lines$')
BELOW = re.compile(r' with (\d+) lines below$')
TOKEN = re.compile(r' [^ =\]]+(?:="(?:[^"\\]|\\.)*"|=[^ \]]+)?')


def find(lines, said, at):
    ref = REF.match(said)
    for i in range(0 if ref else at, len(lines)):
        if lines[i].lstrip().startswith(ref[1] + ' [') if ref else lines[i] == said:
            return i
    raise ValueError('not in the text: ' + said)


def cover(line, covered):
    head = at = re.compile(r'[^ \]]+').match(line, line.index('[')).end()
    tokens = []
    while line[at] == ' ':
        tokens.append(TOKEN.match(line, at)[0])
        at += len(tokens[-1])
    tokens = [t for t in tokens if t != ' covered']
    if covered:
        later = [i for i, t in enumerate(tokens) if t == ' offscreen' or '=' in t and (t[-1] != '"' or t.startswith(' value='))]
        tokens.insert(later[0] if later else len(tokens), ' covered')
    return line[:head] + ''.join(tokens) + line[at:]


class PageText:
    def snapshot(self, text):
        self.lines, self.more, self.removed = text.split('\n')[1:], None, {}
        if self.lines and self.lines[-1].startswith('[more] ') and ' nodes not shown here' not in self.lines[-1]:
            self.more = self.lines.pop()

    def delta(self, text):
        rows = text.split('\n') if text else []
        end = max((i + 1 for i, r in enumerate(rows) if r[0] in '+~>'), default=0)
        new, gone, old = rows[:end], rows[end:], list(self.lines)
        for row in new:
            if m := re.match(r'~ (not )?covered: ', row):
                for part in row[m.end():].split(', '):
                    refs = part.split(' to ')
                    for i in range(find(old, refs[0] + ' [', 0), find(old, refs[-1] + ' [', 0) + 1):
                        if REF.match(old[i]):
                            old[i] = cover(old[i], not m[1])
        left, at = set(), 0
        for row in gone:
            if row[0] == '*':
                continue
            if row[0] == '[' or row == '- [more]':
                self.more = row if row[0] == '[' else None
                continue
            m = RUN.match(row[2:])
            i = find(old, m[1] + ' [' if m else row[2:], at)
            at = i + (int(m[2]) if m else 1)
            if row[0] == '-':
                left.update(range(i, at))
                for k in range(i, at):
                    if m and (ref := REF.match(old[k])):
                        self.removed[ref[1]] = old[k:at]
        moved = {}
        for row in new:
            if row[0] == '>':
                m = BELOW.search(row)
                first = row[2:m.start()] if m else row[2:]
                i = find(old, first, 0)
                deeper = len(first) - len(first.lstrip()) - len(old[i]) + len(old[i].lstrip())
                end = i + 1 + (int(m[1]) if m else 0)
                moved[row] = [first] + [' ' * deeper + l if deeper >= 0 else l[-deeper:] for l in old[i + 1:end]]
                left.update(range(i, end))
        out, at = [l for i, l in enumerate(old) if i not in left], 0
        for row in new:
            said = row[2:]
            if re.match(r'(not )?covered: ', said):
                continue
            if row[0] in ' ~':
                at = find(out, said, at) + 1
                if row[0] == '~':
                    out[at - 1] = said
                continue
            m = RUN.match(said)
            lines = moved[row] if row[0] == '>' else self.removed[m[1]][:int(m[2])] if m else [said]
            out[at:at] = lines
            at += len(lines)
        self.lines = out


page = PageText()
page.snapshot('')
for number, step in enumerate(json.load(sys.stdin)):
    getattr(page, step['kind'])(step['text'])
    held = '\n'.join(page.lines + ([page.more] if page.more else []))
    if held != step['held']:
        sys.exit(f'step {number}:\n{step["text"]}\nholds\n{held}\nnot\n{step["held"]}')
