/** Former quotas: the answers that they counted leave the memory, and their queues are freed. */
import t from 'tap'
import { createMemory } from '../engine/memory.ts'
import type { Quota } from '../policy/policy.ts'

const MiB = 1024 * 1024
const body = Buffer.alloc(1000, 'x')

const quotasOf = (round: number): readonly [Quota, Quota] => {
  const site: Quota = { id: `site ${round}`, level: 'distribution', bytes: MiB, within: undefined }
  return [site, { id: `site ${round} www.example.test`, level: 'domain', bytes: MiB / 2, within: site }]
}

t.test('quotas come and go a thousand times: queues and answers of former ones are freed', t => {
  const memory = createMemory(64 * MiB)
  for (let round = 0; round < 1000; round++) {
    const quotas = quotasOf(round)
    memory.keepQuotas(quotas)
    for (let index = 0; index < 20; index++) {
      memory.putBlock(`site ${round} ${index}`, body, quotas[0])
      memory.putBlock(`domain ${round} ${index}`, body, quotas[1])
    }
  }
  t.ok(memory.queueCount <= 4, `${memory.queueCount} queues`)
  t.ok(memory.usage.entries <= 80, `${memory.usage.entries} entries`)
  t.ok(memory.hasBlock('domain 999 19'))
  t.equal(memory.usage.evictions, 0, 'they gave way to nobody')
  memory.keepQuotas([])
  for (let index = 0; index < 80; index++) memory.putBlock(`without ${index}`, body, undefined)
  t.equal(memory.queueCount, 0)
  t.equal(memory.usage.entries, 80)
  t.end()
})

t.test('what is left of a former quota is deleted in small steps, and goes first where the memory is full', t => {
  const memory = createMemory(4 * MiB)
  const quota: Quota = { id: 'large', level: 'distribution', bytes: 4 * MiB, within: undefined }
  for (let index = 0; index < 1000; index++) memory.putBlock(`old ${index}`, body, quota)
  memory.keepQuotas([])
  memory.putBlock('new', body, undefined)
  t.ok(memory.usage.entries > 950, `${memory.usage.entries} entries`)
  for (let index = 0; index < 100; index++) memory.putBlock(`new ${index}`, body, undefined)
  t.equal(memory.usage.entries, 101)
  t.ok(memory.hasBlock('new'))
  t.equal(memory.usage.evictions, 0)
  t.end()
})

t.test('a quota that is back before its answers have left begins with none', t => {
  const memory = createMemory(64 * MiB)
  const [site] = quotasOf(1)
  for (let index = 0; index < 500; index++) memory.putBlock(`old ${index}`, body, site)
  memory.keepQuotas([])
  memory.keepQuotas([site])
  for (let index = 0; index < 500; index++) memory.putBlock(`new ${index}`, body, site)
  t.ok(memory.hasBlock('new 499') && memory.hasBlock('new 0'))
  t.equal(memory.queueCount, 1)
  t.equal(memory.usage.entries, 500)
  t.end()
})

t.test('an answer of a former quota that is put again is counted by the quota that is named', t => {
  const memory = createMemory(64 * MiB)
  const [site] = quotasOf(1)
  memory.putBlock('page', body, site)
  memory.keepQuotas([])
  for (let index = 0; index < 3; index++) memory.putBlock('page', body, undefined)
  t.ok(memory.hasBlock('page'))
  t.end()
})
