/** Named policies, and the users and groups that they are attached to. */
import { hash } from 'node:crypto'
import type { CompiledPolicy, PolicyDocument, PolicyKind } from 'svc/plugins/policy/api'
import { canonicalJson } from 'svc/plugins/sealing/api'
import type { AttachedTo, NamedPolicy, UsersService } from './api.ts'
import type { Context } from './context.ts'
import { allOf } from './documents.ts'
import { noPolicy, usersErrors } from './errors.ts'
import { nameSet, requirePolicyName } from './names.ts'
import { fitting, readLimit, selectPage } from './pages.ts'
import { requireGroup, requireUser } from './views.ts'

type PolicyMethods = Pick<
  UsersService,
  'attachments' | 'listPolicies' | 'getPolicy' | 'putPolicy' | 'deletePolicy' | 'attachPolicies' | 'detachPolicies'
>

export function createPolicyDirectory(context: Context): PolicyMethods {
  const { documents, changes, policy } = context
  const { users, groups, policies } = documents

  const builtIn = (name: string): NamedPolicy | undefined => {
    const compiled = policy.builtIn().get(name)
    return compiled && describePolicy(name, compiled.document, true, 0)
  }

  const findPolicy = async (name: string): Promise<NamedPolicy | undefined> => {
    const fixed = builtIn(name)
    if (fixed !== undefined) return fixed
    const stored = await policies.get(name)
    return stored && describePolicy(name, stored.value.document, false, stored.modifiedMs)
  }

  const requirePolicy = async (name: string): Promise<NamedPolicy> => {
    const found = await findPolicy(name)
    if (found === undefined) throw noPolicy(name)
    return found
  }

  /** Reads all users and groups once, however many policies are asked for. */
  const attachments = async (names: readonly string[]): Promise<ReadonlyMap<string, AttachedTo>> => {
    const found = new Map(names.map(name => [name, { users: [] as string[], groups: [] as string[] }]))
    for await (const { id, value } of allOf(users))
      for (const name of value.policyNames) found.get(name)?.users.push(id)
    for await (const { id, value } of allOf(groups))
      for (const name of value.policyNames) found.get(name)?.groups.push(id)
    return found
  }

  const attachedTo = async (name: string): Promise<AttachedTo> => (await attachments([name])).get(name)!

  const requireChangeable = (name: string): void => {
    if (policy.builtIn().has(name)) throw usersErrors.builtin_policy(undefined, { extra: { Policy: name } })
  }

  /** Replaces the policies of a user or a group by the result of `change`. */
  const changeAttached = async (
    { user, group }: { readonly user?: string; readonly group?: string },
    change: (names: readonly string[]) => Promise<string[]> | string[],
  ): Promise<string[]> => {
    if ((user === undefined) === (group === undefined)) {
      throw usersErrors.invalid_argument('Exactly one of user and group is given.', { extra: { Argument: 'user' } })
    }
    let result: string[] = []
    await changes.commit(async () => {
      if (user !== undefined) {
        const { value } = await requireUser(documents, user)
        result = await change(value.policyNames)
        return tx => tx.put(users, user, { ...value, policyNames: result })
      }
      const { value } = await requireGroup(documents, group!)
      result = await change(value.policyNames)
      return tx => tx.put(groups, group!, { ...value, policyNames: result })
    })
    return result
  }

  return {
    attachments,

    async listPolicies(request = {}) {
      const { prefix = '', startAfter = '' } = request
      const limit = readLimit(request.limit)
      const page = await selectPage(policies, { ...request, limit }, () => true)
      const fixed = [...policy.builtIn().keys()].filter(name => name.startsWith(prefix) && name > startAfter)
      const items = [
        ...page.documents.map(({ id, value, modifiedMs }) => describePolicy(id, value.document, false, modifiedMs)),
        ...fixed.map(name => builtIn(name)!),
      ].sort((a, b) => (a.name < b.name ? -1 : 1))
      const shown = fitting(items.slice(0, limit))
      const hasMore = items.length > shown.length || page.next !== undefined
      return { items: shown, next: hasMore ? shown.at(-1)!.name : undefined }
    },

    async getPolicy(name) {
      const found = await requirePolicy(name)
      return { ...found, attachedTo: await attachedTo(name) }
    },

    async putPolicy(name, document, { ifMatch, ifNoneMatch } = {}) {
      requireChangeable(name)
      requirePolicyName(name)
      const compiled = requireCompiled(context, document, 'identity')
      let isNew = true
      await changes.commit(async () => {
        const current = await findPolicy(name)
        requireEtag(current, ifMatch)
        if (ifNoneMatch !== undefined && current !== undefined) throw usersErrors.precondition_failed()
        isNew = current === undefined
        return tx => tx.put(policies, name, { document: compiled.document }, { overwriteUnreadable: true })
      })
      return { policy: await requirePolicy(name), isNew }
    },

    async deletePolicy(name, { ifMatch } = {}) {
      requireChangeable(name)
      await changes.commit(async () => {
        requireEtag(await requirePolicy(name), ifMatch)
        const attached = await attachedTo(name)
        if (attached.users.length > 0 || attached.groups.length > 0) {
          throw usersErrors.policy_in_use(undefined, { extra: { Policy: name } })
        }
        return tx => tx.delete(policies, name)
      })
    },

    attachPolicies: (to, names) =>
      changeAttached(to, async attached => {
        await requirePolicies(context, names)
        return nameSet([...attached, ...names])
      }),

    detachPolicies: (from, names) =>
      changeAttached(from, async attached => {
        await requirePolicies(context, names)
        return attached.filter(name => !names.includes(name))
      }),
  }
}

function describePolicy(name: string, document: PolicyDocument, builtIn: boolean, updatedMs: number): NamedPolicy {
  return { name, document, builtIn, etag: etagOf(document), updatedMs }
}

function etagOf(document: PolicyDocument): string {
  return hash('sha256', canonicalJson(document), 'hex').slice(0, 32)
}

function requireEtag(current: NamedPolicy | undefined, ifMatch: string | undefined): void {
  if (ifMatch === undefined) return
  if (current === undefined || (ifMatch !== '*' && ifMatch !== current.etag)) throw usersErrors.precondition_failed()
}

/** Throws unless all of them exist. */
export async function requirePolicies({ documents, policy }: Context, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (policy.builtIn().has(name) || (await documents.policies.get(name)) !== undefined) continue
    throw noPolicy(name)
  }
}

/** Throws `malformed_policy`; its cause is the list of problems, its detail the first of them. */
export function requireCompiled(
  { policy }: Pick<Context, 'policy'>,
  document: string | object,
  kind: PolicyKind,
): CompiledPolicy {
  const { policy: compiled, errors } = policy.compile(document, { kind })
  if (compiled === undefined) throw usersErrors.malformed_policy(errors[0]?.message, { cause: errors })
  return compiled
}
