import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync, readdirSync, statfsSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MaybePromise } from 'svc/kernel'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { mountSmallDisk } from '../../../test/services/small-disk.ts'
import { recordFiles, tierIn } from './tier.ts'

const MiB = 1024 * 1024
const mountedBytes = 128 * MiB
const { folder: mount, skip } = mountSmallDisk(t, mountedBytes)

const idOf = (name: number) => createHash('sha256').update(String(name)).digest()
const recordOf = (name: number) => ({ head: Buffer.from(String(name)), body: Buffer.alloc(200_000, name) })

/** The tier asks the file system in its own time, whatever the clock of the test says. */
async function eventually(holds: () => MaybePromise<boolean>): Promise<boolean> {
  for (let i = 0; i < 1000; i++) {
    if (await holds()) return true
    await sleep(10)
  }
  return false
}

t.test('a tier on a file system that fills up', { skip }, async t => {
  const clock = createFakeClock()
  const logged: string[] = []
  const dir = join(mount, 'cache')
  const tier = tierIn(dir, 64 * MiB, { clock, logged })
  t.teardown(() => tier.stop())
  await tier.start()
  const filler = join(mount, 'filler')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(mount)
    return bavail * bsize
  }
  /** Leaves so many bytes to others. */
  const leave = (bytes: number) => {
    const file = openSync(filler, 'a')
    const chunk = randomBytes(MiB)
    try {
      for (let left = freeBytes() - bytes; left > 0; left -= chunk.length)
        writeSync(file, chunk.subarray(0, Math.min(left, chunk.length)))
    } finally {
      closeSync(file)
    }
  }
  let next = 0
  const put = () => tier.put(idOf(++next), recordOf(next))
  const has = async (name: number) => {
    const found = await tier.get(idOf(name))
    return found?.body.equals(recordOf(name).body) === true
  }
  for (let i = 0; i < 5; i++) t.ok(await put())

  await t.test('under 5 % of free space it takes nothing, and serves what it has', async t => {
    leave(0.04 * mountedBytes)
    await clock.advance(10_000)
    t.ok(await eventually(() => logged.length > 0))
    const before = freeBytes()
    t.notOk(await put())
    t.notOk(await has(next))
    t.equal(freeBytes(), before, 'not a byte was written')
    t.ok(await has(1))
    t.match(logged, [/less than 5 % of the file system of SVC_CACHE_DIR is free/])
    await tier.delete(idOf(1))
    t.notOk(await has(1), 'what is forgotten is forgotten')
    await clock.advance(60_000)
    t.equal(logged.length, 1, 'it is said once')
  })

  await t.test('with room again it goes on', async t => {
    truncateSync(filler)
    await clock.advance(10_000)
    t.ok(await eventually(put))
    t.ok(await has(next))
  })

  await t.test('a disk that is full before anybody looks costs the record alone', async t => {
    const records = (await recordFiles(dir)).length
    leave(100_000)
    t.notOk(await put())
    t.notOk(await has(next), 'nothing torn is served')
    t.ok(await has(2))
    t.equal((await recordFiles(dir)).length, records)
    t.same(readdirSync(join(dir, 'tmp')), [], 'and nothing is left behind')
    t.match(logged.at(-1), /the cache cannot write to SVC_CACHE_DIR: it tries again in 10 s/)
    truncateSync(filler)
    t.notOk(await put(), 'not at once')
    await clock.advance(10_000)
    t.ok(await put())
    t.ok(await has(next))
  })

  await t.test('a start on a full disk serves what is there, and takes nothing', async t => {
    const last = next
    leave(0)
    await tier.stop()
    const again = tierIn(dir, 64 * MiB, { clock, logged })
    t.teardown(() => again.stop())
    await again.start()
    await again.walked()
    t.ok((await again.get(idOf(last)))?.body.equals(recordOf(last).body))
    t.notOk(await again.put(idOf(0), recordOf(0)))
  })
})
