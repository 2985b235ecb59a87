/** The memory tier keeps the contract of tiers, and admits large bodies at their second request. */
import { createHash } from 'node:crypto'
import { cacheTierContract } from 'svc/plugins/cache/contract'
import t from 'tap'
import { atOnceBytesMax, createMemoryTier } from '../memory/memory-tier.ts'

const idOf = (name: string) => createHash('sha256').update(name).digest()

for (const isSelective of [true, false]) {
  t.test(`the memory tier keeps the contract${isSelective ? '' : ', where everything enters at once'}`, t =>
    cacheTierContract(t, () => ({ open: budgetBytes => createMemoryTier({ budgetBytes, isSelective }) })),
  )
}

t.test('a body of more than 64 KiB enters at its second request', async t => {
  const tier = createMemoryTier({ budgetBytes: 1024 * 1024 })
  const head = Buffer.from('head')
  t.equal(await tier.put(idOf('small'), { head, body: Buffer.alloc(atOnceBytesMax) }), true)
  const large = { head, body: Buffer.alloc(atOnceBytesMax + 1) }
  t.equal(await tier.put(idOf('large'), large), false)
  t.equal(await tier.get(idOf('large')), undefined)
  t.equal(await tier.put(idOf('large'), large), true)
  t.same(await tier.get(idOf('large')), large)
  t.equal(await tier.put(idOf('large'), large), true, 'what is there is replaced at once')
})
