/** Refusals: missing rights, and all problems of documents, each with its place. */
import { isCatalogError } from 'svc/kernel'
import { adminErrors, problemsOf } from 'svc/plugins/admin/api'
import type { ArchiveDocument } from './documents.ts'
import type { DocumentProblem } from './errors.ts'
import { type KindName, kindNames } from './kinds.ts'
import type { Staged, Wanted } from './staging.ts'
import type { ArchiveRights } from './stored.ts'

/** Checks rights to kinds of documents that belong to no bucket. */
export function requireKindRights(documents: readonly ArchiveDocument[], rights: ArchiveRights): void {
  for (const { kind, name } of documents) {
    const isAllowed =
      kind === 'CachePolicy' || kind === 'CacheSettings'
        ? rights.managesCache
        : kind === 'DistributionCache' || rights.managesDistributions
    if (!isAllowed) throw denied(kind, name)
  }
}

export async function requireCacheRights(wanted: Wanted, staged: Staged, rights: ArchiveRights): Promise<void> {
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

/** Adds the sentence of the plugin that refused, if it has one: the missing right may concern another bucket. */
function deniedBy(error: Error, kind: KindName, name: string): Error {
  const hasSentence = error.message !== adminErrors.access_denied().message
  return hasSentence ? adminErrors.access_denied(`${kind}/${name}: ${error.message}`) : denied(kind, name)
}

/** Problems of documents and removals. Throws `access_denied`. */
export function problemsIn(documents: readonly ArchiveDocument[], { kinds: staged }: Staged): DocumentProblem[] {
  const byName = new Map(documents.map(document => [`${document.kind}/${document.name}`, document]))
  const problems: DocumentProblem[] = []
  for (const kind of kindNames) {
    for (const [name, error] of staged[kind].errors) {
      if (isCatalogError(error) && error.status === 403) throw deniedBy(error, kind, name)
      const document = byName.get(`${kind}/${name}`)
      const listed = (problemsOf(error) ?? []) as readonly Told[]
      for (const told of listed.length > 0 ? listed : [error]) {
        const { element, message } = pointed(told)
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
  return problems
}

/** A problem of a list, or an error. */
interface Told {
  readonly element?: string
  readonly code?: string
  readonly message: string
}

/** Without an element the sentence may begin with a JSON Pointer: `/cache/ttl is not …`, `/cache/policy: There is …`. */
function pointed({ element = '', code = '', message: sentence }: Told): { element: string; message: string } {
  if (element !== '') return { element, message: sentence }
  const [, pointer, message] = /^(\/[^\s:]*):? (.*)$/s.exec(sentence) ?? []
  if (pointer !== undefined && message !== undefined) return { element: pointer, message }
  return { element: namingFields[code] ?? '', message: sentence }
}

/** Fields that name a missing thing, by the code of its error. */
const namingFields: Readonly<Record<string, string>> = {
  bucket_not_found: '/origin/bucket',
  NoSuchBucket: '/origin/bucket',
  certificate_not_found: '/tls/certificate',
  invalid_certificate: '/tls/certificate',
  dns_provider_not_found: '/tls/dnsProvider',
}

/** Leaves out problems that name a document of `broken` (`KeyGroup/films`): that document may be their only cause. */
export function independentOf(broken: ReadonlySet<string>, problems: readonly DocumentProblem[]): DocumentProblem[] {
  const names = new Set([...broken].map(document => document.slice(document.indexOf('/') + 1)))
  return problems.filter(({ message }) => {
    const words = message.split(/[^a-z0-9._-]+/).map(word => word.replace(/[.]+$/, ''))
    return !words.some(word => names.has(word))
  })
}
