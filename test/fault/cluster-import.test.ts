/**
 * An import of a cluster archive that is killed (kill -9) at any moment: afterwards all of it is there, or nothing. Seeds and rounds:
 * `SEED`, `ROUNDS`.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { accessKey, secretKey, startServer, type TestServer } from '../wire/server.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const rounds = Number(process.env.ROUNDS ?? 4)
/** After the import has the lock. */
const killedWithinMs = 600
/** An interrupted import goes on 5 s after the start. */
const nothingForMs = 10_000
const settledWithinMs = 120_000
const userCount = 300
const bucketCount = 40
const distributionCount = 20
const folder = mkdtempSync(join(tmpdir(), 'svc-import-'))
t.setTimeout(300_000)
t.teardown(() => rmSync(folder, { recursive: true }))
const archive = join(folder, 'cluster.zip')

/** In [0, 1), from the seed (mulberry32). */
function createRandom(state: number) {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Never rejects: who is killed answers nothing. */
function svcctl(server: TestServer, ...args: string[]): Promise<{ code: number; output: string }> {
  const environment = { ...process.env, SVCCTL_CONFIG_DIR: join(folder, 'config'), SVCCTL_SECRET_KEY: secretKey }
  return new Promise(done => {
    const program = resolve(import.meta.dirname, '../../contrib/svcctl/main.ts')
    const all = ['--conditions=svc-src', program, '--admin-url', `http://${server.startup.console}`, ...args]
    execFile(process.execPath, all, { env: environment }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
    )
  })
}

const setAlias = (server: TestServer) => svcctl(server, 'alias', 'set', 'home', server.endpoint, accessKey)

type Counts = Awaited<ReturnType<typeof countsOf>>

const hasNothing = ({ users, buckets, distributions }: Counts) => users + buckets + distributions === 0
const hasAll = ({ users, buckets, distributions }: Counts) =>
  users === userCount && buckets === bucketCount && distributions === distributionCount

/** Of a server that has just started: nothing for longer than it waits before it goes on, or what is there becomes more until it is all. */
async function settledCounts(server: TestServer): Promise<Counts> {
  let counts = await countsOf(server)
  for (let waitedMs = 0; waitedMs < settledWithinMs; waitedMs += 100) {
    if (hasAll(counts) || (hasNothing(counts) && waitedMs >= nothingForMs)) break
    await sleep(100)
    counts = await countsOf(server)
  }
  return counts
}

async function countsOf(server: TestServer) {
  const admin = createAdminClient(server)
  const [users, buckets, distributions] = await Promise.all(
    ['/users', '/buckets', '/distributions'].map(async path => (await admin.call('GET', path)).items.length as number),
  )
  return { users, buckets, distributions } as const
}

t.test(`seed ${seed}`, async t => {
  const source = await startServer()
  const admin = createAdminClient(source)
  await admin.putPolicy('readers', { Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::*' })
  for (let first = 0; first < userCount; first += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => admin.createUser(`user-${first + i}`, { policyNames: ['readers'] })),
    )
  }
  for (let i = 0; i < bucketCount; i++) {
    await admin.call('POST', '/buckets', { name: `bucket-${i}`, versioning: true })
    await admin.call('PUT', `/buckets/bucket-${i}/tags`, { tags: { number: `${i}` } })
  }
  for (let i = 0; i < distributionCount; i++) {
    const origin = { bucket: `bucket-${i}` }
    await admin.call('POST', '/distributions', { id: `site-${i}`, aliases: [`www-${i}.test`], origin })
    await admin.call('PUT', `/distributions/site-${i}/cache/settings`, {
      distribution: `site-${i}`,
      cache: { enabled: false },
    })
  }
  t.match(await setAlias(source), { code: 0 })
  t.match(await svcctl(source, 'admin', 'cluster', 'export', 'home', '--output', archive), { code: 0 })
  await source.remove()

  const random = createRandom(seed)
  const ends = { nothing: 0, all: 0, resumed: 0 }
  for (let round = 0; round < rounds; round++) {
    const server = await startServer()
    t.match(await setAlias(server), { code: 0 })
    const importing = svcctl(server, 'admin', 'cluster', 'import', 'home', archive)
    let isOver = false
    void importing.then(() => {
      isOver = true
    })
    const { call } = createAdminClient(server)
    while (!isOver && (await call('GET', '/locks')).items.length === 0) await sleep(5)
    await sleep(random() * killedWithinMs)
    await server.kill()
    await importing
    await server.start()
    const counts = await settledCounts(server)
    const isAll = hasAll(counts)
    t.ok(isAll || hasNothing(counts), `round ${round}: ${JSON.stringify(counts)}`)
    ends[isAll ? 'all' : 'nothing']++
    if (server.log().includes('was interrupted, and is complete now')) ends.resumed++
    t.match(await setAlias(server), { code: 0 })
    const again = await svcctl(server, 'admin', 'cluster', 'import', 'home', archive)
    t.equal(again.code, 0, again.output)
    if (isAll) t.match(again.output, /There are no differences/)
    t.same(await countsOf(server), { users: userCount, buckets: bucketCount, distributions: distributionCount })
    await server.remove()
  }
  t.comment(JSON.stringify(ends))
})
