// A function in place of a language model, so that the examples run without one. Its task is
// to put oat milk on the list of the app of `browserd demo`, which is at process.argv[3].
export const task = 'Put oat milk on the list.';

/** Answers to what the last tool said with the next call; without a name, the task is done. */
export function next(seen) {
  console.log(seen ?? task);
  const find = (role, name) => new RegExp(`^ *(@e\\d+) \\[${role}\\b(.*)\\] "${name}"$`, 'm').exec(seen);
  if (seen === undefined) return { name: 'open', args: { url: process.argv[3] } };
  if (seen.split('\n').some((line) => line.includes('Oat milk') && !line.includes('[textbox'))) return { text: 'Done: Oat milk is on the list.' };
  const [field, add, items] = [find('textbox', 'New item'), find('button', 'Add'), find('link', 'Items')];
  if (add && field?.[2].includes('value="Oat milk"')) return { name: 'click', args: { ref: add[1], snapshot: 'full' } };
  if (field) return { name: 'type', args: { ref: field[1], text: 'Oat milk', snapshot: 'full' } };
  if (items) return { name: 'click', args: { ref: items[1], snapshot: 'full' } };
  throw new Error('the model does not know what to do with\n' + seen);
}
