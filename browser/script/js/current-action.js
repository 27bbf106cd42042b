// What goes on in the document for the action under way. Each search for an element, and each giving up, ends what
// went on for the one before it.

let last = 0;

/** beginAction ends what goes on for the action before it, and returns the number of the new one. */
export const beginAction = () => ++last;
/** currentAction returns the number of the action under way. */
export const currentAction = () => last;
