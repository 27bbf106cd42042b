// guard: watching over an input while it is under way. From arm() to collect()
// no trusted press reaches anything but the element that locate() found, and
// what was hit is remembered. The listeners stand on the window before any of
// the page's own.

const guard = (() => {
  const { takes, under, where, coverOf, cover } = reach;
  const PRESS = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'touchstart', 'touchend', 'dragstart'];

  // What is watched over: el (null: nothing of this document may be hit), at where
  // it was found, ups the releases to come, open that the press has reached el,
  // moved that el was somewhere else than where it was expected, framed that the press
  // goes to the document of a frame, which el is or is around.
  let armed = null;

  // reached tells the daemon that the input has reached its element, before the page
  // hears of it: a document that is left, or held by a dialog, answers nothing later.
  const reached = () => { if (typeof __bdReached === 'function') __bdReached(''); };

  // turn is one turn of the event loop.
  const turn = () => new Promise((done) => {
    const c = new MessageChannel();
    c.port1.onmessage = done;
    c.port2.postMessage(0);
  });

  const onPress = (e) => {
    const g = armed;
    if (!g || !e.isTrusted) return;
    const target = e.composedPath()[0] || e.target;
    if (!g.decided && target instanceof Element) {
      g.decided = true;
      g.open = !!g.el && (takes(target, g.el) || takes(under(e.clientX, e.clientY, g.el), g.el));
      g.hit = target;
      g.moved = !g.open && !!g.el && isConnected(g.el) && where(g.el) !== g.at;
      if (g.open) reached();
    }
    // It was let go somewhere else because the element has moved away meanwhile: no
    // click comes of that.
    if (g.open && e.type === 'pointerup' && g.pressed) g.slips = where(g.el) !== g.pressed.at;
    if (g.open && e.type === 'mouseup' && g.el && isConnected(g.el) && !takes(target, g.el) && movedAway(g, e)) {
      g.open = false;
      g.hit = target;
      g.moved = true;
    }
    if (!g.open) {
      e.preventDefault();
      e.stopImmediatePropagation();
    }
    // A click follows its mouseup in the same task: one turn later it is over.
    if (e.type === 'mouseup' && ++g.seen >= g.ups) turn().then(() => g.finish());
  };
  const movedAway = ({ el, slips, pressed }, e) => {
    const r = rectOf(el);
    if (r.width === 0 || e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom) return false;
    return slips && e.clientX === pressed.x && e.clientY === pressed.y || animationsOf(el).length > 0; // a drag moves the mouse
  };
  // onPressed comes last of all, when the page has done what it does with the press:
  // what moves the element from then on is not that.
  const onPressed = (e) => {
    if (armed && armed.open && armed.el && e.isTrusted) armed.pressed = { at: where(armed.el), x: e.clientX, y: e.clientY };
  };
  const listen = () => {
    for (const type of PRESS) addEventListener(type, onPress, { capture: true, passive: false });
    addEventListener('mousedown', onPressed, { passive: true });
  };
  listen();

  const arm = ({ el, ups, framed = false }) => {
    // page.open() takes the listeners of the window away (HTML, 8.4.1);
    // where they still stand this changes nothing.
    listen();
    const g = armed = { el, at: el && where(el), ups, framed, seen: 0, decided: false, open: false, hit: null, moved: false, pressed: null, slips: false };
    g.done = new Promise((done) => { g.finish = done; });
  };

  // disarm lets every input through again.
  __bd.disarm = () => { armed = null; };

  // release ends the waiting of collect(): the input has been answered for.
  __bd.release = () => {
    if (armed) armed.finish();
    return true;
  };

  // collect waits until the input is over, disarms the guard, and says what was
  // hit: {hit: true} where it was the element, else {by: what}, or {} where
  // nothing in this document was, or the element had moved away. then names what else is wanted of the element.
  __bd.collect = async (q) => {
    const g = armed;
    if (!g) return {};
    await g.done;
    if (armed === g) armed = null;
    const answer = { hit: g.open || g.framed && !g.decided };
    if (!answer.hit && g.hit && !g.moved) {
      forget(); // the page is another than it was when el was found
      answer.by = cover(coverOf(g.hit));
    }
    if (g.el && isConnected(g.el) && q && q.then) answer.then = __bd[q.then](g.el, q.with);
    // What the input set off, in the same round trip, where nothing follows it.
    if (answer.hit && q && q.settle) answer.settled = await __bd.settle({ max: 500, frame: q.frame });
    return answer;
  };
  return { arm };
})();
