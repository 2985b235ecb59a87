/** Groups. The documents of users say which groups they are in. */
import { checkField, passAll } from 'svc/plugins/admin/api'
import type { UsersService } from './api.ts'
import type { Context } from './context.ts'
import type { GroupDocument } from './documents.ts'
import { usersErrors } from './errors.ts'
import { descriptionCharsMax, nameSet, requireGroupName, requireText } from './names.ts'
import { selectPage } from './pages.ts'
import { describeGroup, membersByGroup, requireGroup, requireUser } from './views.ts'

/** Maximum in one change: a commit has at most a thousand documents. */
const membersPerChangeMax = 998

type GroupMethods = Pick<
  UsersService,
  'listGroups' | 'getGroup' | 'createGroup' | 'updateGroup' | 'deleteGroup' | 'addGroupMembers' | 'removeGroupMember'
>

export function createGroupDirectory(context: Context): GroupMethods {
  const { documents, changes, clock } = context
  const { users, groups } = documents

  const getGroup: GroupMethods['getGroup'] = async name => {
    const group = await requireGroup(documents, name)
    return describeGroup(group, await membersByGroup(documents))
  }

  const requireFree = async (name: string): Promise<void> => {
    if ((await groups.get(name)) !== undefined) {
      throw usersErrors.already_exists(`There is a group "${name}" already.`, { extra: { Group: name } })
    }
  }

  /** The change that makes users members; users that are already members need none. */
  const addMembers = async (group: string, members: readonly string[]) => {
    if (members.length > membersPerChangeMax) {
      throw usersErrors.invalid_argument(`At most ${membersPerChangeMax} members are added at once.`, {
        extra: { Argument: 'members' },
      })
    }
    const joining = []
    for (const member of members) {
      const user = await requireUser(documents, member)
      if (!user.value.groups.includes(group)) joining.push(user)
    }
    return joining.map(({ id, value }) => ({ id, value: { ...value, groups: nameSet([...value.groups, group]) } }))
  }

  return {
    async listGroups({ policy, ...request } = {}) {
      const page = await selectPage(
        groups,
        request,
        ({ value }) => policy === undefined || value.policyNames.includes(policy),
      )
      const members = await membersByGroup(documents)
      return { items: page.documents.map(group => describeGroup(group, members)), next: page.next }
    },

    getGroup,

    async createGroup({ name, description = '', members = [] }) {
      const wanted = nameSet(members)
      await changes.commit(async () => {
        let joining: Awaited<ReturnType<typeof addMembers>> = []
        await passAll([
          () => requireGroupName(name),
          () => requireText('description', description, descriptionCharsMax),
          () => checkField('/name', () => requireFree(name)),
          () =>
            checkField('/members', async () => {
              joining = await addMembers(name, wanted)
            }),
        ])
        const group: GroupDocument = { status: 'enabled', description, policyNames: [], createdMs: clock.now() }
        return tx => {
          tx.put(groups, name, group)
          for (const { id, value } of joining) tx.put(users, id, value)
        }
      })
      return getGroup(name)
    },

    async updateGroup(name, { status, description }) {
      if (description != null) requireText('description', description, descriptionCharsMax)
      await changes.commit(async () => {
        const { value } = await requireGroup(documents, name)
        const next: GroupDocument = {
          ...value,
          status: status ?? value.status,
          description: description === undefined ? value.description : (description ?? ''),
        }
        return tx => tx.put(groups, name, next)
      })
      return getGroup(name)
    },

    async deleteGroup(name) {
      await changes.commit(async () => {
        await requireGroup(documents, name)
        const members = (await membersByGroup(documents)).get(name)
        if (members !== undefined) throw usersErrors.group_not_empty(undefined, { extra: { Group: name } })
        return tx => tx.delete(groups, name)
      })
    },

    async addGroupMembers(name, members) {
      const wanted = nameSet(members)
      await changes.commit(async () => {
        await requireGroup(documents, name)
        const joining = await addMembers(name, wanted)
        if (joining.length === 0) return undefined
        return tx => {
          for (const { id, value } of joining) tx.put(users, id, value)
        }
      })
      return getGroup(name)
    },

    async removeGroupMember(name, member) {
      await changes.commit(async () => {
        await requireGroup(documents, name)
        const user = await users.get(member)
        if (user === undefined || !user.value.groups.includes(name)) return undefined
        const left = user.value.groups.filter(group => group !== name)
        return tx => tx.put(users, member, { ...user.value, groups: left })
      })
    },
  }
}
