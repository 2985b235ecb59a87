/** Rules as they are asked on the way of every change: by event, with nothing left to be looked up. */
import { matchedEvents } from './events.ts'
import { filterValue, type NotificationRule } from './rules.ts'

export interface MatchedRule {
  readonly id: string
  readonly arn: string
}

export interface NotificationMatcher {
  /** Rules that want an event (`ObjectCreated:Put`) of a key. */
  match(event: string, key: string): readonly MatchedRule[]
}

interface Ready extends MatchedRule {
  readonly prefix: string
  readonly suffix: string
}

const none: readonly MatchedRule[] = []

export function compileRules(rules: readonly NotificationRule[]): NotificationMatcher {
  const byEvent = new Map<string, Ready[]>()
  for (const rule of rules) {
    const ready = {
      id: rule.id,
      arn: rule.arn,
      prefix: filterValue(rule, 'prefix'),
      suffix: filterValue(rule, 'suffix'),
    }
    // A rule may name an event and its family.
    for (const event of new Set(rule.events.flatMap(name => matchedEvents(name) ?? []))) {
      const others = byEvent.get(event)
      if (others === undefined) byEvent.set(event, [ready])
      else others.push(ready)
    }
  }
  return {
    match(event, key) {
      const ready = byEvent.get(event)
      return ready === undefined
        ? none
        : ready.filter(({ prefix, suffix }) => key.startsWith(prefix) && key.endsWith(suffix))
    },
  }
}
