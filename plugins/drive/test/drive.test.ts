/** The drive on the real disk: the contract, the lock, the format, damage, a full disk, workers. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { contractDerive, contractProcedures, storageBackendContract } from 'svc/plugins/storage/contract'
import { createSingleThread, createSystemPorts } from 'svc/testing'
import t, { type Test } from 'tap'
import { createBackend, validateEndpoints } from '../backend.ts'
import { DriveConfig } from '../config.ts'
import { Drive, type DriveOptions } from '../drive.ts'
import { openLmdbIndex, removeLmdbIndex } from '../lmdb-index.ts'
import { lockDrive } from '../lock.ts'
import { SharedState, sharedStateBytes } from '../shared-state.ts'
import { countKey, deriveCount, procedures, recordKey } from './fixtures/table.ts'

const log = pino({ level: 'silent' })
// The server's listeners keep its process alive; timers of the clock do not.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))
const ports = createSystemPorts()
const defaults = Object.fromEntries(
  Object.entries(DriveConfig.properties).map(([key, schema]) => [key, (schema as { default?: unknown }).default]),
) as unknown as DriveConfig
const smallConfig = { ...defaults, segmentBytes: 1024 * 1024 }

async function newFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-drive-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
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
    openIndex: async path => openLmdbIndex(path),
    removeIndex: removeLmdbIndex,
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
        const backend = createBackend(options, config, () => undefined)
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
  t.match(validateEndpoints(['/a', '/b']), [/not built yet/])
})

t.test('a second server is kept out, and let in when the first has gone', async t => {
  const path = await newFolder(t)
  const first = await openDrive(path)
  await t.rejects(openDrive(path), { code: 'drive_in_use' })
  await first.close()
  const second = await openDrive(path)
  await second.close()
})

t.test('only an empty folder or a drive of ours is taken', async t => {
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

/** A drive with a few hundred records over several segments, closed. */
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

t.test('a lost or broken index is built again from the journal (invariant 3)', async t => {
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

t.test('damage in the journal stops a start that would lose what follows (invariant 4)', async t => {
  const path = await filledDrive(t)
  const [first, , third] = (await readdir(join(path, 'journal'))).sort()
  await flipByte(join(path, 'journal', first!), 4096 + 20)
  const drive = await openDrive(path)
  t.equal(drive.counter(countKey)[0], 200, 'the index has it all, so nothing needs to be read there')
  await drive.close()
  await rm(join(path, 'index'), { recursive: true })
  await t.rejects(openDrive(path), { code: 'journal_damaged', message: /segment 1 at 4096/ })
  await flipByte(join(path, 'journal', first!), 4096 + 20)
  await flipByte(join(path, 'journal', third!), 20)
  await t.rejects(openDrive(path), { code: 'journal_damaged', message: /header of segment 3/ })
})

t.test('a torn tail is cut off, damage before the tail is not taken for one (invariants 2 and 4)', async t => {
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
    await writeFile(segment, bytes)
    return openDrive(path)
  }
  for (const offset of [ends[1]! + 1, ends[1]! + 100, ends[2]! - 4000]) {
    const torn = Buffer.from(whole)
    torn.fill(0x55, offset, offset + 50)
    const reopened = await reopen(torn)
    t.ok(reopened.get(recordKey('b')))
    t.equal(reopened.get(recordKey('c')), undefined, 'the last batch does not verify: it is not there')
    await reopened.execute('table.put', { name: 'd', value: 'd' }, undefined)
    await reopened.close()
    const again = await openDrive(path)
    t.ok(again.get(recordKey('d')), 'the journal goes on in its place')
    await again.close()
  }
  const rotten = Buffer.from(whole)
  rotten.fill(0x55, ends[0]! + 20, ends[0]! + 30)
  await t.rejects(reopen(rotten), { code: 'journal_damaged', message: /an intact batch follows/ })
  const rottenBody = Buffer.from(whole)
  rottenBody.fill(0x55, ends[0]! + 200, ends[0]! + 210)
  const reopened = await reopen(rottenBody)
  t.teardown(() => reopened.close())
  t.ok(reopened.get(recordKey('c')), 'a damaged body takes nothing else with it')
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

t.test('blobs that nothing references are deleted, at once or at the next start', async t => {
  const path = await newFolder(t)
  let drive = await openDrive(path)
  const write = async (name?: string) => {
    const writer = drive.createBlob()
    await writer.write(Buffer.alloc(10_000, 3))
    const ref = await writer.finish()
    if (name !== undefined) await drive.execute('table.put', { name, value: '', blobs: [ref.id] }, undefined)
    return drive.blobFiles.pathOf(ref.id)
  }
  const exists = (file: string) =>
    stat(file).then(
      () => true,
      () => false,
    )
  const [kept, replaced, orphan] = [await write('kept'), await write('replaced'), await write()]
  await drive.execute('table.put', { name: 'replaced', value: '' }, undefined)
  for (let tries = 0; tries < 100 && (await exists(replaced)); tries++)
    await new Promise(resolve => setTimeout(resolve, 10))
  t.notOk(await exists(replaced), 'deleted soon after the last reference')
  await drive.close()
  drive = await openDrive(path)
  const fresh = await write()
  await drive.collectGarbage(new AbortController().signal)
  t.strictSame([await exists(kept), await exists(orphan), await exists(fresh)], [true, false, true])
  await drive.close()
  for (const folder of ['journal', 'index']) await rm(join(path, folder), { recursive: true })
  await mkdir(join(path, 'journal'))
  await t.rejects(openDrive(path), { code: 'journal_damaged', message: /blobs but no journal/ })
  t.ok(await exists(kept), 'a lost journal makes no garbage')
})

t.test('compaction gives space back and keeps what lives', async t => {
  const path = await filledDrive(t)
  const drive = await openDrive(path)
  const before = drive.journal.segments.size
  await drive.execute('table.move', { from: '3-7', to: 'moved' }, undefined)
  for (let i = 0; i < 10; i++) {
    for (let round = 0; round < 20; round++) {
      if (round % 4 !== 0) await drive.execute('table.delete', { name: `${i}-${round}` }, undefined)
    }
  }
  const expected = drive.counter(countKey)
  const signal = new AbortController().signal
  while ((await drive.compaction.work(signal)) === 'more');
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

t.test('a full disk refuses new data, takes deletes and harms nothing (invariant 7)', async t => {
  const path = await newFolder(t)
  let freeBytes = 2 ** 30
  const disk = { ...ports.disk, space: async () => ({ totalBytes: 2 ** 31, freeBytes, freeInodes: 1000 }) }
  const drive = await openDrive(path, { ports: { ...ports, disk } })
  t.teardown(() => drive.close())
  await drive.execute('table.put', { name: 'a', value: 'a' }, Buffer.alloc(100))
  await drive.execute('table.put', { name: 'b', value: 'b' }, Buffer.alloc(100))
  drive.space.onRefused()
  freeBytes = 1000
  t.equal(drive.status().state, 'full')
  await t.rejects(drive.execute('table.put', { name: 'c', value: 'c' }, undefined), { code: 'full', status: 507 })
  const writer = drive.createBlob()
  await t.rejects(async () => writer.write(Buffer.alloc(2_000_000)), { code: 'full' })
  await writer.abort()
  await drive.execute('table.delete', { name: 'a' }, undefined)
  t.strictSame(drive.counter(countKey), [1, 1])
  t.ok(drive.get(recordKey('b')))
})

t.test('the table that workers look at is right after a replay and after checkpoints', async t => {
  const path = await filledDrive(t)
  await rm(join(path, 'index'), { recursive: true })
  const shared = new SharedState(new SharedArrayBuffer(sharedStateBytes))
  const drive = await openDrive(path, { observer: shared, spaceCells: shared.spaceCells })
  t.teardown(() => drive.close())
  t.notOk(shared.isAnythingOverlaid, 'what was replayed is in the index')
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      ['a', 'b', 'a', 'c'].map(name => drive.execute('table.put', { name, value: `${round}` }, undefined)),
    )
    t.strictSame(
      ['a', 'b', 'c'].map(name => shared.mayBeOverlaid(recordKey(name).latin1Slice())),
      [true, true, true],
    )
    await drive.checkpoints.flush()
    t.notOk(shared.isAnythingOverlaid)
    t.notOk(shared.mayBeOverlaid(recordKey('a').latin1Slice()))
  }
})

const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const fixture = new URL('./fixtures/server.ts', import.meta.url).pathname

t.test('workers see what any thread has acknowledged', async t => {
  for (const workers of [0, 2]) {
    const folder = await newFolder(t)
    const config = join(folder, 'config.json')
    await writeFile(config, JSON.stringify({ plugins: [fixture] }))
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=svc-src', main, 'server', '--config', config, '--workers', String(workers), join(folder, 'drive')],
      { env: { ...process.env, TEST_SCENARIO: 'readYourWrites', TEST_ROUNDS: '60' }, timeout: 60_000 },
    )
    const { results, count } = JSON.parse(stdout.trim())
    t.equal(results.length, Math.max(1, workers))
    for (const result of results) {
      t.match(result, { mistakes: 0, refused: 'refused 418 no', unsendable: /Error$/ })
    }
    t.equal(count[0], results.length * 81)
  }
})
