import { seeded } from 'svc/testing'
import t from 'tap'
import { WrittenBodies } from '../written-bodies.ts'

t.test('what is taken is what was written, or nothing; the oldest give way first', t =>
  seeded(t, random => {
    for (const capacity of [4096, 20_000, 100_000]) {
      const bodies = new WrittenBodies(capacity)
      const written = new Map<number, Buffer>()
      let wrong = 0
      let missing = 0
      let found = 0
      for (let location = 0; location < 20_000; location++) {
        const body = Buffer.alloc(random.integer(capacity / (1 + random.integer(40))), random.integer(256))
        bodies.add(location, body)
        written.set(location, Buffer.from(body))
        // The writer uses its memory again.
        body.fill(0xee)
        const wanted = location - random.integer(12)
        const taken = bodies.take(wanted)
        if (taken === undefined) missing++
        else if (taken.equals(written.get(wanted)!)) found++
        else wrong++
        if (taken !== undefined) written.delete(wanted)
        if (bodies.bytes > capacity) wrong++
      }
      t.equal(wrong, 0, `${capacity} bytes`)
      t.ok(found > 2000 && missing > 100, `${found} were found, ${missing} were not`)
      let sizes = 0
      for (const [location, body] of written) {
        const taken = bodies.take(location)
        if (taken === undefined) continue
        sizes += taken.length
        if (!taken.equals(body)) wrong++
      }
      t.equal(wrong, 0)
      t.ok(sizes > 0, `${sizes} bytes were still in ${capacity}`)
      t.equal(bodies.bytes, 0, 'each body is there once')
    }
  }),
)

t.test('a body of all sizes; none where there is no room', t => {
  const bodies = new WrittenBodies(4000)
  bodies.add(1, Buffer.alloc(0))
  bodies.add(2, Buffer.alloc(800, 2))
  bodies.add(3, Buffer.alloc(1000, 3))
  t.equal(bodies.take(1)?.length, 0)
  t.same(bodies.take(2), Buffer.alloc(800, 2))
  t.equal(bodies.take(2), undefined, 'once')
  t.equal(bodies.take(3), undefined, 'a quarter, with what it takes besides')
  const none = new WrittenBodies(0)
  none.add(1, Buffer.alloc(0))
  t.equal(none.take(1), undefined)
  bodies.add(4, Buffer.from('four'))
  bodies.clear()
  t.equal(bodies.take(4), undefined)
  t.end()
})

t.test('empty bodies take room, too: their number is bounded', t => {
  const bodies = new WrittenBodies(100_000)
  const count = 10_000
  for (let location = 0; location < count; location++) bodies.add(location, Buffer.alloc(0))
  t.ok(bodies.bytes <= 100_000, `${bodies.bytes} bytes`)
  let kept = 0
  for (let location = 0; location < count; location++) if (bodies.take(location) !== undefined) kept++
  t.ok(kept > 700 && kept < 800, `${kept} were kept`)
  t.end()
})
