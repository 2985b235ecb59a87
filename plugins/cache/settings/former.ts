/** Removes the settings of distributions that are gone: otherwise they would count as uses of the policies that they name. */
import type { Logger } from 'svc/kernel'
import type { DistributionsService } from 'svc/plugins/distributions/api'
import type { SettingsChanges } from './changes.ts'

export interface FormerSettings {
  /** To be called in the main thread. */
  start(): void
  stop(): Promise<void>
}

export function createFormerSettings(
  { tidy }: Pick<SettingsChanges, 'tidy'>,
  distributions: Pick<DistributionsService, 'isGone' | 'watch'>,
  log: Logger,
): FormerSettings {
  let endWatch: (() => void) | undefined
  let isStopped = false
  let working: Promise<void> = Promise.resolve()
  let isAwaited = false

  const work = async () => {
    isAwaited = false
    if (!isStopped) await tidy(distributions.isGone)
  }
  /** Many changes at once need only one more pass: it begins after the last of them that it has to see. */
  function workSoon(): void {
    if (isAwaited) return
    isAwaited = true
    working = working.then(work).catch(error => {
      log.warn(
        { err: error },
        'cache settings of former distributions could not be removed: it is tried again with the next change',
      )
    })
  }

  return {
    start() {
      endWatch = distributions.watch(workSoon)
      workSoon()
    },
    async stop() {
      isStopped = true
      endWatch?.()
      await working
    },
  }
}
