/** Several drives in one process: isolated from each other, reopened, with blobs of given ids. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { pino } from 'pino'
import type { Clock } from 'svc/kernel'
import type { BlobRef } from 'svc/plugins/storage/api'
import { readBlob } from 'svc/plugins/storage/testing'
import { createSingleThread } from 'svc/testing'
import t, { type Test } from 'tap'
import { anyBlobCheck, type Drive, type DriveOptions } from '../api.ts'
import { createBackgroundWork } from '../background.ts'
import { blobCell } from '../blob-cell.ts'
import { BlobFiles, createBlobId } from '../blob-files.ts'
import { BlobMarks, blobMarksBytes } from '../blob-marks.ts'
import { shareOfConfig } from '../config.ts'
import type { Disk } from '../disk.ts'
import { createDrives } from '../drives.ts'
import { Place } from '../place.ts'
import { systemDrivePorts } from '../testing.ts'
import { defaults } from './fixtures/config.ts'
import { deriveCount, procedures, recordKey } from './fixtures/table.ts'

const log = pino({ level: 'silent' })
// The server's listeners keep its process alive; timers of the clock do not.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
const ports = systemDrivePorts()
const config = {
  ...defaults,
  segmentBytes: 1024 * 1024,
}

async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-drives-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Creates drives as a thread of its own would. */
function newProcess(used = ports) {
  const drives = createDrives(config, used.disk)
  const threads = createSingleThread(log)
  const create = (path: string, name: string, options: Partial<DriveOptions> = {}): Drive =>
    drives.service.create({ path, name, procedures, derive: deriveCount, threads, ports: used, log, ...options })
  const work = new Map(createBackgroundWork(drives.open).map(worker => [worker.name, worker]))
  return { ...drives, create, run: (name: string) => work.get(name)!.work(new AbortController().signal) }
}

async function writeBlob(drive: Drive, bytes: Buffer, id?: string): Promise<BlobRef> {
  const writer = drive.createBlob(bytes.length, { id })
  await writer.write(bytes)
  return writer.finish()
}

const text = async (drive: Drive, name: string) => (await drive.get(recordKey(name)))?.value.toString()

/** Files below `blobs` of the drive. */
async function blobFiles(path: string): Promise<string[]> {
  const entries = await readdir(join(path, 'blobs'), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(({ name }) => name)
}

t.test('drives of one process have their own procedures, records and identity', async t => {
  const folder = await newFolder(t)
  const { create, open, service } = newProcess()
  const deploymentId = '0f0f0f0f-1111-2222-3333-444444444444'
  const paths = ['a', 'b', 'c'].map(name => join(folder, name))
  const drives = paths.map((path, i) =>
    create(path, `d${i}`, { procedures: { ...procedures, which: () => i }, deploymentId, shareOf: 3 }),
  )
  t.throws(() => drives[0]!.driveId, { code: 'unavailable' })
  t.throws(() => drives[0]!.get(recordKey('a')), { code: 'unavailable' })
  t.strictSame(await service.look(paths[0]!), {
    path: paths[0],
    state: 'empty',
    driveId: undefined,
    deploymentId: undefined,
    problem: undefined,
  })
  await Promise.all(drives.map(drive => drive.start()))
  t.teardown(() => Promise.all(drives.map(drive => drive.stop())))
  await Promise.all(drives.map((drive, i) => drive.execute('table.put', { name: 'k', value: `${i}` })))
  t.strictSame(await Promise.all(drives.map(drive => drive.execute('which', 0))), [0, 1, 2])
  t.strictSame(await Promise.all(drives.map(drive => text(drive, 'k'))), ['0', '1', '2'])
  t.equal(new Set(drives.map(({ driveId }) => driveId)).size, 3)
  for (const [i, drive] of drives.entries()) {
    const [status] = await drive.drives()
    t.match(status, { path: paths[i], id: drive.driveId, deploymentId, state: 'online' })
    const look = await service.look(paths[i]!)
    t.match(look, { state: 'formatted', driveId: drive.driveId, deploymentId, problem: undefined })
  }
  t.throws(() => create(paths[0]!, 'd0'), /d0 is open/)
  t.throws(() => create('relative', 'd9'), TypeError)
  await t.rejects(create(paths[0]!, 'other').start(), { code: 'drive_in_use' })

  await drives[1]!.stop()
  t.equal(open.size, 2)
  t.throws(() => drives[1]!.get(recordKey('k')), { code: 'unavailable' })
  t.equal(await text(drives[2]!, 'k'), '2', 'the others continue')
  t.strictSame(await drives[1]!.drives(), [])
  const again = create(paths[1]!, 'd1', { deploymentId })
  await again.start()
  t.equal(await text(again, 'k'), '1')
  await again.stop()
  await drives[1]!.start()
  t.equal(await text(drives[1]!, 'k'), '1', 'the former object can be started again, too')
})

t.test('a drive of another deployment is refused, and a failed start leaves nothing behind', async t => {
  const folder = await newFolder(t)
  const path = join(folder, 'drive')
  let timers = 0
  const clock: Clock = {
    ...ports.clock,
    after(delayMs, callback) {
      timers++
      let isPending = true
      const end = () => {
        if (isPending) timers--
        isPending = false
      }
      const cancel = ports.clock.after(delayMs, () => {
        end()
        callback()
      })
      return () => {
        end()
        cancel()
      }
    },
  }
  const { create, open, service } = newProcess({ ...ports, clock })
  const first = create(path, 'd')
  await first.start()
  await first.execute('table.put', { name: 'k', value: 'v' }, Buffer.alloc(9000))
  const [status] = await first.drives()
  await first.stop()
  const openFiles = async () => {
    const names = await readdir('/proc/self/fd')
    const targets = await Promise.all(names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')))
    return targets.filter(target => target.startsWith(folder))
  }
  const requireNothingLeft = async (what: string) => {
    if (process.platform === 'linux') t.strictSame(await openFiles(), [], `${what}: files`)
    t.equal(timers, 0, `${what}: timers`)
    t.equal(open.size, 0, what)
  }
  await requireNothingLeft('a stop')

  const foreign = create(path, 'd', { deploymentId: 'another' })
  await t.rejects(foreign.start(), { code: 'drive_of_other_deployment', message: status!.deploymentId!, status: 503 })
  await requireNothingLeft('another deployment')

  // The index has a position beyond the end of the journal.
  const segment = (await readdir(join(path, 'journal'))).sort().at(-1)
  const file = join(path, 'journal', segment!)
  const { size } = await stat(file)
  await promisify(execFile)('cp', [file, join(folder, 'saved')])
  await truncate(file, 4096)
  const damaged = create(path, 'd', { deploymentId: status!.deploymentId! })
  await t.rejects(damaged.start(), { code: 'journal_damaged' })
  await requireNothingLeft('a damaged journal')
  await damaged.stop()
  await promisify(execFile)('cp', [join(folder, 'saved'), file])
  t.equal((await stat(file)).size, size)
  await damaged.start()
  t.equal(await text(damaged, 'k'), 'v', 'the same object, later')
  await damaged.stop()
  const renewed = create(path, 'd')
  const starting = renewed.start()
  await renewed.stop()
  await starting
  await requireNothingLeft('a stop during the start')

  await writeFile(join(folder, 'file'), '')
  await mkdir(join(folder, 'foreign'))
  await writeFile(join(folder, 'foreign', 'holiday.jpg'), '')
  for (const [name, problem] of [
    ['file', /is not a folder/],
    ['file/below', /is not a folder/],
    ['foreign', /holiday\.jpg/],
  ] as const) {
    t.match(await service.look(join(folder, name)), { state: 'unusable', driveId: undefined, problem })
  }
  t.match(await service.look('/proc/drive'), { state: 'unusable', problem: /no space/ })
  await rm(join(path, 'blobs'), { recursive: true })
  t.match(await service.look(path), { state: 'unusable', driveId: status!.id, problem: /"blobs"/ })
  await writeFile(join(path, 'format.json'), '{')
  t.match(await service.look(path), { state: 'unusable', driveId: undefined, problem: /not valid JSON/ })
})

t.test('memory is divided among drives, down to the minimum each needs', async t => {
  const [whole, half, small] = [1, 2, 1000].map(count => shareOfConfig(config, count))
  t.strictSame(whole, config)
  t.match(half, { cacheBytes: 32 * 1024 ** 2, blobBufferBytes: 32 * 1024 ** 2, readBufferBytes: 16 * 1024 ** 2 })
  t.match(small, { cacheBytes: 67_108, blobBufferBytes: 1024 ** 2, readBufferBytes: 512 * 1024 })
  const path = await newFolder(t)
  const { create } = newProcess()
  const drive = create(path, 'd', { shareOf: 1000 })
  await drive.start()
  t.teardown(() => drive.stop())
  const contents = [1, 2, 3, 4].map(value => Buffer.alloc(2_500_000, value))
  const refs = await Promise.all(contents.map(content => writeBlob(drive, content)))
  const read = await Promise.all(refs.map(ref => readBlob(drive, ref)))
  for (const [i, bytes] of read.entries()) t.ok(bytes.equals(contents[i]!), 'several at a time, with one buffer')
})

t.test('a change that comes while a drive is closed is refused by its promise, and by no throw', async t => {
  const { create } = newProcess()
  const drive = create(await newFolder(t), 'd')
  const change = () => drive.execute('table.put', { name: 'k', value: '' })
  await t.rejects(change(), { code: 'unavailable' }, 'before the start')
  await drive.start()
  await change()
  await drive.stop()
  await t.rejects(change(), { code: 'unavailable' }, 'after the stop')
})

t.test('a blob with a given id replaces one with the same id, which is being read', async t => {
  const path = await newFolder(t)
  const { create, service } = newProcess()
  const drive = create(path, 'd')
  await drive.start()
  t.teardown(() => drive.stop())
  const id = service.blobIds(ports)()
  const [old, next, shorter] = [Buffer.alloc(3_000_000, 1), Buffer.alloc(3_000_000, 2), Buffer.alloc(70_000, 3)]
  const oldRef = await writeBlob(drive, old, id)
  t.equal(oldRef.id, id)
  await drive.execute('table.put', { name: 'k', value: '', blobs: [id] })
  t.ok((await readBlob(drive, oldRef)).equals(old), 'its table of checksums is remembered from here on')
  const any: BlobRef = { id, size: old.length, check: anyBlobCheck }
  const reader = drive.readBlob(any, 0, any.size)
  const chunks: Buffer[] = []
  const take = async () => {
    const chunk = await reader.next()
    if (chunk === undefined) return false
    chunks.push(Buffer.from(chunk.bytes))
    chunk.release()
    return true
  }
  await take()

  const given = drive.createBlob(next.length, { id })
  await given.write(next.subarray(0, 2_000_000))
  t.ok((await readBlob(drive, oldRef)).equals(old), 'half a blob replaces nothing')
  await given.write(next.subarray(2_000_000))
  const nextRef = await given.finish()
  while (await take()) {}
  t.ok(Buffer.concat(chunks).equals(old), 'a reader that had begun gets the rest of the same bytes')
  t.ok((await readBlob(drive, any)).equals(next))
  t.ok((await readBlob(drive, any, 1_234_567, 10)).equals(next.subarray(0, 10)))
  t.ok((await readBlob(drive, nextRef)).equals(next))
  await t.rejects(readBlob(drive, oldRef), { code: 'corrupt' }, 'never bytes that the reference does not mean')

  const givenUp = drive.createBlob(undefined, { id })
  await givenUp.write(old)
  await givenUp.abort()
  t.ok((await readBlob(drive, any)).equals(next), 'aborted before it was finished')
  const shorterWriter = drive.createBlob(undefined, { id })
  await shorterWriter.write(shorter)
  const shorterRef = await shorterWriter.finish()
  await t.rejects(readBlob(drive, any), { code: 'corrupt' }, 'of another size')
  await shorterWriter.abort()
  await sleep(100)
  t.ok((await readBlob(drive, shorterRef)).equals(shorter), 'a record references it, so it stays')
  t.strictSame(await blobFiles(path), [id])

  const lone = drive.createBlob(undefined, { id: service.blobIds(ports)() })
  await lone.write(shorter)
  await lone.finish()
  await lone.abort()
  for (let tries = 0; tries < 9000 && (await blobFiles(path)).length > 1; tries++) await sleep(10)
  t.strictSame(await blobFiles(path), [id], 'no record references it, so it is deleted')
  for (const wrong of ['', '../../../../../../etc/passwd', id.toUpperCase(), `${id}0`]) {
    t.throws(() => drive.createBlob(undefined, { id: wrong }), RangeError)
  }
})

t.test('garbage is left by earlier runs, never written or being written in this one', async t => {
  const path = await newFolder(t)
  const { create, run } = newProcess()
  let drive = create(path, 'd')
  await drive.start()
  const cells = new Set<number>()
  /** Blobs that share a cell are treated with more care than needed: these do not. */
  const oldId = (): string => {
    const id = createBlobId(Date.now() - 86_400_000, ports.random)
    if (cells.has(blobCell(id))) return oldId()
    cells.add(blobCell(id))
    return id
  }
  const bytes = Buffer.alloc(200_000, 7)
  const [finished, writing, left, kept, held] = [oldId(), oldId(), oldId(), oldId(), oldId()]
  for (const id of [finished, left, kept, held]) await writeBlob(drive, bytes, id)
  await drive.execute('table.put', { name: 'kept', value: '', blobs: [kept] })
  const cutShort = drive.createBlob(undefined, { id: left })
  await cutShort.write(Buffer.alloc(3_000_000))
  await drive.stop()
  t.equal((await blobFiles(path)).length, 5, 'and the unfinished one')

  drive = create(path, 'd')
  await drive.start()
  const letGo = drive.pinBlobs([{ id: held, size: 0, check: 0 }])
  const ref = await writeBlob(drive, bytes, finished)
  const writer = drive.createBlob(undefined, { id: writing })
  await writer.write(Buffer.alloc(3_000_000))
  const during = new Set(await blobFiles(path))
  t.equal(during.size, 6)
  await run('unreferenced-blobs')
  const files = await blobFiles(path)
  t.notOk(files.includes(left), 'the unreferenced one')
  t.strictSame(new Set(files.filter(name => !during.has(name))), new Set())
  t.strictSame(
    [finished, kept, held].map(id => files.includes(id)),
    [true, true, true],
  )
  t.equal(files.length, 4, 'and the one being written')
  await writer.finish()
  t.ok((await readBlob(drive, ref)).equals(bytes))
  letGo()

  // Unreferenced but not deleted yet: writing it anew keeps it, before any record references it.
  await drive.execute('table.delete', { name: 'kept' })
  const revived = await writeBlob(drive, bytes, kept)
  await sleep(4000)
  t.ok((await readBlob(drive, revived)).equals(bytes))
  await drive.execute('table.put', { name: 'kept', value: '', blobs: [kept] })
  await drive.execute('table.delete', { name: 'kept' })
  for (let tries = 0; tries < 9000 && (await blobFiles(path)).includes(kept); tries++) await sleep(10)
  t.notOk((await blobFiles(path)).includes(kept), 'it is deleted after its last reference, like every other')
  await drive.stop()
})

t.test('a new blob is not deleted in place of the garbage it replaces', async t => {
  const path = await newFolder(t)
  await mkdir(join(path, '00'))
  let letGo: (() => void) | undefined
  const removing = new Promise<void>(resolve => {
    letGo = resolve
  })
  const removed: string[] = []
  const disk: Disk = {
    ...ports.disk,
    list: async folder => (folder === path ? ['00'] : [id]),
    async remove(file) {
      await removing
      removed.push(file)
    },
  }
  const marks = new BlobMarks(new ArrayBuffer(blobMarksBytes))
  const files = new BlobFiles({
    disk,
    place: new Place(disk, path, undefined),
    clock: ports.clock,
    random: ports.random,
    log,
    startMs: Date.now(),
    marks,
    spare: async () => undefined,
    discard: () => undefined,
  })
  const id = createBlobId(Date.now() - 1000, ports.random)
  const collecting = files.collectGarbage(
    () => true,
    () => false,
  )
  while (!marks.isCollecting(id)) await sleep(1)
  files.onWriting(id)
  let hasWay = false
  const makingWay = files.makeWay(id).then(() => {
    hasWay = true
  })
  await sleep(50)
  t.notOk(hasWay, 'a deletion under way is waited for')
  letGo!()
  t.equal(await collecting, 1)
  await makingWay
  t.strictSame(removed, [files.pathOf(id)])
  t.equal(
    await files.collectGarbage(
      () => true,
      () => false,
    ),
    0,
    'and no other follows',
  )
})

const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const fixture = new URL('./fixtures/drives-server.ts', import.meta.url).pathname

// Servers start slowly on a busy machine.
t.test('every thread uses every drive, and attaches again to a reopened one', async t => {
  for (const workers of [0, 2]) {
    const folder = await newFolder(t)
    const file = join(folder, 'config.json')
    await writeFile(file, JSON.stringify({ plugins: [fixture] }))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=svc-src', main, 'server', '--config', file, '--workers', String(workers), join(folder, 'storage')],
      { env: { ...process.env, TEST_FOLDER: folder }, timeout: 180_000 },
    )
    const result = JSON.parse(stdout.trim())
    const threads = Math.max(1, workers)
    t.equal(result.used?.length, threads, stdout)
    for (const used of result.used) t.match(used, { mistakes: 0, own: ['a', 'b'], other: /only\.b/ })
    t.strictSame(
      result.counts.map(([count]: number[]) => count),
      [30 * threads, 30 * threads],
    )
    const [counters, wanted] = result.counters
    t.strictSame(counters, wanted, 'counters of a range, in the last thread')
    t.equal(result.revived, 9)
    t.match(result, { whileClosed: 'unavailable', beforeAttach: workers === 0 ? 'fine' : 'unavailable' })
    t.strictSame(result.late, Array(threads).fill('later'))
    t.equal(new Set(result.ids).size, 2)
  }
})

t.test('a stopping drive writes nothing to a folder that has replaced its own', async t => {
  const folder = await newFolder(t)
  const { create } = newProcess()
  const [emptied, swapped, other] = ['emptied', 'swapped', 'other'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const drives = [emptied, swapped].map((path, i) => create(path, `d${i}`))
  await Promise.all(drives.map(drive => drive.start()))
  await Promise.all(drives.map(drive => drive.execute('table.put', { name: 'k', value: 'v' })))
  for (const name of await readdir(emptied)) await rm(join(emptied, name), { recursive: true })
  await rename(swapped, other)
  await mkdir(swapped)
  await writeFile(join(swapped, 'index.state'), '3')
  await Promise.all(drives.map(drive => drive.stop()))
  t.strictSame(await readdir(emptied), [], 'an empty folder stays empty, so it can become a new drive')
  t.equal(await readFile(join(swapped, 'index.state'), 'utf8'), '3', 'another drive keeps its own state')
  t.equal(
    await readFile(join(other, 'index.state'), 'utf8'),
    '0',
    'the drive itself, wherever it is now, is not said to be closed: its next start checks the index',
  )
})
