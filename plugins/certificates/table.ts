/**
 * The compiled table of each thread that maps server names to stored certificates. A thread whose table has another sequence than the
 * document `certificate-table` compiles it again before it answers, so an acknowledged change is in force for the next handshake.
 */
import { createHash, X509Certificate } from 'node:crypto'
import type { Clock, Logger, MaybePromise } from 'svc/kernel'
import { describeCertificate, type NamedCertificate, validityOf } from 'svc/plugins/tls/api'
import type { CertificateUser } from './api.ts'
import { type CertificateDocument, type CertificateDocuments, tableId } from './documents.ts'
import { covers } from './names.ts'

/** A certificate that can be presented. */
export interface TableEntry {
  readonly id: string
  readonly domains: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly createdMs: number
  readonly certificate: string
  readonly key: string
  readonly fingerprint: string
}

/** The certificate that is presented for a name. */
export interface PresentedEntry extends TableEntry, NamedCertificate {}

interface Table {
  readonly sequence: number
  readonly byId: ReadonlyMap<string, TableEntry>
  /** Entries by name, the newest first. Wildcards keep their asterisk. */
  readonly byName: ReadonlyMap<string, readonly TableEntry[]>
}

export interface CertificateTable {
  find(serverName: string): MaybePromise<PresentedEntry | undefined>
  entries(): Promise<readonly TableEntry[]>
  /** How it would find certificates with this document in the place of the stored one; without a document: if that were deleted. */
  withReplaced(id: string, document?: CertificateDocument): Promise<CertificateTable['find']>
}

export interface TableOptions {
  readonly documents: CertificateDocuments
  users(): readonly CertificateUser[]
  readonly clock: Clock
  readonly log: Logger
}

export function createCertificateTable({ documents, users, clock, log }: TableOptions): CertificateTable {
  const { certificates, tables } = documents
  let current: Table | undefined
  let compiling: Promise<Table> | undefined
  /** Parsed forms by id, kept while their document is the same. */
  let parsed = new Map<string, { readonly etag: string; readonly entry: TableEntry | undefined }>()

  async function compile(): Promise<Table> {
    // Before the list: a change meanwhile makes the next handshake compile again.
    const sequence = (await tables.get(tableId))?.sequence ?? 0
    const kept: typeof parsed = new Map()
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof certificates.list>> = await certificates.list({ startAfter })
      for (const { id, etag, value } of page.documents) {
        const known = parsed.get(id)
        kept.set(id, known?.etag === etag ? known : { etag, entry: parse(id, value) })
      }
      startAfter = page.next
    }
    parsed = kept
    const entries = [...kept.values()].flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
    current = tableOf(sequence, entries)
    return current
  }

  function parse(id: string, document: CertificateDocument): TableEntry | undefined {
    try {
      return parseEntry(id, document)
    } catch (error) {
      // It was valid when it was stored; if it is not any more, the others must still be served.
      log.error({ err: error, certificate: id }, 'a stored certificate cannot be used')
      return undefined
    }
  }

  /** Only one compilation runs at a time. A caller that arrives during it may need a newer table, so it waits for the next one. */
  async function fresh(): Promise<Table> {
    for (;;) {
      const sequence = (await tables.get(tableId))?.sequence ?? 0
      if (current !== undefined && current.sequence >= sequence) return current
      compiling ??= compile().finally(() => {
        compiling = undefined
      })
      await compiling
    }
  }

  function choose({ byId, byName }: Table, name: string, preferred: readonly string[]): PresentedEntry | undefined {
    const nowMs = clock.now()
    const isValid = (entry: TableEntry) => entry.notBeforeMs <= nowMs && nowMs < entry.notAfterMs
    const named = preferred
      .flatMap(id => byId.get(id) ?? [])
      .filter(({ domains }) => domains.some(each => covers(each, name)))
    const wildcard = `*${name.slice(name.indexOf('.'))}`
    const candidates = [...named, ...(byName.get(name) ?? []), ...(byName.get(wildcard) ?? [])]
    const found = candidates.find(isValid) ?? candidates.find(({ notBeforeMs }) => notBeforeMs <= nowMs)
    return found === undefined ? undefined : { ...found, isExpired: !isValid(found) }
  }

  async function preferredFor(name: string): Promise<readonly string[]> {
    const preferred: string[] = []
    for (const user of users()) {
      const id = await user.preferred(name)
      if (id !== undefined) preferred.push(id)
    }
    return preferred
  }

  return {
    async find(name) {
      const preferred = await preferredFor(name)
      return choose(await fresh(), name, preferred)
    },
    entries: async () => [...(await fresh()).byId.values()],
    async withReplaced(id, document) {
      const { sequence, byId } = await fresh()
      const others = [...byId.values()].filter(entry => entry.id !== id)
      const successor = document === undefined ? undefined : parseEntry(id, document)
      const table = tableOf(sequence, successor === undefined ? others : [...others, successor])
      return async name => choose(table, name, await preferredFor(name))
    },
  }
}

function tableOf(sequence: number, entries: readonly TableEntry[]): Table {
  return { sequence, byId: new Map(entries.map(entry => [entry.id, entry])), byName: groupByName(entries) }
}

function parseEntry(id: string, { chain, privateKey, createdMs }: CertificateDocument): TableEntry | undefined {
  if (chain === undefined || privateKey === undefined) return undefined
  const leaf = new X509Certificate(chain)
  return {
    id,
    domains: describeCertificate(leaf, id).domains.map(name => name.toLowerCase()),
    ...validityOf(leaf),
    createdMs,
    certificate: chain,
    key: privateKey,
    fingerprint: createHash('sha256').update(chain).digest('hex'),
  }
}

function groupByName(entries: readonly TableEntry[]): Map<string, TableEntry[]> {
  const byName = new Map<string, TableEntry[]>()
  const newestFirst = [...entries].sort((a, b) => b.notBeforeMs - a.notBeforeMs || b.createdMs - a.createdMs)
  for (const entry of newestFirst) {
    for (const name of entry.domains) byName.set(name, [...(byName.get(name) ?? []), entry])
  }
  return byName
}
