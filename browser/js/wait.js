// wait: what a wait looks at, and when to look again.

(() => {
  // hasText says whether the page shows a text.
  __bd.hasText = (text) => {
    forget();
    return seek({ text, limit: 1 }).some((n) => !n.frame);
  };

  // refState is whether a ref's element is attached and can be seen.
  __bd.refState = (q) => {
    const found = findRef({ ...q, any: true });
    const el = found.el;
    return { attached: !!el, visible: !!el && rendered(el) && styleOf(el).visibility === 'visible' && reach.boxesOf(el).length > 0 };
  };

  // change resolves with the next change of the document, or after ms. Changes
  // that come together are one.
  __bd.change = (ms) => new Promise((done) => {
    const o = new MutationObserver(() => end());
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      o.disconnect();
      for (const t of ['input', 'change', 'transitionend', 'animationend', 'load']) removeEventListener(t, end, true);
      setTimeout(() => done(true), 15);
    };
    o.observe(page, { subtree: true, childList: true, characterData: true, attributes: true });
    everyShadow(page, (root) => o.observe(root, { subtree: true, childList: true, characterData: true, attributes: true }));
    for (const t of ['input', 'change', 'transitionend', 'animationend', 'load']) addEventListener(t, end, true);
    setTimeout(end, ms);
  });
  const everyShadow = (root, f) => {
    for (const el of allIn(root, '*')) {
      const s = shadowOf(el);
      if (s) {
        f(s);
        everyShadow(s, f);
      }
    }
  };
})();
