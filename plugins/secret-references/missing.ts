/** Names the references that this node cannot resolve: in the log when they begin to be missing, and in the health of the node. */
import type { Logger, MaybePromise } from 'svc/kernel'
import { referenceTo, type SecretReferencesService, type SecretReferencesUser, variableOf } from './api.ts'

const shownMax = 100

export interface MissingOptions {
  readonly users: () => readonly SecretReferencesUser[]
  readonly resolve: SecretReferencesService['resolve']
  /** Undefined: another thread tells. */
  readonly log: Logger | undefined
}

interface SecretNeed {
  readonly user: string
  readonly variable: string
}

export function createMissing({ users, resolve, log }: MissingOptions) {
  /** By what needs a variable, and the variable. */
  let missing: ReadonlyMap<string, SecretNeed> = new Map()

  async function look(): Promise<void> {
    const found = new Map<string, SecretNeed>()
    const lists = await Promise.all(
      users().map(user => user.references() as MaybePromise<readonly { name: string; user: string }[]>),
    )
    for (const { name, user } of lists.flat()) {
      const variable = variableOf(name)
      if (resolve(referenceTo(name)) === undefined) found.set(`${variable} ${user}`, { user, variable })
    }
    for (const [key, { user, variable }] of found) {
      if (missing.has(key)) continue
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
      const variables = [...new Set([...missing.values()].map(({ variable }) => variable))].sort()
      const more = variables.length - shownMax
      return `not set: ${variables.slice(0, shownMax).join(', ')}${more > 0 ? ` and ${more} others` : ''}`
    },
  }
}
