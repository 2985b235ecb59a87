/** The bench's end of the load generator (load.ts). */
import { fork } from 'node:child_process'
import type { LoadAnswer, LoadCommand, LoadLimits, LoadPlan, LoadResult } from './load-plan.ts'
import { stopProcess, track } from './processes.ts'

/** Time that a run may take beyond its own limit, for what is in flight then. */
const GRACE_MS = 120_000

export interface LoadClient {
  /** Signs the requests; the clock does not run. */
  prepare(plan: LoadPlan): Promise<void>
  /** Sends them. Rejects when one fails: a rate of errors is not a benchmark. */
  run(limits: LoadLimits): Promise<LoadResult>
  stop(): Promise<void>
}

export function startLoadClient(): LoadClient {
  const child = fork(new URL('load.ts', import.meta.url), { execArgv: ['--conditions=svc-src'], stdio: 'inherit' })
  track(child)

  function ask(command: LoadCommand, timeoutMs: number): Promise<LoadAnswer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => finish(new Error(`The load generator did not answer in ${timeoutMs} ms.`)),
        timeoutMs,
      )
      const onExit = (): void => finish(new Error('The load generator has ended.'))
      const onMessage = (message: unknown): void => finish(message as LoadAnswer)
      function finish(outcome: LoadAnswer | Error): void {
        clearTimeout(timer)
        child.off('message', onMessage)
        child.off('exit', onExit)
        if (outcome instanceof Error) reject(outcome)
        else if (outcome.kind === 'failed') reject(new Error(outcome.error))
        else resolve(outcome)
      }
      child.on('message', onMessage)
      child.on('exit', onExit)
      child.send(command)
    })
  }

  return {
    async prepare(plan) {
      await ask({ kind: 'prepare', plan }, GRACE_MS)
    },
    async run(limits) {
      const answer = await ask({ kind: 'run', limits }, limits.timeMsMax + GRACE_MS)
      if (answer.kind !== 'finished') throw new Error('The load generator gave another answer than was asked for.')
      return answer.result
    },
    stop: () => stopProcess(child),
  }
}
