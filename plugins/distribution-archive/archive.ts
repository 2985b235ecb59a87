/** Export and import: an import is all or nothing, and the same one again changes nothing. */
import { isCatalogError } from 'svc/kernel'
import { adminErrors, problemsOf } from 'svc/plugins/admin/api'
import { type SecretReferencesService, variableOf } from 'svc/plugins/secret-references/api'
import type { StoreService } from 'svc/plugins/store/api'
import { type Difference, differences } from './differences.ts'
import { type ArchiveDocument, readDocuments } from './documents.ts'
import { type DocumentProblem, distributionArchiveErrors, invalidDocuments } from './errors.ts'
import { apiVersion, type KindName, kindNames, kinds } from './kinds.ts'
import { plain } from './plain.ts'
import { keepStored, withReferences } from './secrets.ts'
import { type Content, type Staged, stage, type Wanted } from './staging.ts'
import { type ArchiveRights, readStored, type StoredDocuments, type StoredServices } from './stored.ts'
import { textBytesMax, writeYaml } from './yaml-text.ts'

const attemptsMax = 16
const changesMax = 1000

export const importModes = ['merge', 'replace'] as const
export type ImportMode = (typeof importModes)[number]

export interface NamedDocument {
  readonly kind: KindName
  readonly name: string
}

export interface ImportOutcome {
  readonly created: readonly NamedDocument[]
  readonly replaced: readonly NamedDocument[]
  readonly unchanged: readonly NamedDocument[]
  readonly removed: readonly NamedDocument[]
  /** Field by field, at most 1000. A secret that changes has a reference on both sides. */
  readonly changes: readonly (NamedDocument & Difference)[]
}

export interface ExportRequest {
  /** Empty: all. */
  readonly kinds: ReadonlySet<string>
  /** Of distributions and of all that has their names; empty: all. */
  readonly names: ReadonlySet<string>
}

export interface ImportRequest {
  readonly text: string
  /** False: the text is not what somebody has written, so that its lines say nothing. */
  readonly hasLines: boolean
  readonly mode: ImportMode
  readonly isDryRun: boolean
}

export interface DistributionArchive {
  export(request: ExportRequest, rights: ArchiveRights): Promise<string>
  import(request: ImportRequest, rights: ArchiveRights): Promise<ImportOutcome>
}

export interface DistributionArchiveOptions extends StoredServices {
  readonly store: Pick<StoreService, 'transaction'>
  readonly resolve: SecretReferencesService['resolve']
}

export function createDistributionArchive(options: DistributionArchiveOptions): DistributionArchive {
  const { store, resolve } = options

  /** What the transaction is to do: the file, and with `replace` the end of what it lacks of the kinds that it has. */
  function wantedOf(documents: readonly ArchiveDocument[], stored: StoredDocuments, mode: ImportMode): Wanted {
    const wanted = Object.fromEntries(kindNames.map(kind => [kind, new Map<string, Content | null>()])) as Record<
      KindName,
      Map<string, Content | null>
    >
    for (const { kind, name, spec } of documents) {
      const kept = keepStored(kind, name, spec, stored[kind].get(name), resolve)
      wanted[kind].set(
        name,
        kind === 'Distribution' ? { id: name, ...kept } : kind === 'CachePolicy' ? { name, ...kept } : kept,
      )
    }
    if (mode === 'merge') return wanted
    for (const kind of kindNames) {
      if (wanted[kind].size === 0) continue
      for (const name of stored[kind].keys()) if (!wanted[kind].has(name)) wanted[kind].set(name, null)
    }
    return wanted
  }

  async function attempt(
    { mode, isDryRun }: ImportRequest,
    documents: readonly ArchiveDocument[],
    rights: ArchiveRights,
  ) {
    const stored = await readStored(options, rights)
    const wanted = wantedOf(documents, stored, mode)
    const staged = await stage(options, wanted, rights)
    requireRight(documents, staged)
    await requireCacheRights(wanted, staged, rights)
    const outcome = outcomeOf(wanted, staged)
    const count = outcome.created.length + outcome.replaced.length + outcome.removed.length
    if (count > changesMax) throw tooManyChanges(count)
    if (!isDryRun && count > 0) await commit(staged, count)
    return outcome
  }

  async function commit(staged: Staged, count: number): Promise<void> {
    try {
      await store.transaction(staged.apply)
    } catch (error) {
      // Certificates, webhooks and conditions are changes as well.
      if (isCatalogError(error) && error.code === 'document_too_large') throw tooManyChanges(count)
      throw error
    }
  }

  return {
    async export({ kinds: wantedKinds, names }, rights) {
      const stored = await readStored(options, rights)
      const parts: string[] = []
      for (const kind of kindNames) {
        if (wantedKinds.size > 0 && !wantedKinds.has(kind)) continue
        for (const [name, content] of stored[kind]) {
          if (names.size === 0 || names.has(name)) parts.push(writeDocument(kind, name, content))
        }
      }
      const text = parts.join('---\n')
      if (Buffer.byteLength(text) > textBytesMax) {
        throw distributionArchiveErrors.archive_too_large(
          `The documents have more than the ${textBytesMax} bytes that an import takes: export them in parts, by kind or id.`,
        )
      }
      return text
    },

    async import(request, rights) {
      const { documents, problems } = readDocuments(request.text, request.hasLines)
      if (problems.length > 0) throw invalidDocuments(problems)
      requireKindRights(documents, rights)
      for (let tries = 1; ; tries++) {
        try {
          return await attempt(request, documents, rights)
        } catch (error) {
          if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
          if (tries >= attemptsMax) throw distributionArchiveErrors.conflict()
        }
      }
    },
  }
}

const tooManyChanges = (count: number): Error =>
  distributionArchiveErrors.archive_too_large(
    `The import would change ${count} documents, which is more than one transaction takes: import the file in parts of a few hundred.`,
  )

export function writeDocument(kind: KindName, name: string, content: Content): string {
  const { spec, names } = withReferences(kind, name, content)
  const lines = names.map(secret => ` ${secret}: ${variableOf(secret)}`)
  const comment =
    lines.length === 0 ? '' : [' Secrets, and the variables of nodes that have them:', ...lines].join('\n')
  return writeYaml({ apiVersion, kind, metadata: { name }, spec: plain(spec, kinds[kind].written) }, comment)
}

/** Of kinds that are nobody's bucket. */
function requireKindRights(documents: readonly ArchiveDocument[], rights: ArchiveRights): void {
  for (const { kind, name } of documents) {
    const isAllowed =
      kind === 'CachePolicy' || kind === 'CacheSettings'
        ? rights.managesCache
        : kind === 'DistributionCache' || rights.managesDistributions
    if (!isAllowed) throw denied(kind, name)
  }
}

async function requireCacheRights(wanted: Wanted, staged: Staged, rights: ArchiveRights): Promise<void> {
  for (const [name, content] of wanted.DistributionCache) {
    const bucket = staged.buckets.get(name)
    if (content !== null && bucket !== undefined && !(await rights.mayCache(bucket)))
      throw denied('DistributionCache', name)
  }
}

function denied(kind: KindName, name: string): Error {
  const action = kind === 'Distribution' || kind === 'KeyGroup' ? 'admin:ManageDistributions' : 'admin:ManageCache'
  return adminErrors.access_denied(`${kind}/${name}: you need ${action} for it.`)
}

/** Throws `access_denied`, or `invalid_archive` with all problems. */
function requireRight(documents: readonly ArchiveDocument[], { kinds: staged }: Staged): void {
  const byName = new Map(documents.map(document => [`${document.kind}/${document.name}`, document]))
  const problems: DocumentProblem[] = []
  for (const kind of kindNames) {
    for (const [name, error] of staged[kind].errors) {
      if (isCatalogError(error) && error.status === 403) throw denied(kind, name)
      const document = byName.get(`${kind}/${name}`)
      const listed = (problemsOf(error) ?? []) as readonly { readonly element?: string; readonly message: string }[]
      const own = listed.length > 0 ? listed : [pointed(error)]
      for (const { element = '', message } of own) {
        const clause = message.replace(/\.$/, '')
        problems.push(
          document?.problem(element, clause) ?? {
            element: `${kind}/${name}`,
            line: 0,
            column: 0,
            message: `cannot be removed: ${clause}`,
          },
        )
      }
    }
  }
  if (problems.length > 0) throw invalidDocuments(problems)
}

/** A sentence that begins with a JSON Pointer: `/cache/ttl is not …`, `/cache/policy: There is …`. */
function pointed(error: Error): { readonly element: string; readonly message: string } {
  const sentence = error.message
  const [, element, message] = /^(\/[^\s:]*):? (.*)$/s.exec(sentence) ?? []
  if (element !== undefined && message !== undefined) return { element, message }
  return { element: namingFields[(error as { readonly code?: string }).code ?? ''] ?? '', message: sentence }
}

/** What has the name of something that is not there. */
const namingFields: Readonly<Record<string, string>> = {
  bucket_not_found: '/origin/bucket',
  NoSuchBucket: '/origin/bucket',
  certificate_not_found: '/tls/certificate',
  invalid_certificate: '/tls/certificate',
  dns_provider_not_found: '/tls/dnsProvider',
}

function outcomeOf(wanted: Wanted, { kinds: staged }: Staged): ImportOutcome {
  const lists = { created: [], replaced: [], unchanged: [], removed: [] } as Record<string, NamedDocument[]>
  const changes: (NamedDocument & Difference)[] = []
  for (const kind of kindNames) {
    const { before, after, changed } = staged[kind]
    for (const name of wanted[kind].keys()) {
      const one = { kind, name }
      const specOf = (content: Content | undefined) =>
        content && plain(withReferences(kind, name, content).spec, kinds[kind].written)
      const [from, to] = [specOf(before.get(name)), specOf(after.get(name))]
      if (wanted[kind].get(name) === null) {
        if (from !== undefined) lists.removed!.push(one)
      } else if (!changed.has(name)) lists.unchanged!.push(one)
      else {
        lists[from === undefined ? 'created' : 'replaced']!.push(one)
        const found = from === undefined ? [] : differences(from, to)
        // Only what is not shown has changed.
        const shown =
          from !== undefined && found.length === 0
            ? [{ element: '/spec', before: '(a secret)', after: '(another secret)' }]
            : found
        changes.push(...shown.map(difference => ({ ...one, ...difference })))
      }
    }
  }
  return { ...lists, changes: changes.slice(0, changesMax) } as unknown as ImportOutcome
}

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    distributionArchive: DistributionArchive
  }
}
