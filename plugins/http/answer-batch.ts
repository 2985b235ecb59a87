/**
 * Sends all answers that end in one turn of the event loop together at its end. Each write to a socket may have to wake the thread that
 * waits on the other side, which on a virtual machine costs more than the rest of a small answer; in a burst only the first write has this
 * cost. An answer waits only for the requests that were read in the same turn.
 */

/** An answer whose handler has ended it. */
export interface EndedAnswer {
  /** Called once, from the event loop. Must not throw. */
  sendEnd(): void
}

let ended: EndedAnswer[] = []

/** Sends the end of `answer` at the end of this turn of the event loop, in the order of the calls. */
export function endTogether(answer: EndedAnswer): void {
  if (ended.length === 0) setImmediate(endAll)
  ended.push(answer)
}

function endAll(): void {
  const batch = ended
  ended = []
  for (const answer of batch) answer.sendEnd()
}
