/** Removes links that are long over, once an hour. */
import type { Clock, Logger } from 'svc/kernel'
import type { UsersService } from 'svc/plugins/users/api'

const everyMs = 3600_000

export function createShareCleaner(users: Pick<UsersService, 'removeOldShares'>, clock: Clock, log: Logger) {
  let cancel: (() => void) | undefined

  async function clean(): Promise<void> {
    try {
      const count = await users.removeOldShares()
      if (count > 0) log.info({ count }, 'share links that are over were removed')
    } catch (error) {
      // They only take room: the next round tries again.
      log.warn({ err: error }, 'share links that are over could not be removed')
    }
    if (cancel !== undefined) schedule()
  }

  function schedule(): void {
    cancel = clock.after(everyMs, () => void clean())
  }

  return {
    start: schedule,
    stop() {
      cancel?.()
      cancel = undefined
    },
  }
}
