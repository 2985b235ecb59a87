import { tableOf } from '../admin/answer-view.ts'
import { defineCommand, parsePositive, parseSeconds, parseSize } from '../command.ts'
import { failure } from '../errors.ts'
import { formatBytes, wrapWords } from '../formatting.ts'
import { failuresOf, type SpeedtestResult, verdictOf } from '../speedtest-verdict.ts'

interface Options {
  readonly duration?: number
  readonly durationSeconds?: number
  readonly size?: number
  readonly concurrency?: number
  readonly nodes?: readonly string[]
}

const defaultSeconds = 10
/** Writing and reading take the duration each; making room and tidying up come on top. */
const phaseCount = 2
const reserveMs = 60_000

export default defineCommand<Options>({
  name: 'admin speedtest',
  summary:
    'Measures the speed of the drives, of storing and reading objects, or of the network, and explains the result.',
  description:
    'The server writes and reads on its own, so that neither the network nor signatures count; clients are slower meanwhile. Nothing stays. ' +
    'drive: a file on every drive at the same time. object: objects in a temporary bucket. net: between nodes, if there are several. ' +
    'Fails where a drive could not be measured, or an object was not stored or read. Needs admin:Speedtest.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'kind', summary: 'of the test', kind: 'text', choices: ['drive', 'object', 'net'] },
  ],
  options: [
    {
      flags: '--duration <duration>',
      summary: 'of writing, and again of reading (default 10s, at most 60s)',
      parse: parseSeconds,
    },
    { flags: '--duration-seconds <count>', summary: 'the same in seconds', parse: parsePositive, isHidden: true },
    {
      flags: '--size <size>',
      summary: 'of the file on each drive (default 1GiB), or of an object (default 64MiB)',
      parse: parseSize,
    },
    { flags: '--concurrency <count>', summary: 'objects at a time (default 32)', parse: parsePositive },
    { flags: '--nodes <node>', summary: 'only these (default all)', isRepeatable: true },
  ],
  typed: {
    'body/durationSeconds': '--duration (in seconds)',
    'body/size': '--size',
    'body/concurrency': '--concurrency',
    'body/nodes': '--nodes',
  },
  examples: ['svcctl admin speedtest home drive', 'svcctl admin speedtest home object --size 1MiB --duration 5s'],
  async run(context, [alias, kind], { duration, durationSeconds, size, concurrency, nodes }) {
    const seconds = duration ?? durationSeconds ?? defaultSeconds
    const expectedMs = seconds * phaseCount * 1000
    const client = await context.connectAdmin(alias!, { answersWithinMs: expectedMs + reserveMs })
    context.startWaiting(expectedMs)
    const { body } = await client.send({
      operation: 'runSpeedtest',
      method: 'POST',
      path: `/speedtest/${kind}`,
      body: {
        durationSeconds: seconds,
        ...(size !== undefined && { size }),
        ...(concurrency !== undefined && { concurrency }),
        ...(nodes !== undefined && { nodes }),
      },
    })
    const result = body as SpeedtestResult
    const { output } = context
    output.result({ ...result }, ...linesOf(result, output.options.width))
    const [first, ...others] = failuresOf(result)
    for (const other of others) output.note(other)
    if (first !== undefined) throw failure('not_done', first)
  },
})

function linesOf(result: SpeedtestResult, width: number): string[] {
  return [
    ...measures(result, width),
    '',
    ...verdictOf(result).flatMap(sentence => wrapWords(sentence, Math.min(width, 80))),
  ]
}

const rate = (bytesPerSecond: number): string => `${formatBytes(bytesPerSecond)}/s`
const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`

function measures({ drive, object }: SpeedtestResult, width: number): string[] {
  if (drive !== undefined) {
    const rows = drive.drives.map(({ path, writeBytesPerSecond, readBytesPerSecond, error }) => ({
      path,
      write: error === '' ? rate(writeBytesPerSecond) : '-',
      read: error === '' ? rate(readBytesPerSecond) : '-',
      error,
    }))
    return [...tableOf(rows, { width })]
  }
  if (object === undefined) return []
  const rows = (['put', 'get'] as const).map(phase => {
    const { bytesPerSecond, objectsPerSecond, latencyMs, ttfbMs, errors } = object[phase]
    return {
      of: phase,
      rate: rate(bytesPerSecond),
      'objects/s': objectsPerSecond < 100 ? objectsPerSecond.toFixed(1) : `${Math.round(objectsPerSecond)}`,
      p50: milliseconds(latencyMs.p50),
      p99: milliseconds(latencyMs.p99),
      max: milliseconds(latencyMs.max),
      'first byte': ttfbMs === undefined ? '-' : milliseconds(ttfbMs.p50),
      errors: `${errors}`,
    }
  })
  return [...tableOf(rows, { width })]
}
