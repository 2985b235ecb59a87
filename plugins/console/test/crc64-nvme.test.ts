/** The checksum by which the console compares parts that had arrived with a file: the server's own. */
import { randomBytes } from 'node:crypto'
import { createChecksums } from 'svc/plugins/checksums/api'
import t from 'tap'
import { Crc64Nvme, crc64NvmeOf } from '../web/src/parts/uploads/crc64-nvme.ts'

t.test('the check value of the specification', async t => {
  const crc = new Crc64Nvme()
  crc.update(Buffer.from('123456789'))
  t.equal(Buffer.from(crc.digest(), 'base64').toString('hex'), 'ae8b14860a799888')
})

t.test('bytes of any length, in pieces of any length, give what the server computes', async t => {
  const checksums = createChecksums()
  await checksums.start()
  const never = new AbortController().signal
  for (const length of [0, 1, 7, 8, 9, 1023, 1024 ** 2, 2 * 1024 ** 2 + 3]) {
    const bytes = randomBytes(length)
    const expected = checksums.compute('CRC64NVME', bytes).toString('base64')
    t.equal(await crc64NvmeOf(new Blob([bytes]), never), expected, `${length} bytes`)
    const crc = new Crc64Nvme()
    for (let at = 0; at < length; at += 1 + (length >> 2)) crc.update(bytes.subarray(at, at + 1 + (length >> 2)))
    t.equal(crc.digest(), expected)
  }
})

t.test('it ends when the upload is paused', async t => {
  const abort = new AbortController()
  abort.abort()
  await t.rejects(crc64NvmeOf(new Blob(['x']), abort.signal), { name: 'AbortError' })
})
