/** The tier behind keyv, on a real redis-server: the contract, a server that is away, and what it tells. */
import { createHash } from 'node:crypto'
import { cacheTierContract } from 'svc/plugins/cache/contract'
import { createFakeClock, createSeededRandom } from 'svc/testing'
import t, { type Test } from 'tap'
import { type RedisServer, skip, startRedis } from '../../../test/services/redis-server.ts'
import type { CacheKeyvConfig } from '../config.ts'
import { createKeyvTier, type KeyvTier } from '../tier.ts'
import { decodeValue, encodeValue } from '../value.ts'

const MiB = 1024 * 1024
const idOf = (name: string) => createHash('sha256').update(name).digest()
const record = { head: Buffer.from('head'), body: Buffer.from('body') }

interface Options {
  readonly budgetBytes?: number
  readonly deploymentId?: string
  readonly clock?: ReturnType<typeof createFakeClock>
  readonly logged?: string[]
}

function tierOf(t: Test, url: string, more: Partial<CacheKeyvConfig> = {}, options: Options = {}): KeyvTier {
  const { budgetBytes = 64 * MiB, deploymentId = 'one', clock = createFakeClock(), logged = [] } = options
  const config = { url, adapter: '@keyv/redis', size: budgetBytes, valueSize: 2 * MiB, ttl: 3_600_000, ...more }
  const say = (facts: object, text: string) => logged.push(`${JSON.stringify(facts)} ${text}`)
  const log = { debug() {}, info: say, warn: say, error: say } as never
  const tier = createKeyvTier({ config, budgetBytes, deploymentId, clock, log })
  t.teardown(() => tier.stop())
  return tier
}

async function connected(tier: KeyvTier): Promise<KeyvTier> {
  await tier.start()
  await tier.connected()
  return tier
}

const keysOf = (server: RedisServer) => server.ask('--raw', 'KEYS', '*').filter(Boolean)

/** The characters of all keys and values. */
function storedBytes(server: RedisServer): number {
  const script = `local sum = 0 for _, key in ipairs(redis.call('KEYS', '*')) do sum = sum + #key + redis.call('STRLEN', key) end return sum`
  return Number(server.ask('EVAL', script, '0')[0])
}

t.test('the tier keeps the contract', { skip }, async t => {
  const server = await startRedis(t)
  await cacheTierContract(t, async t => {
    server.ask('FLUSHALL')
    return {
      open(budgetBytes) {
        const tier = tierOf(t, server.url, {}, { budgetBytes })
        const start = async () => void (await connected({ ...tier }))
        return { ...tier, start }
      },
      keepsRecords: true,
      lists: false,
      storedBytes: () => storedBytes(server),
      async damage(random) {
        for (const key of keysOf(server)) {
          const value = server.ask('--raw', 'GET', key).join('\n')
          const at = random.integer(value.length)
          const how = random.integer(4)
          if (how === 0) server.give(value.slice(0, at), '-x', 'SET', key)
          else if (how === 1) server.ask('DEL', key)
          else if (how === 2)
            server.give(JSON.stringify({ value: random.bytes(100).toString('base64') }), '-x', 'SET', key)
          else {
            const [text] = /[A-Za-z0-9+/]{8,}/.exec(value) ?? ['']
            server.give(value.replace(text, [...text].reverse().join('').slice(0, -4)), '-x', 'SET', key)
          }
        }
      },
    }
  })
})

t.test('a server that is away, comes, hangs and goes', { skip }, async t => {
  const server = await startRedis(t)
  await server.stop()
  const clock = createFakeClock()
  const logged: string[] = []
  const tier = tierOf(t, server.url, {}, { clock, logged })
  await tier.start()
  t.equal(tier.get(idOf('a')), undefined, 'a miss at once')
  t.equal(await tier.put(idOf('a'), record), false)
  t.equal(await tier.hasAll([idOf('a')]), false)
  while (logged.length === 0) await new Promise(resolve => setTimeout(resolve, 10))
  t.match(logged[0], /the tier behind keyv does not answer/)
  t.notMatch(logged.join('\n'), new RegExp(server.password))
  await server.start()
  await clock.advance(10_000)
  await tier.connected()
  t.equal(await tier.put(idOf('a'), record), true)
  t.same(await tier.get(idOf('a')), record)
  await server.hang()
  const late = tier.get(idOf('a')) as Promise<unknown>
  const first = await Promise.race([late, new Promise(resolve => setTimeout(() => resolve('hangs'), 100))])
  t.equal(first, 'hangs', 'the cache does not wait for it')
  server.resume()
  t.same(await late, record)
  await server.stop()
  await t.rejects((async () => tier.get(idOf('a')))(), 'a failure, which the cache counts')
})

t.test('records have a lifetime, a bounded size, and one deployment', { skip }, async t => {
  const server = await startRedis(t)
  const tier = await connected(tierOf(t, server.url, { valueSize: 64 * 1024, ttl: 60_000 }))
  t.equal(await tier.put(idOf('a'), record), true)
  t.equal(
    await tier.put(idOf('b'), { ...record, body: createSeededRandom(1).bytes(60_000) }),
    false,
    'too large a value',
  )
  const [key] = keysOf(server) as [string]
  t.equal(keysOf(server).length, 1)
  const left = Number(server.ask('PTTL', key)[0])
  t.ok(left > 0 && left <= 60_000, `it leaves in ${left} ms`)
  const other = await connected(tierOf(t, server.url, {}, { deploymentId: 'two' }))
  t.equal(await other.get(idOf('a')), undefined)
  const third = await connected(tierOf(t, server.url))
  t.same(await third.get(idOf('a')), record)
  t.equal(third.usage().entries, 1, 'what it finds counts')
})

t.test('a value of another key is none', t => {
  t.same(decodeValue(idOf('a'), encodeValue(idOf('a'), record)), record)
  t.equal(decodeValue(idOf('b'), encodeValue(idOf('a'), record)), undefined)
  for (const value of ['', 'AAAA', 7, null, undefined]) t.equal(decodeValue(idOf('a'), value), undefined)
  t.end()
})

t.test('a password that is not encoded as URLs need it is told, without itself', async t => {
  const url = 'redis://:top%secret@127.0.0.1:1'
  const config = { url, adapter: '@keyv/redis', size: 16 * 2 ** 20, valueSize: 2 ** 20, ttl: 60_000 }
  const told: string[] = []
  const say = (facts: unknown, text: string) => void told.push(`${text} ${JSON.stringify(facts)}`)
  const log = { info: say, warn: say, error: say, debug: say } as never
  const { promise: warned, resolve } = Promise.withResolvers<void>()
  const after = () => {
    resolve()
    return () => undefined
  }
  const clock = { ...createFakeClock(), after }
  const tier = createKeyvTier({ config, budgetBytes: 2 ** 24, deploymentId: 'one', clock, log })
  await tier.start()
  await warned
  t.match(told, [/does not answer/])
  t.notMatch(told.join(), /top%secret/)
  await tier.stop()
})
