/** Restarts that somebody asks for, unless the start after the stop would be refused by what can be seen of it. */
import type { Clock, KernelService, Logger } from 'svc/kernel'

export interface Restarts {
  /** Why the server would not start again, as a sentence; undefined where nothing of it is seen now. */
  refusal(): Promise<string | undefined>
  /** After the delay it looks again, unless it is forced: files may have been replaced since. What refuses it then is logged. */
  request(reason: string, options: { readonly delayMs: number; readonly force: boolean }): void
}

declare module 'svc/kernel' {
  interface Services {
    /** Used by the operations of this plugin only. */
    restarts: Restarts
  }
}

export interface RestartsOptions {
  readonly kernel: Pick<KernelService, 'inspectRestart' | 'requestRestart'>
  readonly clock: Clock
  readonly log: Logger
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')

export function createRestarts({ kernel, clock, log }: RestartsOptions): Restarts {
  async function refusal(): Promise<string | undefined> {
    const problems = await kernel.inspectRestart()
    if (problems.length === 0) return undefined
    return `The server would end, and not start again: ${problems.map(withoutStop).join('; ')}.`
  }

  async function requestUnlessRefused(reason: string): Promise<void> {
    const refused = await refusal()
    if (refused === undefined) kernel.requestRestart(reason)
    else log.error({ reason, refused }, 'the restart was not made')
  }

  return {
    refusal,
    request(reason, { delayMs, force }) {
      if (delayMs === 0) return kernel.requestRestart(reason)
      clock.after(delayMs, () => {
        if (force) return kernel.requestRestart(reason)
        requestUnlessRefused(reason).catch(error => log.error({ err: error, reason }, 'the restart was not made'))
      })
    },
  }
}
