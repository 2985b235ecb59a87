/** Names the references that this node cannot resolve: in the log when they begin to be missing, and in the health of the node. */
import type { Logger, MaybePromise } from 'svc/kernel'
import { referenceTo, type SecretReferencesService, type SecretReferencesUser, variableOf } from './api.ts'

const shownMax = 5

export interface MissingOptions {
  readonly users: () => readonly SecretReferencesUser[]
  readonly resolve: SecretReferencesService['resolve']
  /** Undefined: another thread tells. */
  readonly log: Logger | undefined
}

export function createMissing({ users, resolve, log }: MissingOptions) {
  /** Variables by the names of what needs them. */
  let missing: ReadonlyMap<string, string> = new Map()

  async function look(): Promise<void> {
    const found = new Map<string, string>()
    const lists = await Promise.all(
      users().map(user => user.references() as MaybePromise<readonly { name: string; user: string }[]>),
    )
    for (const { name, user } of lists.flat()) {
      if (resolve(referenceTo(name)) === undefined) found.set(user, variableOf(name))
    }
    for (const [user, variable] of found) {
      if (missing.get(user) === variable) continue
      log?.error(
        { variable },
        `a secret is not set on this node: ${user} needs it. Set ${variable}, or ${variable}_FILE, and restart`,
      )
    }
    missing = found
  }

  return {
    look,
    detail(): string | undefined {
      if (missing.size === 0) return undefined
      const variables = [...new Set(missing.values())].sort()
      const more = variables.length - shownMax
      return `not set: ${variables.slice(0, shownMax).join(', ')}${more > 0 ? ` and ${more} others` : ''}`
    },
  }
}
