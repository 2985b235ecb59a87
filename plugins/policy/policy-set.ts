/**
 * Several policies that are evaluated together: those of a user and its groups, that of a bucket, that of an access key. Statements are
 * selected by action, and the selection is cached, so a request costs one array access.
 */
import type { ActionEntry } from './catalogue.ts'
import type { CompiledPolicy } from './document.ts'
import type { Statement } from './statement.ts'

export type AttachedSource = 'policy' | 'group-policy' | 'bucket-policy' | 'acl' | 'embedded-policy'

/** A policy and how it is attached, for the reasons of decisions. */
export interface AttachedPolicy {
  readonly policy: CompiledPolicy
  readonly source: AttachedSource
  /** Empty for policies without a name: those of buckets and access keys. */
  readonly name?: string
  /** The group that it is attached to; absent if it is attached to the user itself. */
  readonly group?: string
}

/** The statements of a set that have one action, in the order of their policies. */
export interface Relevant {
  readonly denies: readonly Statement[]
  readonly allows: readonly Statement[]
  /** Condition keys that these statements use. */
  readonly keys: readonly string[]
}

export class PolicySet {
  readonly attached: readonly AttachedPolicy[]
  /** By index of the action, so the catalogue bounds the size. */
  readonly #byAction: (Relevant | undefined)[] = []

  constructor(attached: readonly AttachedPolicy[]) {
    this.attached = Object.freeze([...attached])
  }

  about(entry: ActionEntry): Relevant {
    const known = this.#byAction[entry.index]
    if (known !== undefined) return known
    const relevant = this.#select(statement => statement.actions.has(entry))
    // Filled without holes, so that V8 keeps a packed array.
    while (this.#byAction.length <= entry.index) this.#byAction.push(undefined)
    this.#byAction[entry.index] = relevant
    return relevant
  }

  /** For an action that is not in the catalogue. Not cached: such names come from requests and are not bounded. */
  aboutUnknown(action: string): Relevant {
    return this.#select(statement => statement.actions.hasUnknown(action))
  }

  #select(isAbout: (statement: Statement) => boolean): Relevant {
    const statements = this.attached.flatMap(({ policy }) => policy.statements.filter(isAbout))
    return Object.freeze({
      denies: statements.filter(({ effect }) => effect === 'Deny'),
      allows: statements.filter(({ effect }) => effect === 'Allow'),
      keys: [...new Set(statements.flatMap(({ keys }) => keys))],
    })
  }
}
