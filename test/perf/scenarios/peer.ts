/** Another S3 server, which somebody else has started, beside this one: the same requests of the same client, in turn. */
import { randomBytes } from 'node:crypto'
import {
  alternate,
  type Bench,
  column,
  measureRequests,
  ratios,
  recordRequests,
  type Samples,
  type Scenario,
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { request } from '../control.ts'
import { type LoadClient, startLoadClient } from '../load-client.ts'
import { LOADS, prepareLoad } from '../loads.ts'
import type { Endpoint, Target } from '../targets.ts'

const MEASURED = ['put-small', 'put-one', 'get-small', 'list', 'put-medium', 'get-medium', 'put-large', 'get-large']

export const peer: Scenario = {
  name: 'peer',
  summary: 'any S3 server (--peer URL) beside this one: PUT and GET from 4 KiB to 256 MiB, a page of a listing',
  needsPeer: true,
  async run(bench) {
    const { server, peer } = bench
    if (peer === undefined) throw new Error('Name a server with --peer URL.')
    if (server === undefined) throw new Error('--baseline leaves nothing to compare a peer with.')
    // What a run that broke off leaves behind can be told by its name.
    const prefix = `svc-bench-${randomBytes(4).toString('hex')}`
    const wasted: string[] = []
    for (const name of MEASURED) {
      bench.say(name)
      await measureLoad(bench, [server, peer], name, `${prefix}-${name}`).catch(error => {
        wasted.push(`${name}: ${(error as Error).message}`)
      })
    }
    if (wasted.length > 0) throw new Error(wasted.join('; '))
  },
}

async function measureLoad(
  bench: Bench,
  contestants: readonly (Target & Endpoint)[],
  name: string,
  bucket: string,
): Promise<void> {
  const clients = new Map<string, LoadClient>()
  try {
    for (const contestant of contestants) {
      const client = startLoadClient()
      clients.set(contestant.name, client)
      await prepareLoad(contestant, client, LOADS[name], bucket).catch(error => {
        throw new Error(`${contestant.name}: ${(error as Error).message}`)
      })
    }
    const samples = await alternate(bench.isQuick ? 5 : 9, contestants, (target, round) => {
      const timeMsMax = round === warmUp ? warmUpMs : bench.isQuick ? 500 : 2000
      const limits = { requestCountMax: 10_000_000, timeMsMax }
      return measureRequests({ ...bench, load: clients.get(target.name)! }, target, limits)
    })
    recordRequests(bench, samples, name)
    recordRatios(bench, samples, name)
  } finally {
    for (const client of clients.values()) await client.stop()
    // Our own server goes with its drive.
    await deleteBucket(bench, contestants[1], bucket)
  }
}

function recordRatios(bench: Bench, samples: Samples, name: string): void {
  for (const quantity of ['rate', 'CPU']) {
    const ours = column(samples, 'server', quantity)
    const theirs = column(samples, 'peer', quantity)
    if (theirs.every(value => value > 0)) {
      bench.record({
        subject: 'server / peer',
        name: `${name}: ${quantity}`,
        unit: 'ratio',
        samples: ratios(ours, theirs),
      })
    }
  }
}

/** With everything in it. The peer may have refused to create it. */
async function deleteBucket({ load }: Bench, peer: Target & Endpoint, bucket: string): Promise<void> {
  const { host, port, credentials } = peer
  const common = { host, port, credentials, signedHost: `${host}:${port}`, receiveBufferBytes: 65_536 }
  for (;;) {
    const listing = await request(peer, 'GET', `/${bucket}?list-type=2&max-keys=1000`).catch(() => undefined)
    if (listing === undefined) return
    const targets = [...listing.text.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => `/${bucket}/${key}`)
    if (targets.length === 0) break
    await load.prepare({ ...common, method: 'DELETE', targets, bodySizeBytes: 0, connectionCount: 16 })
    await load.run({ requestCountMax: targets.length, timeMsMax: 120_000 })
  }
  await request(peer, 'DELETE', `/${bucket}`)
}
