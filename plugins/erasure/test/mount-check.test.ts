/** Folders that are taken away under a running set: nothing that is on them is called lost, and nothing is made in their place. */
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Derive, Procedure, Transaction } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { createSeededRandom } from 'svc/testing'
import t from 'tap'
import { createRedundantSet } from '../redundancy.ts'
import { newFolders, openTestSet } from './fixtures/open-set.ts'

// The server's listeners keep its process alive; timers of the clock do not.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const procedures: Record<string, Procedure> = {
  put: (tx: Transaction, { key, blobs }: { key: string; blobs: string[] }) => {
    tx.put(Buffer.from(key), Buffer.from('value'), { blobs })
  },
}
const derive: Derive = () => undefined

t.test('bytes on drives whose folders are gone, or empty, are not lost', async t => {
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

  // Three, which is more than there is parity: of two only the empty mount point is left.
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
  for (const path of gone.slice(0, 2)) t.strictSame(await readdir(path), [], 'nothing was made in the mount point')
  await t.rejects(readdir(gone[2]!), { code: 'ENOENT' })

  for (const path of gone.slice(0, 2)) await rmdir(path)
  for (const path of gone) await rename(`${path}.away`, path)
  while (await set.repairLoop.bringBack(new AbortController().signal)) {
    // They catch up one after the other.
  }
  t.ok(set.set.isWhole)
  t.ok(await set.mountCheck.check())
  const health = await redundant.heal(Buffer.from('ok'), { deep: true, dryRun: false })
  t.strictSame(health?.after, ['ok', 'ok', 'ok', 'ok'])
  t.ok((await readBlob(set.backend, blob)).equals(bytes))
})

t.test('a drive whose journal is removed while the set runs is lost to it', async t => {
  const paths = await newFolders(t, 4)
  const set = await openTestSet(paths, { procedures, derive, parityCount: 2 })
  t.teardown(() => set.stop())
  const redundant = createRedundantSet(set)
  await set.backend.execute('put', { key: 'ok', blobs: [] })
  for (const path of paths.slice(0, 2)) await rm(join(path, 'journal'), { recursive: true })
  t.strictSame(
    (await redundant.drives()).map(({ state }) => state),
    ['offline', 'offline', 'online', 'online'],
  )
  t.notOk(redundant.isWhole)
  await t.rejects(set.backend.execute('put', { key: 'no', blobs: [] }), { code: 'unavailable' })
})

t.test('folders that were exchanged are noticed while the set runs', async t => {
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
