/** Documents of distributions as YAML, out of a server and into one. */
import { readFile } from 'node:fs/promises'
import type { AdminClient } from '../admin/client.ts'
import type { Context } from '../context.ts'

export const yamlType = 'application/yaml'

interface Named {
  readonly kind: string
  readonly name: string
}

export interface ImportResult {
  readonly mode: string
  readonly dryRun: boolean
  readonly created: readonly Named[]
  readonly replaced: readonly Named[]
  readonly unchanged: readonly Named[]
  readonly removed: readonly Named[]
  readonly changes: readonly (Named & {
    readonly element: string
    readonly before?: unknown
    readonly after?: unknown
  })[]
  /** Older servers have none. */
  readonly warnings?: readonly string[]
}

export interface ExportFilter {
  readonly kind?: readonly string[]
  readonly id?: readonly string[]
}

/** YAML documents. */
export async function exportDocuments(client: AdminClient, { kind = [], id = [] }: ExportFilter): Promise<string> {
  const query = [...kind.map(one => ['kind', one] as const), ...id.map(one => ['id', one] as const)]
  const { body } = await client.send({
    operation: 'exportDistributions',
    method: 'GET',
    path: '/distributions/export',
    query,
    textType: yamlType,
  })
  return (body ?? '') as string
}

/** `-` is standard input. */
export const readDocuments = async (context: Context, file: string): Promise<Buffer> =>
  file === '-' ? readInput(context) : readFile(context.path(file))

export async function importDocuments(
  client: AdminClient,
  content: Buffer,
  { mode, dryRun }: { readonly mode: string; readonly dryRun: boolean },
): Promise<ImportResult> {
  const { body } = await client.send({
    operation: 'importDistributions',
    method: 'POST',
    path: '/distributions/import',
    query: [
      ['mode', mode],
      ['dryRun', `${dryRun}`],
    ],
    bytes: { type: yamlType, content },
  })
  return body as ImportResult
}

async function readInput({ io }: Context): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

const shown = (value: unknown): string => (value === undefined ? '(nothing)' : JSON.stringify(value))

/** The outcome as its lines, and the server's warnings. */
export function showImport({ output }: Context, result: ImportResult): void {
  output.result({ ...result }, ...describeImport(result))
  for (const warning of result.warnings ?? []) output.note(warning)
}

export const countDifferences = ({ created, replaced, removed }: ImportResult): number =>
  created.length + replaced.length + removed.length

/** Each document with what differs in it. */
function describeImport({ created, replaced, unchanged, removed, changes, dryRun }: ImportResult): string[] {
  const lines = created.map(({ kind, name }) => `+ ${kind}/${name}`)
  for (const { kind, name } of replaced) {
    lines.push(`~ ${kind}/${name}`)
    for (const change of changes) {
      if (change.kind !== kind || change.name !== name) continue
      lines.push(`    ${change.element}: ${shown(change.before)} -> ${shown(change.after)}`)
    }
  }
  lines.push(...removed.map(({ kind, name }) => `- ${kind}/${name}`))
  const same = `${unchanged.length} unchanged`
  if (lines.length === 0) return [`There are no differences (${same}).`]
  const counts = `${created.length} created, ${replaced.length} replaced, ${removed.length} removed, ${same}`
  return [...lines, dryRun ? `Nothing was changed. It would be: ${counts}.` : `Imported: ${counts}.`]
}

export const linesOf = (yaml: string): readonly string[] => (yaml === '' ? [] : yaml.replace(/\n$/, '').split('\n'))
