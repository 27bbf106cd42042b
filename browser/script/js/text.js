// White space and the lengths of strings.

export const LOOSE = /[^\S ]| {2}|^ | $/; // white space that fold changes

// fold folds white space as HTML shows it; a no-break space counts as one.
export function fold(s) {
  if (!LOOSE.test(s)) return s;
  const inner = s.trim();
  return LOOSE.test(inner) ? inner.replace(/\s+/g, ' ') : inner;
}

// Code points that a font alone gives a meaning (Unicode's private use areas): the glyphs
// of icon fonts.
const GLYPH = /[\ue000-\uf8ff]|[\udb80-\udbff][\udc00-\udfff]/, GLYPHS = new RegExp(GLYPH, 'g');
export const hasGlyphs = (s) => GLYPH.test(s);

// withoutGlyphs returns s, whose white space is folded, without the glyphs of icon fonts.
export const withoutGlyphs = (s) => (GLYPH.test(s) ? fold(s.replace(GLYPHS, '')) : s);

// headOf returns the first n code units of s, without half a character at the end.
export const headOf = (s, n) => s.slice(0, (s.charCodeAt(n - 1) & 0xfc00) === 0xd800 ? n - 1 : n);

// blank reports whether s is nothing but white space.
export function blank(s) {
  const first = s.charCodeAt(0);
  return !(first > 32 && first < 128) && !/\S/.test(s);
}
