/**
 * Exports all users, groups, named policies and access keys from a deployment, and imports them into another one. An import is checked as a
 * whole before anything is stored. Then it is stored in commits of some hundred documents. Repeating an import changes nothing.
 *
 * Existing users keep their uid, so access keys that are not in the archive, such as those that were created here, stay valid.
 */
import { isCatalogError } from 'svc/kernel'
import type { PolicyDocument } from 'svc/plugins/policy/api'
import { canonicalJson, differingFields } from 'svc/plugins/sealing/api'
import type { Collection, TransactionBuilder } from 'svc/plugins/store/api'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Directory, DirectoryImport, DirectoryImportOptions, UsersService } from './api.ts'
import type { Context } from './context.ts'
import { type AccessKeyDocument, allOf, directorySchemas, only, type UserDocument } from './documents.ts'
import { usersErrors } from './errors.ts'
import { requireAccessKey, requireGroupName, requirePolicyName, requireSecretKey, sharePrefix } from './names.ts'
import { requireCompiled } from './policy-directory.ts'

const documentsPerCommit = 400
const exportAttemptsMax = 16
/** Further problems are dropped. */
const problemsMax = 100

interface Problem {
  readonly element: string
  readonly message: string
}

const nobody: Directory = { users: new Map(), groups: new Map(), policies: new Map(), accessKeys: new Map() }
const overwrite = { overwriteUnreadable: true }

/** One document that is stored or deleted. */
interface Change {
  /** Such as `user/ann`. */
  readonly name: string
  /** There was none. */
  readonly isNew: boolean
  /** Fields of the document that differ. */
  readonly fields: readonly string[]
  stage(tx: TransactionBuilder): void
}

export function createTransfer(context: Context): Pick<UsersService, 'exportDirectory' | 'importDirectory'> {
  const { documents, changes, policy, owner } = context
  const { users, groups, policies, accessKeys, revisions } = documents

  const read = async (): Promise<Directory> => ({
    users: await entries(users),
    groups: await entries(groups),
    policies: new Map([...(await entries(policies))].map(([name, { document }]) => [name, document])),
    accessKeys: await entries(accessKeys, ({ revokedMs }) => revokedMs === undefined),
  })

  /** The problems of an import, given the documents that exist here and stay. */
  const check = (incoming: Directory, now: Directory): Problem[] => {
    const problems: Problem[] = []
    const at = (element: string, work: () => void) => {
      try {
        work()
      } catch (error) {
        if (!isCatalogError(error)) throw error
        problems.push({ element, message: error.message })
      }
    }
    const refuse = (element: string, message: string) => problems.push({ element, message })
    for (const [kind, schema] of Object.entries(directorySchemas) as [keyof Directory, TSchema][]) {
      const validator = Compile(schema)
      for (const [name, value] of incoming[kind]) {
        if (!validator.Check(kind === 'policies' ? { document: value } : value)) {
          refuse(`${kind}/${name}`, 'does not have the format that this release stores')
        }
      }
    }
    if (problems.length > 0) return problems
    const has = (kind: 'users' | 'groups' | 'policies', name: string) => incoming[kind].has(name) || now[kind].has(name)
    const attached = (element: string, names: readonly string[]) => {
      const missing = names.find(name => !policy.builtIn().has(name) && !has('policies', name))
      if (missing !== undefined)
        refuse(element, `names the policy ${missing}, which is neither in the archive nor in this deployment`)
    }
    for (const [name, document] of incoming.policies) {
      if (policy.builtIn().has(name)) refuse(`policies/${name}`, 'has the name of a built-in policy')
      at(`policies/${name}`, () => {
        requirePolicyName(name)
        requireCompiled(context, document, 'identity')
      })
    }
    for (const [name, { policyNames }] of incoming.groups) {
      at(`groups/${name}`, () => requireGroupName(name))
      attached(`groups/${name}`, policyNames)
    }
    for (const [name, user] of incoming.users) {
      at(`users/${name}`, () => {
        requireAccessKey(name)
        requireSecretKey(user.secretKey)
      })
      attached(`users/${name}`, user.policyNames)
      const group = user.groups.find(group => !has('groups', group))
      if (group !== undefined)
        refuse(`users/${name}`, `is in the group ${group}, which is neither in the archive nor in this deployment`)
      if (incoming.accessKeys.has(name) || now.accessKeys.has(name))
        refuse(`users/${name}`, 'has the name of an access key')
      if (name === owner.accessKey) refuse(`users/${name}`, 'has the name of the root user')
    }
    for (const [name, key] of incoming.accessKeys) {
      at(`accessKeys/${name}`, () => {
        if (key.kind === 'access-key') requireAccessKey(name)
        else if (!name.startsWith(sharePrefix))
          throw usersErrors.invalid_argument('Its name is not that of a share link')
        requireSecretKey(key.secretKey)
        if (key.policy !== undefined) requireCompiled(context, key.policy, 'session')
      })
      if (now.users.has(name)) refuse(`accessKeys/${name}`, 'has the name of a user')
      if (name === owner.accessKey) refuse(`accessKeys/${name}`, 'has the name of the root user')
      if (key.owner !== undefined && !has('users', key.owner.name)) {
        refuse(
          `accessKeys/${name}`,
          `belongs to the user ${key.owner.name}, who is neither in the archive nor in this deployment`,
        )
      }
    }
    return problems
  }

  const plan = async (incoming: Directory, mode: 'merge' | 'replace') => {
    const here = await read()
    const problems = check(incoming, mode === 'merge' ? here : nobody)
    if (problems.length > 0) {
      const [{ element, message }] = problems as [Problem, ...Problem[]]
      throw usersErrors.invalid_argument(`${element} ${message}`, { cause: problems.slice(0, problemsMax) })
    }
    const adapted = adapt(incoming, here)
    const put: Change[] = []
    const removed: Change[] = []
    const compare = <T, D>(
      label: string,
      collection: Collection<D>,
      [wanted, found]: readonly [ReadonlyMap<string, T>, ReadonlyMap<string, T>],
      documentOf: (value: T) => D,
    ) => {
      for (const [name, value] of wanted) {
        const before = found.get(name)
        if (before !== undefined && canonicalJson(before) === canonicalJson(value)) continue
        const stage = (tx: TransactionBuilder) => tx.put(collection, name, documentOf(value), overwrite)
        put.push({
          name: `${label}/${name}`,
          isNew: before === undefined,
          fields: differingFields(before, value),
          stage,
        })
      }
      for (const name of mode === 'merge' ? [] : found.keys()) {
        if (wanted.has(name)) continue
        const stage = (tx: TransactionBuilder) => tx.delete(collection, name, overwrite)
        removed.push({ name: `${label}/${name}`, isNew: false, fields: [], stage })
      }
    }
    const same = <T>(value: T): T => value
    // Policies before groups before users: documents are created before others refer to them, and deleted afterwards.
    compare('policy', policies, [adapted.policies, here.policies], document => ({
      document: document as PolicyDocument,
    }))
    compare('group', groups, [adapted.groups, here.groups], same)
    compare('user', users, [adapted.users, here.users], same)
    compare('access-key', accessKeys, [adapted.accessKeys, here.accessKeys], same)
    return { put, removed: removed.reverse() }
  }

  return {
    async exportDirectory() {
      for (let attempt = 0; attempt < exportAttemptsMax; attempt++) {
        const before = (await revisions.get(only))?.sequence
        const directory = await read()
        if ((await revisions.get(only))?.sequence === before) return directory
      }
      throw usersErrors.busy()
    },

    async importDirectory(incoming: Directory, { mode, isDryRun = false, beforeCommit }: DirectoryImportOptions) {
      const { put, removed } = await plan(incoming, mode)
      const changed = put.filter(({ isNew }) => !isNew)
      const result: DirectoryImport = {
        created: put.filter(({ isNew }) => isNew).map(({ name }) => name),
        changed: changed.map(({ name }) => name),
        fields: new Map(changed.map(({ name, fields }) => [name, fields])),
        removed: removed.map(({ name }) => name),
      }
      if (isDryRun) return result
      const all = [...put, ...removed]
      for (let from = 0; from < all.length; from += documentsPerCommit) {
        await beforeCommit?.()
        const some = all.slice(from, from + documentsPerCommit)
        await changes.commit(async () => tx => {
          for (const { stage } of some) stage(tx)
        })
      }
      return result
    },
  }
}

/** Replaces the uids of users and access keys by those that they have here already. */
function adapt(incoming: Directory, here: Directory): Directory {
  const users = new Map<string, UserDocument>()
  for (const [name, user] of incoming.users) {
    users.set(name, { ...user, uid: here.users.get(name)?.uid ?? user.uid })
  }
  const uidOf = (name: string) => (users.get(name) ?? here.users.get(name))!.uid
  const keyUidOf = (name: string) => here.accessKeys.get(name)?.uid ?? incoming.accessKeys.get(name)?.uid
  const accessKeys = new Map<string, AccessKeyDocument>()
  for (const [name, key] of incoming.accessKeys) {
    const { owner, uid: _, parentUid, ...rest } = key
    const uid = keyUidOf(name)
    const itsParentUid = key.parent === undefined ? undefined : (keyUidOf(key.parent) ?? parentUid)
    accessKeys.set(name, {
      ...rest,
      ...(uid !== undefined && { uid }),
      ...(owner !== undefined && { owner: { name: owner.name, uid: uidOf(owner.name) } }),
      ...(itsParentUid !== undefined && { parentUid: itsParentUid }),
    })
  }
  return { ...incoming, users, accessKeys }
}

async function entries<T>(collection: Collection<T>, isWanted: (value: T) => boolean = () => true) {
  const found = new Map<string, T>()
  for await (const { id, value } of allOf(collection)) if (isWanted(value)) found.set(id, value)
  return found
}
