/**
 * The tier of the cache on disk, on a real server: kills under load, bytes that were changed while it was down, and writes that race
 * reads of what is only on disk. No answer is torn, and none is older than the last write that was acknowledged before its request.
 *
 * The memory of the cache is as small as it can be, and readers of other pages push everything out of it all the time.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { type SeededRandom, seeded, testRounds } from 'svc/testing'
import t, { type Test } from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer, type TestServer } from '../wire/server.ts'
import { type Answer, Bucket, get, Host, recordFiles, tierStats } from './cache-tier.ts'

/** After every second kill the records on disk are harmed. */
const roundCount = testRounds({ laptop: 2, ci: 2, long: 20 })
const writesPerRound = 50
/** Whole entries, and one that is kept in blocks. */
const pages = new Map([
  ['a.bin', 200],
  ['b.bin', 40_000],
  ['c.bin', 300_000],
  ['d.bin', 1_300_000],
])
const fillerCount = 40
const fillerBytes = 60_000

function contentOf(key: string, index: number, bytes: number): Buffer {
  const line = Buffer.from(`${key} ${index}\n`)
  const body = Buffer.alloc(bytes, line)
  line.copy(body)
  return body
}

interface Page {
  readonly key: string
  readonly bytes: number
  begun: number
  acknowledged: number
}

/** What is wrong with an answer; undefined: nothing. */
function problemOf({ key, bytes, begun }: Page, least: number, { status, body, result }: Answer): string | undefined {
  const index = Number(/^\S+ (\d+)\n/.exec(body.toString('latin1', 0, 40))?.[1])
  if (status !== 200 || !body.equals(contentOf(key, index, bytes)))
    return `${key}: ${status} with ${body.length} bytes (${result}) is no version of it: ${body.toString('latin1', 0, 40)}`
  if (index < least || index > begun) return `${key}: version ${index} (${result}), and ${least} was acknowledged`
  return undefined
}

class World {
  readonly server: TestServer
  readonly random: SeededRandom
  readonly pages: Page[] = [...pages].map(([key, bytes]) => ({ key, bytes, begun: 0, acknowledged: 0 }))
  readonly problems: string[] = []
  readonly results = new Map<string, number>()
  isDown = true
  cuts = 0
  #s3: S3Client | undefined

  constructor(server: TestServer, random: SeededRandom) {
    this.server = server
    this.random = random
  }

  get s3(): S3Client {
    this.#s3 ??= createClient(this.server)
    return this.#s3
  }

  get port(): number {
    return Number(String(this.server.startup.web).split(':').at(-1))
  }

  async publish(): Promise<void> {
    await this.s3.send(new CreateBucketCommand({ Bucket }))
    for (const { key, bytes } of this.pages) await this.put(key, contentOf(key, 0, bytes))
    for (let i = 0; i < fillerCount; i++) await this.put(`filler/${i}`, contentOf(`filler/${i}`, 0, fillerBytes))
    const document = { id: 'pages', aliases: [Host], origin: { bucket: Bucket } }
    await createAdminClient(this.server).call('PUT', '/distributions/pages', document)
  }

  async put(Key: string, Body: Buffer): Promise<void> {
    await this.s3.send(new PutObjectCommand({ Bucket, Key, Body }))
  }

  /** Until the server is down, or `count` writes were acknowledged. */
  async write(page: Page, count: number): Promise<void> {
    for (let i = 0; i < count && !this.isDown; i++) {
      const index = ++page.begun
      try {
        await this.put(page.key, contentOf(page.key, index, page.bytes))
        page.acknowledged = index
      } catch (error) {
        if (!this.isDown) throw error
      }
      // Long enough for reads of what is only on disk.
      await new Promise(resolve => setTimeout(resolve, this.random.integer(25)))
    }
  }

  async read(work: (agent: Agent) => Promise<void>, isDone: () => boolean): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!isDone() && !this.isDown) {
      try {
        await work(agent)
      } catch (error) {
        // An object of several blocks that is replaced while it is sent ends with the connection: never with bytes of another version.
        if (!this.isDown && (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
        if (!this.isDown) this.cuts++
      }
    }
    agent.destroy()
  }

  async readPage(agent: Agent, page: Page): Promise<Answer> {
    const least = page.acknowledged
    const answer = await get(agent, this.port, page.key)
    const problem = problemOf(page, least, answer)
    if (problem !== undefined) this.problems.push(problem)
    this.results.set(answer.result, (this.results.get(answer.result) ?? 0) + 1)
    return answer
  }

  async readFiller(agent: Agent, index: number): Promise<Answer> {
    const key = `filler/${index}`
    const answer = await get(agent, this.port, key)
    const problem = problemOf({ key, bytes: fillerBytes, begun: 0, acknowledged: 0 }, 0, answer)
    if (problem !== undefined) this.problems.push(problem)
    return answer
  }

  /** Until most of the fillers are found. The memory has room for half of these, and what else the tier has does not count. */
  async warm(): Promise<void> {
    this.isDown = false
    const agent = new Agent({ keepAlive: true })
    for (let hits = 0; hits < 0.75 * fillerCount; ) {
      hits = 0
      for (let i = 0; i < fillerCount; i++) if ((await this.readFiller(agent, i)).result === 'HIT') hits++
    }
    agent.destroy()
  }

  /** Writers and readers of every page, and readers of fillers; ends when the writers have, or after a kill. */
  async load(count: number): Promise<void> {
    this.isDown = false
    let writing = this.pages.length
    const isDone = () => writing === 0
    await Promise.all([
      ...this.pages.map(async page => {
        await this.write(page, count)
        writing--
      }),
      ...this.pages.flatMap(page =>
        [1, 2].map(() => this.read(agent => this.readPage(agent, page).then(() => {}), isDone)),
      ),
      ...[1, 2].map(() =>
        this.read(agent => this.readFiller(agent, this.random.integer(fillerCount)).then(() => {}), isDone),
      ),
    ])
  }

  /** Every page, against what the bucket has. */
  async readAll(): Promise<void> {
    const agent = new Agent({ keepAlive: true })
    for (const page of this.pages) {
      for (let i = 0; i < 3; i++) {
        const { body } = await this.readPage(agent, page)
        const stored = await this.s3.send(new GetObjectCommand({ Bucket, Key: page.key }))
        const bytes = Buffer.from((await stored.Body?.transformToByteArray()) as Uint8Array)
        if (!bytes.equals(body)) this.problems.push(`${page.key}: the answer is not what the bucket has`)
      }
    }
    agent.destroy()
  }

  /** Kills it in the middle of the load. */
  async loadAndKill(): Promise<void> {
    const target = this.pages.reduce((sum, page) => sum + page.acknowledged, 0) + this.random.integer(writesPerRound)
    const loading = this.load(Number.POSITIVE_INFINITY)
    while (this.pages.reduce((sum, page) => sum + page.acknowledged, 0) < target) await new Promise(setImmediate)
    this.isDown = true
    await this.server.kill()
    await loading
  }
}

function flip(file: string, random: SeededRandom): void {
  const bytes = readFileSync(file)
  if (bytes.length === 0) return
  const at = random.integer(bytes.length)
  bytes[at] = (bytes[at] as number) ^ (1 << random.integer(8))
  writeFileSync(file, random.integer(4) === 0 ? bytes.subarray(0, at) : bytes)
}

/** Reads every filler once, so that a hit is of the killed process. */
async function countHits(world: World, isHarmed: boolean): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  let hits = 0
  for (let i = 0; i < fillerCount; i++) {
    if ((await world.readFiller(agent, i)).result === 'HIT') hits++
    // A tier that took 50 ms several times is not asked for ten seconds.
    else if (!isHarmed && hits === 0) await sleep(500)
  }
  agent.destroy()
  return hits
}

async function killRounds(t: Test, world: World, dir: string): Promise<void> {
  const { server, random } = world
  for (let round = 0; round < roundCount; round++) {
    await world.warm()
    await world.loadAndKill()
    const isHarmed = round % 2 === 1
    const files = recordFiles(dir)
    t.ok(files.length > 20, `round ${round}: ${files.length} records on disk after the kill`)
    if (isHarmed) for (const file of files) flip(file, random)
    await server.start()
    const hits = await countHits(world, isHarmed)
    const served = `${hits} of ${fillerCount} pages were served from what the killed process had written`
    if (isHarmed) t.equal(hits, 0, 'nothing of the harmed records was served')
    else t.ok(hits > 0, served)
    await world.readAll()
  }
}

for (const workers of ['0', '2']) {
  t.test(`${workers} workers: after kills, and on harmed records, no answer is torn or old`, async t => {
    const environment = { SVC_WEB_ADDRESS: '127.0.0.1:0', SVC_WORKERS: workers, SVC_CACHE_MEMORY: '1MiB' }
    await seeded(t, async random => {
      const server = await startServer({ environment })
      t.teardown(() => server.remove())
      await server.stop()
      const dir = join(server.folder, 'cache')
      await server.start({ ...environment, SVC_CACHE_DIR: dir, SVC_CACHE_SIZE: '64MiB' })
      const world = new World(server, random)
      await world.publish()
      await killRounds(t, world, dir)
      await world.load(25)
      t.same(world.problems.slice(0, 5), [], `${world.problems.length} wrong answers`)
      t.comment(
        `${world.cuts} answers were cut off. `,
        [...world.results].map(([name, count]) => `${name} ${count}`).join(', '),
      )
      t.ok((await tierStats(server)).entries > 20)
      t.equal(await server.stop(), 0)
      const errors = server
        .log()
        .split('\n')
        .filter(line => /"level":"(error|fatal)"/.test(line))
      t.same(errors, [])
    })
  })
}
