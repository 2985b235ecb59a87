/** Refuses names that the server does not have, before a change of several requests begins: the first of them would be stored when the next is refused. */
import { call } from '../api/client.ts'
import { Problem, problemAt } from '../api/problem.ts'
import { texts } from '../texts/index.ts'

const readers = {
  policies: (name: string) => call('getPolicy', { params: { name } }),
  groups: (group: string) => call('getGroup', { params: { group } }),
  async users(user: string) {
    // The first of those whose names begin so.
    const { items } = await call('listUsers', { query: { prefix: user, limit: 1 } })
    if (items[0]?.accessKey !== user) throw problemAt('', texts.users.noUser(user))
  },
} as const

export interface KnownNames {
  readonly of: keyof typeof readers
  /** The path at which the form has them. */
  readonly field: string
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** Throws with all of them. Whoever may not read a kind is told by the change itself. */
export async function requireKnown(kinds: readonly KnownNames[]): Promise<void> {
  const refusals: { readonly field: string; readonly problem: Problem }[] = []
  for (const { of, field, before, after } of kinds) {
    for (const name of after.filter(one => !before.includes(one))) {
      try {
        await readers[of](name)
      } catch (problem) {
        if (problem instanceof Problem && (problem.status === 404 || problem.status === 400))
          refusals.push({ field, problem })
      }
    }
  }
  const [first] = refusals
  if (first === undefined) return
  const fields = refusals.map(({ field, problem }) => ({ field, message: problem.message }))
  const { status, code, isOfServer, requestId, message } = first.problem
  throw new Problem({ status, code, isOfServer, requestId, detail: message, fields })
}
