/**
 * kill -9 at random moments under load, with events to a webhook that lives on: every acknowledged change is told at least once, what is
 * told of each key comes in order, and nothing is told that did not happen. SEED repeats the choices of a run, ROUNDS its length,
 * EVENTS how many are drained in the last part.
 */
import { createHash, randomInt } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, testRounds, until } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { startServer, type TestServer, withMasterKey, workerCount } from '../wire/server.ts'
import { createSignedClient, type SignedClient } from '../wire/signed-client.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const roundCount = testRounds({ laptop: 6, ci: 12, long: 40 })
/** The main thread has the queue and delivers: with workers, only the ways of the writes to it are others. */
const drainedUsually = workerCount > 0 ? 2000 : 10_000
const drainedCount = Number(process.env.EVENTS ?? (process.env.TEST_LONG ? 100_000 : drainedUsually))
const writerCount = 8
const keysPerWriter = 6
const removed = 'removed'

let state = seed
/** mulberry32. */
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), state | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

interface Told {
  readonly sequencer: string
  /** ETag, or `removed`. */
  readonly state: string
}

/** A webhook that keeps of each key what it was told, in the order in which it came. */
async function startSink(t: Test) {
  const told = new Map<string, Told[]>()
  let count = 0
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined)
    if (body === undefined) return
    const { EventName, Records } = JSON.parse(body.toString())
    if (Records !== undefined) {
      const { key, sequencer, eTag } = Records[0].s3.object
      const isRemoval = EventName.startsWith('s3:ObjectRemoved:')
      const list = told.get(key) ?? []
      list.push({ sequencer, state: isRemoval ? removed : eTag })
      told.set(key, list)
      count++
    }
    response.end()
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { told, url: `http://127.0.0.1:${port}/`, count: () => count }
}

const arn = 'arn:svc:sqs:us-east-1:_:webhook'

async function prepare(server: TestServer, client: SignedClient, url: string, bucket: string): Promise<void> {
  const admin = createAdminClient(server)
  const settings = { enable: 'on', endpoint: url, queue_limit: '1000000' }
  await admin.call('PATCH', '/config/notify_webhook', { settings })
  await client.send({ method: 'PUT', path: `/${bucket}` })
  const subscriptions = [{ arn, events: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'] }]
  await admin.call('PUT', `/buckets/${bucket}/events`, { subscriptions })
}

/** What came twice is left out: whoever is told at least once does that. */
function firsts(list: readonly Told[]): readonly Told[] {
  const seen = new Set<string>()
  return list.filter(({ sequencer }) => !seen.has(sequencer) && seen.add(sequencer))
}

const isOrdered = (list: readonly Told[]) =>
  list.every(({ sequencer }, index) => index === 0 || list[index - 1]!.sequencer < sequencer)

t.setTimeout(roundCount * 30_000 + drainedCount * 20 + 600_000)

t.test('crashes lose no event and invent none', async t => {
  t.comment(`SEED=${seed} ROUNDS=${roundCount}`)
  const sink = await startSink(t)
  const server = await startServer({ environment: withMasterKey })
  t.teardown(() => server.remove())
  const client = createSignedClient(server.port)
  t.teardown(() => client.disconnect())
  await prepare(server, client, sink.url, 'events')

  /** What was asked for each key, acknowledged or not, in order. */
  const asked = new Map<string, { state: string; isAcknowledged: boolean }[]>()
  let acknowledged = 0
  let written = 0
  const problems: string[] = []

  const writer = async (index: number, crash: AbortSignal) => {
    while (!crash.aborted) {
      const key = `${index}/${Math.floor(random() * keysPerWriter)}`
      const isRemoval = random() < 0.25
      const body = `${seed} ${++written}`
      const change = {
        state: isRemoval ? removed : createHash('md5').update(body).digest('hex'),
        isAcknowledged: false,
      }
      const changes = asked.get(key) ?? []
      // A removal of what is not there tells nothing: only what is known to be there is removed.
      if (isRemoval && (changes.length === 0 || changes.at(-1)!.state === removed || !changes.at(-1)!.isAcknowledged))
        continue
      changes.push(change)
      asked.set(key, changes)
      try {
        const answer = await client.send({
          method: isRemoval ? 'DELETE' : 'PUT',
          path: `/events/${key}`,
          body: isRemoval ? undefined : body,
        })
        if (answer.status >= 300) problems.push(`${key}: ${answer.status} ${answer.code}`)
        else {
          change.isAcknowledged = true
          acknowledged++
        }
      } catch {
        // The crash: nobody knows whether it happened.
        return
      }
    }
  }

  for (let round = 0; round < roundCount && problems.length === 0; round++) {
    const crash = new AbortController()
    const target = acknowledged + Math.floor(random() * 200)
    const writers = Array.from({ length: writerCount }, (_, index) => writer(index, crash.signal))
    await until(() => acknowledged >= target || problems.length > 0, { withinMs: 300_000 })
    await sleep(random() * 10)
    await server.kill()
    crash.abort()
    await Promise.all(writers)
    client.disconnect()
    await server.start()
  }
  t.same(problems, [])
  t.ok(acknowledged > roundCount * 20, `${acknowledged} changes were acknowledged`)

  const missing = () =>
    [...asked].flatMap(([key, changes]) => {
      const states = new Set(firsts(sink.told.get(key) ?? []).map(told => told.state))
      return changes
        .filter(({ state, isAcknowledged }) => isAcknowledged && !states.has(state))
        .map(({ state }) => `${key} ${state}`)
    })
  await eventually(missing, changes => changes.length === 0, 300_000)
  t.pass('every acknowledged change is told')
  // What was put but not acknowledged may still be on its way.
  for (let before = -1; before !== sink.count(); await sleep(2000)) before = sink.count()

  const { body } = await client.send({ method: 'GET', path: '/events', query: 'list-type=2' })
  const listed = new Map(
    [...body.toString().matchAll(/<Key>([^<]+)<\/Key>.*?<ETag>(?:&quot;|&#34;|")?([0-9a-f]+)/gs)].map(found => [
      found[1]!,
      found[2]!,
    ]),
  )
  for (const [key, list] of sink.told) {
    const told = firsts(list)
    if (!isOrdered(told)) problems.push(`${key}: told out of order`)
    const states = asked.get(key)?.map(({ state }) => state) ?? []
    for (const { state } of told)
      if (!states.includes(state)) problems.push(`${key}: told of ${state}, which nobody asked for`)
    const counts = (state: string) =>
      [told, asked.get(key) ?? []].map(all => all.filter(one => one.state === state).length)
    const [toldOf = 0, askedOf = 0] = counts(removed)
    if (toldOf > askedOf) problems.push(`${key}: told of ${toldOf} removals, ${askedOf} were asked for`)
    const last = told.at(-1)!.state
    const present = listed.get(key) ?? removed
    if (last !== present) problems.push(`${key}: told last of ${last}, but it is ${present}`)
  }
  for (const key of listed.keys()) if (!sink.told.has(key)) problems.push(`${key}: is there, and nobody was told`)
  t.same(problems, [])
  t.comment(`${acknowledged} changes, ${sink.count()} messages`)
})

t.test('many events are drained, all of them, in order for each key', async t => {
  const sink = await startSink(t)
  const server = await startServer()
  t.teardown(() => server.remove())
  const client = createSignedClient(server.port)
  t.teardown(() => client.disconnect())
  await prepare(server, client, sink.url, 'many')
  const keys = Math.ceil(drainedCount / 10)
  let next = 0
  const startedMs = performance.now()
  const writer = async (index: number) => {
    for (let i = index; i < drainedCount; i += 32) {
      next++
      const { status } = await client.send({ method: 'PUT', path: `/many/${i % keys}`, body: String(i) })
      if (status !== 200) throw new Error(`${status}`)
    }
  }
  await Promise.all(Array.from({ length: 32 }, (_, index) => writer(index)))
  const writtenMs = performance.now() - startedMs
  await eventually(
    () => sink.count(),
    count => count >= next,
    drainedCount * 5 + 60_000,
  )
  t.pass('all events are told')
  t.equal(next, drainedCount)
  t.equal(
    [...sink.told.values()].reduce((sum, list) => sum + firsts(list).length, 0),
    drainedCount,
  )
  t.same(
    [...sink.told].filter(([, list]) => !isOrdered(firsts(list))).map(([key]) => key),
    [],
  )
  const drainedMs = performance.now() - startedMs
  t.comment(`${drainedCount} events: written in ${Math.round(writtenMs)} ms, told in ${Math.round(drainedMs)} ms`)
})
