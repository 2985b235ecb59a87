/** Warnings about users and groups that rules name and nobody has: mostly typing errors, after which a rule is about nobody. */
import { isCatalogError } from 'svc/kernel'
import type { IamService } from 'svc/plugins/iam/api'
import { userNameOf } from 'svc/plugins/policy/api'
import type { UsersService } from 'svc/plugins/users/api'
import type { CompiledRule } from './compiled-rule.ts'

export interface Directory {
  readonly users: Pick<UsersService, 'getGroup' | 'getUser'>
  readonly iam: Pick<IamService, 'credentials' | 'owner'>
  /** Whether the caller may know which users, groups or access keys there are: about others nothing is said. */
  readonly mayKnow: (kind: 'user' | 'group' | 'access-key') => boolean
}

/** Names that one answer looks up. */
const namesMax = 1000

export async function unknownPrincipals(
  rules: readonly CompiledRule[],
  { users, iam, mayKnow }: Directory,
): Promise<readonly string[]> {
  const known = new Map<string, Promise<string | undefined>>()
  const problemOf = (kind: 'user' | 'group', name: string): Promise<string | undefined> => {
    const id = `${kind}:${name}`
    let problem = known.get(id)
    if (problem === undefined && known.size < namesMax) {
      problem =
        kind === 'group'
          ? groupProblem(name, users)
          : userProblem(name, users, mayKnow('access-key') ? iam : { owner: iam.owner })
      known.set(id, problem)
    }
    return problem ?? Promise.resolve(undefined)
  }
  const warnings: string[] = []
  for (const { rule, principals } of rules) {
    const named = [
      ...[...principals.users].map(name => ['user', name] as const),
      ...[...principals.groups].map(name => ['group', name] as const),
    ].filter(([kind]) => mayKnow(kind))
    for (const [kind, name] of named) {
      const problem = await problemOf(kind, name)
      if (problem !== undefined) warnings.push(`"${rule.id}" is about ${problem}`)
    }
  }
  return warnings
}

async function userProblem(
  name: string,
  users: Directory['users'],
  iam: Pick<IamService, 'owner'> & Partial<Pick<IamService, 'credentials'>>,
): Promise<string | undefined> {
  if (name === userNameOf(iam.owner) || (await exists(() => users.getUser(name)))) return undefined
  const found = await iam.credentials?.(name)
  if (found === undefined) return `the user "${name}", who does not exist: create the user, or check the name.`
  const owner = userNameOf(found.identity)
  return `"${name}", which is an access key and no user: write "${owner}", the user of this key, with all keys of it.`
}

async function groupProblem(name: string, users: Directory['users']): Promise<string | undefined> {
  if (await exists(() => users.getGroup(name))) return undefined
  return `the group "${name}", which does not exist: create the group, or check the name.`
}

async function exists(read: () => Promise<unknown>): Promise<boolean> {
  try {
    await read()
    return true
  } catch (error) {
    if (isCatalogError(error) && error.status === 404) return false
    throw error
  }
}
