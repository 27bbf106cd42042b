// wordSet is the set of the words of a text.

export const wordSet = (s) => new Set(s.split(' '));
