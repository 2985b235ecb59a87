/**
 * Which access keys and shares belong to whom, in memory: a count must not read every key of the directory. Read once, with the first
 * question, and then kept up with the changes of this thread.
 *
 * Invariant: the index is that of one revision. A change compares it with the revision that its commit requires, and reads again where
 * another thread has committed. So a decision that counts keys is made with the keys that there are when it is committed.
 */
import { setImmediate } from 'node:timers/promises'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import type { AccessKeyDocument, Documents } from './documents.ts'

/** What is known of a key. */
interface Entry {
  /** Empty: root. */
  readonly owner: string
  readonly parent: string | undefined
  readonly isShare: boolean
}

export interface KeyIndex {
  /** Whether it was read: then this thread's changes keep it up. */
  isRead(): boolean
  /** Whether it is that of this revision. */
  isAt(revision: number): boolean
  /** Reads all keys. Nothing may be committed by this thread meanwhile. */
  read(revision: number): Promise<void>
  /** Ids of the access keys and shares of a user, or of root if `undefined` is passed. */
  keysOf(uid: string | undefined): Iterable<string>
  /** Sorted ids of the access keys of a user, without shares. */
  accessKeysOf(uid: string | undefined): string[]
  /** The number of access keys of a user, without shares. */
  countOf(uid: string | undefined): number
  /** Ids of the access keys and shares that were created with a key. */
  childrenOf(accessKey: string): Iterable<string>
  /** Notes what is put and deleted by a transaction. The function that it returns is to be called when that is committed. */
  follow(tx: TransactionBuilder): { readonly tx: TransactionBuilder; committed(revision: number): void }
}

const none: ReadonlySet<string> = new Set()

export function createKeyIndex({ accessKeys }: Pick<Documents, 'accessKeys'>): KeyIndex {
  const entries = new Map<string, Entry>()
  const byOwner = new Map<string, Set<string>>()
  const counts = new Map<string, number>()
  const byParent = new Map<string, Set<string>>()
  let at: number | undefined

  const remove = (id: string): void => {
    const entry = entries.get(id)
    if (entry === undefined) return
    entries.delete(id)
    take(byOwner, entry.owner, id)
    if (entry.parent !== undefined) take(byParent, entry.parent, id)
    if (!entry.isShare) counts.set(entry.owner, counts.get(entry.owner)! - 1)
  }

  const put = (id: string, { owner, parent, kind }: AccessKeyDocument): void => {
    remove(id)
    const entry = { owner: owner?.uid ?? '', parent, isShare: kind === 'share' }
    entries.set(id, entry)
    add(byOwner, entry.owner, id)
    if (parent !== undefined) add(byParent, parent, id)
    if (!entry.isShare) counts.set(entry.owner, (counts.get(entry.owner) ?? 0) + 1)
  }

  return {
    isRead: () => at !== undefined,

    isAt: revision => at === revision,

    async read(revision) {
      at = undefined
      for (const map of [entries, byOwner, counts, byParent]) map.clear()
      let startAfter: string | undefined = ''
      while (startAfter !== undefined) {
        const page: Awaited<ReturnType<typeof accessKeys.list>> = await accessKeys.list({ startAfter })
        for (const { id, value } of page.documents) put(id, value)
        startAfter = page.next
        // A page is some milliseconds of work, and other requests wait.
        await setImmediate()
      }
      at = revision
    },

    keysOf: uid => byOwner.get(uid ?? '') ?? none,

    accessKeysOf: uid => [...(byOwner.get(uid ?? '') ?? none)].filter(id => !entries.get(id)!.isShare).sort(),

    countOf: uid => counts.get(uid ?? '') ?? 0,

    childrenOf: accessKey => byParent.get(accessKey) ?? none,

    follow(tx) {
      const changed: [id: string, value: AccessKeyDocument | undefined][] = []
      return {
        tx: {
          ...tx,
          put(collection, id, value, ...rest) {
            if (isKeys(collection)) changed.push([id, value as AccessKeyDocument])
            return tx.put(collection, id, value, ...rest)
          },
          delete(collection, id, ...rest) {
            if (isKeys(collection)) changed.push([id, undefined])
            return tx.delete(collection, id, ...rest)
          },
        },
        committed(revision) {
          // Not read yet, or another thread's change is missing: the next question reads all.
          if (at !== revision - 1) return
          for (const [id, value] of changed) {
            if (value === undefined) remove(id)
            else put(id, value)
          }
          at = revision
        },
      }
    },
  }

  function isKeys(collection: unknown): boolean {
    return collection === accessKeys
  }
}

function add(sets: Map<string, Set<string>>, name: string, id: string): void {
  const set = sets.get(name)
  if (set === undefined) sets.set(name, new Set([id]))
  else set.add(id)
}

function take(sets: Map<string, Set<string>>, name: string, id: string): void {
  const set = sets.get(name)
  if (set?.delete(id) === true && set.size === 0) sets.delete(name)
}
