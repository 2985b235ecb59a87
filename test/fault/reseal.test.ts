/**
 * The master key is replaced while clients read and write, and the server is killed in the middle of sealing the data keys anew, again
 * and again. In the end everything is sealed under the new key, the former one may go, and every object and upload is what it was. With
 * a wrong key, or none, nothing is lost, and what is said tells what to do. SEED repeats the choices of a run, not its timing.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from 'svc/testing'
import t from 'tap'
import { type AdminClient, createAdminClient } from '../wire/admin.ts'
import { startServer } from '../wire/server.ts'
import { type Answer, createSignedClient } from '../wire/signed-client.ts'
import { contentOf, createJournalOfAcks, stateOf } from './journal-of-acks.ts'
import { AnswerError, createOperations } from './operations.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const crashCount = Number(process.env.ROUNDS ?? 5)
/** In the journal, in a file of its own, in several chunks. */
const sizes = [0, 1, 4096, 70_000, 140_000, 300_000]
const objectCount = 400
const versionedKeys = 20
const versionsEach = 3
const writerCount = 3
const keysPerWriter = 10
const readerCount = 3
/** The time in which the first crash comes; sealing everything takes longer. */
const firstCrashMsMax = 60
const partBytes = 5 << 20

t.setTimeout(600_000)
t.comment(`SEED=${seed}`)

const masterKey = (name: string) => `${name}:${randomBytes(32).toString('base64')}`
const [first, second, third] = [masterKey('first'), masterKey('second'), masterKey('third')]
const environment = (current?: string, ...previous: string[]): Record<string, string> => ({
  SVC_SSEC_ALLOW_INSECURE: 'true',
  ...(current === undefined ? undefined : { SVC_KMS_SECRET_KEY: current }),
  ...(previous.length === 0 ? undefined : { SVC_KMS_SECRET_KEY_PREVIOUS: previous.join(',') }),
})

const server = await startServer({ environment: environment(first) })
t.teardown(() => server.remove())
const client = createSignedClient(server.port)
t.teardown(() => client.disconnect())
const s3 = createOperations(client, 'vault')
const journal = createJournalOfAcks()
const problems: string[] = []

interface Fixed {
  readonly path: string
  readonly query?: string
  readonly hash: string
  readonly headers?: Readonly<Record<string, string>>
}
/** Nobody writes these again. */
const fixed: Fixed[] = []
const isEncrypted = (one: Fixed) => !one.path.startsWith('/plain/')

const customerKey = randomBytes(32)
const customerHeaders = {
  'x-amz-server-side-encryption-customer-algorithm': 'AES256',
  'x-amz-server-side-encryption-customer-key': customerKey.toString('base64'),
  'x-amz-server-side-encryption-customer-key-md5': createHash('md5').update(customerKey).digest('base64'),
}

async function send(method: string, path: string, more: object = {}): Promise<Answer> {
  const attempt = { method, path, ...more }
  const answer = await client.send(attempt)
  if (answer.status >= 300) throw new AnswerError(attempt, answer)
  return answer
}

async function putFixed(path: string, content: string, size: number, headers?: Record<string, string>): Promise<void> {
  const { bytes, hash } = contentOf(`${seed} ${content}`, size)
  const answer = await send('PUT', path, { body: bytes, headers })
  const versionId = answer.headers['x-amz-version-id']
  const query = versionId === undefined ? undefined : `versionId=${versionId}`
  fixed.push({ path, query, hash, headers: headers === customerHeaders ? headers : undefined })
}

async function readFixed({ path, query, hash, headers }: Fixed): Promise<void> {
  const { body } = await send('GET', path, { query, headers })
  const seen = stateOf(body)
  if (seen !== hash) problems.push(`${path}?${query ?? ''}: ${seen} instead of ${hash}`)
}

async function readAll(): Promise<void> {
  for (let from = 0; from < fixed.length; from += 16) await Promise.all(fixed.slice(from, from + 16).map(readFixed))
  for (const key of journal.keys()) {
    const bytes = await s3.get(key)
    const problem = journal.settle(key, bytes === undefined ? undefined : stateOf(bytes), true)
    if (problem !== undefined) problems.push(problem)
  }
}

interface OpenUpload {
  readonly key: string
  readonly uploadId: string
  readonly parts: Map<number, string>
}
const uploads: OpenUpload[] = []
const partOf = (key: string, partNumber: number) =>
  contentOf(`${seed} ${key} ${partNumber}`, partNumber === 1 ? partBytes : 70_000).bytes

async function sendPart({ key, uploadId, parts }: OpenUpload, partNumber: number): Promise<void> {
  parts.set(partNumber, await s3.putPart(key, uploadId, partNumber, partOf(key, partNumber)))
}

const defaultEncryption =
  '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>' +
  '</ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>'

let writeCount = 0
async function put(key: string): Promise<void> {
  const { bytes, hash } = contentOf(`${seed} write ${++writeCount}`, sizes[writeCount % sizes.length]!)
  journal.ask(key, hash)
  await s3.put(key, bytes)
  journal.acknowledge(key, hash)
}

/** Until the first crash, or error: an answer that is one is a problem, no answer is the crash. */
async function untilCrash(work: () => Promise<void>, until: AbortSignal): Promise<void> {
  try {
    while (!until.aborted) await work()
  } catch (error) {
    if (error instanceof AnswerError) problems.push(error.message)
  }
}

function startLoad(until: AbortSignal): Promise<unknown> {
  let next = 0
  const writers = Array.from({ length: writerCount }, (_, index) =>
    untilCrash(() => put(`written/${index}/${writeCount % keysPerWriter}`), until),
  )
  const readers = Array.from({ length: readerCount }, () =>
    untilCrash(() => readFixed(fixed[(next++ * 37) % fixed.length]!), until),
  )
  return Promise.all([...writers, ...readers])
}

/** One that knows where the console listens now. */
const admin = (): AdminClient => createAdminClient(server)

t.before(async () => {
  for (const bucket of ['vault', 'history', 'plain']) await send('PUT', `/${bucket}`)
  for (const bucket of ['vault', 'history']) {
    await send('PUT', `/${bucket}`, { query: 'encryption=', body: defaultEncryption })
  }
  const versioning = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
  await send('PUT', '/history', { query: 'versioning=', body: versioning })
  await admin().call('POST', '/kms/keys', { id: 'photos' })
  const kinds = [undefined, { 'x-amz-server-side-encryption': 'aws:kms' }, customerHeaders]
  const photos = { 'x-amz-server-side-encryption': 'aws:kms', 'x-amz-server-side-encryption-aws-kms-key-id': 'photos' }
  const puts = Array.from({ length: objectCount }, (_, i) => async () => {
    // A customer's key for every eighth of them only.
    const headers = i % 8 === 7 ? kinds[2] : [undefined, undefined, kinds[1], photos][i % 4]
    await putFixed(`/vault/fixed/${i}`, `fixed ${i}`, sizes[i % sizes.length]!, headers)
  })
  for (let i = 0; i < versionsEach; i++) {
    puts.push(...Array.from({ length: versionedKeys }, (_, k) => () => putFixed(`/history/${k}`, `${k} ${i}`, 100 + i)))
  }
  puts.push(() => putFixed('/plain/object', 'plain', 4096))
  for (let from = 0; from < puts.length; from += 8) await Promise.all(puts.slice(from, from + 8).map(one => one()))
  for (const key of ['upload/1', 'upload/2']) {
    const upload = { key, uploadId: await s3.createUpload(key), parts: new Map<number, string>() }
    uploads.push(upload)
    await sendPart(upload, 1)
  }
})

t.test('crashes while data keys are sealed anew lose nothing, and it goes on where it was', async t => {
  const sealedByKms = fixed.filter(one => isEncrypted(one) && one.headers === undefined).length
  await server.stop()
  client.disconnect()
  let cutCount = 0
  for (let crash = 0; crash < crashCount; crash++) {
    await server.start(environment(second, first))
    const over = new AbortController()
    const load = startLoad(over.signal)
    const reseal = admin()
      .call('POST', '/kms/reseal')
      .catch(() => cutCount++)
    await sleep(Math.random() * firstCrashMsMax * (crash + 1))
    await server.kill()
    over.abort()
    await Promise.all([load, reseal])
    client.disconnect()
    t.same(problems, [], `before crash ${crash + 1}, SEED=${seed}`)
  }
  t.ok(cutCount > 0, `${cutCount} of ${crashCount} crashes came while it was sealing`)

  await server.start(environment(second, first))
  const over = new AbortController()
  const load = startLoad(over.signal)
  const last = await admin().call('POST', '/kms/reseal')
  over.abort()
  await load
  t.match(last, { buckets: 3, uploads: uploads.length, failed: 0, firstError: '' })
  t.ok(last.versions >= sealedByKms, `${last.versions} versions were looked at`)
  t.match(await admin().call('POST', '/kms/reseal'), { resealed: 0, failed: 0 }, 'and then there is nothing left')
  await readAll()
  t.same(problems, [], `SEED=${seed}`)
})

t.test('without the former key everything reads, and uploads in progress are completed', async t => {
  await server.stop()
  client.disconnect()
  await server.start(environment(second))
  await readAll()
  for (const upload of uploads) {
    await sendPart(upload, 2)
    await s3.complete(upload.key, upload.uploadId, upload.parts)
    const bytes = Buffer.concat([partOf(upload.key, 1), partOf(upload.key, 2)])
    fixed.push({ path: `/vault/${upload.key}`, hash: stateOf(bytes) })
  }
  await readAll()
  t.same(problems, [], `SEED=${seed}`)
})

t.test(
  'with a wrong key or none the server does not start and gives the reason; with the right one all data is readable',
  async t => {
    await server.stop()
    client.disconnect()
    await t.rejects(
      server.start(environment(third)),
      /named \\"second\\".*Nothing was changed.*SVC_KMS_SECRET_KEY_PREVIOUS/s,
    )
    await t.rejects(server.start(environment()), /named \\"second\\".*Nothing was changed.*Set SVC_KMS_SECRET_KEY/s)
    await server.start(environment(second))
    await readAll()
    t.same(problems, [])
  },
)

t.test('where the former key went too early, objects wait for it and tell so', async t => {
  await server.stop()
  client.disconnect()
  await server.start(environment(third, second))
  await server.stop()
  client.disconnect()
  await server.start(environment(third))
  const withKms = fixed.filter(one => isEncrypted(one) && one.headers === undefined)
  for (const { path, query } of [withKms[0]!, withKms.find(one => one.path.startsWith('/history'))!, withKms.at(-1)!]) {
    const answer = await client.send({ method: 'GET', path, query })
    t.equal(answer.status, 503, path)
    t.equal(answer.code, 'ServiceUnavailable', 'clients are to come again')
  }
  for (const one of fixed.filter(one => one.headers !== undefined || !isEncrypted(one))) await readFixed(one)
  // The log arrives by a pipe, a moment later.
  await until(() => server.log().includes('a key is not available'), { what: 'the operator is told' })
  t.match(server.log(), /SVC_KMS_SECRET_KEY_PREVIOUS/, 'and what to do')
  const reseal = await admin().call('POST', '/kms/reseal')
  t.match(reseal, { resealed: 0, firstError: /SVC_KMS_SECRET_KEY_PREVIOUS/ })
  t.ok(reseal.failed >= withKms.length)
  await put('written/late')

  await server.stop()
  client.disconnect()
  await server.start(environment(third, second))
  await readAll()
  t.same(problems, [], `SEED=${seed}`)
  t.match(await admin().call('POST', '/kms/reseal'), { failed: 0 })
  for (const secret of [first, second, third, `x:${customerKey.toString('base64')}`]) {
    t.notOk(server.log().includes(secret.slice(secret.indexOf(':') + 1)), 'no key is in the log')
  }
})
