/** Folders that disappear under a running set: their data is not reported as lost, and nothing is written in their place. */
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Derive, Procedure, Transaction } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { createSeededRandom } from 'svc/testing'
import t from 'tap'
import { createRedundantSet } from '../redundancy.ts'
import { newFolders, openTestSet } from './fixtures/open-set.ts'

// The clock's timers do not keep the process alive; a server's listeners would.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const procedures: Record<string, Procedure> = {
  put: (tx: Transaction, { key, blobs }: { key: string; blobs: string[] }) => {
    tx.put(Buffer.from(key), Buffer.from('value'), { blobs })
  },
}
const derive: Derive = () => undefined

t.test('data on drives whose folders are gone or empty is not reported as lost', async t => {
  const paths = await newFolders(t, 4)
  const set = await openTestSet(paths, { procedures, derive, parityCount: 2 })
  t.teardown(() => set.stop())
  const redundant = createRedundantSet(set)
  const bytes = createSeededRandom(1).bytes(700_000)
  const writer = set.backend.createBlob(bytes.length)
  await writer.write(bytes)
  const blob = await writer.finish()
  await set.backend.execute('put', { key: 'ok', blobs: [blob.id] })
  t.ok(await set.mountCheck.check())
  t.notOk(await redundant.isLost(Buffer.from('ok')))

  // Three drives, more than there is parity; for two of them the empty mount point remains.
  const gone = paths.slice(1)
  for (const path of gone) await rename(path, `${path}.away`)
  for (const path of gone.slice(0, 2)) await mkdir(path)
  t.notOk(await redundant.isLost(Buffer.from('ok')))
  t.strictSame(
    (await redundant.drives()).map(({ state }) => state),
    ['online', 'offline', 'offline', 'offline'],
  )
  t.notOk(redundant.canWrite)
  t.match(set.complaints().join('\n'), /The drive at .*d2 is not there any more: mount it, or put it back/)

  await set.repairLoop.bringBack(new AbortController().signal)
  for (const path of gone.slice(0, 2)) t.strictSame(await readdir(path), [], 'nothing was written to the mount point')
  await t.rejects(readdir(gone[2]!), { code: 'ENOENT' })

  for (const path of gone.slice(0, 2)) await rmdir(path)
  for (const path of gone) await rename(`${path}.away`, path)
  // One round waits only briefly for slow drives, so on a busy machine several are needed.
  while (!set.set.isWhole) await set.repairLoop.bringBack(new AbortController().signal)
  t.ok(await set.mountCheck.check())
  const health = await redundant.heal(Buffer.from('ok'), { deep: true, dryRun: false })
  t.strictSame(health?.after, ['ok', 'ok', 'ok', 'ok'])
  t.ok((await readBlob(set.backend, blob)).equals(bytes))
})

t.test('a drive whose journal is removed while the set runs is taken offline', async t => {
  const paths = await newFolders(t, 4)
  const set = await openTestSet(paths, { procedures, derive, parityCount: 2 })
  t.teardown(() => set.stop())
  const redundant = createRedundantSet(set)
  await set.backend.execute('put', { key: 'ok', blobs: [] })
  for (const path of paths.slice(0, 2)) await rm(join(path, 'journal'), { recursive: true })
  t.strictSame(
    // Faulty, if it had something to write before it was asked.
    (await redundant.drives()).map(({ state }) => state === 'online'),
    [false, false, true, true],
  )
  t.notOk(redundant.isWhole)
  await t.rejects(set.backend.execute('put', { key: 'no', blobs: [] }), { code: 'unavailable' })
})

t.test('a failed drive is reported once, with its later state', async t => {
  const paths = await newFolders(t, 4)
  const set = await openTestSet(paths, { procedures, derive, parityCount: 2 })
  t.teardown(() => set.stop())
  await set.backend.execute('put', { key: 'ok', blobs: [] })
  await rm(join(paths[1]!, 'lock'))
  await set.backend.execute('put', { key: 'too', blobs: [] })
  const told = set.complaints().filter(line => /has failed/.test(line))
  t.equal(told.length, 1)
  t.match(told[0], /a drive of the set has failed: it is offline, and is tried again every few seconds/)
  t.match(told[0], /lock was removed or replaced/, 'and why')
  while (!set.set.isWhole) await set.repairLoop.bringBack(new AbortController().signal)
  t.notMatch(set.complaints().join('\n'), /until the server is restarted/)
})

t.test('exchanged folders are detected while the set runs', async t => {
  const paths = await newFolders(t, 4)
  const set = await openTestSet(paths, { procedures, derive, parityCount: 2 })
  t.teardown(() => set.stop())
  const [, , third, fourth] = paths as [string, string, string, string]
  await rename(third, `${third}.away`)
  await rename(fourth, third)
  await rename(`${third}.away`, fourth)
  t.notOk(await set.mountCheck.check())
  t.match(set.complaints().join('\n'), /The drive at .*d3 is another one now/)
})
