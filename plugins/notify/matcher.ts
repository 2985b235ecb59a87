/** Rules compiled for the commit of every change: grouped by event, without further lookups. */
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { matchedEvents } from './events.ts'
import { filterValue, type NotificationRule } from './rules.ts'

export interface MatchedRule {
  readonly id: string
  readonly arn: string
}

export interface NotificationMatcher {
  /** Rules that match an event (`ObjectCreated:Put`) of a key. */
  match(event: string, key: string): readonly MatchedRule[]
}

interface Ready extends MatchedRule {
  readonly prefix: string
  readonly suffix: string
}

const none: readonly MatchedRule[] = []

export function compileRules(rules: readonly NotificationRule[], normalizeKey: NormalizeKey): NotificationMatcher {
  const byEvent = new Map<string, Ready[]>()
  for (const rule of rules) {
    const ready = {
      id: rule.id,
      arn: rule.arn,
      prefix: normalizeKey(filterValue(rule, 'prefix')),
      suffix: normalizeKey(filterValue(rule, 'suffix')),
    }
    // A rule may name both an event and a wildcard for it.
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
