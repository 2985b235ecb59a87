/**
 * Sends all answers that end in one turn of the event loop together at its end. Each write to a socket may have to wake the thread that
 * waits on the other side, which on a virtual machine costs more than the rest of a small answer; in a burst only the first write has this
 * cost. An answer waits only for the requests that were read in the same turn.
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
