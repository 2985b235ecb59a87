/**
 * Answers that end in one turn of the event loop leave together at its end. Every write to a socket may have to wake the
 * thread that waits on the other side, which on a virtual machine costs more than the whole rest of a small answer; in a
 * burst only the first write pays for it. An answer waits for no more than the requests that were read in the same turn.
 */

/** Ends one answer; called once, from the event loop. */
export type Ending = () => void

let endings: Ending[] = []

/** Runs `ending` at the end of this turn of the event loop, in the order of the calls. */
export function endTogether(ending: Ending): void {
  if (endings.length === 0) setImmediate(endAll)
  endings.push(ending)
}

function endAll(): void {
  const batch = endings
  endings = []
  for (const ending of batch) ending()
}
