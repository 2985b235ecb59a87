/** Single kinds of load, for profiles and for the comparison of two trees. */
import { createHash, randomBytes } from 'node:crypto'
import { createBucket } from './control.ts'
import type { LoadClient } from './load-client.ts'
import type { LoadPlan } from './load-plan.ts'
import type { Endpoint } from './targets.ts'

const MIB = 2 ** 20

export interface Load {
  /** Objects that must be there first. */
  readonly fill?: { readonly count: number; readonly sizeBytes: number }
  readonly plan: Pick<LoadPlan, 'method' | 'bodySizeBytes' | 'connectionCount'>
  /** How many objects are asked for in turn, or the query of the bucket. */
  readonly targets: number | string
  readonly encryption?: LoadEncryption
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
  list: {
    fill: { count: 10_000, sizeBytes: 0 },
    plan: { method: 'GET', bodySizeBytes: 0, connectionCount: 1 },
    targets: 'list-type=2&max-keys=1000',
  },
}

/** Creates the bucket and its objects, and signs the requests that the client's next run will send. */
export async function prepareLoad(server: Endpoint, client: LoadClient, load: Load, bucket = 'bench'): Promise<void> {
  const { host, port, credentials } = server
  const common = { host, port, credentials, signedHost: `${host}:${port}`, receiveBufferBytes: MIB }
  const { put, get } = load.encryption ?? { put: {}, get: {} }
  const objects = (count: number): LoadPlan['targets'] => ({ bucket, first: 0, count })
  await createBucket(server, bucket)
  if (load.fill !== undefined) {
    const { count, sizeBytes } = load.fill
    const connectionCount = Math.min(count, 64)
    const fill = { method: 'PUT' as const, targets: objects(count), bodySizeBytes: sizeBytes, connectionCount }
    await client.prepare({ ...common, ...fill, headers: put })
    await client.run({ requestCountMax: count, timeMsMax: 60_000 })
  }
  const { plan } = load
  const targets = typeof load.targets === 'number' ? objects(load.targets) : [`/${bucket}?${load.targets}`]
  await client.prepare({ ...common, ...plan, targets, headers: plan.method === 'PUT' ? put : get })
}
