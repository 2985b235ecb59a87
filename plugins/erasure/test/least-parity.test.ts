/** What a set says of the least parity of its data: data keeps its parity when the configuration changes. */
import { mkdir, rename, rm } from 'node:fs/promises'
import type { Derive, Procedure } from 'svc/plugins/storage/api'
import t, { type Test } from 'tap'
import { decodeLeastParity, leastParityKey } from '../least-parity.ts'
import { newFolders, openTestSet, type TestSet } from './fixtures/open-set.ts'

const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const derive: Derive = () => undefined
const key = Buffer.from('tbody')
const body = Buffer.alloc(60_000, 7)
const procedures: Readonly<Record<string, Procedure>> = {
  put: (tx, _args, body) => tx.put(key, Buffer.from('value'), { body }),
  /** As a build left it that notes nothing. */
  forget: tx => tx.delete(leastParityKey),
}
const { signal } = new AbortController()

/** A set of four drives, any two of which may be lost. `open` closes it and opens it again. */
async function setOf(t: Test) {
  const paths = await newFolders(t, 4)
  let set: TestSet | undefined
  t.teardown(() => set?.stop())
  const stop = async () => {
    await set?.stop()
    set = undefined
  }
  const open = async (reducedParityCount: number) => {
    await stop()
    set = await openTestSet(paths, { procedures, derive, parityCount: 2, reducedParityCount })
    return set
  }
  return { paths, open, stop }
}

async function told({ set }: TestSet): Promise<[now: number, least: number]> {
  const [now, ...others] = await set.status()
  const { reducedParityCount, leastParityCount } = now!.place!
  for (const { place } of others) t.match(place, { reducedParityCount, leastParityCount }, 'each drive says the same')
  return [reducedParityCount, leastParityCount]
}

/** By slot; undefined where the drive is away, or has none. */
function noted({ set }: TestSet): Promise<(number | undefined)[]> {
  return Promise.all(
    set.members.map(async ({ state, drive }) => {
      const record = state === 'current' ? await drive.get(leastParityKey) : undefined
      return record && decodeLeastParity(record.value)
    }),
  )
}

t.test('it is known after the parity was raised again, and survives its drives', async t => {
  const { paths, open, stop } = await setOf(t)
  let set = await open(2)
  t.same(await told(set), [2, 2])
  t.same(await noted(set), [2, 2, 2, 2])

  set = await open(0)
  t.same(await told(set), [0, 0])
  t.same(await noted(set), [0, 0, 0, 0], 'before anything is written')
  await set.backend.execute('put', {}, Buffer.from(body), { redundancy: 'reduced' })

  set = await open(2)
  t.same(await told(set), [2, 0])
  t.same(await noted(set), [0, 0, 0, 0])

  // One after another, each is replaced.
  for (const path of paths) {
    await stop()
    await rm(path, { recursive: true })
    await mkdir(path)
    set = await open(2)
    await set.repairLoop.bringBack(signal)
    t.same(await told(set), [2, 0])
    t.same(await noted(set), [0, 0, 0, 0])
  }
})

t.test('without a write quorum it is told, and noted as soon as there is one', async t => {
  const { paths, open, stop } = await setOf(t)
  const away = paths.slice(2)
  await open(2)
  await stop()
  for (const path of away) await rename(path, `${path}.away`)

  let set = await open(1)
  t.same(await told(set), [1, 1])
  t.same(await noted(set), [2, 2, undefined, undefined])
  await t.rejects(set.backend.execute('put', {}, Buffer.from(body), { redundancy: 'reduced' }), { code: 'unavailable' })
  set = await open(2)
  t.same(await told(set), [2, 2], 'nothing could be written meanwhile')

  set = await open(1)
  for (const path of away) await rename(`${path}.away`, path)
  while (await set.repairLoop.bringBack(signal));
  t.ok(set.set.isWhole)
  t.same(await noted(set), [1, 1, 1, 1])
  set = await open(2)
  t.same(await told(set), [2, 1])
})

t.test('a set that an earlier build made counts as configured by default, or now', async t => {
  const { open } = await setOf(t)
  for (const [now, least] of [
    [2, 1],
    [0, 0],
  ] as const) {
    const before = await open(2)
    await before.backend.execute('forget', {})
    t.same(await noted(before), [undefined, undefined, undefined, undefined])
    const set = await open(now)
    t.same(await told(set), [now, least])
    t.same(await noted(set), [least, least, least, least])
  }
})
