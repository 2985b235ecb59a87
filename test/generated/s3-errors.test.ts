/**
 * Every error that an operation declares is provoked, and is answered with its code; an operation that declares another one fails here
 * until somebody writes down how it comes about (provocations.ts), and so does one that no longer declares what is written there.
 */
import { createHash } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type Signer, signRequest } from 'svc/plugins/auth-sigv4/api'
import type { S3Operation } from 'svc/plugins/s3/api'
import t from 'tap'
import { readDeclarations } from '../../docs/declarations.ts'
import { accessKey, region, secretKey, startServer } from '../wire/server.ts'
import { type Change, complete, derived, elsewhere, needsLock, type Place, provocations } from './provocations.ts'

const signer: Signer = { accessKey, secret: secretKey, region }
const { operations } = await readDeclarations()
const server = await startServer()
t.teardown(() => server.remove())

interface Sent extends Change {
  readonly method: string
  readonly path: string
}
interface Answer {
  readonly status: number
  readonly text: string
  readonly code: string | undefined
  readonly headers: IncomingMessage['headers']
}

function send({ method, path, query = '', headers = {}, body, announcedBytes, isChunked }: Sent): Promise<Answer> {
  const host = `127.0.0.1:${server.port}`
  const length = announcedBytes ?? Buffer.byteLength(body ?? '')
  const framing: Record<string, string> = isChunked
    ? { 'transfer-encoding': 'chunked' }
    : body === undefined && announcedBytes === undefined && method !== 'PUT' && method !== 'POST'
      ? {}
      : { 'content-length': String(length) }
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''))
  const { 'x-amz-content-sha256': payload = 'UNSIGNED-PAYLOAD', ...rest } = given as Record<string, string>
  const nowMs = Date.now()
  const signed = signRequest(signer, { method, host, path, query, headers: { ...rest, ...framing }, payload, nowMs })
  return new Promise((done, fail) => {
    const target = query === '' ? path : `${path}?${query}`
    const sent = request(
      { host: '127.0.0.1', port: server.port, method, path: target, headers: signed.headers },
      answer => {
        buffer(answer).then(bytes => {
          sent.destroy()
          const text = bytes.toString()
          const code = /<Error><Code>(\w+)<\/Code>/.exec(text)?.[1]
          done({ status: answer.statusCode!, text, code, headers: answer.headers })
        }, fail)
      },
    )
    sent.on('error', fail)
    if (announcedBytes === undefined) sent.end(body)
    else sent.flushHeaders()
  })
}

async function ok(sent: Sent): Promise<Answer> {
  const answer = await send(sent)
  if (answer.status >= 300) throw new Error(`${sent.method} ${sent.path}: ${answer.status} ${answer.text}`)
  return answer
}

const put = (path: string, headers = {}, body = 'data') => ok({ method: 'PUT', path, headers, body })
const uploadOf = async (path: string) => {
  const { text } = await ok({ method: 'POST', path, query: 'uploads=' })
  return /<UploadId>(\w+)</.exec(text)![1]!
}
const partOf = (path: string, uploadId: string, partNumber: number) =>
  ok({ method: 'PUT', path, query: `partNumber=${partNumber}&uploadId=${uploadId}`, body: 'data' })

async function prepare(): Promise<Place> {
  const [plain, locked, lists, missing] = ['errors-plain', 'errors-locked', 'errors-lists', 'errors-nowhere']
  await put(`/${plain}`, {}, '')
  await put(`/${locked}`, { 'x-amz-bucket-object-lock-enabled': 'true' }, '')
  await put(`/${lists}`, { 'x-amz-object-ownership': 'ObjectWriter', 'x-amz-acl': 'public-read' }, '')
  const refusing =
    '<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls></PublicAccessBlockConfiguration>'
  await ok({ method: 'PUT', path: `/${lists}`, query: 'publicAccessBlock=', body: refusing })
  for (const path of [
    `/${lists}/key`,
    `/${plain}/key`,
    `/${plain}/tagged`,
    `/${plain}/used`,
    `/${locked}/key`,
    `/${locked}/marker`,
  ])
    await put(path)
  const until = {
    'x-amz-object-lock-mode': 'COMPLIANCE',
    'x-amz-object-lock-retain-until-date': '2090-01-01T00:00:00Z',
  }
  const { headers } = await put(`/${locked}/locked`, until)
  await ok({ method: 'DELETE', path: `/${locked}`, query: 'ownershipControls=' })
  const marker = await ok({ method: 'DELETE', path: `/${locked}/marker` })
  const used = { 'x-amz-rename-source': 'used', 'x-amz-client-token': 'used' }
  await ok({ method: 'PUT', path: `/${plain}/used-up`, query: 'renameObject=', headers: used })
  const [uploadId, smallUploadId, unborn] = [
    await uploadOf(`/${plain}/key`),
    await uploadOf(`/${plain}/key`),
    await uploadOf(`/${plain}/unborn`),
  ]
  const part = await partOf(`/${plain}/key`, uploadId, 1)
  for (const partNumber of [1, 2]) await partOf(`/${plain}/key`, smallUploadId, partNumber)
  await partOf(`/${plain}/unborn`, unborn, 1)
  return {
    plain,
    locked,
    lists,
    missing,
    lockedVersion: String(headers['x-amz-version-id']),
    markerVersion: String(marker.headers['x-amz-version-id']),
    uploadId,
    partEtag: String(part.headers.etag),
    smallUploadId,
    unbornUploadId: unborn,
  }
}

const place = await prepare()
const made = (one: Change | ((place: Place) => Change) | undefined): Change =>
  typeof one === 'function' ? one(place) : (one ?? {})

/** The request that would succeed, changed so that it does not. */
function attemptOf({ name, match, body }: S3Operation, change: Change): Sent {
  const base = made(complete[name])
  const bucket = change.bucket ?? base.bucket ?? (needsLock.test(name) ? place.locked : place.plain)
  const key = change.key ?? base.key ?? 'key'
  const selecting = (match.query ?? []).map(one => (one.includes('=') ? one : `${one}=`))
  const given = change.query ?? base.query ?? ''
  const isGiven = (one: string) => given.split('&').some(part => part.startsWith(one))
  const query = [...selecting.filter(one => !isGiven(one)), ...(given === '' ? [] : [given])]
  // What a version is asked for stands beside what selects the operation.
  const more = given.startsWith('versionId=') && base.query !== undefined ? [base.query] : []
  const content = change.body ?? (change.isChunked || change.announcedBytes !== undefined ? undefined : base.body)
  const md5 = createHash('md5')
    .update(content ?? '')
    .digest('base64')
  const checked: Record<string, string> = body.kind === 'xml' && body.checksumRequired ? { 'content-md5': md5 } : {}
  return {
    ...change,
    method: match.method,
    path: { service: '/', bucket: `/${bucket}`, object: `/${bucket}/${key}` }[match.level],
    query: [...query, ...more].sort().join('&'),
    headers: { ...base.headers, ...checked, ...change.headers },
    body: content,
  }
}

for (const { value: operation } of operations) {
  const { name, errors, match } = operation
  t.test(name, async t => {
    const written = provocations[name] ?? {}
    t.same(
      [...Object.keys(written), ...Object.keys(elsewhere[name] ?? {})].filter(code => !errors.includes(code)),
      [],
      'what is written down is declared',
    )
    for (const code of errors) {
      if (elsewhere[name]?.[code] !== undefined) continue
      const one = written[code] ?? derived(operation, code)
      if (one === undefined) {
        t.fail(`${code}: nobody wrote down how it comes about`)
        continue
      }
      const sent = attemptOf(operation, made(one))
      const answer = await send(sent)
      // HEAD has no body to hold a code: the same request as GET says which one it is.
      const told = match.method === 'HEAD' && match.level === 'object' ? await send({ ...sent, method: 'GET' }) : answer
      const isSame = told.status === answer.status
      const found =
        match.method === 'HEAD' && match.level === 'bucket' ? (answer.status === 404 ? 'NoSuchBucket' : '') : told.code
      t.same([found, isSame], [code, true], code, { answer: told.text, sent })
    }
  })
}
