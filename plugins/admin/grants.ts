/**
 * The rights that a handler asked for while it made a change. Whoever gets the result of that change another time must still have them; those
 * that the operation declares have been asked for by then.
 */
import type { ActionTarget, AdminRequest, RequiredActions } from './api.ts'
import type { Decision } from './decision.ts'

export interface Grant {
  readonly actions: RequiredActions
  readonly target: ActionTarget
}

export interface Grants extends Pick<AdminRequest, 'authorize' | 'isAllowed'> {
  /** What was asked for and granted. Grows while the handler works, and keeps nothing of the request alive but facts. */
  readonly granted: readonly Grant[]
}

/** Answers as the decision does. */
export function createGrants(may: Decision): Grants {
  const granted: Grant[] = []
  const note = (actions: RequiredActions, target: ActionTarget): void => {
    // The change may have taken away what a right to an object hangs on, such as its tags.
    if ((target.key ?? '') === '') granted.push({ actions, target })
  }
  return {
    granted,
    isAllowed(action, bucket, key, facts) {
      const isAllowed = may.isAllowed(action, bucket, key, facts)
      if (isAllowed) note([action], { bucket, key, facts })
      return isAllowed
    },
    async authorize(actions, target) {
      await may.require(actions, target)
      note(actions, target)
    },
  }
}

/** Throws `access_denied` where one of them is missing by this decision. */
export async function requireAgain(granted: readonly Grant[], may: Decision): Promise<void> {
  for (const { actions, target } of granted) await may.require(actions, target)
}
