import { createHash } from 'node:crypto'
import { seeded } from 'svc/testing'
import t from 'tap'
import { batchedBytesMax, Md5Batch } from '../md5-batch.ts'

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex')

t.test('digests of bodies that come together, of every number and size, in the order of those who ask', t =>
  seeded(t, async random => {
    const batch = new Md5Batch()
    // Around the ends of blocks, where the padding takes one more.
    const sizes = [
      0,
      1,
      55,
      56,
      63,
      64,
      65,
      119,
      120,
      128,
      4096,
      batchedBytesMax - 1,
      batchedBytesMax,
      batchedBytesMax + 1,
    ]
    const sizeOf = () => (random.float() < 0.6 ? random.pick(sizes) : random.integer(9000))
    let wrong = 0
    for (let round = 0; round < 300; round++) {
      const bodies = Array.from({ length: 1 + random.integer(20) }, () => random.bytes(sizeOf()))
      const digests = await Promise.all(bodies.map(body => batch.digest(body)))
      for (const [i, body] of bodies.entries()) if (digests[i]!.toString('hex') !== md5(body)) wrong++
    }
    t.equal(wrong, 0)
    const same = Array.from({ length: 9 }, (_, i) => Buffer.alloc(4096, i))
    const digests = await Promise.all(same.map(body => batch.digest(body)))
    t.same(
      digests.map(digest => digest.toString('hex')),
      same.map(md5),
      'digests keep their bytes when others are computed',
    )
  }),
)
