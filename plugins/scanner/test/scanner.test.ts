/** How long workers rest between slices, on a fake clock. */
import type { Settings } from 'svc/plugins/settings/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import type { ScannerSettings } from '../api.ts'
import { atSpeed } from '../settings.ts'

const sliceMs = 40
const settled = () => new Promise(resolve => setImmediate(resolve))

async function start(speed: ScannerSettings['speed'], outcome: 'more' | 'idle' = 'more') {
  const clock = createFakeClock()
  const scanner = { get: () => ({ speed, cycle: 60_000, deep_cycle: 0 }) } as Settings<ScannerSettings>
  const work = async () => {
    await new Promise<void>(resolve => clock.after(sliceMs, resolve))
    return outcome
  }
  const worker = atSpeed({ name: 'expiry', pauseMs: 2000, work, status: () => 'at work' }, scanner, clock)
  const abort = new AbortController()
  let ended: string | undefined
  worker.work(abort.signal).then(result => {
    ended = result
  })
  await clock.advance(sliceMs)
  await settled()
  return { clock, abort, worker, ended: () => ended }
}

t.test('a worker rests for the configured multiple of the last slice, and at most 15 seconds', async t => {
  for (const [speed, restMs] of [
    ['fastest', 0],
    ['fast', sliceMs],
    ['default', 2 * sliceMs],
    ['slow', 10 * sliceMs],
    ['slowest', 100 * sliceMs],
  ] as const) {
    const { clock, ended, worker } = await start(speed)
    t.equal(worker.status?.(), 'at work')
    if (restMs > 0) {
      await clock.advance(restMs - 1)
      await settled()
      t.equal(ended(), undefined, `${speed} still rests`)
      await clock.advance(1)
      await settled()
    }
    t.equal(ended(), 'more', speed)
    t.equal(clock.pending(), 0)
  }
})

t.test('an idle worker does not rest, and a stop ends a rest at once', async t => {
  t.equal((await start('slowest', 'idle')).ended(), 'idle')
  const { abort, ended, clock } = await start('slowest')
  t.equal(ended(), undefined)
  abort.abort()
  await settled()
  t.equal(ended(), 'more')
  t.equal(clock.pending(), 0)
})
