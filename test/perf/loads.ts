/** Single kinds of load, for profiles and for the comparison of two trees. */
import { createBucket } from './control.ts'
import type { LoadClient } from './load-client.ts'
import { type LoadPlan, targetOf } from './load-plan.ts'
import type { ServerTarget } from './targets.ts'

const BUCKET = 'bench'
const MIB = 2 ** 20

export interface Load {
  /** Objects that must be there first. */
  readonly fill?: { readonly count: number; readonly sizeBytes: number }
  readonly plan: Pick<LoadPlan, 'method' | 'targets' | 'bodySizeBytes' | 'connectionCount'>
}

export const LOADS: Readonly<Record<string, Load>> = {
  'get-small': {
    fill: { count: 256, sizeBytes: 4096 },
    plan: { method: 'GET', targets: { bucket: BUCKET, first: 0, count: 256 }, bodySizeBytes: 0, connectionCount: 64 },
  },
  'put-small': {
    plan: {
      method: 'PUT',
      targets: { bucket: BUCKET, first: 0, count: 80_000 },
      bodySizeBytes: 4096,
      connectionCount: 64,
    },
  },
  'get-large': {
    fill: { count: 1, sizeBytes: 256 * MIB },
    plan: { method: 'GET', targets: [targetOf(BUCKET, 0)], bodySizeBytes: 0, connectionCount: 1 },
  },
  'put-large': {
    plan: {
      method: 'PUT',
      targets: { bucket: BUCKET, first: 0, count: 4 },
      bodySizeBytes: 64 * MIB,
      connectionCount: 4,
    },
  },
  list: {
    fill: { count: 10_000, sizeBytes: 0 },
    plan: { method: 'GET', targets: [`/${BUCKET}?list-type=2&max-keys=1000`], bodySizeBytes: 0, connectionCount: 1 },
  },
}

/** Creates the bucket and its objects, and signs the requests that the client's next run will send. */
export async function prepareLoad(server: ServerTarget, client: LoadClient, load: Load): Promise<void> {
  const { host, port, credentials } = server
  const common = { host, port, credentials, signedHost: `${host}:${port}`, receiveBufferBytes: MIB }
  await createBucket(server, BUCKET)
  if (load.fill !== undefined) {
    const { count, sizeBytes } = load.fill
    const targets = { bucket: BUCKET, first: 0, count }
    const connectionCount = Math.min(count, 64)
    await client.prepare({ ...common, method: 'PUT', targets, bodySizeBytes: sizeBytes, connectionCount })
    await client.run({ requestCountMax: count, timeMsMax: 60_000 })
  }
  await client.prepare({ ...common, ...load.plan })
}
