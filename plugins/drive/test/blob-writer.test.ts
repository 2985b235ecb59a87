/** Writers that share too few buffers, one of which is aborted: its buffer goes to the other writer, exactly once. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BlobIds } from '../blob-files.ts'
import { type BlobWriterOptions, DriveBlobWriter } from '../blob-writer.ts'
import { BufferPool } from '../buffer-pool.ts'
import { systemDrivePorts } from '../testing.ts'
import { makeBlobFiles } from './blob-files.ts'

const { disk } = systemDrivePorts()
const bufferBytes = 16 * 1024

async function options(t: Test, bufferCount: number): Promise<BlobWriterOptions> {
  const path = await mkdtemp(join(tmpdir(), 'svc-blobs-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  const files = await makeBlobFiles(disk, path)
  const pool = new BufferPool(bufferBytes, bufferCount)
  return { disk, files, pool, direct: false, isFull: () => false, onWritten() {}, onRefused() {} }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await undefined
}

t.test('an aborted writer that is asked for its buffer', async t => {
  const shared = await options(t, 2)
  // The other writer's request comes at each moment of the abort.
  for (let count = 0; count < 6; count++) {
    const first = new DriveBlobWriter(shared, undefined)
    // One buffer is being written, the other is partly filled.
    await first.write(Buffer.alloc(bufferBytes + 5000, 1))
    const aborted = first.abort()
    await turns(count)
    const second = new DriveBlobWriter(shared, undefined)
    await second.write(Buffer.alloc(3 * bufferBytes + 100, 2))
    await aborted
    t.equal((await second.finish()).size, 3 * bufferBytes + 100, `${count} turns later`)
  }
})

t.test('a writer that is aborted while it writes', async t => {
  const shared = await options(t, 1)
  for (let count = 0; count < 6; count++) {
    const first = new DriveBlobWriter(shared, undefined)
    const writing = Promise.resolve(first.write(Buffer.alloc(2 * bufferBytes + 5000, 1))).catch(() => undefined)
    await turns(count)
    await first.abort()
    await writing
    const second = new DriveBlobWriter(shared, undefined)
    await second.write(Buffer.alloc(100, 2))
    t.equal((await second.finish()).size, 100, `${count} turns later`)
  }
})

for (const whose of ['of the drive', 'of a set'] as const) {
  t.test(`blobs with ids ${whose} that end at the same time share the sync of their folder`, async t => {
    const path = await mkdtemp(join(tmpdir(), 'svc-blobs-'))
    t.teardown(() => rm(path, { recursive: true, force: true }))
    let open = () => {}
    const allWait = new Promise<void>(resolve => {
      open = resolve
    })
    let syncCount = 0
    const syncDirectory = async (folder: string) => {
      syncCount++
      await allWait
      await disk.syncDirectory(folder)
    }
    const files = await makeBlobFiles({ ...disk, syncDirectory: async () => {} }, path)
    const shared: BlobWriterOptions = {
      ...(await options(t, 40)),
      files: await makeBlobFiles({ ...disk, syncDirectory }, path),
    }
    const { files: slow } = shared
    const syncFolderOf = slow.syncFolderOf.bind(slow)
    let waiting = 0
    slow.syncFolderOf = id => {
      if (++waiting === 16) open()
      return syncFolderOf(id)
    }
    const ids = new BlobIds(systemDrivePorts())
    const writers = Array.from(
      { length: 16 },
      () => new DriveBlobWriter(shared, whose === 'of a set' ? ids.next() : undefined),
    )
    t.equal(new Set(writers.map(({ id }) => id)).size, 16)
    for (const writer of writers) await writer.write(Buffer.alloc(1000, 3))
    await Promise.all(writers.map(writer => writer.finish()))
    // One that began with the first, and one for all that came meanwhile.
    t.equal(syncCount, 2)
    const folders = new Set(Array.from({ length: 64 * 256 }, () => files.folderOf(files.newId())))
    t.ok(folders.size > 100, `ids go to ${folders.size} folders`)
  })
}
