/** The index is a SIEVE, and finds what is in it. */
import { createHash } from 'node:crypto'
import { Sieve } from 'svc/plugins/cache/api'
import { seeded } from 'svc/testing'
import t from 'tap'
import { blockBytes, DiskIndex } from '../disk-index.ts'

const idOf = (name: number) => createHash('sha256').update(String(name)).digest()

t.test('it has the records that a SIEVE of maps has, in random schedules', async t => {
  await seeded(t, async random => {
    for (let round = 0; round < 20; round++) {
      const budgetBlocks = 5 + random.integer(60)
      const names = 3 + random.integer(80)
      const index = new DiskIndex(budgetBlocks * blockBytes, random.integer(2 ** 31))
      const sieve = new Sieve<number>({ budgetBytes: budgetBlocks })
      for (let step = 0; step < 2000; step++) {
        const name = random.integer(names)
        const id = idOf(name)
        const what = random.integer(10)
        if (what < 5) {
          index.mark(id)
          sieve.get(String(name))
        } else if (what < 9) {
          const blocks = 1 + random.integer(5)
          // Both give the room of what is replaced back first.
          const wasMarked = index.isMarked(index.slotOf(id))
          index.delete(id)
          index.makeRoom(blocks)
          index.set(id, blocks, wasMarked)
          sieve.set(String(name), blocks, blocks)
        } else {
          index.delete(id)
          sieve.delete(String(name))
        }
        if (index.blocks !== sieve.bytes || index.size !== sieve.size || index.evictions !== sieve.evictions) {
          t.fail(
            `round ${round}, step ${step}: ${index.size} records of ${index.blocks} blocks, not ${sieve.size} of ${sieve.bytes}`,
          )
          return
        }
      }
      for (let name = 0; name < names; name++) {
        if (index.has(idOf(name)) !== (sieve.peek(String(name)) !== undefined)) t.fail(`record ${name}`)
      }
      const listed = new Set<string>()
      for (let slot = index.slotAfter(0); slot !== 0; slot = index.slotAfter(slot))
        listed.add(index.idOf(slot).toString('hex'))
      t.equal(listed.size, index.size)
    }
  })
})

t.test('it never holds more records than it has places', t => {
  const index = new DiskIndex(4 * blockBytes, 1)
  for (let name = 0; name < 100; name++) {
    t.ok(index.makeRoom(1))
    index.set(idOf(name), 1)
  }
  t.equal(index.size, 4)
  t.equal(index.makeRoom(5), undefined)
  t.equal(index.size, 4, 'and nothing gave way for it')
  t.end()
})
