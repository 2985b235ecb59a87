import { defineCommand } from '../command.ts'
import { formatBytes, formatSeconds, wrapWords } from '../formatting.ts'

/** The fields of the answer of `getServerInfo` that are shown. */
interface ServerInfo {
  readonly version: string
  readonly commit: string
  readonly region: string
  readonly uptimeSeconds: number
  readonly buckets: number
  readonly objects: number
  readonly usage: number
  readonly pools: readonly {
    readonly index: number
    readonly drivesPerSet: number
    readonly parity: number
    /** Undefined: of an earlier build. */
    readonly reducedParity?: number
    readonly erasureSets: readonly {
      readonly index: number
      readonly drives: number
      readonly online: number
      readonly healing: number
      /** Undefined: of an earlier build. */
      readonly leastParity?: number
      readonly state: string
    }[]
  }[]
  readonly nodes: readonly {
    readonly endpoint: string
    readonly state: string
    readonly disks: readonly {
      readonly path: string
      readonly state: string
      readonly total: number
      readonly free: number
      readonly error: string
    }[]
  }[]
  readonly kms: { readonly configured: boolean; readonly online: boolean; readonly error: string }
  readonly tls: { readonly enabled: boolean; readonly certificates: readonly { readonly notAfter: string }[] }
}

export default defineCommand({
  name: 'admin info',
  summary: 'Sums up the server: its state, drives, redundancy, content and security.',
  description: '`svcctl admin server info` shows all details. Needs admin:ServerInfo.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [],
  examples: ['svcctl admin info home', 'svcctl admin info home --json'],
  async run(context, [alias]) {
    const client = await context.connectAdmin(alias!)
    const { body } = await client.send({ operation: 'getServerInfo', method: 'GET', path: '/info' })
    context.output.result(body as Record<string, unknown>, ...describeServer(body as ServerInfo))
  },
})

const lineWidth = 80
const labelWidth = 12

/** Six facts in lines of at most 80 characters; a longer word, such as a path, stands whole. */
export function describeServer(info: ServerInfo): readonly string[] {
  return [
    ['Server', describeProcess(info)],
    ['Nodes', info.nodes.map(({ endpoint, state }) => `${endpoint} ${state}`).join(', ')],
    ['Drives', describeDrives(info)],
    ['Redundancy', describeRedundancy(info)],
    ['Stored', describeContent(info)],
    ['Security', describeSecurity(info)],
  ].flatMap(([label = '', text = '']) =>
    wrapWords(text, lineWidth - labelWidth).map((line, index) => (index === 0 ? label : '').padEnd(labelWidth) + line),
  )
}

const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? '' : 's'}`

const daySeconds = 86_400

function describeProcess({ version, commit, region, uptimeSeconds }: ServerInfo): string {
  const days = Math.floor(uptimeSeconds / daySeconds)
  const uptime = days > 1 ? counted(days, 'day') : formatSeconds(uptimeSeconds)
  return `svc ${version} (${commit}), up for ${uptime}, region ${region}`
}

function describeDrives({ nodes }: ServerInfo): string {
  const drives = nodes.flatMap(({ disks }) => disks)
  const online = drives.filter(({ state }) => state === 'online')
  const sum = (name: 'free' | 'total') => formatBytes(online.reduce((bytes, drive) => bytes + drive[name], 0))
  const troubled = drives.filter(({ state, error }) => state !== 'online' || error !== '')
  const facts = [`${online.length} of ${drives.length} online`, `${sum('free')} of ${sum('total')} free`]
  return [...facts, ...troubled.map(({ path, state, error }) => `${path}: ${error || state}`)].join(', ')
}

function describeRedundancy({ pools }: ServerInfo): string {
  const sets = pools.flatMap(({ index: pool, erasureSets }) => erasureSets.map(set => ({ ...set, pool })))
  const troubled = sets.filter(({ state, healing }) => state !== 'ok' || healing > 0)
  if (troubled.length > 0) {
    return troubled
      .map(({ pool, index, state, online, drives, healing }) => {
        const name = `pool ${pool} set ${index} ${state.replace('_', '-')}`
        return `${name} (${online} of ${drives} drives${healing > 0 ? `, ${healing} healing` : ''})`
      })
      .join(', ')
  }
  return pools
    .map(({ index, drivesPerSet, parity, reducedParity = parity, erasureSets }) => {
      const least = Math.min(...erasureSets.map(({ leastParity = reducedParity }) => leastParity))
      const name = pools.length === 1 ? '' : `pool ${index}: `
      const loss =
        parity === 0
          ? 'none, a lost drive loses its objects'
          : `each set may lose ${parity} of its ${counted(drivesPerSet, 'drive')}${least < parity ? ` (REDUCED_REDUNDANCY: ${least === 0 ? 'none' : least})` : ''}`
      return `${name}${loss}`
    })
    .join(', ')
}

const describeContent = ({ buckets, objects, usage }: ServerInfo): string =>
  `${counted(buckets, 'bucket')}, ${counted(objects, 'object')}, ${formatBytes(usage)}`

function describeSecurity({ tls, kms }: ServerInfo): string {
  const expiry = tls.certificates.map(({ notAfter }) => notAfter.slice(0, 10)).sort()[0]
  const certificate = !tls.enabled ? 'TLS off' : `TLS on${expiry === undefined ? '' : `, certificate until ${expiry}`}`
  const keys =
    kms.error !== ''
      ? kms.error
      : !kms.configured
        ? 'encryption not configured'
        : kms.online
          ? 'encryption ready'
          : 'key server unreachable'
  return `${certificate}, ${keys}`
}
