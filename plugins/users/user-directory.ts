/** Users. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Random } from 'svc/kernel'
import { checkField, passAll } from 'svc/plugins/admin/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { NewUser, UsersService } from './api.ts'
import type { Context } from './context.ts'
import type { UserDocument } from './documents.ts'
import { noGroup, usersErrors, wrongOwnSecret } from './errors.ts'
import {
  descriptionCharsMax,
  nameSet,
  newSecretKey,
  newUid,
  requireAccessKey,
  requireSecretKey,
  requireText,
} from './names.ts'
import { selectPage } from './pages.ts'
import { requirePolicies } from './policy-directory.ts'
import { describeUser, requireUser } from './views.ts'

/** Access keys that are deleted in one commit. Further ones are invalid without their owner, and are deleted by the next commits. */
const keysPerCommitMax = 900

type UserMethods = Pick<
  UsersService,
  | 'listUsers'
  | 'getUser'
  | 'createUser'
  | 'updateUser'
  | 'deleteUser'
  | 'setUserSecretKey'
  | 'changeOwnSecretKey'
  | 'setUserGroups'
>

export function createUserDirectory(context: Context, random: Random): UserMethods {
  const { documents, changes, clock, owner } = context
  const { users, accessKeys } = documents

  const changeUser = (name: string, change: (user: UserDocument) => UserDocument): Promise<void> =>
    changes.commit(async () => {
      const { value } = await requireUser(documents, name)
      const next = change(value)
      return tx => tx.put(users, name, next)
    })

  const getUser: UserMethods['getUser'] = async name => {
    const user = await requireUser(documents, name)
    return describeUser(documents, user, await changes.keys())
  }

  const create = async (input: NewUser, secretKey: string): Promise<void> => {
    const { accessKey, status = 'enabled', description = '' } = input
    const groups = nameSet(input.groups ?? [])
    const policyNames = nameSet(input.policyNames ?? [])
    const uid = newUid(random)
    await changes.commit(async () => {
      await passAll([
        () => requireAccessKey(accessKey),
        () => requireSecretKey(secretKey),
        () => requireText('description', description, descriptionCharsMax),
        () => checkField('/accessKey', () => requireFreeName(context, accessKey)),
        () => checkField('/groups', () => requireGroups(context, groups)),
        () => checkField('/policyNames', () => requirePolicies(context, policyNames)),
      ])
      const createdMs = clock.now()
      const user = { uid, secretKey, status, description, groups, policyNames, createdMs }
      return tx => tx.put(users, accessKey, user)
    })
  }

  const setSecret = async (name: string, secretKey: string): Promise<void> =>
    changeUser(name, user => ({ ...user, secretKey }))

  return {
    async listUsers({ group, policy, status, ...request } = {}) {
      const page = await selectPage(
        users,
        request,
        ({ value }) =>
          (group === undefined || value.groups.includes(group)) &&
          (policy === undefined || value.policyNames.includes(policy)) &&
          (status === undefined || value.status === status),
      )
      const keys = await changes.keys()
      return {
        items: await Promise.all(page.documents.map(user => describeUser(documents, user, keys))),
        next: page.next,
      }
    },

    getUser,

    async createUser(input) {
      const made = input.secretKey === undefined ? newSecretKey(random) : undefined
      await create(input, input.secretKey ?? made!)
      return { user: await getUser(input.accessKey), secretKey: made }
    },

    async updateUser(name, { status, description }) {
      if (description != null) requireText('description', description, descriptionCharsMax)
      await changeUser(name, user => ({
        ...user,
        status: status ?? user.status,
        description: description === undefined ? user.description : (description ?? ''),
      }))
      return getUser(name)
    },

    async deleteUser(name, caller) {
      if (userNameOf(caller) === name) throw usersErrors.conflict('Callers cannot delete their own user.')
      let left: string[] = []
      await changes.commit(async index => {
        const { uid } = (await requireUser(documents, name)).value
        const keys = [...(await index()).keysOf(uid)]
        left = keys.slice(keysPerCommitMax)
        return tx => {
          tx.delete(users, name)
          for (const key of keys.slice(0, keysPerCommitMax)) tx.delete(accessKeys, key)
        }
      })
      for (let start = 0; start < left.length; start += keysPerCommitMax) {
        const keys = left.slice(start, start + keysPerCommitMax)
        await changes.commit(async () => tx => {
          for (const key of keys) tx.delete(accessKeys, key)
        })
      }
    },

    async setUserSecretKey(name, given) {
      if (given !== undefined) requireSecretKey(given)
      const made = given === undefined ? newSecretKey(random) : undefined
      await setSecret(name, given ?? made!)
      return made
    },

    async changeOwnSecretKey(caller, currentSecretKey, newSecretKey) {
      if (caller.accessKey === owner.accessKey) {
        throw usersErrors.conflict("Root's secret key is set by SVC_ROOT_PASSWORD.")
      }
      if (caller.kind !== undefined && caller.kind !== 'user') {
        throw usersErrors.access_denied('Only the user itself can change its secret key.')
      }
      requireSecretKey(newSecretKey)
      const name = caller.accessKey
      await changes.commit(async () => {
        const { value } = await requireUser(documents, name)
        if (!isSecret(currentSecretKey, value.secretKey)) throw wrongOwnSecret()
        return tx => tx.put(users, name, { ...value, secretKey: newSecretKey })
      })
    },

    async setUserGroups(name, given) {
      const groups = nameSet(given)
      await changes.commit(async () => {
        const { value } = await requireUser(documents, name)
        await requireGroups(context, groups)
        return tx => tx.put(users, name, { ...value, groups })
      })
      return getUser(name)
    },
  }
}

/** The user whose rights an identity has. */
export function userNameOf({ userName, accessKey }: Identity): string {
  return userName ?? accessKey
}

/** Users, access keys and root share one namespace. */
export async function requireFreeName({ documents, owner }: Context, accessKey: string): Promise<void> {
  const { users, accessKeys } = documents
  const isTaken =
    accessKey === owner.accessKey ||
    (await users.get(accessKey)) !== undefined ||
    (await accessKeys.get(accessKey)) !== undefined
  if (isTaken)
    throw usersErrors.already_exists(`The name "${accessKey}" is taken.`, { extra: { AccessKey: accessKey } })
}

async function requireGroups({ documents }: Context, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if ((await documents.groups.get(name)) === undefined) {
      throw noGroup(name)
    }
  }
}

/** Takes a time that does not depend on how many characters are right. */
function isSecret(given: string, secretKey: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secretKey, 'buffer'))
}
