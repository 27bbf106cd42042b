// Which action is under way in the document: what one that was given up has begun goes on no further.

let last = 0;

/** beginAction returns the number of an action that begins, in whose place no other may go on. */
export const beginAction = () => ++last;
/** currentAction returns the number of the action under way. */
export const currentAction = () => last;
