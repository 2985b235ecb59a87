import { readFile, stat } from 'node:fs/promises'
import { defineCommand } from '../command.ts'
import { failure } from '../errors.ts'
import { formatBytes, wrapWords } from '../formatting.ts'

interface Options {
  readonly mode: string
  readonly dryRun?: boolean
}

interface ImportResult {
  readonly mode: string
  readonly dryRun: boolean
  readonly users: number
  readonly groups: number
  readonly policies: number
  readonly configSubsystems: number
  readonly buckets: number
  readonly bucketsCreated: readonly string[]
  /** Missing from older servers. */
  readonly documents?: Readonly<Record<string, number>>
  /** Missing from older servers, whose `changed` also names new documents. */
  readonly created?: readonly string[]
  readonly changed: readonly string[]
  /** Of an older server: missing. */
  readonly fields?: Readonly<Record<string, readonly string[]>>
  readonly removed: readonly string[]
}

const archiveBytesMax = 256 * 1024 * 1024

export default defineCommand<Options>({
  name: 'admin cluster import',
  summary: 'Imports an archive of `admin cluster export`, completely or not at all.',
  description:
    'Users, groups, policies, access keys, configuration, settings of buckets, and distributions with their caches, webhooks, key groups and ' +
    'DNS providers; objects come with `mirror`. Private keys are in no archive: upload certificates before. The server must have the ' +
    'root credentials of the exporting one. --mode replace also removes everything that the archive does not have, except buckets. ' +
    'Needs admin:ImportCluster.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'file', summary: 'the archive', kind: 'path' },
  ],
  options: [
    { flags: '--mode <mode>', summary: 'default merge', choices: ['merge', 'replace'], default: 'merge' },
    { flags: '--dry-run', summary: 'show the changes, and make none' },
  ],
  examples: [
    'svcctl admin cluster import home svc-cluster-2026-03-01.zip --dry-run',
    'svcctl admin cluster import home svc-cluster-2026-03-01.zip --mode replace --yes',
  ],
  async run(context, [alias, file], { mode, dryRun = false }) {
    const path = context.path(file!)
    const { size } = await stat(path)
    if (size > archiveBytesMax) {
      throw failure(
        'too_large',
        `${file} has ${formatBytes(size)}; an archive has at most ${formatBytes(archiveBytesMax)}.`,
      )
    }
    const question = 'Remove users, groups, policies, access keys and settings that are not in the archive?'
    if (mode === 'replace' && !dryRun) await context.requireConfirmed(question)
    const client = await context.connectAdmin(alias!)
    const { body } = await client.send({
      operation: 'importCluster',
      method: 'POST',
      path: '/cluster/import',
      query: [
        ['mode', mode],
        ['dryRun', `${dryRun}`],
      ],
      bytes: { type: 'application/zip', content: await readFile(path) },
    })
    const result = body as ImportResult
    context.output.result({ ...result }, ...describeImport(result))
  },
})

function describeImport(result: ImportResult): string[] {
  const {
    users,
    groups,
    policies,
    configSubsystems,
    buckets,
    bucketsCreated,
    created = [],
    changed,
    fields = {},
    removed,
    dryRun,
  } = result
  const lines = [
    ...bucketsCreated.map(name => `+ bucket/${name}`),
    ...created.map(name => `+ ${name}`),
    ...changed.flatMap(name => [`~ ${name}`, ...fieldLines(fields[name])]),
    ...removed.map(name => `- ${name}`),
  ]
  const counts = { users, groups, policies, subsystems: configSubsystems, buckets, ...documentsOf(result) }
  const verdict =
    lines.length === 0 ? 'There are no differences.' : dryRun ? 'Nothing was changed.' : 'The archive was imported.'
  return [...lines, 'In the archive:', ...columns(counts), verdict]
}

const indent = '    '
const columnsMax = 80

const fieldLines = (fields: readonly string[] = []): string[] =>
  fields.length === 0 ? [] : wrapWords(fields.join(', '), columnsMax - indent.length).map(line => indent + line)

const documentsOf = ({ documents = {} }: ImportResult): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(documents).filter(([, count]) => count > 0))

const columns = (counts: Readonly<Record<string, number>>): string[] =>
  Object.entries(counts).map(([name, count]) => `  ${name}: ${count}`)
