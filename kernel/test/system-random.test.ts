import t from 'tap'
import { pooledBytes } from '../program/system-ports.ts'

/** A timer that the test lets run. */
function manualTimer() {
  const waiting: { delayMs: number; callback: () => void }[] = []
  const after = (delayMs: number, callback: () => void) => {
    waiting.push({ delayMs, callback })
    return () => undefined
  }
  return { after, waiting }
}

t.test('small draws come from one filling, each byte once, and leave nothing behind', async t => {
  const fillings: Buffer[] = []
  let pool: Buffer | undefined
  const { after } = manualTimer()
  const bytes = pooledBytes(after, filled => {
    for (let i = 0; i < filled.length; i++) filled[i] = 1 + ((i * 31 + fillings.length) % 255)
    fillings.push(Buffer.from(filled))
    pool = filled
  })
  const sizes = [16, 0, 44, 256, 1, 12]
  const drawn = Buffer.concat(sizes.map(size => bytes(size)))
  t.equal(fillings.length, 1)
  t.ok(drawn.equals(fillings[0]!.subarray(0, drawn.length)), 'in order')
  t.ok(
    pool!.subarray(0, drawn.length).every(byte => byte === 0),
    'overwritten',
  )
  t.ok(pool!.subarray(drawn.length).equals(fillings[0]!.subarray(drawn.length)), 'the rest stays')
  // Until a draw does not fit any more: the next filling begins.
  for (let left = pool!.length - drawn.length; left >= 256; left -= 256) bytes(256)
  t.ok(bytes(256).equals(fillings[1]!.subarray(0, 256)))
  t.equal(fillings.length, 2)
})

t.test('bytes that are not taken within a second are overwritten', async t => {
  let pool: Buffer | undefined
  const { after, waiting } = manualTimer()
  const bytes = pooledBytes(after, filled => {
    filled.fill(7)
    pool = filled
  })
  bytes(100)
  t.ok(pool!.equals(Buffer.alloc(pool!.length, 7).fill(0, 0, 100)))
  t.match(waiting, [{ delayMs: 1000 }])
  for (let i = 0; i < 100; i++) bytes(200)
  t.equal(waiting.length, 1, 'one timer, however often it is filled')
  waiting[0]!.callback()
  t.ok(pool!.every(byte => byte === 0))
  t.ok(bytes(3).equals(Buffer.alloc(3, 7)), 'filled again')
  t.equal(waiting.length, 2)
})

t.test('large draws do not touch the pool; draws of the system differ', async t => {
  const { after } = manualTimer()
  const bytes = pooledBytes(after, () => t.fail('the pool is filled'))
  t.equal(bytes(257).length, 257)
  const drawn = pooledBytes(after)
  const seen = new Set(Array.from({ length: 2000 }, () => drawn(16).toString('hex')))
  t.equal(seen.size, 2000)
})
