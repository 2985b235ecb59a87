/** The memory that large records are read into is used again, when it was released. */
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder, tierIn } from './tier.ts'

const MiB = 1024 * 1024
const idOf = (n: number) => Buffer.alloc(32, n)

t.test('large records share memory one after the other, small ones have their own', async t => {
  const tier = tierIn(join(await temporaryFolder(t), 'cache'), 64 * MiB)
  await tier.start()
  t.teardown(() => tier.stop())
  const record = (n: number, bytes: number) => ({ head: Buffer.from(`head ${n}`), body: Buffer.alloc(bytes, n) })
  for (const [n, bytes] of [
    [1, MiB],
    [2, MiB],
    [3, 1000],
  ] as const)
    t.ok(await tier.put(idOf(n), record(n, bytes)))
  const first = (await tier.get(idOf(1)))!
  const second = (await tier.get(idOf(2)))!
  t.match(first, record(1, MiB))
  t.match(second, record(2, MiB))
  t.not(first.body.buffer, second.body.buffer, 'both are read')
  first.release?.()
  const again = (await tier.get(idOf(2)))!
  t.equal(again.body.buffer, first.body.buffer)
  t.match(again, record(2, MiB))
  t.match(second, record(2, MiB), 'nobody has written over it')
  const small = (await tier.get(idOf(3)))!
  t.match(small, record(3, 1000))
  t.equal(small.release, undefined)
  t.ok(small.body.buffer.byteLength <= 64 * 1024, 'it keeps no large memory from being used')
})
