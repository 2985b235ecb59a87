/**
 * An import of a cluster archive that is killed (kill -9): when its first users or some of its buckets are there, and at any moment. Afterwards all
 * of it is there, or, where nothing had been seen of it, nothing. Each sync of the journal takes long then, so that a kill comes before the end. Seeds and rounds: `SEED`, `ROUNDS`.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { createAdminClient } from '../wire/admin.ts'
import { accessKey, secretKey, startServer, type TestServer } from '../wire/server.ts'
import { createDiskFaults, whyNoFaults } from './disk-faults.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const rounds = Number(process.env.ROUNDS ?? 4)
/** After the import has the lock. */
const killedWithinMs = 600
/** An interrupted import goes on 5 s after the start. */
const nothingForMs = 10_000
const settledWithinMs = 120_000
/** Some commits. */
const userCount = 600
const bucketCount = 40
const distributionCount = 20
/** Before a kill. */
const bucketsSeenMax = 6
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
    const all = [svcctlProgram, '--admin-url', `http://${server.startup.console}`, ...args]
    execFile(process.execPath, all, { env: environment }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
    )
  })
}

const setAlias = (server: TestServer) => svcctl(server, 'alias', 'set', 'home', server.endpoint, accessKey)

const anyTime = 'some time has passed since its begin'

type AdminClient = ReturnType<typeof createAdminClient>

/** Waits until a list has so many items, or the import is over, without a pause: the import goes on meanwhile. */
async function seen(call: AdminClient['call'], path: string, count: number, isOver: () => boolean): Promise<boolean> {
  while (!isOver()) if ((await call('GET', path)).items.length >= count) return true
  return true
}

type Counts = Awaited<ReturnType<typeof countsOf>>

const hasNothing = ({ users, buckets, distributions }: Counts) => users + buckets + distributions === 0
const hasAll = ({ users, buckets, distributions }: Counts) =>
  users === userCount && buckets === bucketCount && distributions === distributionCount

/** Of a server that has just started: nothing for longer than it waits before it goes on, or what is there becomes more until it is all. */
async function settledCounts(server: TestServer): Promise<Counts> {
  let counts = await countsOf(server)
  for (let waitedMs = 0; waitedMs < settledWithinMs; waitedMs += 100) {
    // Its last steps are no counts.
    const isIdle = (await createAdminClient(server).call('GET', '/locks')).items.length === 0
    if ((hasAll(counts) && isIdle) || (hasNothing(counts) && waitedMs >= nothingForMs)) break
    await sleep(100)
    counts = await countsOf(server)
  }
  return counts
}

async function countsOf(server: TestServer) {
  const admin = createAdminClient(server)
  const [users, buckets, distributions] = await Promise.all(
    ['/users', '/buckets', '/distributions'].map(
      async path => (await admin.call('GET', `${path}?limit=1000`)).items.length as number,
    ),
  )
  return { users, buckets, distributions } as const
}

t.test(`seed ${seed}`, { skip: whyNoFaults() }, async t => {
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

  const faults = createDiskFaults(folder)
  const random = createRandom(seed)
  const ends = { nothing: 0, all: 0, resumed: 0 }
  /** Resolve with whether something of the import was seen before they did. */
  const moments: Record<string, (call: AdminClient['call'], isOver: () => boolean) => Promise<boolean>> = {
    'its first users are there': (call, isOver) => seen(call, '/users?limit=1', 1, isOver),
    'some of its buckets are there': (call, isOver) =>
      seen(call, '/buckets?limit=1000', 1 + Math.floor(random() * bucketsSeenMax), isOver),
    [anyTime]: async () => {
      await sleep(random() * killedWithinMs)
      return false
    },
  }
  const names = Object.keys(moments)
  for (let round = 0; round < rounds; round++) {
    const moment = names[round < names.length ? round : Math.floor(random() * names.length)]!
    const server = await startServer({ environment: faults.environment })
    t.match(await setAlias(server), { code: 0 })
    if (moment !== anyTime) faults.inject({ kind: 'slow', calls: ['syncs'], path: '/journal/' })
    const importing = svcctl(server, 'admin', 'cluster', 'import', 'home', archive)
    let isOver = false
    void importing.then(() => {
      isOver = true
    })
    const { call } = createAdminClient(server)
    while (!isOver && (await call('GET', '/locks')).items.length === 0) await sleep(5)
    const isSeen = await moments[moment]!(call, () => isOver)
    const wasOver = isOver
    await server.kill()
    faults.end()
    await importing
    await server.start()
    const counts = await settledCounts(server)
    const isAll = hasAll(counts)
    t.ok(isAll || (hasNothing(counts) && !isSeen), `round ${round}, killed when ${moment}: ${JSON.stringify(counts)}`)
    ends[isAll ? 'all' : 'nothing']++
    const isResumed = server.log().includes('was interrupted, and is complete now')
    if (isResumed) ends.resumed++
    const unseen = isAll ? 'it was over, unanswered' : 'nothing was begun'
    const end = wasOver ? 'it was over' : isResumed ? 'resumed' : unseen
    t.comment(`round ${round}, killed when ${moment}: ${end}`)
    t.match(await setAlias(server), { code: 0 })
    const again = await svcctl(server, 'admin', 'cluster', 'import', 'home', archive)
    t.equal(again.code, 0, again.output)
    if (isAll) t.match(again.output, /There are no differences/)
    t.same(await countsOf(server), { users: userCount, buckets: bucketCount, distributions: distributionCount })
    await server.remove()
  }
  t.comment(JSON.stringify(ends))
  t.ok(ends.resumed > 0, 'at least one was killed in the middle, and completed by the next start')
})
