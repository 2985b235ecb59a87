/**
 * Key groups as documents. A change reads, decides, and commits on the condition that the group has not changed, nor, if keys in use
 * would be removed, the documents that use it.
 */
import { type Clock, chain, isCatalogError, type Point } from 'svc/kernel'
import { canonicalJson } from 'svc/plugins/sealing/api'
import {
  type DocumentUser,
  everyDocument,
  gatherUses,
  type StoredDocument,
  type StoreService,
  type TransactionBuilder,
  type Uses,
} from 'svc/plugins/store/api'
import type {
  KeyGroup,
  KeyGroupChange,
  KeyGroupContent,
  KeyGroupEditor,
  KeyGroupInput,
  KeyGroupKey,
  KeyGroupsService,
  KeyGroupUse,
} from './api.ts'
import type { KeyDocument, KeyGroupDocument, KeyGroupDocuments } from './documents.ts'
import { keyGroupErrors, noKey, noKeyGroup, notYours } from './errors.ts'
import { type Addition, applyInputs, invalid, keysMax, newKey, requireGroupId, requirePublicKey } from './key-inputs.ts'
import { type GeneratedKey, generateKey } from './public-keys.ts'

/** Of one user who does not manage users: groups are read one by one, so that whoever makes many in vain slows all others. */
const unusedMax = 100
const madeMax = 1000
/** Each lost round means that another change was committed. */
const attemptsMax = 64

export interface DirectoryOptions {
  readonly store: StoreService
  readonly documents: KeyGroupDocuments
  readonly users: Point<DocumentUser<KeyGroupUse>>
  readonly clock: Clock
}

type Current = StoredDocument<KeyGroupDocument> | undefined

interface Count {
  readonly seen: Awaited<ReturnType<KeyGroupDocuments['makers']['get']>>
  readonly made: Set<string>
  readonly unused: Set<string>
}

/** The result of a change of a group; `null` removes it, `undefined` leaves it unchanged. */
type Decision = KeyGroupDocument | null | undefined

export type KeyGroupDirectory = Omit<KeyGroupsService, 'verify' | 'sign'>

export function createDirectory({
  store,
  documents: { groups, makers },
  users,
  clock,
}: DirectoryOptions): KeyGroupDirectory {
  /** Groups of the editor of a request, stored or to be made by it. */
  const counts = new WeakMap<KeyGroupEditor, Count>()
  const announced = new WeakSet<TransactionBuilder>()
  const readUses = () => gatherUses(users.list().map(({ value }) => value))

  const describe = (document: StoredDocument<KeyGroupDocument>, uses: Uses<KeyGroupUse>): KeyGroup => {
    const { id, value, etag, modifiedMs } = document
    const { comment, keys, madeBy, createdMs } = value
    const described = { comment, keys: keys.map(describeKey), usedBy: usesOf(uses, id), madeBy, createdMs }
    return { id, ...described, updatedMs: modifiedMs, etag }
  }

  const require = async (id: string): Promise<StoredDocument<KeyGroupDocument>> => {
    const found = await groups.get(id)
    if (found === undefined) throw noKeyGroup(id)
    return found
  }

  const get = async (id: string): Promise<KeyGroup> => describe(await require(id), await readUses())

  /** Commits the decision about the group, which may be asked for again. */
  const change = async (
    id: string,
    { ifMatch, editor }: KeyGroupChange & { readonly ifMatch?: string },
    decide: (current: Current) => Decision,
  ) => {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const uses = await readUses()
      const users = usesOf(uses, id)
      const current = await groups.get(id)
      if (ifMatch !== undefined && (current === undefined || (ifMatch !== '*' && ifMatch !== current.etag))) {
        throw keyGroupErrors.precondition_failed()
      }
      const next = decide(current)
      await requireEditor(editor, current, users)
      if (next === undefined || isSame(next, current)) return
      const isNew = current === undefined && next !== null
      const announce = isNew ? await takeRoom(id, editor, uses, users.length > 0) : undefined
      const keepsKeys = next !== null && next.keys.length > 0
      if (!keepsKeys) requireUnused(id, next, namesOf(users))
      try {
        await store.transaction(tx => {
          write(tx, id, next, current)
          announce?.(tx)
          if (!keepsKeys || editor !== undefined) uses.fence(tx)
        })
        return
      } catch (error) {
        if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
      }
    }
    throw keyGroupErrors.busy()
  }

  const write = (tx: TransactionBuilder, id: string, next: KeyGroupDocument | null, current: Current): void => {
    const conditions = current === undefined ? ({ ifNoneMatch: '*' } as const) : { ifMatch: current.etag }
    // A group that cannot be read verifies nothing: it may be replaced.
    const options = { ...conditions, overwriteUnreadable: true }
    if (next === null) tx.delete(groups, id, options)
    else tx.put(groups, id, next, options)
  }

  /** Counts one more group of its maker. Returns what the commit needs so that no other group is made at the same time. */
  const takeRoom = async (
    id: string,
    editor: KeyGroupEditor | undefined,
    uses: Uses<KeyGroupUse>,
    isUsed: boolean,
  ): Promise<((tx: TransactionBuilder) => void) | undefined> => {
    if (editor === undefined || editor.managesUsers) return undefined
    // A request may make many: they are read once.
    const count = counts.get(editor) ?? (await countOf(editor.user, uses))
    counts.set(editor, count)
    const { seen, made, unused } = count
    made.add(id)
    if (!isUsed) unused.add(id)
    if (unused.size > unusedMax) throw tooMany(unused.size, 'key groups that no distribution names', unusedMax)
    if (made.size > madeMax) throw tooMany(made.size, 'key groups', madeMax)
    return tx => {
      // Another try of the request counts again.
      counts.delete(editor)
      if (announced.has(tx)) return
      announced.add(tx)
      const condition = seen === undefined ? ({ ifNoneMatch: '*' } as const) : { ifMatch: seen.etag }
      const changes = (seen?.value.changes ?? 0) + 1
      tx.put(makers, editor.user, { changes }, { ...condition, overwriteUnreadable: true })
    }
  }

  /** The document of the maker is read first: what is made after that fails the commit. */
  const countOf = async (user: string, uses: Uses<KeyGroupUse>): Promise<Count> => {
    const seen = await makers.get(user)
    const mine = (await everyDocument(groups)).filter(({ value }) => value.madeBy === user).map(({ id }) => id)
    return { seen, made: new Set(mine), unused: new Set(mine.filter(id => usesOf(uses, id).length === 0)) }
  }

  const replaced = (
    { comment = '', keys = [] }: KeyGroupInput,
    current: Current,
    user: string | undefined,
  ): KeyGroupDocument => {
    const nowMs = clock.now()
    const stored = current?.value ?? { keys: [], createdMs: nowMs, ...(user !== undefined && { madeBy: user }) }
    return { ...stored, comment, keys: applyInputs(keys, stored.keys, { nowMs, user }) }
  }

  const changeKeys = (id: string, options: KeyGroupChange, decide: (keys: readonly KeyDocument[]) => KeyDocument[]) =>
    change(id, options, current => {
      if (current === undefined) throw noKeyGroup(id)
      return { ...current.value, keys: decide(current.value.keys) }
    })

  return {
    async list({ startAfter, limit }) {
      const { documents, next } = await groups.list({ startAfter, limit })
      const uses = await readUses()
      return { items: documents.map(document => describe(document, uses)), next }
    },

    get,

    async create(id, input, options = {}) {
      requireGroupId(id)
      await change(id, options, current => {
        if (current !== undefined) throw keyGroupErrors.already_exists(`There is a key group "${id}" already.`)
        return replaced(input, current, options.editor?.user)
      })
      return get(id)
    },

    async put(id, input, options = {}) {
      requireGroupId(id)
      let isNew = false
      await change(id, options, current => {
        isNew = current === undefined
        return replaced(input, current, options.editor?.user)
      })
      return { group: await get(id), isNew }
    },

    async prepare(id, input, { usedBy, editor }) {
      requireGroupId(id)
      const current = await groups.get(id)
      const next = input === null ? null : replaced(input, current, editor.user)
      const isChange = next === null ? current !== undefined : !isSame(next, current)
      let announce: ((tx: TransactionBuilder) => void) | undefined
      const losesKeys = next === null || (next.keys.length === 0 && (current?.value.keys.length ?? 0) > 0)
      if (isChange) {
        const uses = await readUses()
        await requireEditor(editor, current, usesOf(uses, id))
        if (usedBy.length > 0) await requireEditor(editor, current, usedBy)
        if (losesKeys) requireUnused(id, next, namesOf(usedBy))
        if (current === undefined) announce = await takeRoom(id, editor, uses, usedBy.length > 0)
      }
      return {
        before: current && contentOf(current.value),
        after: next === null ? undefined : contentOf(next),
        isChange,
        apply(tx) {
          announce?.(tx)
          if (isChange) write(tx, id, next, current)
          else tx.require(groups, id, current === undefined ? { ifNoneMatch: '*' } : { ifMatch: current.etag })
        },
      }
    },

    delete: (id, options = {}) =>
      change(id, options, current => {
        if (current === undefined) throw noKeyGroup(id)
        return null
      }),

    async addKey(id, { name = '', publicKey, generate = false, algorithm, storePrivateKey = true }, options = {}) {
      if (generate === (publicKey !== undefined)) {
        throw invalid('publicKey', 'is given, or generate is true, and not both')
      }
      // Before a key is generated that would be lost.
      const found = await require(id)
      await requireEditor(options.editor, found, usesOf(await readUses(), id))
      if (publicKey !== undefined && algorithm !== undefined) throw invalid('algorithm', 'is for a key to be made')
      const made = generate ? await generateKey(algorithm ?? 'ed25519') : undefined
      const addition = { nowMs: clock.now(), user: options.editor?.user }
      const key = keyToAdd(made ?? requirePublicKey(publicKey!, 'publicKey'), { name, storePrivateKey }, addition)
      await changeKeys(id, options, keys => {
        if (keys.some(other => other.id === key.id)) {
          const message = `The key group "${id}" has the key ${key.id} already.`
          throw keyGroupErrors.already_exists(message, { cause: [{ element: '/publicKey', message }] })
        }
        if (keys.length >= keysMax) {
          throw keyGroupErrors.invalid_key_group(`A key group has at most ${keysMax} keys: remove one first.`)
        }
        return [...keys, key]
      })
      return { key: describeKey(key), privateKey: made?.privateKey }
    },

    removeKey: (id, keyId, options = {}) =>
      changeKeys(id, options, keys => {
        if (!keys.some(key => key.id === keyId)) throw noKey(id, keyId)
        return keys.filter(key => key.id !== keyId)
      }),

    exists: id => chain(groups.get(id), document => document !== undefined),

    requireIn: (tx, id, etag = '*') => tx.require(groups, id, { ifMatch: etag }),
  }
}

const usesOf = ({ byId }: Uses<KeyGroupUse>, id: string): KeyGroupUse[] =>
  [...(byId.get(id) ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1))

const namesOf = (uses: readonly KeyGroupUse[]): string[] => uses.map(({ name }) => name)

const contentOf = ({ comment, keys }: KeyGroupDocument): KeyGroupContent => ({ comment, keys: keys.map(describeKey) })

/** The key without its secret fields. */
function describeKey({ privateKey, addedBy, ...key }: KeyDocument): KeyGroupKey {
  return { ...key, hasPrivateKey: privateKey !== undefined, addedBy }
}

function keyToAdd(
  key: { readonly id: string } & Parameters<typeof newKey>[0] & Partial<Pick<GeneratedKey, 'privateKey'>>,
  { name, storePrivateKey }: { readonly name: string; readonly storePrivateKey: boolean },
  addition: Addition,
): KeyDocument {
  const { privateKey } = key
  return {
    ...newKey(key, addition, name),
    ...(privateKey !== undefined && storePrivateKey && { privateKey }),
  }
}

function isSame(next: KeyGroupDocument | null, current: Current): boolean {
  return next !== null && current !== undefined && canonicalJson(next) === canonicalJson(current.value)
}

const tooMany = (count: number, what: string, most: number): Error =>
  keyGroupErrors.invalid_key_group(
    `You would have made ${count} ${what}, and ${most} are the most: delete some of them.`,
  )

/** Throws `access_denied`. */
async function requireEditor(
  editor: KeyGroupEditor | undefined,
  current: Current,
  usedBy: readonly KeyGroupUse[],
): Promise<void> {
  // A new group belongs to who makes it.
  if (editor === undefined || (current === undefined && usedBy.length === 0)) return
  const group = { usedBy, madeBy: current?.value.madeBy }
  if (!(await editor.mayEdit(group))) throw notYours(group)
}

/** Throws `key_group_in_use`, which names the users of the group. */
function requireUnused(id: string, next: KeyGroupDocument | null, ids: readonly string[]): void {
  if (ids.length === 0) return
  const shown = ids.slice(0, 5).join(', ') + (ids.length > 5 ? ` and ${ids.length - 5} others` : '')
  const needs = next === null ? 'it' : 'at least one of its keys'
  throw keyGroupErrors.key_group_in_use(
    `The key group "${id}" stays: ${shown} need${ids.length === 1 ? 's' : ''} ${needs}.`,
  )
}
