/**
 * CPU of what distributions add to an S3 request: node --conditions=svc-src plugins/distributions/test/perf/host-route.ts
 * Prints nanoseconds: the whole question while there are no distributions, and the search of a host among many. Not a test: nothing is
 * asserted about time.
 */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Exchange } from 'svc/plugins/http/api'
import standard from 'svc/plugins/standard'
import { startKernel } from 'svc/testing'
import { createHostTable } from '../../host-table.ts'
import { serverNames } from '../../names.ts'
import { routeHost } from '../../routing.ts'

const rounds = 9
const calls = 1_000_000
const many = 1000
const host = 'files.example.org:9000'

function measure(name: string, work: () => unknown): void {
  const figures: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    for (let call = 0; call < calls; call++) work()
    figures.push((process.cpuUsage(before).user * 1000) / calls)
  }
  figures.sort((a, b) => a - b)
  const [median, least] = [figures[rounds >> 1]!, figures[0]!].map(figure => figure.toFixed(0))
  process.stdout.write(`${name.padEnd(28)} ${median!.padStart(6)} ns, least ${least} ns\n`)
}

const folder = await mkdtemp(join(tmpdir(), 'svc-route-'))
const kernel = await startKernel({
  plugins: standard,
  config: {
    iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
    storage: { endpoints: [folder] },
    distributions: { s3Distributions: 'on' },
    http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
  },
})
try {
  const contributions = kernel.point('host.route').list()
  const route = contributions.find(({ id }) => id === 'distributions')!.value
  const exchange = { host, listener: 's3' } as unknown as Exchange
  await route.find(exchange)
  measure('no distributions', () => {
    if (route.find(exchange) !== undefined) throw new Error('There is one.')
  })
} finally {
  await kernel.stop()
  rmSync(folder, { recursive: true, force: true })
}

const hosts = createHostTable(
  Array.from({ length: many }, (_, index) => [[`d${index}.example.test`, `*.w${index}.example.test`], index] as const),
)
const rules = {
  names: serverNames({ domain: [], serverUrl: '', browserRedirectUrl: '' } as never),
  onS3: true,
  refusesUnknown: false,
  isOff: false,
}
measure(`${many} distributions`, () => routeHost(host, 's3', hosts, rules))
