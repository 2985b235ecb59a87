import { Type } from 'typebox'

const time = { format: 'date-time' } as const

const ErasureSet = Type.Object({
  index: Type.Integer(),
  drives: Type.Integer(),
  online: Type.Integer(),
  offline: Type.Integer(),
  healing: Type.Integer(),
  leastParity: Type.Integer({
    description:
      'The least parity with which the set was ever allowed to write objects, whether any are left or not: so many drives may be lost without losing anything, where nothing lacks a shard. It never rises.',
  }),
  state: Type.Union([
    Type.Literal('ok'),
    Type.Literal('degraded'),
    Type.Literal('read_only'),
    Type.Literal('unavailable'),
  ]),
})

const Pool = Type.Object(
  {
    index: Type.Integer(),
    sets: Type.Integer(),
    drivesPerSet: Type.Integer(),
    parity: Type.Integer({ description: 'How many drives of a set may be lost.' }),
    reducedParity: Type.Integer({
      description:
        'The same for objects of the storage class REDUCED_REDUNDANCY that are written from now on; earlier ones keep the parity that they were written with: see `leastParity` of the sets.',
    }),
    readQuorum: Type.Integer(),
    writeQuorum: Type.Integer(),
    erasureSets: Type.Array(ErasureSet),
  },
  { $id: 'Pool' },
)

const HealingProgress = Type.Object(
  {
    started: Type.String(time),
    lastUpdate: Type.String(time),
    bucket: Type.String({ description: 'Of the version or part that was healed last.' }),
    object: Type.String(),
    healedBuckets: Type.Array(Type.String(), {
      description: 'Always empty: the data that tolerates the fewest further losses is healed first, in any bucket.',
    }),
    objectsHealed: Type.Integer({ description: 'Versions and parts whose shards the drive got.' }),
    objectsFailed: Type.Integer({ description: 'Attempts that failed; they are repeated.' }),
    bytesDone: Type.Integer({ description: 'Of shards.' }),
    bytesFailed: Type.Integer(),
    retryAttempts: Type.Integer(),
  },
  {
    description:
      'Since shards of the drive were found missing, or since the start of the server; absent where none are.',
  },
)

const Disk = Type.Object(
  {
    endpoint: Type.String(),
    path: Type.String(),
    id: Type.String(),
    poolIdx: Type.Integer(),
    setIdx: Type.Integer(),
    diskIdx: Type.Integer(),
    state: Type.Union([Type.Literal('online'), Type.Literal('offline'), Type.Literal('faulty')]),
    total: Type.Integer({ description: 'Size of the file system, in bytes: used, free, and what it keeps for root.' }),
    free: Type.Integer({ description: 'Bytes that the server may still write, as `Avail` of `df`.' }),
    used: Type.Integer({ description: 'Used bytes, by other software, too, as `Used` of `df`.' }),
    sharesFileSystem: Type.Boolean({
      description: 'Another drive is on the same file system: if that is lost, both are.',
    }),
    fileSystem: Type.Optional(
      Type.Integer({
        description:
          'The same number for drives of this node that are on the same file system. Missing where it is not known.',
      }),
    ),
    healing: Type.Boolean(),
    healingProgress: Type.Optional(HealingProgress),
    error: Type.String(),
  },
  { $id: 'Disk' },
)

const Node = Type.Object(
  {
    endpoint: Type.String(),
    state: Type.Union([Type.Literal('online'), Type.Literal('starting'), Type.Literal('draining')]),
    version: Type.String(),
    commit: Type.String(),
    uptimeSeconds: Type.Integer(),
    listeners: Type.Array(
      Type.Object({
        name: Type.Union([Type.Literal('s3'), Type.Literal('console'), Type.Literal('web'), Type.Literal('web-tls')]),
        address: Type.String({ description: 'Of this machine; empty for all.' }),
        port: Type.Integer(),
        secure: Type.Boolean({ description: 'TLS ends here.' }),
      }),
      { description: 'Where it listens. Proxies and port mappings in front may show other ports to clients.' },
    ),
    disks: Type.Array(Disk),
    local: Type.Boolean(),
    clockSkew: Type.Object(
      { offsetMs: Type.Number(), rttMs: Type.Number(), exceeded: Type.Boolean() },
      { description: 'Offset of its clock from that of the answering node: 0 for itself.' },
    ),
    healQueue: Type.Object(
      {
        pending: Type.Integer({
          description: 'Versions and parts that lack a shard, or have one on an offline drive.',
        }),
        healed: Type.Integer({ description: 'That got missing shards since the start of the server.' }),
        retried: Type.Integer({ description: 'Attempts that failed since then; they are repeated.' }),
        dropped: Type.Integer({ description: 'Always 0: pending work is found in the records, so none can be lost.' }),
      },
      { description: 'Of a single drive all are 0: it has nothing to heal from.' },
    ),
  },
  { $id: 'Node' },
)

const Tls = Type.Object({
  enabled: Type.Boolean(),
  minVersion: Type.String(),
  internodeVerify: Type.Boolean(),
  certificates: Type.Array(
    Type.Object({
      name: Type.String(),
      domains: Type.Array(Type.String()),
      ips: Type.Array(Type.String()),
      subject: Type.String(),
      issuer: Type.String(),
      notBefore: Type.String(time),
      notAfter: Type.String(time),
      fingerprint: Type.String(),
      daysLeft: Type.Integer({
        description: 'Whole days until `notAfter`, by the clock of the server; negative when it has expired.',
      }),
    }),
  ),
  refusal: Type.String({
    description:
      'Why the files that lie in SVC_CERTS_DIR now were refused, so that the certificate above stays in use; empty where they were not. A start refuses them, too.',
  }),
})

const Kms = Type.Object({
  configured: Type.Boolean({ description: 'There is key management: objects can be encrypted.' }),
  backend: Type.String(),
  defaultKeyId: Type.String(),
  endpoints: Type.Array(Type.Object({ url: Type.String(), online: Type.Boolean() })),
  online: Type.Boolean(),
  error: Type.String(),
  version: Type.String({ description: 'The address of the key server, if there is one.' }),
  keys: Type.Array(Type.String({ description: 'Their ids, at most 1000; empty while they cannot be listed.' })),
})

export const ServerInfo = Type.Object(
  {
    version: Type.String(),
    commit: Type.String(),
    buildDate: Type.String({ description: 'When the package was made; `unknown` for sources.' }),
    deploymentId: Type.String({ description: 'Made with the first drive; empty while no drive can be read.' }),
    mode: Type.Union([Type.Literal('snsd'), Type.Literal('snmd'), Type.Literal('mnmd')]),
    region: Type.String(),
    startedAt: Type.String(time),
    uptimeSeconds: Type.Integer(),
    buckets: Type.Integer(),
    objects: Type.Integer(),
    usage: Type.Integer({ description: 'Bytes of all versions.' }),
    pools: Type.Array(Pool),
    nodes: Type.Array(Node),
    kms: Kms,
    tls: Tls,
    telemetry: Type.Object({
      enabled: Type.Boolean(),
      endpoint: Type.String(),
      protocol: Type.String(),
      sampleRatio: Type.Number(),
    }),
  },
  { $id: 'ServerInfo' },
)

export const Plugin = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    description: Type.String({ description: 'A sentence; empty where the plugin has none.' }),
    origin: Type.Union([Type.Literal('builtin'), Type.Literal('contrib'), Type.Literal('external')], {
      description: 'Whether it belongs to the server itself, to its folder `contrib`, or to a third party.',
    }),
    state: Type.Union([Type.Literal('active'), Type.Literal('failed')]),
    provides: Type.Array(Type.Object({ extensionPoint: Type.String(), id: Type.String() })),
    dependsOn: Type.Array(
      Type.String({ description: 'Plugins whose services it requires, or uses if they are loaded.' }),
    ),
    order: Type.Integer({ description: 'In which it was started, from 0.' }),
    startMs: Type.Optional(
      Type.Integer({ description: 'Milliseconds that its start took in the thread that answers.' }),
    ),
    error: Type.Optional(Type.String()),
  },
  { $id: 'Plugin' },
)
