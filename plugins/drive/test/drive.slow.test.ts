/** The drive on the real disk: the contract, the lock, the format, damage, a full disk, workers. */
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { pino } from 'pino'
import type { BlobRef } from 'svc/plugins/storage/api'
import { contractDerive, contractProcedures, storageBackendContract } from 'svc/plugins/storage/contract'
import { createSingleThread, until } from 'svc/testing'
import t, { type Test } from 'tap'
import type { Garbage } from '../api.ts'
import { createBackend, validateEndpoints } from '../backend.ts'
import { BlobPins, blobPinsBytes } from '../blob-pins.ts'
import { BodyReader } from '../body-reader.ts'
import type { DriveConfig } from '../config.ts'
import type { Disk, DiskFile } from '../disk.ts'
import { Drive, type DriveOptions } from '../drive.ts'
import { createDrives } from '../drives.ts'
import { lmdbIndexFolder } from '../index-folder.ts'
import { SegmentDamage } from '../journal-reader.ts'
import { lockDrive } from '../lock.ts'
import { checkDrive, peekDrive } from '../preflight.ts'
import { SharedState, sharedStateBytes } from '../shared-state.ts'
import { createSpaceBudget, spaceCellCount, watchSpace } from '../space.ts'
import { systemDrivePorts } from '../testing.ts'
import { defaults } from './fixtures/config.ts'
import { countKey, deriveCount, procedures, recordKey } from './fixtures/table.ts'

const log = pino({ level: 'silent' })
const opener = new URL('./fixtures/open.ts', import.meta.url).pathname
// The server's listeners keep its process alive; timers of the clock do not.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
const ports = systemDrivePorts()
const smallConfig = { ...defaults, segmentBytes: 1024 * 1024 }

async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-drive-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}

function openDrive(path: string, options: Partial<DriveOptions> = {}): Promise<Drive> {
  return Drive.open({
    path,
    config: smallConfig,
    batchBytes: 64 * 1024,
    procedures,
    derive: deriveCount,
    ports,
    log,
    index: lmdbIndexFolder,
    lock: lockDrive,
    ...options,
  })
}

function backendContract(config: DriveConfig) {
  return (t: Test) =>
    storageBackendContract(t, async t => {
      const path = await newFolder(t)
      const open = async () => {
        const threads = createSingleThread(log)
        const options = {
          endpoints: [path],
          procedures: contractProcedures,
          derive: contractDerive,
          threads,
          ports,
          log,
        }
        const backend = createBackend(options, createDrives(config, ports.disk).service)
        await backend.start()
        return backend
      }
      let backend = await open()
      t.teardown(() => backend.stop())
      return {
        backend,
        async restart() {
          await backend.stop()
          backend = await open()
          return backend
        },
      }
    })
}

t.test('the backend keeps the contract', backendContract(defaults))
t.test(
  'the backend keeps the contract through the page cache, with little memory',
  backendContract({
    ...defaults,
    directIo: false,
    cacheBytes: 0,
    blobBufferBytes: 1024 * 1024,
    readBufferBytes: 512 * 1024,
  }),
)

t.test('endpoints are checked without touching them', async t => {
  t.strictSame(validateEndpoints(['/data']), [])
  t.match(validateEndpoints(['data']), [/not absolute/])
  t.match(validateEndpoints([]), [/No drive/])
  t.match(validateEndpoints(['/a', '/b']), [/serves one folder/])
})

t.test('a second server is kept out, and let in when the first has ended', async t => {
  const path = await newFolder(t)
  const first = await openDrive(path)
  await t.rejects(openDrive(path), { code: 'drive_in_use' })
  await first.close()
  const second = await openDrive(path)
  await second.close()
})

t.test('only an empty folder or a drive of this server is accepted', async t => {
  const path = await newFolder(t)
  await writeFile(join(path, 'holiday.jpg'), 'x')
  await t.rejects(openDrive(path), { code: 'drive_foreign', message: /holiday\.jpg/ })
  await rm(join(path, 'holiday.jpg'))
  await (await openDrive(path)).close()
  const file = join(path, 'format.json')
  const format = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...format, version: 99 }))
  await t.rejects(openDrive(path), { code: 'drive_too_new' })
  await writeFile(file, JSON.stringify({ ...format, driveId: format.deploymentId }))
  await t.rejects(openDrive(path), { code: 'format_damaged' })
  await writeFile(file, '{}')
  await t.rejects(openDrive(path), { code: 'drive_foreign' })
  await writeFile(file, '')
  await t.rejects(openDrive(path), { code: 'format_damaged' })
  await rm(file)
  await t.rejects(openDrive(path), { code: 'drive_foreign' }, 'a journal without its format is not overwritten')
})

t.test('a path that cannot be a drive is refused with a reason', async t => {
  const folder = await newFolder(t)
  const file = join(folder, 'file')
  await writeFile(file, '')
  for (const path of [file, join(file, 'below'), join(file, 'far', 'below')]) {
    await t.rejects(openDrive(path), {
      code: 'drive_not_writable',
      message: `${path} cannot be the drive: ${file} is not`,
    })
  }
  const below = openDrive('/proc/svc-test/drive')
  await t.rejects(below, { code: 'drive_not_writable', message: '/proc/svc-test cannot be created there' })
  await (await openDrive(join(folder, 'some', 'where', 'new'))).close()
})

t.test('reported space equals that of df', { skip: process.platform !== 'linux' }, async t => {
  const path = await newFolder(t)
  const drive = await openDrive(path)
  t.teardown(() => drive.close())
  const { totalBytes, freeBytes, reservedBytes } = drive.status()
  const { stdout } = await promisify(execFile)('df', ['-B1', '--output=size,used,avail', path])
  const [size, used, available] = stdout.trim().split('\n')[1]!.trim().split(/\s+/).map(Number)
  t.equal(totalBytes, size)
  // Other software writes to this file system, too.
  const isNear = (left: number, right: number) => Math.abs(left - right) < 1024 ** 3
  t.ok(isNear(totalBytes - freeBytes - reservedBytes!, used!), `${totalBytes - freeBytes - reservedBytes!} and ${used}`)
  t.ok(isNear(freeBytes, available!), `${freeBytes} and ${available}`)
})

t.test('a drive of another user is refused, and its owner is named', { skip: process.getuid?.() !== 0 }, async t => {
  const folder = await newFolder(t)
  await chmod(folder, 0o755)
  const path = join(folder, 'drive')
  await (await openDrive(path)).close()
  const open = async (target: string) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=svc-src', opener, target], {
      uid: 65_534,
      gid: 65_534,
    })
    return stdout
  }
  await chmod(path, 0o755)
  t.match(
    await open(path),
    /runs as user 65534, group 65534, and may not read and write .*drive \(owner 0, group 0, mode 0755\)/,
  )
  t.match(await open(join(folder, 'new')), /may not write in .* \(owner 0/)
  await chmod(path, 0o777)
  t.match(await open(path), /may not read and write .*lock \(owner 0, group 0, mode 0[0-7]+\)/)
})

t.test('callers are answered in commit order, those without changes included', async t => {
  const turns: string[] = []
  // The next procedure changes nothing and runs while a write is in flight.
  let held: (() => void) | undefined
  const holding: typeof ports = {
    ...ports,
    disk: {
      ...ports.disk,
      open: async (file, options) => {
        const opened = await ports.disk.open(file, options)
        if (!file.includes('/journal/')) return opened
        return {
          direct: opened.direct,
          synchronous: opened.synchronous,
          read: (...args) => opened.read(...args),
          write: async (...args) => {
            await opened.write(...args)
            if (turns[0] === 'hold') {
              turns.shift()
              await new Promise<void>(resolve => {
                held = resolve
              })
            }
          },
          datasync: () => opened.datasync(),
          truncate: size => opened.truncate(size),
          size: () => opened.size(),
          close: () => opened.close(),
        }
      },
    },
  }
  const key = recordKey('one')
  const drive = await openDrive(await newFolder(t), {
    ports: holding,
    procedures: {
      change: tx => tx.put(key, Buffer.from('1')),
      look: tx => tx.get(key) !== undefined,
    },
  })
  t.teardown(() => drive.close())
  turns.push('hold')
  const answers: unknown[] = []
  const changed = drive.execute('change', undefined, undefined).then(() => answers.push('changed'))
  while (held === undefined) await sleep(1)
  const looked = drive.execute('look', undefined, undefined).then(seen => answers.push(seen))
  // It runs while the write is delayed.
  await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
  held()
  await Promise.all([changed, looked])
  t.strictSame(answers, ['changed', true])
})

t.test('a drive that has lost its journal or blobs is not taken for a new one', async t => {
  const path = await newFolder(t)
  await (await openDrive(path)).close()
  for (const [folder, code] of Object.entries({ journal: 'journal_damaged', blobs: 'drive_incomplete' })) {
    await rename(join(path, folder), join(path, 'away'))
    await t.rejects(openDrive(path), { code, message: folder })
    await rename(join(path, 'away'), join(path, folder))
  }
  await (await openDrive(path)).close()
})

/** A closed drive with a few hundred records over several segments. */
async function filledDrive(t: Test): Promise<string> {
  const path = await newFolder(t)
  const drive = await openDrive(path)
  for (let round = 0; round < 40; round++) {
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        drive.execute('table.put', { name: `${i}-${round % 20}`, value: `${round}` }, Buffer.alloc(9000, round)),
      ),
    )
  }
  await drive.close()
  return path
}

async function flipByte(file: string, offset: number): Promise<void> {
  const bytes = await readFile(file)
  bytes[offset]! ^= 0x40
  await writeFile(file, bytes)
}

t.test('a lost or broken index is rebuilt from the journal (invariant 3)', async t => {
  const path = await filledDrive(t)
  t.ok((await readdir(join(path, 'journal'))).length > 3, 'the journal has several segments')
  for (const damage of ['remove', 'overwrite'] as const) {
    await rm(join(path, 'index'), { recursive: true })
    if (damage === 'overwrite') await writeFile(join(path, 'index'), 'not a folder')
    const drive = await openDrive(path)
    t.equal(drive.counter(countKey)[0], 200)
    t.equal(String(Buffer.from(drive.get(recordKey('3-7'))!.value)), '27')
    const body = await drive.readBody(drive.get(recordKey('3-7'))!.body!)
    t.ok(body.equals(Buffer.alloc(9000, 27)))
    await drive.close()
  }
})

t.test('damage in the journal refuses a start that would lose later writes (invariant 4)', async t => {
  const path = await filledDrive(t)
  const [, first, , third] = (await readdir(join(path, 'journal'))).sort()
  await flipByte(join(path, 'journal', first!), 4096 + 20)
  const drive = await openDrive(path)
  t.equal(drive.counter(countKey)[0], 200, 'the index has everything, so the start reads nothing there')
  await drive.close()
  await rm(join(path, 'index'), { recursive: true })
  await t.rejects(openDrive(path), { code: 'journal_damaged', message: /segment 1 at 4096/ })
  await flipByte(join(path, 'journal', first!), 4096 + 20)
  await flipByte(join(path, 'journal', third!), 20)
  await t.rejects(openDrive(path), { code: 'journal_damaged', message: /header of segment 3/ })
})

t.test(
  'a journal that has lost its end is refused at each start, with an index and without one (invariant 4)',
  async t => {
    const path = await filledDrive(t)
    const last = join(path, 'journal', (await readdir(join(path, 'journal'))).sort().at(-1)!)
    const whole = await readFile(last)
    const lost = { code: 'journal_damaged', message: /the index|had reached/ }
    const isRefused = async (what: string) => {
      // A supervisor may start the server again and again.
      for (let start = 1; start <= 6; start++) await t.rejects(openDrive(path), lost, `${what}, start ${start}`)
    }
    await writeFile(last, whole.subarray(0, 4096))
    await isRefused('without its last batches')
    await rm(last)
    await isRefused('without its last segment')
    await rm(join(path, 'index'), { recursive: true })
    await isRefused('and without an index')
    await writeFile(last, whole.subarray(0, 4096))
    await isRefused('without its last batches and without an index')
    await rm(join(path, 'journal'), { recursive: true })
    await mkdir(join(path, 'journal'))
    await t.rejects(openDrive(path), { code: 'journal_damaged' }, 'no segment is left')
    await rm(join(path, 'journal'), { recursive: true })
  },
)

t.test('the high-water mark of another drive is ignored', async t => {
  const path = await filledDrive(t)
  const other = await newFolder(t)
  await (await openDrive(other)).close()
  await cp(join(path, 'journal.reached'), join(other, 'journal.reached'))
  await (await openDrive(other)).close()
})

t.test('the drive opens once the end of its journal is restored', async t => {
  const path = await filledDrive(t)
  const last = join(path, 'journal', (await readdir(join(path, 'journal'))).sort().at(-1)!)
  await rename(last, join(path, '..', `${basename(path)}-away`))
  for (let start = 1; start <= 5; start++) await t.rejects(openDrive(path), { code: 'journal_damaged' })
  await rename(join(path, '..', `${basename(path)}-away`), last)
  // The high-water mark may be lost, too: then the index's position decides.
  await writeFile(join(path, 'journal.reached'), 'something else that is long enough')
  const drive = await openDrive(path)
  t.equal(drive.counter(countKey)[0], 200)
  t.equal(String(Buffer.from(drive.get(recordKey('3-7'))!.value)), '27')
  await drive.close()
})

t.test('a torn tail is cut off; damage before the tail is not taken for one (invariants 2 and 4)', async t => {
  const path = await newFolder(t)
  const drive = await openDrive(path)
  const ends: number[] = []
  for (const name of ['a', 'b', 'c']) {
    await drive.execute('table.put', { name, value: name }, Buffer.alloc(5000, 1))
    ends.push(drive.journal.tail.offset)
  }
  await drive.close()
  const segment = join(path, 'journal', '0000000001')
  const whole = await readFile(segment)
  const reopen = async (bytes: Buffer) => {
    await rm(join(path, 'index'), { recursive: true })
    // A torn batch was in flight at the power loss, so the index had not reached it.
    await rm(join(path, 'journal.reached'))
    await writeFile(segment, bytes)
    return openDrive(path)
  }
  for (const offset of [ends[1]! + 1, ends[1]! + 100, ends[2]! - 4000]) {
    const torn = Buffer.from(whole)
    torn.fill(0x55, offset, offset + 50)
    const reopened = await reopen(torn)
    t.ok(reopened.get(recordKey('b')))
    t.equal(reopened.get(recordKey('c')), undefined, 'the last batch does not verify, so its record is absent')
    await reopened.execute('table.put', { name: 'd', value: 'd' }, undefined)
    await reopened.close()
    const again = await openDrive(path)
    t.ok(again.get(recordKey('d')), 'the journal continues in its place')
    await again.close()
  }
  const rotten = Buffer.from(whole)
  rotten.fill(0x55, ends[0]! + 20, ends[0]! + 30)
  await t.rejects(reopen(rotten), { code: 'journal_damaged', message: /an intact batch follows/ })
  const rottenBody = Buffer.from(whole)
  rottenBody.fill(0x55, ends[0]! + 200, ends[0]! + 210)
  const reopened = await reopen(rottenBody)
  t.teardown(() => reopened.close())
  t.ok(reopened.get(recordKey('c')), 'a damaged body affects no other record')
  await t.rejects(async () => reopened.readBody(reopened.get(recordKey('b'))!.body!), { code: 'corrupt' })
})

t.test('a damaged body or blob is an error, never wrong bytes (invariant 4)', async t => {
  const path = await newFolder(t)
  const drive = await openDrive(path, { config: { ...smallConfig, cacheBytes: 0 } })
  t.teardown(() => drive.close())
  await drive.execute('table.put', { name: 'a', value: 'a' }, Buffer.alloc(9000, 1))
  const { body } = drive.get(recordKey('a'))!
  await flipByte(join(path, 'journal', '0000000001'), body!.offset + 5000)
  await t.rejects(async () => drive.readBody(body!), { code: 'corrupt' })
  const writer = drive.createBlob()
  await writer.write(Buffer.alloc(600_000, 3))
  const ref = await writer.finish()
  await flipByte(drive.blobFiles.pathOf(ref.id), 300_000)
  const reader = drive.readBlob(ref, 0, 200_000)
  const chunk = await reader.next()
  t.equal(chunk!.bytes.length, 200_000, 'the first block is good')
  chunk!.release()
  reader.close()
  await t.rejects(drive.readBlob(ref, 262_144, 1).next(), { code: 'corrupt', message: /block 1/ })
  await t.rejects(drive.readBlob({ ...ref, check: ref.check ^ 1 }, 0, 1).next(), { code: 'corrupt' })
  await t.rejects(drive.readBlob({ ...ref, id: '0'.repeat(26) }, 0, 1).next(), { code: 'gone' })
})

t.test('missing and damaged bodies that a record refers to are told, once each', async t => {
  const path = await newFolder(t)
  const lines: string[] = []
  const said = pino({ level: 'error' }, { write: line => void lines.push(line) })
  const drive = await openDrive(path, { isAlone: true, log: said, config: { ...smallConfig, cacheBytes: 0 } })
  t.teardown(() => drive.close())
  const write = async (name: string) => {
    const writer = drive.createBlob()
    await writer.write(Buffer.alloc(300_000, 3))
    const ref = await writer.finish()
    await drive.execute('table.put', { name, value: '', blobs: [ref.id] }, undefined)
    return ref
  }
  const [missing, flipped] = [await write('missing'), await write('flipped')]
  await drive.execute('table.put', { name: 'small', value: '' }, Buffer.alloc(9000, 1))
  const { body } = drive.get(recordKey('small'))!
  await rm(drive.blobFiles.pathOf(missing.id))
  await flipByte(drive.blobFiles.pathOf(flipped.id), 3)
  await flipByte(join(path, 'journal', '0000000001'), body!.offset + 5000)
  for (let tries = 0; tries < 2; tries++) {
    await t.rejects(drive.readBlob(missing, 0, 1).next(), { code: 'corrupt', message: /its file is missing/ })
    await t.rejects(drive.readBlob(flipped, 0, 1).next(), { code: 'corrupt' })
    await t.rejects(async () => drive.readBody(body!), { code: 'corrupt' })
  }
  const unknown = { ...missing, id: '0'.repeat(26) }
  await t.rejects(drive.readBlob(unknown, 0, 1).next(), { code: 'gone' }, 'no record refers to it')
  t.equal(lines.length, 3)
  t.match(lines[0], missing.id)
  t.match(drive.status(), { state: 'online', error: /^3 bodies of objects/, metrics: { damagedBodies: 3 } })
  await drive.execute('table.put', { name: 'missing', value: '' }, undefined)
  t.equal(drive.status().metrics!.damagedBodies, 2, 'what is replaced is no damage any more')
})

t.test('what a drive that was moved away has is not damaged: it is read again when the drive is back', async t => {
  const path = await newFolder(t)
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: line => void lines.push(line) })
  const drive = await openDrive(path, { isAlone: true, log, config: { ...smallConfig, cacheBytes: 0 } })
  t.teardown(() => drive.close())
  const writer = drive.createBlob()
  await writer.write(Buffer.alloc(300_000, 'large'))
  const blob = await writer.finish()
  await drive.execute('table.put', { name: 'large', value: '', blobs: [blob.id] }, undefined)
  await drive.execute('table.put', { name: 'small', value: '' }, Buffer.alloc(9000, 1))
  const { body } = drive.get(recordKey('small'))!
  await rename(path, `${path}-away`)
  await mkdir(path)
  lines.length = 0
  for (let tries = 0; tries < 2; tries++) {
    await t.rejects(drive.readBlob(blob, 0, 1).next(), {
      code: 'unavailable',
      message: /can be read again when it is back/,
    })
    await t.rejects(async () => drive.readBody(body!), { code: 'unavailable' })
  }
  drive.compaction.onDamaged(1, new SegmentDamage(0, 'its file is missing'))
  t.match(drive.status().metrics, { damagedBodies: 0, damagedSegments: 0 })
  t.same(lines, [])
  await rmdir(path)
  await rename(`${path}-away`, path)
  const chunk = await drive.readBlob(blob, 0, 1).next()
  t.equal(chunk?.bytes.length, 1)
  chunk?.release()
  t.equal((await drive.readBody(body!)).length, 9000)
  await rm(drive.blobFiles.pathOf(blob.id))
  await t.rejects(drive.readBlob(blob, 0, 1).next(), { code: 'corrupt' }, 'what is missing then is')
  t.equal(drive.status().metrics!.damagedBodies, 1)
})

t.test('the removal of the journal in use is noticed', async t => {
  const path = await newFolder(t)
  const drive = await openDrive(path)
  t.teardown(() => drive.close())
  await drive.execute('table.put', { name: 'before', value: '' }, undefined)
  await drive.requireFiles()
  t.equal(drive.status().state, 'online')
  await rename(join(path, 'journal'), join(path, 'away'))
  await drive.requireFiles()
  t.match(drive.status(), { state: 'faulty', error: /journal.* was removed or replaced while the drive was in use/ })
  await t.rejects(drive.execute('table.put', { name: 'after', value: '' }, undefined), { code: 'faulty' })
})

t.test('no removed or replaced file lets a second process write the drive', async t => {
  for (const removed of [['lock'], ['journal/.lock'], ['index'], ['lock', 'journal/.lock'], ['journal/0000000001']]) {
    const path = await newFolder(t)
    const drive = await openDrive(path)
    await drive.execute('table.put', { name: 'before', value: '' }, undefined)
    await drive.checkpoints.flush()
    for (const name of removed) await rename(join(path, name), join(path, `${name}.away`))
    const other = openDrive(path)
    if (removed.length > 1) t.ok(await other, 'only without both files of the lock')
    else await t.rejects(other, { code: 'drive_in_use' }, removed[0])
    if (removed[0] === 'index') await drive.requireFiles()
    const late = drive.execute('table.put', { name: 'after', value: '' }, undefined)
    await t.rejects(late, { code: 'faulty' }, `${removed}: nothing is acknowledged any more`)
    t.match(drive.status(), { state: 'faulty', error: /was removed or replaced while the drive was in use/ })
    t.ok(drive.get(recordKey('before')), 'reads go on')
    await drive.close()
    if (removed.length === 1) continue
    const second = await other
    await second.execute('table.put', { name: 'second', value: '' }, undefined)
    await second.close()
    const third = await openDrive(path)
    t.ok(third.get(recordKey('before')) && third.get(recordKey('second')), 'both have what was acknowledged')
    await third.close()
  }
})

t.test('the index is left alone once another process may have it', async t => {
  const path = await newFolder(t)
  const drive = await openDrive(path, { config: { ...smallConfig, checkpointIntervalMs: 60_000 } })
  await drive.execute('table.put', { name: 'a', value: '' }, undefined)
  for (const name of ['lock', 'journal/.lock']) await rm(join(path, name))
  const before = drive.checkpoints.count
  await drive.close()
  t.equal(drive.checkpoints.count, before)
})

t.test('the caller decides whether a blob kept on several drives is garbage', async t => {
  const path = await newFolder(t)
  let drive = await openDrive(path)
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    const writer = drive.createBlob()
    await writer.write(Buffer.alloc(10_000, i))
    ids.push((await writer.finish()).id)
  }
  await drive.close()
  const answers = new Map<string, Garbage>(ids.map(id => [id, 'later']))
  drive = await openDrive(path, { garbage: id => (id === undefined ? 'delete' : answers.get(id)!) })
  t.teardown(() => drive.close())
  const { signal } = new AbortController()
  const left = () => Promise.all(ids.map(id => exists(drive.blobFiles.pathOf(id))))
  t.notOk(await drive.collectGarbage(signal), 'collection has to be repeated')
  t.strictSame(await left(), [true, true, true])
  answers.set(ids[0]!, 'keep').set(ids[1]!, 'delete').set(ids[2]!, 'delete')
  t.ok(await drive.collectGarbage(signal))
  t.strictSame(await left(), [true, false, false])
})

t.test('unreferenced blobs are deleted, at once or at the next start', async t => {
  const path = await newFolder(t)
  let drive = await openDrive(path, { readWindowMs: 20 })
  const write = async (name?: string) => {
    const writer = drive.createBlob()
    await writer.write(Buffer.alloc(10_000, 3))
    const ref = await writer.finish()
    if (name !== undefined) await drive.execute('table.put', { name, value: '', blobs: [ref.id] }, undefined)
    return drive.blobFiles.pathOf(ref.id)
  }
  const [kept, replaced, orphan] = [await write('kept'), await write('replaced'), await write()]
  await drive.execute('table.put', { name: 'replaced', value: '' }, undefined)
  for (let tries = 0; tries < 9000 && (await exists(replaced)); tries++) await sleep(10)
  t.notOk(await exists(replaced), 'deleted soon after its last reference went')
  const waiting = await write('waiting')
  await drive.close()
  drive = await openDrive(path, { readWindowMs: 60_000 })
  const fresh = await write()
  await drive.execute('table.delete', { name: 'waiting' }, undefined)
  await drive.collectGarbage(new AbortController().signal)
  t.strictSame(
    [await exists(kept), await exists(orphan), await exists(fresh), await exists(waiting)],
    [true, false, true, true],
    'a blob that lost its last reference in this run may still be read',
  )
  await drive.close()
  drive = await openDrive(path)
  await drive.collectGarbage(new AbortController().signal)
  t.strictSame(
    [await exists(kept), await exists(waiting)],
    [true, false],
    'one that lost it in an earlier run is deleted: nobody reads it',
  )
  await drive.close()
  for (const folder of ['journal', 'index']) await rm(join(path, folder), { recursive: true })
  await mkdir(join(path, 'journal'))
  await t.rejects(openDrive(path), { code: 'journal_damaged', message: /blobs or an index but no journal/ })
  t.ok(await exists(kept), 'a lost journal makes no blob garbage')
})

t.test('a drive that is closed while it deletes blobs leaves the others to the next start', async t => {
  const path = await newFolder(t)
  const removed: string[] = []
  const held: (() => void)[] = []
  const remove = async (file: string) => {
    removed.push(file)
    await new Promise<void>(resolve => held.push(resolve))
    return ports.disk.remove(file)
  }
  const slow = { ...ports, disk: { ...ports.disk, remove } }
  let drive = await openDrive(path, { readWindowMs: 20, ports: slow })
  const names = Array.from({ length: 10 }, (_, i) => `${i}`)
  for (const name of names) {
    const writer = drive.createBlob()
    await writer.write(Buffer.alloc(10))
    const { id } = await writer.finish()
    await drive.execute('table.put', { name, value: '', blobs: [id] }, undefined)
  }
  const writer = drive.createBlob()
  await writer.write(Buffer.alloc(10))
  await Promise.all(names.map(name => drive.execute('table.delete', { name }, undefined)))
  await until(() => held.length > 0 && drive.status().metrics!.blobsWaiting === 0)
  await drive.close()
  const count = removed.length
  t.ok(count < names.length)
  // Its index is closed: it cannot tell any more what records reference.
  await writer.abort()
  for (const go of held) go()
  drive = await openDrive(path)
  t.equal(removed.length, count)
  await drive.collectGarbage(new AbortController().signal)
  t.notOk(await drive.blobFiles.hasAny())
  await drive.close()
})

t.test('a blob outlives its last reference as long as any thread has it pinned', async t => {
  const path = await newFolder(t)
  const elsewhere = new BlobPins(new ArrayBuffer(blobPinsBytes))
  const drive = await openDrive(path, { readWindowMs: 20, isPinnedElsewhere: id => elsewhere.has(id) })
  t.teardown(() => drive.close())
  const write = async (name: string, value: number) => {
    const writer = drive.createBlob()
    await writer.write(Buffer.alloc(700_000, value))
    const ref = await writer.finish()
    await drive.execute('table.put', { name, value: '', blobs: [ref.id] }, undefined)
    return ref
  }
  const refs = await Promise.all([1, 2, 3].map(value => write(`${value}`, value)))
  const file = (ref: BlobRef) => drive.blobFiles.pathOf(ref.id)
  const letGo = drive.pinBlobs([refs[0]!])
  const letGoElsewhere = elsewhere.pin([refs[1]!])
  for (const name of ['1', '2', '3']) await drive.execute('table.delete', { name }, undefined)
  while (await exists(file(refs[2]!))) await sleep(10)
  await sleep(200)
  t.strictSame([await exists(file(refs[0]!)), await exists(file(refs[1]!))], [true, true])
  const chunk = await drive.readBlob(refs[0]!, 600_000, 10).next()
  t.ok(chunk!.bytes.equals(Buffer.alloc(10, 1)), 'it is opened only now, and still exists')
  chunk!.release()
  letGo()
  letGo()
  while (await exists(file(refs[0]!))) await sleep(10)
  t.ok(await exists(file(refs[1]!)), 'unpinning twice has no further effect')
  letGoElsewhere()
  while (await exists(file(refs[1]!))) await sleep(10)
  t.equal(drive.status().metrics!.blobsWaiting, 0)
})

t.test('compaction frees space and keeps current records', async t => {
  const path = await filledDrive(t)
  let waitedNs = 0n
  const clock = { ...ports.clock, monotonicNs: () => ports.clock.monotonicNs() + waitedNs }
  const drive = await openDrive(path, { ports: { ...ports, clock }, readWindowMs: 600_000 })
  const before = drive.journal.segments.size
  await drive.execute('table.move', { from: '3-7', to: 'moved' }, undefined)
  for (let i = 0; i < 10; i++) {
    for (let round = 0; round < 20; round++) {
      if (round % 4 !== 0) await drive.execute('table.delete', { name: `${i}-${round}` }, undefined)
    }
  }
  const expected = drive.counter(countKey)
  const signal = new AbortController().signal
  const { body } = drive.get(recordKey('3-0'))!
  while ((await drive.compaction.work(signal)) === 'more');
  t.notSame(drive.get(recordKey('3-0'))!.body, body, 'the body has moved')
  t.ok(
    (await drive.bodies.readUncached(body!)).equals(Buffer.alloc(9000, 20)),
    'a reader with its old location still reads it',
  )
  waitedNs = 600_000_000_001n
  while ((await drive.compaction.work(signal)) === 'more');
  await t.rejects(drive.bodies.readUncached(body!), { code: 'gone' })
  t.ok(drive.journal.segments.size < before / 2, `${before} segments became ${drive.journal.segments.size}`)
  const check = async (drive: Drive) => {
    t.strictSame(drive.counter(countKey), expected)
    t.equal(drive.get(recordKey('3-6')), undefined)
    for (const name of ['moved', '0-0', '9-16']) {
      const record = drive.get(recordKey(name))!
      const body = await drive.readBody(record.body!)
      t.ok(body.equals(Buffer.alloc(9000, Number(Buffer.from(record.value).toString()))))
    }
  }
  await check(drive)
  await drive.close()
  await rm(join(path, 'index'), { recursive: true })
  const rebuilt = await openDrive(path)
  await check(rebuilt)
  await rebuilt.close()
})

t.test('a full disk refuses new data, accepts deletes and harms nothing stored (invariant 7)', async t => {
  const path = await newFolder(t)
  let freeBytes = 2 ** 30
  const disk = {
    ...ports.disk,
    space: async () => ({ totalBytes: 2 ** 31, freeBytes, reservedBytes: 0, freeInodes: 1000 }),
  }
  const drive = await openDrive(path, { ports: { ...ports, disk } })
  t.teardown(() => drive.close())
  await drive.execute('table.put', { name: 'a', value: 'a' }, Buffer.alloc(100))
  await drive.execute('table.put', { name: 'b', value: 'b' }, Buffer.alloc(100))
  await drive.execute('table.put', { name: 'large', value: 'l' }, Buffer.alloc(5000))
  drive.space.onRefused()
  freeBytes = 1000
  t.equal(drive.status().state, 'full')
  await t.rejects(drive.execute('table.put', { name: 'c', value: 'c' }, undefined), { code: 'full', status: 507 })
  const writer = drive.createBlob()
  await t.rejects(async () => writer.write(Buffer.alloc(2_000_000)), { code: 'full' })
  await writer.abort()
  await drive.execute('table.delete', { name: 'a' }, undefined)
  // A delete may store an event, as long as it frees more than it stores.
  await drive.execute('table.deleteNoted', { name: 'large', number: 1 }, undefined)
  t.equal(drive.get(recordKey('large')), undefined)
  await t.rejects(drive.execute('table.deleteNoted', { name: 'nobody', number: 2 }, undefined), { code: 'full' })
  t.strictSame(drive.counter(countKey), [2, 2])
  t.ok(drive.get(recordKey('b')))
})

t.test('deletes go on when other software takes each byte that is given back (invariant 7)', async t => {
  const path = await newFolder(t)
  let isGreedy = false
  const disk: Disk = {
    ...ports.disk,
    async open(name, options) {
      const file = await ports.disk.open(name, options)
      const write: DiskFile['write'] = async (buffer, offset, length, position) => {
        if (isGreedy && position + length > (await file.size()))
          throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
        return file.write(buffer, offset, length, position)
      }
      return new Proxy(file, {
        get(target, property) {
          const value = target[property as keyof DiskFile]
          if (property === 'write') return write
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    },
  }
  const open = () => openDrive(path, { ports: { ...ports, disk } })
  let drive = await open()
  const names = Array.from({ length: 12 }, (_, number) => `n${number}`)
  for (const name of names) await drive.execute('table.put', { name, value: 'v' }, Buffer.alloc(100))
  // While it is busy: `written` of the first call is everything so far.
  drive.prepareJournal()
  const next = join(path, 'journal', '0000000002')
  await until(async () => (await exists(next)) && (await stat(next)).size >= 65_536)
  isGreedy = true
  for (const name of names.splice(0, 5)) await drive.execute('table.delete', { name }, undefined)
  t.equal(drive.journal.tail.segment, 2)
  await drive.close()
  drive = await open()
  for (const name of names.splice(0, 5)) await drive.execute('table.delete', { name }, undefined)
  await drive.close()
  isGreedy = false
  await rm(join(path, 'index'), { recursive: true })
  drive = await open()
  t.strictSame(drive.counter(countKey), [2, 2], 'what the journal says')
  await drive.close()
})

t.test('a segment that was prepared before a crash is still there on a full disk', async t => {
  const path = await newFolder(t)
  const drive = await openDrive(path)
  drive.prepareJournal()
  const next = join(path, 'journal', '0000000002')
  await until(async () => (await exists(next)) && (await stat(next)).size >= 65_536)
  await drive.close()
  const again = await openDrive(path)
  t.ok(await exists(next))
  await again.close()
})

t.test('a dry run names what a start would refuse, and changes nothing', async t => {
  const { disk } = ports
  const path = await newFolder(t)
  t.same(await checkDrive(disk, path), [])
  t.same(await checkDrive(disk, join(path, 'not/yet')), [])
  t.equal(await peekDrive(disk, path, recordKey('b')), undefined)
  t.same(await readdir(path), [])
  t.match(await checkDrive(disk, '/proc/foo'), [/stores files/])
  await writeFile(join(path, 'mine'), '')
  t.match(await checkDrive(disk, path), [/is not empty and has no format.json \(found mine\)/])
  await rm(join(path, 'mine'))

  const drive = await openDrive(path)
  await drive.execute('table.put', { name: 'b', value: 'here' }, undefined)
  t.match(await checkDrive(disk, path), [/Another server process has the drive .* open/])
  await t.rejects(peekDrive(disk, path, recordKey('b')), /not stopped cleanly/)
  await drive.close()
  const before = await contents(path)
  t.same(await checkDrive(disk, path), [])
  t.match(String((await peekDrive(disk, path, recordKey('b')))?.value), 'here')
  t.equal(await peekDrive(disk, path, recordKey('c')), undefined)
  t.same(await contents(path), before)

  const format = join(path, 'format.json')
  const text = await readFile(format, 'utf8')
  await writeFile(format, text.replace('"version": 1', '"version": 2'))
  t.match(await checkDrive(disk, path), [/has format version 2; this release knows 1/])
  await writeFile(format, text)
  await rename(join(path, 'blobs'), join(path, 'lost+found'))
  t.match(await checkDrive(disk, path), [/has no folder "blobs"/])
})

/** Names and bytes of all files except LMDB's table of readers. */
async function contents(path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (entry.isFile() && entry.name !== 'lock.mdb') found[file] = (await readFile(file)).toString('latin1')
  }
  return found
}

t.test('the log says once that the drive is full, and once that it has room again', async t => {
  let freeBytes = 2 ** 30
  let look = async (): Promise<void> => {}
  let nowMs = 0
  const lines: string[] = []
  const told = (_facts: unknown, line: string) => {
    lines.push(line)
  }
  const cells = new Int32Array(spaceCellCount)
  const space = await watchSpace({
    disk: { ...ports.disk, space: async () => ({ totalBytes: 2 ** 31, freeBytes, reservedBytes: 0, freeInodes: 1 }) },
    clock: {
      ...ports.clock,
      now: () => nowMs,
      after(ms, run) {
        look = async () => {
          nowMs += ms
          await run()
        }
        return () => {}
      },
    },
    log: Object.assign(pino({ level: 'silent' }), { warn: told, info: told }),
    path: '/drive',
    reserveBytesMin: 2 ** 20,
    ballastBytes: () => 0,
    cells,
  })
  await look()
  t.same(lines, [], 'there is room: nothing is logged')
  createSpaceBudget(cells).onWritten(2 ** 30)
  await look()
  t.same(
    lines,
    ['the drive is full: new data is refused'],
    'another thread has filled the drive since the last measurement',
  )
  freeBytes = 0
  await look()
  space.onRefused(new Error('no space left'))
  await look()
  freeBytes = 2 ** 30
  // A refusal by the file system counts for five seconds.
  for (let looks = 0; looks < 3; looks++) await look()
  t.equal(lines.length, 1)
  for (let looks = 0; looks < 5; looks++) await look()
  t.same(lines.slice(1), ['the drive has room again: new data is accepted'])
  space.onRefused(new Error('no space left'))
  t.equal(lines.length, 3, 'and the next time at once')
  space.stop()
})

t.test('the shared memtable counts are right after a replay and after checkpoints', async t => {
  const path = await filledDrive(t)
  await rm(join(path, 'index'), { recursive: true })
  const shared = new SharedState(new SharedArrayBuffer(sharedStateBytes))
  const drive = await openDrive(path, { observer: shared, spaceCells: shared.spaceCells })
  t.teardown(() => drive.close())
  t.notOk(shared.hasMemtableRecords, 'replayed records are in the index')
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      ['a', 'b', 'a', 'c'].map(name => drive.execute('table.put', { name, value: `${round}` }, undefined)),
    )
    t.strictSame(
      ['a', 'b', 'c'].map(name => shared.mayBeInMemtable(recordKey(name).latin1Slice())),
      [true, true, true],
    )
    await drive.checkpoints.flush()
    t.notOk(shared.hasMemtableRecords)
    t.notOk(shared.mayBeInMemtable(recordKey('a').latin1Slice()))
  }
})

const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const fixture = new URL('./fixtures/server.ts', import.meta.url).pathname

t.test('workers see every acknowledged write of any thread', async t => {
  for (const workers of [0, 2]) {
    const folder = await newFolder(t)
    const config = join(folder, 'config.json')
    await writeFile(config, JSON.stringify({ plugins: [fixture] }))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=svc-src', main, 'server', '--config', config, '--workers', String(workers), join(folder, 'drive')],
      { env: { ...process.env, TEST_SCENARIO: 'readYourWrites', TEST_ROUNDS: '60' }, timeout: 240_000 },
    )
    const { results, count } = JSON.parse(stdout.trim())
    t.equal(results.length, Math.max(1, workers))
    for (const result of results) {
      t.match(result, { mistakes: 0, refused: 'refused 418 no', unsendable: /Error$/ })
    }
    t.equal(count[0], results.length * 81)
  }
})

t.test('a cached body keeps no other memory alive', async t => {
  const bodies = new BodyReader(ports.disk, () => '/nowhere', 1 << 20)
  const shared = Buffer.alloc(1 << 16, 1)
  const own = Buffer.alloc(5000, 2)
  const small = [shared.subarray(100, 4196), shared.subarray(0, 40_000), Buffer.from('small'), own]
  for (const [offset, bytes] of small.entries()) bodies.remember(1, offset, bytes)
  shared.fill(9)
  for (const [offset, { length }] of small.entries()) {
    const cached = bodies.read({ segment: 1, offset, size: length, check: 0 }) as Buffer
    t.equal(cached.buffer.byteLength, length, `of ${length} bytes`)
    t.not(cached[0], 9, 'a body in shared memory is copied')
  }
  own.fill(9)
  const [first, second] = [0, 1].map(() => bodies.read({ segment: 1, offset: 3, size: own.length, check: 0 }))
  t.equal(first, second, 'what was read once is not copied again')
  t.ok((first as Buffer).equals(Buffer.alloc(5000, 2)), 'the memory of who wrote it is his own')
})
