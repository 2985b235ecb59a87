/** What a purge is said to have done: the caches in front of a distribution are told after the own one, and may refuse. */
import type { Answer } from '../../api/operations.ts'
import { cacheTexts } from '../../texts/cache.ts'

const words = cacheTexts.cachePurge

type Purged = Answer<'listInvalidations'>['items'][number]['state']
type InFront = Pick<
  Answer<'listDistributionWebhooks'>['items'][number],
  'id' | 'online' | 'queued' | 'owesAll' | 'lastError'
>

export interface Told {
  readonly text: string
  readonly is: 'good' | 'poor' | 'bad'
  /** Of caches in front that have not taken everything. Which of the purges wait there is not known. */
  readonly notes: readonly string[]
}

const colours = { 'in-progress': 'poor', completed: 'good', failed: 'bad' } as const

/** `inFront`: undefined where it is not known which ones there are. */
export function toldOf(state: Purged, inFront: readonly InFront[] | undefined): Told {
  const behind = (inFront ?? []).filter(({ online, queued, owesAll }) => online === false || queued > 0 || owesAll)
  const notes = behind.map(({ id, lastError }) => words.notTaken(id, lastError))
  if (state !== 'completed') return { text: words.states[state], is: colours[state], notes }
  if (inFront === undefined) return { text: words.doneHere, is: 'good', notes }
  return behind.length === 0
    ? { text: words.states.completed, is: 'good', notes }
    : { text: words.doneHere, is: 'poor', notes }
}
