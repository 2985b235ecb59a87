/**
 * Access keys, and the operations on them that a caller is allowed.
 *
 * | Caller | Keys of its own user | Keys of other users | Keys of root |
 * |---|---|---|---|
 * | root, or its access key without a policy | all | all | all |
 * | a user, or its access key without a policy | all | with the action of the Admin API | read, with the action |
 * | an access key with a policy | read and delete this very one; make shares | as a user | as a user |
 * | a session | none | as a user | as a user |
 * | a share | none | none | none |
 *
 * So no caller gains a right through a key: limited credentials create no unlimited ones, and only root gets keys of root.
 */

import type { Random } from 'svc/kernel'
import { passAll } from 'svc/plugins/admin/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { StoredDocument } from 'svc/plugins/store/api'
import type { AccessKeyChange, Caller, NewAccessKey, UsersService } from './api.ts'
import type { Context } from './context.ts'
import type { AccessKeyDocument } from './documents.ts'
import { invalidArgument, noAccessKey, usersErrors } from './errors.ts'
import { DirectoryIdentity } from './identity.ts'
import {
  descriptionCharsMax,
  keyNameCharsMax,
  newAccessKey,
  newSecretKey,
  newShareAccessKey,
  newUid,
  requireAccessKey,
  requireSecretKey,
  requireText,
} from './names.ts'
import { bytesOf, pageBytesMax, readLimit } from './pages.ts'
import { requireCompiled } from './policy-directory.ts'
import { removeShares } from './share-room.ts'
import { requireFreeName, userNameOf } from './user-directory.ts'
import { describeAccessKey, requireUser } from './views.ts'

type AccessKeyMethods = Pick<
  UsersService,
  'listAccessKeys' | 'getAccessKey' | 'createAccessKey' | 'updateAccessKey' | 'deleteAccessKey' | 'rotateAccessKey'
>

type Owner = AccessKeyDocument['owner']
type StoredKey = StoredDocument<AccessKeyDocument>

const actions = {
  read: 'admin:ListServiceAccounts',
  create: 'admin:CreateServiceAccount',
  update: 'admin:UpdateServiceAccount',
  delete: 'admin:RemoveServiceAccount',
} as const

export function createAccessKeyDirectory(context: Context, random: Random): AccessKeyMethods {
  const { documents, changes, clock, owner: root, shareRoom, keysPerUserMax } = context
  const { accessKeys } = documents

  const show = (key: StoredKey) => describeAccessKey(key, context)

  /** The key, if the caller is allowed to do this with it. Otherwise the error does not reveal whether the key exists. */
  const requireKey = async (
    caller: Caller,
    accessKey: string,
    what: 'read' | 'update' | 'delete',
  ): Promise<StoredKey> => {
    const key = await accessKeys.get(accessKey)
    requireAccess(caller, key, accessKey, what)
    // A share link cannot be changed, only revoked.
    const isFixed = key?.value.kind === 'share' && what === 'update'
    if (key === undefined || isFixed) throw noAccessKey(accessKey)
    return key
  }

  /** The owner of the new key; undefined for root. */
  const requireNewOwner = async (caller: Caller, name: string, isShare: boolean): Promise<Owner> => {
    const { identity } = caller
    if (identity.kind === 'share') throw usersErrors.access_denied()
    const isOfRoot = name === root.accessKey
    const isOwn = isOfRoot ? isOwnedByRoot(identity) : !isOwnedByRoot(identity) && name === userNameOf(identity)
    if (isOwn) {
      const isLimited = identity.isRestricted === true && !(isShare && identity.kind === 'access-key')
      if (isLimited) throw usersErrors.access_denied(limited)
    } else if (isOfRoot ? !identity.isRoot : !caller.isAllowed(actions.create)) throw usersErrors.access_denied()
    if (isOfRoot) return undefined
    const { uid } = (await requireUser(documents, name)).value
    return { name, uid }
  }

  const change = async (
    caller: Caller,
    accessKey: string,
    make: (key: AccessKeyDocument) => AccessKeyDocument,
    ifMatch?: string,
  ): Promise<StoredKey> => {
    await changes.commit(async () => {
      const { value, etag } = await requireKey(caller, accessKey, 'update')
      if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etag) throw usersErrors.precondition_failed()
      const next = make(value)
      return tx => tx.put(accessKeys, accessKey, next)
    })
    const stored = await accessKeys.get(accessKey)
    if (stored === undefined) throw noAccessKey(accessKey)
    return stored
  }

  return {
    async listAccessKeys(caller, { user, status, ...request } = {}) {
      const { identity } = caller
      if (identity.kind === 'share') throw usersErrors.access_denied()
      const name = user ?? userNameOf(identity)
      const isOwn = name === userNameOf(identity) && (name === root.accessKey) === isOwnedByRoot(identity)
      if (isOwn && identity.isRestricted === true) throw usersErrors.access_denied(limited)
      if (!isOwn && !caller.isAllowed(actions.read)) throw usersErrors.access_denied()
      const uid = name === root.accessKey ? undefined : (await requireUser(documents, name)).value.uid
      const { prefix = '', startAfter = '', limit } = request
      const wanted = readLimit(limit)
      const page: StoredKey[] = []
      let bytes = 0
      // The user's own alone: others may have any number of keys.
      for (const id of (await changes.keys()).accessKeysOf(uid)) {
        if (id <= startAfter || !id.startsWith(prefix)) continue
        const key = await accessKeys.get(id)
        if (key === undefined || (status !== undefined && key.value.status !== status)) continue
        // One more than fits: only then there is a next page.
        if (page.length === wanted || bytes >= pageBytesMax)
          return { items: await Promise.all(page.map(show)), next: page.at(-1)!.id }
        page.push(key)
        bytes += bytesOf(key.value)
      }
      return { items: await Promise.all(page.map(show)), next: undefined }
    },

    getAccessKey: async (caller, accessKey) => show(await requireKey(caller, accessKey, 'read')),

    async createAccessKey(caller, input) {
      let document: ReturnType<typeof requireCompiled>['document'] | undefined
      await passAll([
        ...newKeyChecks(input, clock.now()),
        () => {
          if (input.policy !== undefined) document = requireCompiled(context, input.policy, 'session').document
        },
      ])
      const secretKey = input.secretKey ?? newSecretKey(random)
      let accessKey = input.accessKey ?? newAccessKey(random)
      const { identity } = caller
      const { share, name = '', description = '', expiresMs } = input
      let made: AccessKeyDocument | undefined
      let surplus: readonly string[] = []
      await changes.commit(async keys => {
        const owner = await requireNewOwner(caller, input.user ?? userNameOf(identity), share !== undefined)
        if (share !== undefined) accessKey = newShareAccessKey(random, owner?.uid)
        await requireFreeName(context, accessKey)
        if (share === undefined && (await keys()).countOf(owner?.uid) >= keysPerUserMax) {
          throw usersErrors.too_many_access_keys(
            `A user has at most ${keysPerUserMax} access keys. Delete some that are not used.`,
          )
        }
        surplus = share === undefined ? [] : await shareRoom.make(owner?.uid)
        const parent = identity.isRestricted === true ? identity.accessKey : undefined
        const { uid: parentUid, expiresMs: parentEndMs } =
          (parent === undefined ? undefined : (await accessKeys.get(parent))?.value) ?? {}
        // A link tells when it ends, and it ends with the key that made it.
        const endMs = share === undefined ? expiresMs : earliest(expiresMs, parentEndMs)
        const key: AccessKeyDocument = {
          uid: newUid(random),
          secretKey,
          kind: share === undefined ? 'access-key' : 'share',
          status: 'enabled',
          name,
          description,
          createdBy: identity.accessKey,
          createdMs: clock.now(),
          ...(owner === undefined ? {} : { owner }),
          ...(endMs === undefined ? {} : { expiresMs: endMs }),
          ...(document === undefined ? {} : { policy: document }),
          ...(share === undefined ? {} : { share }),
          ...(parent === undefined ? {} : { parent }),
          ...(parentUid === undefined ? {} : { parentUid }),
        }
        made = key
        return tx => {
          tx.put(accessKeys, accessKey, key)
          removeShares(tx, documents, surplus)
        }
      })
      if (share !== undefined) shareRoom.note(accessKey, made)
      for (const id of surplus) shareRoom.note(id, undefined)
      return { key: await show((await accessKeys.get(accessKey))!), secretKey }
    },

    async updateAccessKey(caller, accessKey, given) {
      await passAll(changeChecks(given, clock.now()))
      const document = given.policy == null ? undefined : requireCompiled(context, given.policy, 'session').document
      const made = ({ expiresMs, policy, ...key }: AccessKeyDocument): AccessKeyDocument => {
        const nextExpiresMs = given.expiresMs === undefined ? expiresMs : (given.expiresMs ?? undefined)
        const nextPolicy = given.policy === undefined ? policy : document
        return {
          ...key,
          name: given.name === undefined ? key.name : (given.name ?? ''),
          description: given.description === undefined ? key.description : (given.description ?? ''),
          status: given.status ?? key.status,
          ...(nextExpiresMs === undefined ? {} : { expiresMs: nextExpiresMs }),
          ...(nextPolicy === undefined ? {} : { policy: nextPolicy }),
        }
      }
      return show(await change(caller, accessKey, made, given.ifMatch))
    },

    async deleteAccessKey(caller, accessKey) {
      await changes.commit(async keys => {
        await requireKey(caller, accessKey, 'delete')
        const children = [...(await keys()).childrenOf(accessKey)]
        return tx => {
          tx.delete(accessKeys, accessKey)
          tx.delete(documents.lastUses, accessKey)
          // Further children are invalid anyway, because their parent is deleted.
          for (const child of children.slice(0, childrenPerCommitMax)) tx.delete(accessKeys, child)
        }
      })
    },

    async rotateAccessKey(caller, accessKey, given) {
      if (given !== undefined) requireSecretKey(given)
      const secretKey = given ?? newSecretKey(random)
      await change(caller, accessKey, key => ({ ...key, secretKey }))
      return { accessKey, secretKey }
    },
  }
}

const childrenPerCommitMax = 900
export const limited = 'Credentials with fewer rights than their user cannot manage its access keys.'

/** Throws `access_denied` unless the table above allows the operation. A key that does not exist has no owner. */
function requireAccess(
  { identity, isAllowed }: Caller,
  key: StoredKey | undefined,
  accessKey: string,
  what: 'read' | 'update' | 'delete',
): void {
  if (identity.kind === 'share') throw usersErrors.access_denied()
  if (key !== undefined && isOwnKey(identity, key.value)) {
    if (identity.isRestricted !== true) return
    if (what !== 'update' && identity.accessKey === accessKey) return
    throw usersErrors.access_denied(limited)
  }
  const isRootsKey = key !== undefined && key.value.owner === undefined
  if (isRootsKey && what !== 'read' ? !identity.isRoot : !isAllowed(actions[what])) throw usersErrors.access_denied()
}

export function isOwnKey(identity: Identity, { owner }: AccessKeyDocument): boolean {
  if (owner === undefined) return isOwnedByRoot(identity)
  return !isOwnedByRoot(identity) && owner.name === userNameOf(identity)
}

/** Decides by the owner that the key was created with, not by the name: a user may have had that name before root got it. */
export function isOwnedByRoot(identity: Identity): boolean {
  return identity.isRoot || DirectoryIdentity.policiesOf(identity)?.isOwnedByRoot === true
}

function newKeyChecks({ accessKey, secretKey, ...rest }: NewAccessKey, nowMs: number): readonly (() => void)[] {
  return [
    () => accessKey !== undefined && requireAccessKey(accessKey),
    () => secretKey !== undefined && requireSecretKey(secretKey),
    ...changeChecks(rest, nowMs),
  ]
}

const earliest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a

function changeChecks({ name, description, expiresMs }: AccessKeyChange, nowMs: number): readonly (() => void)[] {
  return [
    () => name != null && requireText('name', name, keyNameCharsMax),
    () => description != null && requireText('description', description, descriptionCharsMax),
    () => {
      if (expiresMs != null && !(expiresMs > nowMs)) throw invalidArgument('expiresAt', 'must be in the future')
    },
  ]
}
