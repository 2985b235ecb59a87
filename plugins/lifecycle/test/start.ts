/** The server with a clock that the test moves, and optionally without scheduled runs of the worker. */
import { startServer, type TestServer } from 'svc/plugins/s3/testing'
import { createSystemPorts } from 'svc/testing'
import { pauseMs } from '../worker.ts'

export const dayMs = 86_400_000

/** Until the noon after the next midnight. */
export const untilNoonMs = (nowMs: number): number => Math.ceil(nowMs / dayMs) * dayMs + dayMs / 2 - nowMs

export interface LifecycleServer extends TestServer {
  now(): number
  advanceDays(days: number): void
}

/** `byHand`: only `lifecycle.run` applies rules. `atNoon`: the clock starts at noon, so that no midnight passes unintentionally. */
export async function startLifecycle({ byHand = false, atNoon = false } = {}): Promise<LifecycleServer> {
  const { clock } = createSystemPorts()
  const startMs = clock.now()
  let aheadMs = atNoon ? untilNoonMs(startMs) : 0
  const now = () => clock.now() + aheadMs
  const server = await startServer({
    ports: {
      clock: {
        now,
        monotonicNs: () => clock.monotonicNs(),
        after: (ms, call) => (byHand && ms === pauseMs ? () => undefined : clock.after(ms, call)),
      },
    },
  })
  return {
    ...server,
    now,
    advanceDays(days) {
      aheadMs += days * dayMs
    },
  }
}
