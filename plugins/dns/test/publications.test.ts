/** Publications: what is published is removed, whatever happens in between. The provider is a test's own, DNS is real where it matters. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import { type DnsProvider, PermanentDnsError } from 'svc/plugins/dns/api'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import standard from 'svc/plugins/standard'
import { createFakeClock, startKernel, type TestKernelOptions, until } from 'svc/testing'
import t, { type Test } from 'tap'
import { Type } from 'typebox'

const zone = 'example.test'
const name = `_acme-challenge.${zone}`
const needed = new Set(['storage', 'drive', 'checksums', 'objects', 'store', 'http-client', 'dns'])
const challenge = { provider: 'main', name, value: 'v1', owner: 'acme/site' }

// Timers of the server keep no process alive, and these plugins listen nowhere.
const alive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(alive))

/** A provider in memory that does as a test says. Its values outlive restarts of the server. */
function createMemory() {
  const values = new Set<string>()
  const calls: string[] = []
  let underWay = 0
  let underWayMax = 0
  const memory = {
    values,
    calls,
    most: () => underWayMax,
    /** Throws, or waits, instead of the change or before it. */
    before: async (_method: string, _value: string, _signal: AbortSignal): Promise<void> => {},
  }
  const change = (method: 'present' | 'cleanup') => async (record: { value: string }, signal: AbortSignal) => {
    calls.push(`${method} ${record.value}`)
    underWayMax = Math.max(underWayMax, ++underWay)
    try {
      await new Promise(resolve => setImmediate(resolve))
      await memory.before(method, record.value, signal)
      if (method === 'present') values.add(record.value)
      else values.delete(record.value)
    } finally {
      underWay--
    }
  }
  const provider: DnsProvider = { present: change('present'), cleanup: change('cleanup'), close: async () => {} }
  const plugin = definePlugin({
    name: 'dns-memory',
    requires: ['dns'],
    setup({ contribute }) {
      const settings = Type.Object({ token: Type.String({ secret: true }) })
      contribute('dns.provider', 'memory', { description: 'memory', settings, connect: () => provider })
    },
  })
  return { ...memory, memory, plugin }
}

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-dns-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function start(
  t: Test,
  { plugin }: ReturnType<typeof createMemory>,
  folder: string,
  nameservers: readonly string[],
  ports?: TestKernelOptions['ports'],
) {
  const kernel = await startKernel({
    plugins: [...standard.filter(({ name }) => needed.has(name)), plugin],
    ports,
    config: {
      storage: { endpoints: [folder] },
      store: { rootPassword: 'root password' },
      dns: { nameservers },
    },
  })
  t.teardown(() => kernel.stop())
  const { dns, dnsProviders } = kernel.services
  const settings = {
    type: 'memory',
    credentials: { token: 't' },
    ttlSeconds: 1,
    pollingIntervalMs: 100,
    propagationTimeoutMs: 1000,
  }
  await dnsProviders.put('main', settings)
  return { kernel, dns, dnsProviders }
}

t.test('publications', { skip: skipWithoutNamed() }, async t => {
  const named = await startNamed(t, { zones: { [zone]: [] } })
  const servers = [named.server]

  await t.test('are present, idempotent, and removed one by one; one change of a zone at a time', async t => {
    const memory = createMemory()
    const { dns } = await start(t, memory, folderOf(t), servers)
    const values = Array.from({ length: 5 }, (_, i) => `v${i}`)
    const made = await Promise.all(values.map(value => dns.present({ ...challenge, value })))
    t.same([...memory.values].sort(), values)
    t.equal(memory.most(), 1)
    t.match(made[0], { provider: 'main', owner: 'acme/site', name, record: name, zone, value: 'v0' })
    const again = await dns.present({ ...challenge, value: 'v0' })
    t.equal(again.id, made[0]!.id)
    t.equal((await dns.publications()).length, 5)
    await dns.cleanUp(made[1]!.id)
    await dns.cleanUp(made[1]!.id)
    t.same([...memory.values].sort(), ['v0', 'v2', 'v3', 'v4'])
    for (const { id } of made) await dns.cleanUp(id)
    t.same([...memory.values], [])
    t.same(await dns.publications(), [])
    await t.rejects(dns.propagate(made[0]!.id), { code: 'invalid_argument' })
  })

  await t.test('are removed by the next start, but for those that their owner keeps', async t => {
    const memory = createMemory()
    const folder = folderOf(t)
    const first = await start(t, memory, folder, servers)
    await first.dns.present(challenge)
    const kept = await first.dns.present({ ...challenge, value: 'kept', keepMs: 3_600_000 })
    await first.kernel.stop()
    t.same([...memory.values].sort(), ['kept', 'v1'])
    const second = await start(t, memory, folder, servers)
    await until(() => memory.values.size === 1)
    await until(async () => (await second.dns.publications()).length === 1)
    t.match(await second.dns.publications(), [{ id: kept.id, value: 'kept' }])
    await second.dns.cleanUp(kept.id)
    t.same([...memory.values], [])
  })

  await t.test('are removed in the background where they failed, and hold their provider until then', async t => {
    const clock = createFakeClock(Date.now())
    const memory = createMemory()
    const { dns, dnsProviders, kernel } = await start(t, memory, folderOf(t), servers, { clock })
    memory.memory.before = async () => {
      throw new Error('the service is down')
    }
    const passing = (async () => {
      while (memory.calls.length < 3) await clock.advance(100)
    })()
    await t.rejects(dns.present(challenge), {
      code: 'upstream_failure',
      extra: { Step: 'present' },
      message: 'The service is down.',
    })
    await passing
    t.same(memory.calls, ['present v1', 'present v1', 'present v1'], 'three attempts')
    t.equal((await dns.publications()).length, 1, 'it may be there')
    await t.rejects(dnsProviders.delete('main'), { code: 'dns_provider_in_use', message: /still to be removed/ })
    await until(async () => {
      await clock.advance(1000)
      return memory.calls.length >= 5
    })
    t.equal((await dns.publications()).length, 1)
    memory.memory.before = async () => {}
    await until(async () => {
      await clock.advance(1000)
      return (await dns.publications()).length === 0
    })
    t.ok(kernel.logs.some(({ msg }) => /cannot be removed from a DNS provider; it is tried again/.test(String(msg))))
    await dnsProviders.delete('main')
  })

  await t.test('that a provider never took are none', async t => {
    const memory = createMemory()
    const { dns } = await start(t, memory, folderOf(t), servers)
    memory.memory.before = async () => {
      throw new PermanentDnsError('the token is wrong')
    }
    await t.rejects(dns.present(challenge), { message: 'The token is wrong.', extra: { Step: 'present' } })
    t.same(memory.calls, ['present v1'], 'no other attempt')
    t.same(await dns.publications(), [])
    await t.rejects(dns.present({ ...challenge, provider: 'nobody' }), { code: 'dns_provider_not_found' })
    for (const wrong of [
      { name: 'Upper.example.test' },
      { name: 'a..b' },
      { value: 'ü' },
      { owner: '' },
      { keepMs: 1e9 },
    ]) {
      await t.rejects(dns.present({ ...challenge, ...wrong }), { code: 'invalid_argument' })
    }
  })

  await t.test('that were removed by hand at a provider that has gone are forgotten', async t => {
    const clock = createFakeClock(Date.now())
    const memory = createMemory()
    const { dns } = await start(t, memory, folderOf(t), servers, { clock })
    const { id } = await dns.present(challenge)
    memory.memory.before = async () => {
      throw new PermanentDnsError('the account is closed')
    }
    await t.rejects(dns.cleanUp(id), { code: 'upstream_failure', extra: { Step: 'cleanup' } })
    t.equal((await dns.publications()).length, 1)
    // The server of the zone has never had the value: after a while that counts.
    await until(async () => {
      await clock.advance(10_000)
      return (await dns.publications()).length === 0
    })
  })

  await t.test('end when their caller aborts, and with the server', async t => {
    const memory = createMemory()
    const folder = folderOf(t)
    const { dns, kernel } = await start(t, memory, folder, servers)
    const { promise: hanging, resolve: isHanging } = Promise.withResolvers<void>()
    memory.memory.before = (_method, _value, signal) =>
      new Promise((_, reject) => {
        isHanging()
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    const controller = new AbortController()
    const attempt = dns.present(challenge, controller.signal)
    attempt.catch(() => {})
    await hanging
    controller.abort()
    await t.rejects(attempt, { code: 'upstream_failure', extra: { Step: 'present' } })
    const { id } = (await dns.publications())[0]!
    memory.memory.before = async () => {}
    await dns.cleanUp(id)
    const late = await dns.present(challenge)
    const waiting = dns.propagate(late.id)
    waiting.catch(() => {})
    t.same(await kernel.stop(), [])
    await t.rejects(waiting, { code: 'upstream_failure', extra: { Step: 'propagation' } })
  })

  await t.test('name the server that does not have the value in time', async t => {
    const { dns } = await start(t, createMemory(), folderOf(t), servers)
    const { id } = await dns.present(challenge)
    await t.rejects(dns.propagate(id), {
      extra: { Step: 'propagation' },
      message: `After 1 s ${named.server} does not have the value.`,
    })
    await named.stop()
    await t.rejects(dns.propagate(id), { message: new RegExp(`^After 1 s ${named.server} gave no answer about`) })
    await named.start()
    await dns.cleanUp(id)
  })
})
