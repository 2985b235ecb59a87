/** Export and import: an import is all or nothing, and the same one again changes nothing. */
import { isCatalogError } from 'svc/kernel'
import { referenceTo, type SecretReferencesService, variableOf } from 'svc/plugins/secret-references/api'
import type { StoreService } from 'svc/plugins/store/api'
import { type Difference, differences } from './differences.ts'
import { type ArchiveDocument, readDocuments } from './documents.ts'
import { distributionArchiveErrors, invalidDocuments, problemsMax } from './errors.ts'
import { apiVersion, type KindName, kindNames, kinds } from './kinds.ts'
import type { OpenedDistribution } from './opened.ts'
import { plain } from './plain.ts'
import { independentOf, problemsIn, requireCacheRights, requireKindRights } from './problems.ts'
import { createNames, keepStored, referencesOf, withReferences } from './secrets.ts'
import { type Content, type Staged, stage, type Wanted } from './staging.ts'
import { type ArchiveRights, readStored, type StoredDocuments, type StoredServices } from './stored.ts'
import { excessLine, placesMax, textBytesMax, writeYaml } from './yaml-text.ts'

const attemptsMax = 16
const changesMax = 1000
const warningsMax = 1000

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
  /** Sentences, at most 1000: private keys that go or are missing, references of the file that stand for nothing on this node. */
  readonly warnings: readonly string[]
  readonly opened: readonly OpenedDistribution[]
}

export interface ExportRequest {
  /** Empty: all. */
  readonly kinds: ReadonlySet<string>
  /** Names of distributions, also of documents named like them; empty means all. */
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

type Resolve = SecretReferencesService['resolve']

export interface DistributionArchiveOptions extends StoredServices {
  readonly store: Pick<StoreService, 'transaction'>
  readonly resolve: Resolve
}

export function createDistributionArchive(options: DistributionArchiveOptions): DistributionArchive {
  const { store, resolve } = options

  /** The changes of the transaction: those of the file, and with `replace` the removal of documents of its kinds that it lacks. */
  function wantedOf(
    documents: readonly ArchiveDocument[],
    stored: StoredDocuments,
    mode: ImportMode,
    broken: ReadonlySet<string> = new Set(),
  ) {
    const wanted = Object.fromEntries(kindNames.map(kind => [kind, new Map<string, Content | null>()])) as Record<
      KindName,
      Map<string, Content | null>
    >
    const warnings: string[] = []
    for (const { kind, name, spec } of documents) {
      const { spec: kept, gone } = keepStored(kind, name, spec, stored[kind].get(name), resolve)
      warnings.push(...gone.map(reference => goneWarning(kind, name, reference)))
      for (const reference of referencesOf(kind, name, kept)) {
        if (resolve(referenceTo(reference)) === undefined) warnings.push(unsetWarning(kind, name, reference))
      }
      wanted[kind].set(
        name,
        kind === 'Distribution' ? { id: name, ...kept } : kind === 'CachePolicy' ? { name, ...kept } : kept,
      )
    }
    for (const kind of kindNames) {
      if (mode === 'merge' || wanted[kind].size === 0) continue
      for (const name of stored[kind].keys()) {
        if (!wanted[kind].has(name) && !broken.has(`${kind}/${name}`)) wanted[kind].set(name, null)
      }
    }
    return { wanted, warnings }
  }

  async function attempt(
    { mode, isDryRun }: ImportRequest,
    documents: readonly ArchiveDocument[],
    rights: ArchiveRights,
  ) {
    const stored = await readStored(options, rights)
    const { wanted, warnings } = wantedOf(documents, stored, mode)
    const staged = await stage(options, wanted, rights)
    const problems = problemsIn(documents, staged)
    if (problems.length > 0) throw invalidDocuments(problems)
    await requireCacheRights(wanted, staged, rights)
    const said = (kind: KindName, all: Staged['warnings']) =>
      [...all].flatMap(([name, sentences]) => sentences.map(warning => `${kind}/${name}: ${warning}`))
    const outcome = {
      ...outcomeOf(wanted, staged, resolve),
      warnings: [...said('KeyGroup', staged.keyWarnings), ...warnings, ...said('Distribution', staged.warnings)].slice(
        0,
        warningsMax,
      ),
      opened: staged.opened,
    }
    const count = outcome.created.length + outcome.replaced.length + outcome.removed.length
    if (count > changesMax) throw tooManyChanges(count)
    if (!isDryRun && count > 0) await commit(staged, count)
    return outcome
  }

  /** Problems of well-formed documents if others are `broken`. Problems that broken ones may have caused are left out. */
  async function furtherProblems(
    { mode }: ImportRequest,
    documents: readonly ArchiveDocument[],
    broken: ReadonlySet<string>,
    rights: ArchiveRights,
  ) {
    const { wanted } = wantedOf(documents, await readStored(options, rights), mode, broken)
    return independentOf(broken, problemsIn(documents, await stage(options, wanted, rights)))
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
          if (names.size === 0 || names.has(name)) parts.push(writeDocument(kind, name, content, resolve))
        }
      }
      const text = parts.join('---\n')
      if (Buffer.byteLength(text) > textBytesMax) {
        throw distributionArchiveErrors.archive_too_large(
          `The documents have more than the ${textBytesMax} bytes that an import takes: export them in parts, by kind or id.`,
        )
      }
      if (excessLine(text) !== undefined) {
        throw distributionArchiveErrors.archive_too_large(
          `The documents have more than the ${placesMax} lines, keys and list items that an import takes: export them in parts, by kind or id.`,
        )
      }
      return text
    },

    async import(request, rights) {
      const { documents, problems, broken } = readDocuments(request.text, request.hasLines)
      requireKindRights(documents, rights)
      if (problems.length > 0) {
        const others = broken === undefined ? [] : await furtherProblems(request, documents, broken, rights)
        throw invalidDocuments([...problems, ...others].slice(0, problemsMax))
      }
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

const goneWarning = (kind: KindName, name: string, reference: string): string =>
  `${kind}/${name}: ${referenceTo(reference)}: the stored secret of this name has expired, or was removed, and ${variableOf(reference)} is not set on this node; the reference is left out.`

const unsetWarning = (kind: KindName, name: string, reference: string): string =>
  `${kind}/${name}: ${referenceTo(reference)}: ${variableOf(reference)} is not set on this node; what needs it refuses requests until then.`

function writeDocument(kind: KindName, name: string, content: Content, resolve: Resolve): string {
  const spec = withReferences(kind, name, content, createNames(kind, name, [content], resolve))
  const lines = [...referencesOf(kind, name, spec)].map(secret => ` ${secret}: ${variableOf(secret)}`)
  const comment =
    lines.length === 0 ? '' : [' Secrets, and the variables of nodes that have them:', ...lines].join('\n')
  return writeYaml({ apiVersion, kind, metadata: { name }, spec: plain(spec, kinds[kind].written) }, comment)
}

function outcomeOf(
  wanted: Wanted,
  { kinds: staged }: Staged,
  resolve: Resolve,
): Omit<ImportOutcome, 'opened' | 'warnings'> {
  const lists = { created: [], replaced: [], unchanged: [], removed: [] } as Record<string, NamedDocument[]>
  const changes: (NamedDocument & Difference)[] = []
  for (const kind of kindNames) {
    const { before, after, changed } = staged[kind]
    for (const name of wanted[kind].keys()) {
      const one = { kind, name }
      const states = [before.get(name), after.get(name)].filter(state => state !== undefined)
      const nameOf = createNames(kind, name, states, resolve)
      const specOf = (content: Content | undefined) =>
        content && plain(withReferences(kind, name, content, nameOf), kinds[kind].written)
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
    /** Used by the operations of this plugin only. */
    distributionArchive: DistributionArchive
  }
}
