/** Which folders are refused, what a start finds, and when nothing is written. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, symlink, truncate, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFakeClock, createSeededRandom } from 'svc/testing'
import t, { type Test } from 'tap'
import type { DiskTier } from '../kind.ts'
import { recordFiles, storedBytes, temporaryFolder, tierIn } from './tier.ts'

const MiB = 1024 * 1024
const idOf = (name: string | number) => createHash('sha256').update(String(name)).digest()
const recordOf = (name: string | number, bytes = 1000) => ({
  head: Buffer.from(String(name)),
  body: createSeededRandom(bytes).bytes(bytes),
})

async function started(t: Test, tier: DiskTier): Promise<DiskTier> {
  t.teardown(() => tier.stop())
  await tier.start()
  return tier
}

t.test('a folder that is no place for the cache is refused with a sentence', async t => {
  const folder = await temporaryFolder(t)
  const drive = join(folder, 'drive')
  await mkdir(join(drive, 'inside'), { recursive: true })
  await writeFile(join(drive, 'format.json'), JSON.stringify({ format: 'svc-drive', version: 1 }))
  await t.rejects(tierIn(drive, 16 * MiB).start(), {
    message: `SVC_CACHE_DIR: ${drive} is the folder of a drive. Name a folder of its own.`,
  })
  await t.rejects(tierIn(join(drive, 'inside', 'cache'), 16 * MiB).start(), {
    message: `SVC_CACHE_DIR: ${join(drive, 'inside', 'cache')} lies in ${drive}, which is the folder of a drive. Name a folder of its own.`,
  })
  await symlink(drive, join(folder, 'link'))
  await t.rejects(
    tierIn(join(folder, 'link', 'inside', 'cache'), 16 * MiB).start(),
    { message: /which is the folder of a drive/ },
    'behind a link',
  )
  const full = join(folder, 'full')
  await mkdir(full)
  await writeFile(join(full, 'thesis.txt'), 'years of work')
  await t.rejects(tierIn(full, 16 * MiB).start(), { message: /is not empty \(found thesis\.txt\)/ })
  t.equal(await readFile(join(full, 'thesis.txt'), 'utf8'), 'years of work')
  await writeFile(join(full, 'format.json'), '{}')
  await t.rejects(tierIn(full, 16 * MiB).start(), { message: /is none of a cache/ })
  const dir = join(folder, 'cache')
  const tier = await started(t, tierIn(dir, 16 * MiB))
  await t.rejects(tierIn(dir, 16 * MiB).start(), { message: /is in use by another server process/ })
  await tier.stop()
  await t.rejects(tierIn(dir, 16 * MiB, { deploymentId: 'two' }).start(), {
    message: /is the cache of deployment one, and this one is two/,
  })
  await writeFile(join(folder, 'a-file'), '')
  await t.rejects(tierIn(join(folder, 'a-file'), 16 * MiB).start(), { message: /^SVC_CACHE_DIR: .*a-file/ })
  const format = JSON.parse(await readFile(join(dir, 'format.json'), 'utf8'))
  await writeFile(join(dir, 'format.json'), JSON.stringify({ ...format, version: 2 }))
  await t.rejects(tierIn(dir, 16 * MiB).start(), { message: /was written by another release \(version 2\)/ })
})

t.test('after a crash the folder is looked through, also without an index, and the budget holds', async t => {
  const dir = join(await temporaryFolder(t), 'cache')
  const first = await started(t, tierIn(dir, 16 * MiB))
  for (let i = 0; i < 100; i++) t.ok(await first.put(idOf(i), recordOf(i, 20_000)))
  await first.stop()
  t.equal((await recordFiles(dir)).length, 100)
  // As a crash leaves it: an index of another time, parts, and records of nobody.
  await truncate(join(dir, 'index'), 100)
  await writeFile(join(dir, 'tmp', '0-7'), 'part of a record')
  const [stray] = await recordFiles(dir)
  await writeFile(`${(stray as string).slice(0, -64)}${'0'.repeat(64)}`, 'not of this folder')
  const second = await started(t, tierIn(dir, 16 * MiB))
  await second.walked()
  t.equal(second.usage().entries, 100)
  for (let i = 0; i < 100; i++) t.match(await second.get(idOf(i)), recordOf(i, 20_000))
  t.ok(await second.put(idOf('new'), recordOf('new')), 'it takes records again')
  await second.stop()
  const third = await started(t, tierIn(dir, MiB))
  await third.walked()
  t.ok(third.usage().bytes <= MiB, 'a smaller budget')
  t.ok((await storedBytes(dir)) <= MiB, 'and what is too much is gone')
  t.ok(third.usage().entries > 20)
})

t.test('after a clean stop records are there at once, and those that somebody deleted are misses', async t => {
  const dir = join(await temporaryFolder(t), 'cache')
  const first = await started(t, tierIn(dir, 16 * MiB))
  for (let i = 0; i < 10; i++) t.ok(await first.put(idOf(i), recordOf(i)))
  await first.stop()
  const [gone] = await recordFiles(dir)
  await unlink(gone as string)
  const second = await started(t, tierIn(dir, 16 * MiB))
  let found = 0
  for (let i = 0; i < 10; i++) if ((await second.get(idOf(i))) !== undefined) found++
  t.equal(found, 9)
  await second.walked()
  t.equal(second.usage().entries, 9)
})

t.test('a record in the place of another is none', async t => {
  const dir = join(await temporaryFolder(t), 'cache')
  const tier = await started(t, tierIn(dir, 16 * MiB))
  await tier.put(idOf('one'), recordOf('one'))
  const [one] = await recordFiles(dir)
  await tier.put(idOf('two'), recordOf('two'))
  const two = (await recordFiles(dir)).find(file => file !== one) as string
  await writeFile(one as string, await readFile(two))
  t.equal(await tier.get(idOf('one')), undefined)
  t.ok(await tier.get(idOf('two')))
})

t.test('after a failed write nothing is admitted for 10 s, and reads go on', async t => {
  const dir = join(await temporaryFolder(t), 'cache')
  const clock = createFakeClock()
  const logged: string[] = []
  const tier = await started(t, tierIn(dir, 16 * MiB, { clock, logged }))
  t.ok(await tier.put(idOf('one'), recordOf('one')))
  // A name that cannot be written, whoever runs this.
  const name = idOf('two').toString('hex')
  await symlink('/dev/null/nowhere', join(dir, name.slice(0, 2)))
  t.equal(await tier.put(idOf('two'), recordOf('two')), false)
  t.equal(await tier.put(idOf('three'), recordOf('three')), false, 'nothing is admitted')
  t.ok(await tier.get(idOf('one')))
  t.match(logged, ['the cache cannot write to SVC_CACHE_DIR: it tries again in 10 s'])
  await clock.advance(10_000)
  t.ok(await tier.put(idOf('three'), recordOf('three')))
  t.equal(await storedBytes(dir), 2 * 1000 + 2 * 20 + 'one'.length + 'three'.length, 'no part is left')
})

t.test('links out of the folder lead nowhere: nothing outside is read, written or deleted', async t => {
  const folder = await temporaryFolder(t)
  const home = join(folder, 'home')
  const dir = join(folder, 'cache')
  await mkdir(home)
  await writeFile(join(home, 'thesis.txt'), 'years of work')
  await mkdir(dir)
  await symlink(home, join(dir, 'tmp'))
  await t.rejects(tierIn(dir, 16 * MiB).start(), { message: /^SVC_CACHE_DIR: .*tmp is a link/ })
  t.same(await readdir(home), ['thesis.txt'], 'what lies behind a link is not emptied')
  await rm(join(dir, 'tmp'))
  const tier = await started(t, tierIn(dir, 16 * MiB))
  await tier.put(idOf('one'), recordOf('one'))
  const [one] = (await recordFiles(dir)) as [string]
  await rename(one, join(home, 'record'))
  await symlink(join(home, 'record'), one)
  t.equal(await tier.get(idOf('one')), undefined, 'a link in the place of a record is none')
  t.same(await readdir(home), ['record', 'thesis.txt'])
})

t.test('a pipe in the place of a record is a miss, and holds nobody up', async t => {
  const dir = join(await temporaryFolder(t), 'cache')
  const tier = await started(t, tierIn(dir, 16 * MiB))
  for (let i = 0; i < 8; i++) await tier.put(idOf(i), recordOf(i))
  for (const file of await recordFiles(dir)) {
    await unlink(file)
    execFileSync('mkfifo', [file])
  }
  for (let i = 0; i < 8; i++) t.equal(await tier.get(idOf(i)), undefined)
  await tier.stop()
})
