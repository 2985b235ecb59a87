/** Single kinds of load, for profiles and for the comparison of two trees. */
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { completeUpload, createBucket, createUpload, disableCache, publish } from './control.ts'
import type { LoadClient } from './load-client.ts'
import { type LoadPlan, targetOf } from './load-plan.ts'
import type { Endpoint, ServerTarget } from './targets.ts'

const SITE = 'www'
const SITE_HOST = 'www.example.test'
const MIB = 2 ** 20

export interface Load {
  /** Objects that must be there first. */
  readonly fill?: { readonly count: number; readonly sizeBytes: number }
  readonly plan: Pick<LoadPlan, 'method' | 'bodySizeBytes' | 'connectionCount'>
  /** How many objects are asked for in turn, or the query of the bucket. */
  readonly targets: number | string
  readonly encryption?: LoadEncryption
  /** Each request of the load is a whole upload: the parts, `connectionCount` of them at once, and what begins and completes it. */
  readonly partCount?: number
  /** Visitors of a website ask for the objects: through the cache, or `plain`, from the bucket each time. */
  readonly website?: 'cached' | 'plain'
  /** The memory of the cache, which then has a folder too. Default: what the server has by itself, and no folder. */
  readonly cacheMemory?: string
}

/** Headers of a load that encrypts. */
interface LoadEncryption {
  readonly put: Readonly<Record<string, string>>
  /** Of reads of what was written with `put`. */
  readonly get: Readonly<Record<string, string>>
}

/** What the server needs for loads that encrypt; it costs nothing where none does. */
export const LOAD_ENVIRONMENT: Readonly<Record<string, string>> = {
  SVC_KMS_SECRET_KEY: `bench:${randomBytes(32).toString('base64')}`,
  SVC_SSEC_ALLOW_INSECURE: 'true',
}

/** What the server needs for a load. Older trees know no websites. `folder`: of this server. */
export function environmentOf({ website, cacheMemory }: Load, folder: string): Readonly<Record<string, string>> {
  const cache = cacheMemory && { SVC_CACHE_DIR: join(folder, 'cache'), SVC_CACHE_MEMORY: cacheMemory }
  return website === undefined ? LOAD_ENVIRONMENT : { ...LOAD_ENVIRONMENT, SVC_WEB_ADDRESS: '127.0.0.1:0', ...cache }
}

/** Of SSE-C, with a random key. */
export function customerHeaders(): Record<string, string> {
  const key = randomBytes(32)
  const prefix = 'x-amz-server-side-encryption-customer-'
  return {
    [`${prefix}algorithm`]: 'AES256',
    [`${prefix}key`]: key.toString('base64'),
    [`${prefix}key-md5`]: createHash('md5').update(key).digest('base64'),
  }
}

const getSmall: Load = {
  fill: { count: 256, sizeBytes: 4096 },
  plan: { method: 'GET', bodySizeBytes: 0, connectionCount: 64 },
  targets: 256,
}

const web: Load = { ...getSmall, plan: { ...getSmall.plan, connectionCount: 16 } }

const putSmall: Load = {
  plan: { method: 'PUT', bodySizeBytes: 4096, connectionCount: 64 },
  targets: 80_000,
}

const sseS3: LoadEncryption = { put: { 'x-amz-server-side-encryption': 'AES256' }, get: {} }
const sseKms: LoadEncryption = { put: { 'x-amz-server-side-encryption': 'aws:kms' }, get: {} }
const customer = customerHeaders()
const sseC: LoadEncryption = { put: customer, get: customer }

export const LOADS: Readonly<Record<string, Load>> = {
  'get-small': getSmall,
  'get-small-sse-s3': { ...getSmall, encryption: sseS3 },
  'get-small-sse-kms': { ...getSmall, encryption: sseKms },
  'get-small-sse-c': { ...getSmall, encryption: sseC },
  'web-hit': { ...web, website: 'cached' },
  'web-plain': { ...web, website: 'plain' },
  // More pages than the memory has room for: each is read from the folder.
  'web-disk': {
    fill: { count: 128, sizeBytes: MIB },
    plan: { method: 'GET', bodySizeBytes: 0, connectionCount: 16 },
    targets: 128,
    website: 'cached',
    cacheMemory: '16MiB',
  },
  'put-small': putSmall,
  'put-one': { ...putSmall, plan: { ...putSmall.plan, connectionCount: 1 } },
  'put-small-sse-s3': { ...putSmall, encryption: sseS3 },
  'put-small-sse-kms': { ...putSmall, encryption: sseKms },
  'put-small-sse-c': { ...putSmall, encryption: sseC },
  'get-medium': {
    fill: { count: 64, sizeBytes: MIB },
    plan: { method: 'GET', bodySizeBytes: 0, connectionCount: 16 },
    targets: 64,
  },
  'put-medium': {
    plan: { method: 'PUT', bodySizeBytes: MIB, connectionCount: 16 },
    targets: 64,
  },
  'get-large': {
    fill: { count: 1, sizeBytes: 256 * MIB },
    plan: { method: 'GET', bodySizeBytes: 0, connectionCount: 1 },
    targets: 1,
  },
  'put-large': {
    plan: { method: 'PUT', bodySizeBytes: 64 * MIB, connectionCount: 4 },
    targets: 4,
  },
  'get-gib': {
    fill: { count: 1, sizeBytes: 1024 * MIB },
    plan: { method: 'GET', bodySizeBytes: 0, connectionCount: 1 },
    targets: 1,
  },
  'multipart-gib': {
    plan: { method: 'PUT', bodySizeBytes: 64 * MIB, connectionCount: 4 },
    targets: 1,
    partCount: 16,
  },
  list: {
    fill: { count: 10_000, sizeBytes: 0 },
    plan: { method: 'GET', bodySizeBytes: 0, connectionCount: 1 },
    targets: 'list-type=2&max-keys=1000',
  },
}

/** Creates the bucket and its objects, and signs the requests that the client's next run will send. Only our own server has websites. */
export async function prepareLoad(
  server: Endpoint | ServerTarget,
  client: LoadClient,
  load: Load,
  bucket = 'bench',
): Promise<void> {
  const { host, port, credentials } = server
  const common = { host, port, credentials, signedHost: `${host}:${port}`, receiveBufferBytes: MIB }
  const { put, get } = load.encryption ?? { put: {}, get: {} }
  const objects = (count: number): LoadPlan['targets'] => ({ bucket, first: 0, count })
  await createBucket(server, bucket)
  if (load.fill !== undefined) {
    const { count, sizeBytes } = load.fill
    const connectionCount = Math.min(count, 64)
    const fill = { method: 'PUT' as const, targets: objects(count), bodySizeBytes: sizeBytes, connectionCount }
    const headers = load.website === 'cached' ? { ...put, 'cache-control': 'max-age=3600' } : put
    await client.prepare({ ...common, ...fill, headers })
    await client.run({ requestCountMax: count, timeMsMax: 60_000 })
  }
  const { plan } = load
  if (load.website !== undefined) {
    const site = await publishSite(server, bucket, load.website)
    // On a website the path is the key.
    const pages = Array.from({ length: Number(load.targets) }, (_, index) => targetOf('', index).slice(1))
    await client.prepare({ ...common, ...plan, ...site, targets: pages })
    return
  }
  const targets = typeof load.targets === 'number' ? objects(load.targets) : [`/${bucket}?${load.targets}`]
  await client.prepare({ ...common, ...plan, targets, headers: plan.method === 'PUT' ? put : get })
}

/** One upload in parts, of a load that consists of such. */
export async function uploadInParts(
  server: Endpoint,
  client: LoadClient,
  { plan, partCount = 1 }: Load,
): Promise<void> {
  const { host, port, credentials } = server
  const upload = await createUpload(server, targetOf('bench', 0))
  const targets = Array.from(
    { length: partCount },
    (_, index) => `${upload.target}?partNumber=${index + 1}&uploadId=${upload.uploadId}`,
  )
  const common = { host, port, credentials, signedHost: `${host}:${port}`, receiveBufferBytes: MIB }
  await client.prepare({ ...common, ...plan, targets })
  const { etags } = await client.run({ requestCountMax: partCount, timeMsMax: 120_000, wantsEtags: true })
  await completeUpload(server, upload, etags)
}

async function publishSite(server: Endpoint | ServerTarget, bucket: string, kind: 'cached' | 'plain') {
  if (!('webPort' in server)) throw new Error('Only our own server has websites.')
  await publish(server, bucket, SITE, SITE_HOST)
  if (kind === 'plain') await disableCache(server, SITE)
  return { port: server.webPort, signedHost: SITE_HOST, credentials: undefined }
}
