/** Stored rules, and the checks of a list of rules. */
import type { Random } from 'svc/kernel'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'
import { isNotImplemented, matchedEvents } from './events.ts'

export const NotificationRule = Type.Object(
  {
    /** The element of the document; the kinds differ in name only. */
    kind: Type.Union([Type.Literal('topic'), Type.Literal('queue'), Type.Literal('function')]),
    id: Type.String(),
    arn: Type.String(),
    events: Type.Array(Type.String()),
    /** As they were put, in their order; empty for every key. */
    filters: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }, { additionalProperties: false })),
  },
  { additionalProperties: false },
)

export type NotificationRule = Static<typeof NotificationRule>

/** The id of a rule that was put without one. */
export function newRuleId(random: Random): string {
  return random.bytes(24).toString('base64url')
}

/** Whether somebody has given the rule its id: nobody knows those that were made. */
const isOwnName = (id: string): boolean => !/^[\w-]{32}$/.test(id)

export interface NotificationProblem {
  /** Of the rule; -1 for the list as a whole. */
  readonly index: number
  readonly code: 'InvalidArgument' | 'NotImplemented'
  /** A sentence, in AWS's words when AWS refuses the same. */
  readonly message: string
  /** The wrong value, if there is one. */
  readonly argument?: { readonly name: string; readonly value: string }
  /** An addition to AWS's message: the other rule. */
  readonly detail?: string
}

const rulesMax = 100
const idLengthMax = 255
const filterLengthMax = 1024

/** All problems of a list of rules. An empty list, which removes all rules, has none. */
export function checkNotificationRules(
  rules: readonly NotificationRule[],
  isKnown: (arn: string) => boolean,
  normalizeKey: NormalizeKey,
): readonly NotificationProblem[] {
  const problems: NotificationProblem[] = []
  if (rules.length > rulesMax) {
    problems.push({ index: -1, code: 'InvalidArgument', message: `A bucket has at most ${rulesMax} notifications.` })
  }
  const ids = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    for (const problem of problemsOf(rule, isKnown)) problems.push({ index, ...problem })
    if (ids.has(rule.id)) {
      const message = 'Same ID used for multiple configurations. IDs must be unique'
      problems.push({ index, code: 'InvalidArgument', message, argument: { name: 'Id', value: rule.id } })
    }
    ids.add(rule.id)
  }
  // Compares each rule with each; the bound on rules keeps this small.
  if (rules.length <= rulesMax) problems.push(...overlaps(rules, normalizeKey))
  return problems
}

type OwnProblem = Omit<NotificationProblem, 'index'>

function* problemsOf(rule: NotificationRule, isKnown: (arn: string) => boolean): Generator<OwnProblem> {
  const { id, arn, events, filters } = rule
  const wrong = (message: string, name: string, value: string): OwnProblem => ({
    code: 'InvalidArgument',
    message,
    argument: { name, value },
  })
  if (id.length > idLengthMax) yield wrong(`The ID of a notification has at most ${idLengthMax} characters.`, 'Id', id)
  if (!isKnown(arn)) yield wrong('Unable to validate the following destination configurations', 'Arn', arn)
  if (events.length === 0) yield wrong('A notification needs at least one event.', 'Event', '')
  for (const event of events) {
    if (matchedEvents(event) !== undefined) continue
    if (!isNotImplemented(event)) yield wrong('A specified event is not supported for notifications.', 'Event', event)
    else {
      const message = `The event ${event} is not supported: no loaded plugin emits it.`
      yield { code: 'NotImplemented', message, argument: { name: 'Event', value: event } }
    }
  }
  const names = filters.map(filter => filter.name.toLowerCase())
  for (const [index, { name, value }] of filters.entries()) {
    if (names[index] !== 'prefix' && names[index] !== 'suffix') {
      yield wrong('filter rule name must be either prefix or suffix', 'FilterRule.Name', name)
    } else if (names.indexOf(names[index]) < index) {
      yield wrong(`Cannot specify more than one ${names[index]} rule in a filter.`, 'FilterRule.Name', name)
    }
    if (value.length > filterLengthMax) {
      yield wrong(`A filter value has at most ${filterLengthMax} characters.`, 'FilterRule.Value', value.slice(0, 64))
    }
  }
}

/** Refused as by AWS: an event of an object would be sent twice. */
function* overlaps(rules: readonly NotificationRule[], normalizeKey: NormalizeKey): Generator<NotificationProblem> {
  const ready = rules.map(rule => ({
    name: isOwnName(rule.id) ? rule.id : undefined,
    events: new Set(rule.events.flatMap(event => matchedEvents(event) ?? [])),
    prefix: normalizeKey(filterValue(rule, 'prefix')),
    suffix: normalizeKey(filterValue(rule, 'suffix')),
  }))
  for (const [index, rule] of ready.entries()) {
    const place = ready
      .slice(0, index)
      .findIndex(
        other =>
          [...rule.events].some(event => other.events.has(event)) &&
          (rule.prefix.startsWith(other.prefix) || other.prefix.startsWith(rule.prefix)) &&
          (rule.suffix.endsWith(other.suffix) || other.suffix.endsWith(rule.suffix)),
      )
    const earlier = ready[place]
    if (earlier === undefined) continue
    const shared = [...rule.events].filter(event => earlier.events.has(event)).map(event => `s3:${event}`)
    const message =
      'Configurations overlap. Configurations on the same bucket cannot share a common event type when their prefixes and suffixes overlap.'
    yield {
      index,
      code: 'InvalidArgument',
      message,
      detail: `With rule ${earlier.name ?? place + 1}: ${shared.join(', ')}`,
    }
  }
}

/** Empty where there is none: every key has it. */
export function filterValue(rule: NotificationRule, name: 'prefix' | 'suffix'): string {
  return rule.filters.find(filter => filter.name.toLowerCase() === name)?.value ?? ''
}
