import { hostname } from 'node:os'
import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { speedtestKinds } from '../api.ts'
import { concurrencyMax } from '../speedtests.ts'

const Rate = Type.Integer({ description: 'Bytes per second.' })
const quantiles = { p50: Type.Number(), p90: Type.Number(), p99: Type.Number(), max: Type.Number() }
const latency = Type.Object(quantiles, { description: 'Milliseconds.' })
const ObjectSpeed = Type.Object(
  {
    bytesPerSecond: Rate,
    objectsPerSecond: Type.Number(),
    latencyMs: latency,
    ttfbMs: Type.Optional(Type.Object(quantiles, { description: 'Milliseconds until the first byte; of `get`.' })),
    errors: Type.Integer(),
  },
  { $id: 'ObjectSpeed' },
)

const SpeedtestResult = Type.Object(
  {
    kind: Type.Enum([...speedtestKinds]),
    startedAt: Type.String(),
    durationMs: Type.Integer(),
    drive: Type.Optional(
      Type.Object({
        drives: Type.Array(
          Type.Object({
            endpoint: Type.String(),
            path: Type.String(),
            writeBytesPerSecond: Rate,
            readBytesPerSecond: Rate,
            error: Type.String({ description: 'The reason if there are no rates; otherwise empty.' }),
          }),
        ),
      }),
    ),
    object: Type.Optional(
      Type.Object({
        size: Type.Integer(),
        concurrency: Type.Integer(),
        put: ObjectSpeed,
        get: ObjectSpeed,
        nodes: Type.Array(
          Type.Object({ endpoint: Type.String(), put: ObjectSpeed, get: ObjectSpeed, error: Type.String() }),
        ),
      }),
    ),
  },
  { $id: 'SpeedtestResult' },
)

const mebibyte = 1024 * 1024
const defaultSizes = { drive: 1024 * mebibyte, object: 64 * mebibyte } as const
/** The engine's own writes are not smaller. */
const driveSizeMin = 4 * mebibyte
const defaultConcurrency = 32

export default defineAdminOperation({
  id: 'runSpeedtest',
  method: 'POST',
  path: '/speedtest/{kind}',
  tag: 'diagnostics',
  summary:
    'Measures the drives, or how fast objects are stored and read without the network; clients are slower meanwhile. The answer comes at the end.',
  authorize: ['admin:Speedtest'],
  params: Type.Object({ kind: Type.Enum([...speedtestKinds]) }),
  body: Type.Object(
    {
      durationSeconds: Type.Integer({
        minimum: 1,
        maximum: 60,
        default: 10,
        description: 'For writing at most, and for reading again.',
      }),
      size: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1024 * 1024 * mebibyte,
          description:
            'Bytes; of the file on each drive (default 1 GiB, at least 4 MiB), or of an object (default 64 MiB, at most 5 GiB).',
        }),
      ),
      concurrency: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: concurrencyMax,
          description: `Objects at a time, default ${defaultConcurrency}.`,
        }),
      ),
      nodes: Type.Optional(
        Type.Array(Type.String({ maxLength: 255 }), { maxItems: 1000, description: 'Default: all.' }),
      ),
    },
    { $id: 'SpeedtestRequest' },
  ),
  bodyOptional: true,
  response: SpeedtestResult,
  errors: ['conflict', 'not_implemented'],
  uses: ['speedtests'],
  async handle({ params: { kind }, body }, { speedtests }) {
    const { durationSeconds: seconds = 10, concurrency, nodes } = body
    if (kind === 'net') {
      throw adminErrors.not_implemented('The network between nodes is measured, and this deployment is one node.')
    }
    const stranger = nodes?.find(node => node !== hostname())
    if (stranger !== undefined) {
      throw adminErrors.invalid_argument(`/nodes: there is no node "${stranger}"; this one is ${hostname()}.`)
    }
    const sizeBytes = body.size ?? defaultSizes[kind]
    if (kind === 'drive') {
      if (concurrency !== undefined) {
        throw adminErrors.invalid_argument('/concurrency: each drive is given one file; this is for objects.')
      }
      if (sizeBytes < driveSizeMin)
        throw adminErrors.invalid_argument(`/size: a file is at least ${driveSizeMin} bytes.`)
      return speedtests.run({ kind, sizeBytes, seconds })
    }
    if (sizeBytes > objectSizeMax)
      throw adminErrors.invalid_argument(`/size: an object is at most ${objectSizeMax} bytes.`)
    return speedtests.run({ kind, sizeBytes, seconds, concurrency: concurrency ?? defaultConcurrency })
  },
})

/** Maximum number of bytes that one request may store. */
const objectSizeMax = 5 * 1024 * mebibyte
