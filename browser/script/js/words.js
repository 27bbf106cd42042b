// Sets of words.

export const words = (s) => new Set(s.split(' '));
