import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import type { AdminClient } from '../admin/client.ts'
import { createEventParser } from '../admin/events.ts'
import { listOperations } from '../admin/operations.ts'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { describeError } from '../errors.ts'
import { wrapWords } from '../formatting.ts'
import manifest from '../package.json' with { type: 'json' }
import { writeWholeFile } from '../whole-file.ts'
import { describeServer } from './admin-info.ts'

interface Options {
  readonly output?: string
}

type Fetched = Record<string, unknown> | undefined

/** The requests, in the order in which people read the answers. The server masks secrets in all of them. */
const questions: Readonly<Record<string, string>> = {
  'info.json': 'getServerInfo',
  'plugins.json': 'listPlugins',
  'configuration.json': 'getConfig',
  'redundancy.json': 'getRedundancy',
  'heal-jobs.json': 'listHealJobs',
  'locks.json': 'listLocks',
  'notify-queues.json': 'listNotifyQueues',
  'kms.json': 'getKmsStatus',
}
const healthPaths = ['/svc/health/ready', '/svc/health/cluster']
const logLinesMax = 1000
/** The lines that the log holds come at once; then it is silent until something happens. */
const silenceMs = 1000

export default defineCommand<Options>({
  name: 'admin diagnose',
  summary: 'Collects the information for a bug report in one archive.',
  description:
    'Versions, plugins, configuration with its secrets masked, health, drives, redundancy, jobs, locks, queues, and the last warnings and ' +
    'errors of the log. Neither objects nor users are in it, but names are, as those of buckets and paths: look into it before you ' +
    'publish it. Information that you may not see, or that the server cannot give, is missing and listed in summary.txt.',
  arguments: [{ name: 'alias', summary: 'of the server', kind: 'alias' }],
  options: [{ flags: '-o, --output <file>', summary: 'its name (default svc-diagnosis-<time>.zip)' }],
  examples: ['svcctl admin diagnose home', 'svcctl admin diagnose home --output report.zip'],
  async run(context, [alias], { output: name }) {
    const client = await context.connectAdmin(alias!)
    const now = new Date()
    const files = new Map<string, string>()
    const missing: string[] = []
    const fetched = new Map<string, Fetched>()
    const failures: unknown[] = []
    const fail = (file: string) => (error: unknown) => {
      if (context.io.signal.aborted) throw error
      failures.push(error)
      missing.push(`${file}: ${describeError(error)}`)
    }
    for (const [file, operation] of Object.entries(questions)) {
      await ask(client, operation).then(body => {
        fetched.set(file, body)
        files.set(file, `${JSON.stringify(body, undefined, 2)}\n`)
      }, fail(file))
    }
    // An empty archive is no report: a user without permission should see the reason.
    if (files.size === 0) throw failures[0]
    const { health, problems } = await readHealth(context, alias!)
    files.set('health.json', `${JSON.stringify(health, undefined, 2)}\n`)
    const log = (await readLog(context, client).catch(fail('log.jsonl'))) ?? []
    files.set('log.jsonl', log.map(line => `${line}\n`).join(''))
    const summary = describe({ now, fetched, problems, log, missing })
    const archive = new ZipFile()
    for (const [file, text] of [['summary.txt', summary.map(line => `${line}\n`).join('')] as const, ...files]) {
      archive.addBuffer(Buffer.from(text), file, { mtime: now, mode: 0o100600 })
    }
    archive.end()
    const saved = name ?? `svc-diagnosis-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.zip`
    await writeWholeFile(context.path(saved), file => pipeline(archive.outputStream, file.createWriteStream()))
    const { output } = context
    if (!output.options.isJson)
      for (const line of [...summary, ''])
        for (const part of wrapWords(line, output.options.width)) output.done({}, part)
    output.done({ status: 'saved', file: saved, missing }, `Saved ${saved}.`)
  },
})

async function ask(client: AdminClient, operation: string): Promise<Fetched> {
  const { method, path } = listOperations().find(({ id }) => id === operation)!
  const { body } = await client.send({ operation, method, path })
  return body as Fetched
}

async function readHealth(context: Context, aliasName: string) {
  const alias = await context.aliases.get(aliasName)
  const connection = context.openConnection(alias, alias.endpoint)
  const health: Record<string, unknown> = {}
  const problems: string[] = []
  for (const path of healthPaths) {
    try {
      const { status, body } = await connection.send({
        method: 'GET',
        path,
        headers: { host: new URL(alias.endpoint).host },
      })
      health[path] = { status, body: parse(body.toString()) }
      if (status !== 200) problems.push(`${path} answers ${status}: ${body.toString().slice(0, 200)}`)
    } catch (error) {
      if (context.io.signal.aborted) throw error
      problems.push(`${path}: ${describeError(error)}`)
    }
  }
  return { health, problems }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Warnings and errors, the oldest first, as JSON. */
async function readLog({ io }: Context, client: AdminClient): Promise<string[]> {
  const lines: string[] = []
  const enough = new AbortController()
  const silence = setTimeout(() => enough.abort(), silenceMs)
  const decoder = new TextDecoder()
  const parseEvents = createEventParser((event, data) => {
    if (event === 'log' && lines.length < logLinesMax) lines.push(data)
  })
  try {
    await client.send({
      operation: 'streamLogs',
      method: 'GET',
      path: '/logs',
      query: [
        ['level', 'warn'],
        ['last', `${logLinesMax}`],
      ],
      signal: AbortSignal.any([enough.signal, io.signal]),
      sink: {
        data(chunk) {
          silence.refresh()
          parseEvents(decoder.decode(chunk, { stream: true }))
          if (lines.length >= logLinesMax) enough.abort()
        },
      },
    })
  } catch (error) {
    if (!enough.signal.aborted || io.signal.aborted) throw error
  } finally {
    clearTimeout(silence)
  }
  return lines
}

interface Findings {
  readonly now: Date
  readonly fetched: ReadonlyMap<string, Fetched>
  readonly problems: readonly string[]
  readonly log: readonly string[]
  readonly missing: readonly string[]
}

function describe({ now, fetched, problems, log, missing }: Findings): string[] {
  const info = fetched.get('info.json') as Parameters<typeof describeServer>[0] | undefined
  const redundancy = fetched.get('redundancy.json')
  const plugins = (fetched.get('plugins.json')?.items ?? []) as { name: string; state: string; error?: string }[]
  const failing = plugins.filter(({ error = '' }) => error !== '')
  const errors = log.filter(line => /"level":"(error|fatal)"/.test(line))
  const attention = [
    ...problems,
    ...(redundancy?.isFull === false ? [String(redundancy.summary)] : []),
    ...failing.map(({ name, state, error }) => `plugin ${name} is ${state}: ${error}`),
    ...(errors.length > 0 ? [`${errors.length} errors in log.jsonl`] : []),
  ]
  return [
    `Taken ${now.toISOString()} by svcctl ${manifest.version}.`,
    '',
    ...(info === undefined ? [] : [...describeServer(info), '']),
    ...(attention.length > 0 ? ['Needs attention:', ...attention.map(each => `- ${each}`)] : ['Nothing stands out.']),
    ...(missing.length > 0 ? ['', 'Not included:', ...missing.map(each => `- ${each}`)] : []),
  ]
}
