/** Streams over the blobs of a version. */
import type { BlobReader, StorageService } from 'svc/plugins/storage/api'
import t from 'tap'
import { readData } from '../read.ts'

t.test('a stream that is closed while its blob is read ends, and does not fail', async t => {
  let end: () => void = () => undefined
  let closed = 0
  // As sets do: what was asked for before the end is not there any more.
  const reader: BlobReader = {
    next: () =>
      new Promise(resolve => {
        end = () => resolve(undefined)
      }),
    close: () => void closed++,
  }
  const storage = { pinBlobs: () => () => undefined, readBlob: () => reader } as unknown as StorageService
  const blobs = [{ id: 'a', size: 10, check: 0 }]
  const data = await readData(storage, { body: undefined, blobs }, 0, 10)
  if (data.kind !== 'stream') throw new Error('no stream')
  const next = data.next()
  data.close()
  end()
  t.equal(await next, undefined)
  t.equal(closed, 1)
})
