/** Record keys: their escapes and their order. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { recordTable as table } from 'svc/plugins/storage/api'
import t from 'tap'
import { afterObject, bucketRange, escapeKey, objectKey, olderVersionKey, successor, unescapeKey } from '../keys.ts'

/** Keys of characters that matter for the order: controls, the bytes used for escapes, `/`, characters of two to four bytes. */
const hostileKey = fc
  .array(fc.constantFrom('\0', '\u0001', '\u0002', '/', 'a', 'b', '.', '\u007f', '\u0080', '\uffff', '😀', 'é'), {
    minLength: 1,
    maxLength: 8,
  })
  .map(parts => parts.join(''))

const byBytes = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)))

t.test('escaping keeps the order of UTF-8 bytes and is reversible', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(hostileKey, hostileKey, (a, b) => {
        const [x, y] = [objectKey('bucket', a), objectKey('bucket', b)]
        assert.equal(Math.sign(Buffer.compare(x, y)), byBytes(a, b), JSON.stringify([a, b]))
        const escaped = escapeKey(a)
        assert.equal(unescapeKey(escaped, 0, escaped.length), a)
      }),
      { numRuns: 500 },
    ),
  )
})

t.test('older versions lie between their object and the next key, newest first', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(hostileKey, hostileKey, fc.nat(), fc.nat(), (a, b, i, j) => {
        const current = objectKey('bucket', a)
        const older = olderVersionKey(current, i)
        assert.ok(current.compare(older) < 0)
        assert.equal(Math.sign(older.compare(olderVersionKey(current, j))), Math.sign(j - i))
        assert.ok(older.compare(afterObject(table.object, 'bucket', a)) < 0)
        if (byBytes(a, b) < 0) {
          assert.ok(older.compare(objectKey('bucket', b)) < 0)
          assert.ok(afterObject(table.object, 'bucket', a).compare(objectKey('bucket', b)) <= 0)
        }
      }),
      { numRuns: 500 },
    ),
  )
})

t.test('a range contains exactly the keys with its prefix', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(hostileKey, hostileKey, (key, prefix) => {
        const [start, end] = bucketRange(table.object, 'bucket', escapeKey(prefix))
        const record = objectKey('bucket', key)
        const inside = record.compare(start) >= 0 && record.compare(end) < 0
        assert.equal(inside, Buffer.from(key).subarray(0, Buffer.byteLength(prefix)).equals(Buffer.from(prefix)))
      }),
      { numRuns: 500 },
    ),
  )
})

t.test('a successor skips trailing ff bytes', async t => {
  t.same(successor(Buffer.from([1, 0xff, 0xff])), Buffer.from([2]))
  t.same(successor(Buffer.from([1, 2])), Buffer.from([1, 3]))
})
