/** What purges and warm-ups have in common in their lists. */
import { cacheTexts } from '../../texts/cache.ts'

const shownMax = 3

export const isAnyRunning = (tasks: readonly { readonly state: string }[]): boolean =>
  tasks.some(({ state }) => state === 'in-progress')

/** The first of what a task is about, and how many more there are. */
export function shortened(lines: readonly string[]): string[] {
  if (lines.length <= shownMax + 1) return [...lines]
  return [...lines.slice(0, shownMax), cacheTexts.cachePurge.andMore(lines.length - shownMax)]
}
