// fill: what is done to controls besides the mouse and the keys, and what they
// hold. Values are set through the prototypes' own setters, so that a page
// that watches its element's property (React's value tracker) sees the change
// when the events come, as it would after typing.

const fill = (() => {
  const { activeIn, inputType, frameTurn, disabled, twinsOf, CHOICE, scrollTo } = reach;
  const setter = (proto, name) => {
    const set = Object.getOwnPropertyDescriptor(proto, name).set;
    return (o, v) => set.call(o, v);
  };
  const setValue = {
    input: setter(HTMLInputElement.prototype, 'value'),
    textarea: setter(HTMLTextAreaElement.prototype, 'value'),
  };
  const valueOf = {
    input: getter(HTMLInputElement, 'value'),
    textarea: getter(HTMLTextAreaElement, 'value'),
    select: getter(HTMLSelectElement, 'value'),
  };
  const checkedOf = getter(HTMLInputElement, 'checked');

  const hasFocus = method(Document, 'hasFocus');
  const scrollInto = method(Element, 'scrollTo'), scrollOn = method(Element, 'scrollBy');
  const editable = (el) => el instanceof HTMLElement && isContentEditable(el);

  const fire = (el, type) => dispatch(el, new Event(type, { bubbles: true, composed: true }));

  const mask = (el, v) => (secret(el) && v ? '•'.repeat(3) : v);

  // contents is what a control holds: its value, or an editable element's text.
  const contents = (el) => {
    const value = valueOf[localName(el)];
    if (value) return value(el);
    return (el instanceof HTMLElement ? innerText(el) : '').replace(/\u00a0/g, ' ').replace(/\u200b|\ufeff/g, '').replace(/\n$/, '');
  };

  // deepActive is the focused element, through shadow roots.
  const deepActive = (el) => {
    let a = activeIn(page);
    const roots = new Map();
    for (let r = el && getRootNode(el); r instanceof ShadowRoot; r = getRootNode(r.host)) roots.set(r.host, r);
    for (;;) {
      const root = a && (roots.get(a) || shadowOf(a));
      const inner = root && activeIn(root);
      if (!inner) return a;
      a = inner;
    }
  };

  const FIELD = 'input:not([type=hidden]):not([type=button]):not([type=submit]):not([type=reset]):not([type=image]):not([type=checkbox]):not([type=radio]):not([type=file]),textarea,[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]';
  const CONTROLS = { field: FIELD + ',select', select: 'select', file: 'input[type=file]', check: 'input[type=checkbox],input[type=radio]' };

  // controlOf is the control that el stands for: itself, a label's, the only one
  // in it; for a file also the only one beside it.
  const controlOf = (el, what) => {
    const selector = CONTROLS[what];
    if (matches(el, selector) || what === 'field' && el instanceof HTMLElement && isContentEditable(el)) return el;
    if (el instanceof HTMLLabelElement && el.control && matches(el.control, selector)) return el.control;
    const within = (box) => {
      const list = [];
      everyElement(box, (e) => { if (matches(e, selector)) list.push(e); });
      return list;
    };
    const root = shadowOf(el);
    let list = [...within(el), ...(root ? within(root) : [])];
    if (list.length === 1) return list[0];
    if (what !== 'file') return null;
    const label = closest(el, 'label');
    if (label && label.control && matches(label.control, selector)) return label.control;
    for (let e = flatParent(el), depth = 0; e && depth < 3 && e !== bodyOf(page); e = flatParent(e), depth++) {
      list = within(e);
      if (list.length === 1) return list[0];
      if (list.length) return null;
    }
    return null;
  };

  // kindOf is how a control is filled in.
  const kindOf = (el) => {
    const tag = localName(el);
    if (tag === 'select' || tag === 'textarea') return tag;
    if (el instanceof HTMLInputElement) return inputType(el);
    if (el instanceof HTMLElement && isContentEditable(el)) return 'editable';
    return '';
  };

  // FORMATS are the inputs whose value is set whole (HTML, 4.10.5.1), and what
  // each takes.
  const FORMATS = {
    date: [/^\d{4,}-\d\d-\d\d$/, 'a date such as 2026-03-31'],
    month: [/^\d{4,}-\d\d$/, 'a month such as 2026-03'],
    week: [/^\d{4,}-W\d\d$/, 'a week such as 2026-W05'],
    time: [/^\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/, 'a time such as 13:45'],
    'datetime-local': [/^\d{4,}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/, 'a date and time such as 2026-03-31T13:45'],
    color: [/^#[0-9a-fA-F]{6}$/, 'a colour such as #1a2b3c'],
    range: [/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/, 'a number'],
  };

  // assign sets the value of an input whole and tells the page, as its picker does.
  const assign = (el, { text, clear }) => {
    const type = inputType(el), format = FORMATS[type];
    if (format && text !== '' && !format[0].test(text)) return { takes: format[1] };
    if (text === '' && !clear) return { value: mask(el, contents(el)), asked: true };
    const before = contents(el), wanted = type === 'number' && !clear ? before + text : text;
    focus(el, { preventScroll: true });
    setValue.input(el, wanted);
    const value = contents(el);
    if (format && wanted !== '' && value === '' ) {
      // Well written and no such day: what was there stays.
      setValue.input(el, before);
      return { takes: format[1] };
    }
    if (value !== before) fire(el, 'input');
    if (value !== before) fire(el, 'change');
    const after = contents(el);
    return { value: mask(el, after), asked: alikeValue(after, wanted, type) };
  };
  const alikeValue = (value, wanted, type) => value === wanted || type === 'color' && value === wanted.toLowerCase() || (type === 'range' || type === 'number') && wanted !== '' && Number(value) === Number(wanted) && value !== '' || type === 'datetime-local' && value === wanted.replace(' ', 'T') || type === 'time' && wanted.startsWith(value) && /^[:0.]*$/.test(wanted.slice(value.length));

  // caret readies a text control for typing: focused, and its text selected
  // where it is to be replaced, else the caret behind it. It answers what the
  // daemon needs to know to type: plain, where the control shows its own value;
  // keys, where the selection must be made with the keyboard because the text is
  // kept elsewhere (editors that read a hidden textarea).
  __bd.caret = (el, { clear, clicked }) => {
    let active = deepActive(el);
    if (!(active && (flatContains(el, active) || flatContains(active, el) && editable(active)))) {
      if (clicked && active && active !== bodyOf(page) && active !== documentElementOf(page) && (matches(active, FIELD) || editable(active))) {
        // The click took the focus to another field. One that lies in the same
        // widget is where this widget is typed into.
        if (!twinsOf(el).some((box) => flatContains(box, active))) return { elsewhere: record(active) };
      }
      focus(el, { preventScroll: true });
      active = deepActive(el);
    }
    const focused = !!active && (flatContains(el, active) || flatContains(active, el));
    const answer = { focused, kind: kindOf(el), before: null, keys: false };
    const text = el instanceof HTMLTextAreaElement || el instanceof HTMLInputElement && rectsOf(el).length;
    if (text) {
      const value = contents(el), b = rectOf(el);
      answer.before = secret(el) ? null : value;
      answer.length = value.length;
      if (el instanceof HTMLTextAreaElement && (b.height < 4 || b.width < 8)) {
        answer.keys = true; // the hidden textarea of an editor
        answer.before = null;
      } else if (clear) {
        el.select();
      } else {
        try {
          el.setSelectionRange(value.length, value.length);
        } catch {
          answer.end = true; // email and number have no selection: the End key
        }
      }
    } else if (isContentEditable(el)) {
      const value = contents(el);
      answer.before = value;
      answer.length = value.length;
      const s = getSelection();
      if (clear) answer.keys = value !== '';
      else {
        const range = new Range();
        let last = el;
        for (let end; (end = lastChild(last)) && (nodeType(end) === TEXT || nodeType(end) === ELEMENT && localName(end) !== 'br' && editable(end));) last = end;
        range.selectNodeContents(last);
        const end = nodeType(last) === ELEMENT ? lastChild(last) : null, broken = end !== null && nodeType(end) === ELEMENT && localName(end) === 'br';
        if (broken) range.setStartBefore(end);
        range.collapse(broken);
        s.removeAllRanges();
        s.addRange(range);
      }
    }
    return answer;
  };

  __bd.caretIn = ({ node: id, clear }) => __bd.caret(node(id), { clear });

  // NOT_TEXT are the inputs that take no text, and the command that fits.
  const NOT_TEXT = { checkbox: 'check', radio: 'check', file: 'upload', button: 'click', submit: 'click', reset: 'click', image: 'click' };

  // prepare does with a control that was found what needs no mouse: its value is
  // set whole, or, where it has the focus already, the caret is put in place.
  __bd.prepare = (el, q) => {
    const kind = kindOf(el);
    if (kind === 'select') return {};
    if (roleOf(el) === 'iframe') return { framed: true };
    if (NOT_TEXT[kind]) return { textless: NOT_TEXT[kind] };
    if (kind === '' && !takesKeys(el)) return { textless: localName(el) === 'button' || roleOf(el) === 'button' || roleOf(el) === 'link' ? 'click' : 'none' };
    if (FORMATS[kind] || kind === 'number' && !q.keys) {
      __bd.disarm();
      return { ...assign(el, q), assigned: true };
    }
    const active = hasFocus(page) && deepActive(el); // in a frame that has not the focus, what would have it
    if (active && (active === el || kind === 'editable' && (flatContains(el, active) || flatContains(active, el) && isContentEditable(active)))) {
      __bd.disarm();
      return { ...__bd.caret(el, q), ready: true };
    }
    return {};
  };

  // takesKeys says whether an element that holds no text of its own may listen
  // to the keyboard: it can have the focus, and is no button or link.
  const takesKeys = (el) => (el instanceof HTMLElement ? tabIndexOf(el) : has(el, 'tabindex') ? 0 : -1) >= 0 && !['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'option', 'slider'].includes(roleOf(el)) || ['application', 'textbox', 'combobox', 'searchbox', 'document'].includes(roleOf(el));

  // fieldWithin is what takes text in the document of a frame: its only field, or that
  // which has the focus, or the page where all of it is edited (designMode). It answers
  // {field}, {frame: the only frame in it, where nothing else takes text}, {several}, or {}.
  __bd.fieldWithin = () => {
    forget();
    const fields = [], frames = [], body = bodyOf(page);
    everyElement(page, (e) => {
      if (matches(e, CONTROLS.field)) { if (fields.length < MAX_FIELDS && visible(e)) fields.push(e); }
      else if (roleOf(e) === 'iframe' && visible(e)) frames.push(e);
    });
    const active = deepActive(null);
    if (fields.length === 1) return { field: record(fields[0]) };
    if (active && active !== body && (matches(active, CONTROLS.field) || editable(active))) return { field: record(active) };
    if (fields.length) return { several: fields.map(record) };
    if (body && editable(body)) return { field: record(rectOf(body).height >= 1 ? body : documentElementOf(page)) };
    return frames.length === 1 ? { frame: idOf(frames[0]) } : {};
  };
  const MAX_FIELDS = 12; // that are told

  // compare says whether a control holds what was asked, without telling a secret.
  __bd.compare = ({ id, wanted, loose }) => {
    const el = node(id);
    if (!el || !isConnected(el)) return { there: false };
    const value = contents(el);
    const asked = value === wanted || loose && fold(value) === fold(wanted);
    return { there: true, asked, value: mask(el, value) };
  };

  __bd.contextNow = (id) => {
    forget();
    const el = node(id);
    return el ? contextOf(el) : null;
  };

  __bd.focusOn = (el) => {
    const framed = roleOf(el) === 'iframe';
    // The focus anew would be the frame's own, and not that of the field in it.
    if (!(framed && hasFocus(page) && deepActive(el) === el)) focus(el, { preventScroll: false });
    const active = deepActive(el);
    return { focused: !!active && (active === el || flatContains(el, active)), framed };
  };

  // focusEdited puts the caret into a page that is edited as a whole: with the focus of
  // its frame alone it has none.
  __bd.focusEdited = () => {
    const body = bodyOf(page), active = activeIn(page), s = getSelection();
    if (!body || !editable(body) || active && active !== body) return;
    focus(body, { preventScroll: true });
    if (s && s.rangeCount === 0) s.collapse(body, 0);
  };

  // optionsOf are the options of a select as a client may name them.
  const optionsOf = (el) => [...allIn(el, 'option')];
  const labelOf = (o) => fold(attr(o, 'label') || textContent(o));

  // choose selects options by label or value (HTML, 4.10.7). Nothing is selected
  // unless all are there and enabled.
  const choose = (el, { values }) => {
    if (localName(el) !== 'select') return { custom: true };
    const options = optionsOf(el), picked = new Set();
    for (const wanted of values) {
      const by = (f) => options.find((o) => f(o) && !picked.has(o));
      const option = by((o) => labelOf(o) === fold(wanted)) || by((o) => o.value === wanted) || by((o) => labelOf(o).toLowerCase() === fold(wanted).toLowerCase());
      if (!option) return { missing: wanted, options: options.slice(0, 50).map(labelOf), count: options.length };
      if (matches(option, ':disabled') || option.disabled || closest(option, 'optgroup:disabled')) return { disabled: labelOf(option) };
      picked.add(option);
    }
    if (!el.multiple && picked.size !== 1) return { single: true };
    const before = options.map((o) => o.selected);
    focus(el, { preventScroll: true });
    if (el.multiple) for (const o of options) o.selected = picked.has(o);
    else for (const o of picked) o.selected = true;
    if (options.some((o, i) => o.selected !== before[i])) {
      fire(el, 'input');
      fire(el, 'change');
    }
    return { selected: optionsOf(el).filter((o) => o.selected).map(labelOf) };
  };
  __bd.chosen = choose;
  __bd.chooseIn = ({ node: id, values }) => choose(node(id), { values });
  __bd.chooseOption = (id) => {
    const option = node(id), el = closest(option, 'select');
    return choose(el, { values: [option.value] });
  };

  // checkState is a checkbox's, radio button's or switch's state, native or ARIA:
  // true, false, mixed, or null for what has none.
  const checkState = (el) => {
    if (el instanceof HTMLInputElement && ['checkbox', 'radio'].includes(inputType(el))) return el.indeterminate ? 'mixed' : checkedOf(el);
    const a = attr(el, 'aria-checked') || attr(el, 'aria-pressed') || attr(el, 'aria-selected');
    if (a === 'true' || a === 'false' || a === 'mixed') return a === 'mixed' ? a : a === 'true';
    const inner = controlOf(el, 'check');
    if (inner && inner !== el) return checkState(inner);
    return CHOICE.has(roleOf(el)) ? false : null;
  };
  __bd.checked = (el) => ({ state: checkState(el), radio: el instanceof HTMLInputElement && inputType(el) === 'radio' || roleOf(el) === 'radio' });
  // checkedNow waits a little for a state that a page sets later than its click.
  __bd.checkedNow = async ({ id, wanted, ms }) => {
    const until = performance.now() + ms;
    for (;;) {
      const el = node(id);
      if (!el || !isConnected(el)) return { there: false };
      const state = checkState(el);
      if (state === wanted || performance.now() >= until) return { there: true, state };
      await frameTurn();
    }
  };

  // fileInput is the file input that el is or stands for. Emptied, it tells the page,
  // as it does when a person chooses no file: DOM.setFileInputFiles leaves out no files.
  __bd.fileInput = (el, { empty }) => {
    const input = controlOf(el, 'file');
    if (input && empty && !disabled(input) && input.value !== '') {
      setValue.input(input, '');
      fire(input, 'input');
      fire(input, 'change');
    }
    return input ? { input: idOf(input), multiple: input.multiple, disabled: disabled(input), accept: attr(input, 'accept') || '' } : { input: 0 };
  };

  // scroller is what scrolls when a person turns the wheel over el.
  const scroller = (el, axis) => {
    for (let e = el; e && e !== bodyOf(page) && e !== documentElementOf(page); e = flatParent(e)) {
      const s = styleOf(e), o = axis === 'x' ? s.overflowX : s.overflowY;
      const more = axis === 'x' ? scrollWidth(e) - clientWidth(e) : scrollHeight(e) - clientHeight(e);
      if (more > 1 && (o === 'auto' || o === 'scroll' || o === 'hidden')) return e;
    }
    return scrollerOf(page) || documentElementOf(page);
  };
  // widest is the page's main scroller where the page itself does not scroll.
  const widest = () => {
    const whole = scrollerOf(page) || documentElementOf(page);
    if (!whole || scrollHeight(whole) - clientHeight(whole) > 1) return whole;
    let best = whole, size = 0;
    everyElement(page, (e) => {
      if (scrollHeight(e) - clientHeight(e) <= 1 || e === whole) return;
      const o = styleOf(e).overflowY;
      if (o !== 'auto' && o !== 'scroll') return;
      const area = clientWidth(e) * clientHeight(e);
      if (area > size) {
        size = area;
        best = e;
      }
    });
    return best;
  };

  const doScroll = (el, { direction, pixels, to }) => {
    let s;
    if (!to && !direction) {
      scrollTo(el, 'center');
      s = scroller(flatParent(el) || el, 'y');
    } else {
      const axis = direction === 'left' || direction === 'right' ? 'x' : 'y';
      s = el ? scroller(el, axis) : axis === 'y' ? widest() : scrollerOf(page) || documentElementOf(page);
      if (!s) return { x: 0, y: 0, max_x: 0, max_y: 0 }; // a document without an element, as while it loads
      if (to) scrollInto(s, { top: to === 'top' ? 0 : scrollHeight(s), behavior: 'instant' });
      else {
        const step = pixels || Math.round((axis === 'x' ? clientWidth(s) : clientHeight(s)) * 0.9);
        const sign = direction === 'up' || direction === 'left' ? -1 : 1;
        scrollOn(s, { left: axis === 'x' ? sign * step : 0, top: axis === 'y' ? sign * step : 0, behavior: 'instant' });
      }
    }
    return { x: scrollLeft(s), y: scrollTop(s), max_x: Math.max(0, scrollWidth(s) - clientWidth(s)), max_y: Math.max(0, scrollHeight(s) - clientHeight(s)) };
  };
  __bd.scrollFrom = (el, o) => doScroll(el, o);
  __bd.scrollPage = async (o) => {
    if (typeof begin === 'function') begin(null);
    return doScroll(null, o);
  };
  // afterScroll lets what listens to scrolling run: its events come with a frame.
  __bd.afterScroll = async () => { await frameTurn(); return true; };

  return { kindOf, controlOf, contents, mask, checkState };
})();
