/** Single signed requests to the server under test, for what prepares and finishes a measurement. */
import { createHash } from 'node:crypto'
import { createSigner } from './signature.ts'
import type { Endpoint, ServerTarget } from './targets.ts'

const REQUEST_TIMEOUT_MS = 120_000

export interface ControlAnswer {
  readonly headers: Headers
  readonly text: string
}

/** `target` is a canonical path with its sorted query. Throws unless the answer is 2xx. */
export async function request(
  server: Endpoint,
  method: string,
  target: string,
  body?: string,
  unsignedHeaders: Readonly<Record<string, string>> = {},
): Promise<ControlAnswer> {
  const host = `${server.host}:${server.port}`
  const payloadHash = createHash('sha256')
    .update(body ?? '')
    .digest('hex')
  const lines = createSigner(server.credentials, host).headers(method, target, payloadHash).trimEnd().split('\r\n')
  const headers = lines.map(line => line.split(': ') as [string, string]).filter(([name]) => name !== 'host')
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  const response = await fetch(`http://${host}${target}`, {
    method,
    headers: { ...Object.fromEntries(headers), ...unsignedHeaders },
    body,
    signal,
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${target} was answered ${response.status}: ${text.slice(0, 500)}`)
  return { headers: response.headers, text }
}

export async function createBucket(server: Endpoint, bucket: string): Promise<void> {
  await request(server, 'PUT', `/${bucket}`)
}

/** Answers the bucket as a website with the default behavior, on this host. */
export async function publish(server: ServerTarget, bucket: string, id: string, alias: string): Promise<void> {
  const body = { id, aliases: [alias], origin: { bucket }, defaultBehavior: { access: 'public' } }
  await putDocument(server, `distributions/${id}`, body)
}

/** Nothing of the distribution is cached from now on. */
export async function disableCache(server: ServerTarget, id: string): Promise<void> {
  await putDocument(server, `distributions/${id}/cache/settings`, { cache: { policy: 'disabled' } })
}

async function putDocument(server: ServerTarget, path: string, body: unknown): Promise<void> {
  const admin = { ...server, port: server.consolePort }
  await request(admin, 'PUT', `/api/v1/${path}`, JSON.stringify(body), { 'content-type': 'application/json' })
}

/** Throws unless the object is there with this size: a fast server that stored nothing would win every contest. */
export async function expectObject(server: Endpoint, target: string, sizeBytes: number): Promise<void> {
  const { headers } = await request(server, 'HEAD', target)
  if (Number(headers.get('content-length')) !== sizeBytes) {
    throw new Error(`${target} should have ${sizeBytes} bytes but has ${headers.get('content-length')}.`)
  }
}

export interface MultipartUpload {
  readonly target: string
  /** Encoded for a query. */
  readonly uploadId: string
}

export async function createUpload(server: Endpoint, target: string): Promise<MultipartUpload> {
  const { text } = await request(server, 'POST', `${target}?uploads=`)
  const uploadId = /<UploadId>([^<]+)<\/UploadId>/.exec(text)?.[1]
  if (uploadId === undefined) throw new Error(`CreateMultipartUpload returned no id: ${text.slice(0, 500)}`)
  return { target, uploadId: encodeURIComponent(uploadId) }
}

export async function completeUpload(
  server: Endpoint,
  upload: MultipartUpload,
  etags: readonly string[],
): Promise<void> {
  const parts = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  const { text } = await request(server, 'POST', `${upload.target}?uploadId=${upload.uploadId}`, body)
  // The status was sent before the outcome was known, so an error may come with 200.
  if (text.includes('<Error>')) throw new Error(`CompleteMultipartUpload failed: ${text.slice(0, 500)}`)
}
