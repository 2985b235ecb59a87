/** Fences tell the truth before, during and after commits, and when the storage takes no commits. */
import type { Logger, Threads } from 'svc/kernel'
import type { ObjectEvent } from 'svc/plugins/objects/api'
import t from 'tap'
import { createFencing } from '../fence/fencing.ts'

const threads = { isMain: true, handle() {} } as unknown as Threads
const log = { debug() {}, warn() {} } as unknown as Logger
const relay = { wants: () => false, tell() {} }
const change = { bucket: 'pages', key: 'a' } as ObjectEvent
const turn = () => new Promise(resolve => setImmediate(resolve))

function setUp() {
  const waiting: { resolve(): void; reject(error: Error): void }[] = []
  const execute = () => new Promise<void>((resolve, reject) => waiting.push({ resolve, reject })) as never
  const fencing = createFencing({ storage: { execute }, threads, log, relay })
  return { fencing, waiting, take: () => fencing.fences().take('pages', 'a') }
}

t.test('a bucket is counted from before it is armed, and armed when earlier commits have ended', async t => {
  const { fencing, waiting, take } = setUp()
  t.notOk(fencing.observer.wants('pages'))
  t.notOk(take().isSettled)
  const armed = fencing.arm('pages')
  t.ok(fencing.observer.wants('pages'))
  t.notOk(take().isSettled, 'a commit from before may still end')
  waiting[0]!.resolve()
  await armed
  t.ok(take().isSettled)
  t.equal(fencing.arm('pages'), undefined, 'at once from then on')
})

t.test('a change ends the hold of earlier fences at once, and is settled when it is durable', async t => {
  const { fencing, waiting, take } = setUp()
  const armed = fencing.arm('pages')
  waiting.shift()!.resolve()
  await armed
  const { slot, generation } = take()
  t.ok(fencing.fences().hold([slot, generation]))
  fencing.observer.observe({} as never, change)
  t.notOk(fencing.fences().hold([slot, generation]))
  t.notOk(take().isSettled)
  await turn()
  fencing.observer.observe({} as never, change)
  waiting.shift()!.resolve()
  await turn()
  t.notOk(take().isSettled, 'another change has begun meanwhile')
  waiting.shift()!.resolve()
  await turn()
  t.ok(take().isSettled)
})

t.test('where the storage takes no commit nothing is settled, and reads go on', async t => {
  const { fencing, waiting, take } = setUp()
  const armed = fencing.arm('pages')
  waiting.shift()!.reject(new Error('the drive is faulty'))
  await armed
  t.notOk(take().isSettled)
})
