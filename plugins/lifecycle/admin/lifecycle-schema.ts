import { invalidRules } from 'svc/plugins/admin/api'
import type { Static } from 'typebox'
import { Type } from 'typebox'
import {
  checkLifecycleRules,
  type LifecycleFilter,
  type LifecycleRule,
  type LifecycleRuleProblem,
  predicatesOf,
} from '../rules.ts'

const Days = Type.Optional(Type.Integer())
const storageClass = Type.Optional(Type.String({ maxLength: 64 }))
const Time = Type.Optional(Type.String({ format: 'date-time' }))

const Rule = Type.Object({
  id: Type.Optional(Type.String({ maxLength: 1024, description: 'A rule without an id gets one.' })),
  enabled: Type.Boolean(),
  filter: Type.Optional(
    Type.Object({
      prefix: Type.Optional(Type.String({ maxLength: 4096 })),
      tags: Type.Optional(
        Type.Record(Type.String({ maxLength: 1024 }), Type.String({ maxLength: 1024 }), { maxProperties: 100 }),
      ),
      sizeGreaterThan: Type.Optional(Type.Integer()),
      sizeLessThan: Type.Optional(Type.Integer()),
    }),
  ),
  expiration: Type.Optional(
    Type.Object({ days: Days, date: Time, expiredObjectDeleteMarker: Type.Optional(Type.Boolean()) }),
  ),
  noncurrentExpiration: Type.Optional(
    Type.Object({ noncurrentDays: Type.Integer(), newerNoncurrentVersions: Type.Optional(Type.Integer()) }),
  ),
  abortIncompleteUpload: Type.Optional(Type.Object({ daysAfterInitiation: Type.Integer() })),
  transitions: Type.Optional(Type.Array(Type.Object({ days: Days, date: Time, storageClass }), { maxItems: 100 })),
  noncurrentTransitions: Type.Optional(
    Type.Array(
      Type.Object({
        noncurrentDays: Days,
        newerNoncurrentVersions: Type.Optional(Type.Integer()),
        storageClass,
      }),
      { maxItems: 100 },
    ),
  ),
})

export const Lifecycle = Type.Object(
  { rules: Type.Array(Rule, { maxItems: 5000, description: 'At most 1000; an empty list removes all.' }) },
  { $id: 'Lifecycle' },
)

export const LifecycleRunResult = Type.Object(
  {
    buckets: Type.Integer({ description: 'Buckets to which rules were applied; 0 without rules.' }),
    versions: Type.Integer({ description: 'Versions that were old enough for some rule, and evaluated.' }),
    deleted: Type.Integer({ description: 'Versions and delete markers that were removed.' }),
    deleteMarkers: Type.Integer({ description: 'Delete markers that were created.' }),
    replaced: Type.Integer({
      description:
        'Of these, those that took the place of a null version, which is gone for good: versioning is suspended.',
    }),
    uploadsAborted: Type.Integer(),
    locked: Type.Integer({ description: 'Versions that object lock protected.' }),
  },
  { $id: 'LifecycleRunResult' },
)

type AdminRule = Static<typeof Rule>

/** The rules of a request in their stored form. Throws `invalid_configuration` with the problems of each. */
export function readRules(rules: readonly AdminRule[]): readonly LifecycleRule[] {
  const wanted = rules.map(readRule)
  const problems = [...transitionProblems(rules), ...checkLifecycleRules(wanted)]
  if (problems.length === 0) return wanted
  throw invalidRules(problems.map(({ index, ...problem }) => ({ rule: index, id: rules[index]?.id, ...problem })))
}

/** The stored form of a rule from a request. A missing id becomes the empty text. */
function readRule({
  id = '',
  enabled,
  filter,
  expiration,
  noncurrentExpiration,
  abortIncompleteUpload,
}: AdminRule): LifecycleRule {
  const { date, ...rest } = expiration ?? {}
  return {
    id,
    enabled,
    filter: readFilter(filter ?? {}),
    ...(expiration && { expiration: { ...rest, ...(date === undefined ? undefined : { dateMs: Date.parse(date) }) } }),
    ...(noncurrentExpiration && { noncurrentExpiration }),
    ...(abortIncompleteUpload && { abortIncompleteUpload }),
  }
}

/** A single predicate is stored directly, several under `and`, as in S3. */
function readFilter({ tags: map = {}, ...plain }: NonNullable<AdminRule['filter']>): LifecycleFilter {
  const tags = Object.entries(map).map(([key, value]) => ({ key, value }))
  if (tags.length + Object.keys(plain).length > 1) return { and: { ...plain, tags } }
  const [tag] = tags
  return tag === undefined ? plain : { tag }
}

/** Transitions cannot be stored. */
function transitionProblems(rules: readonly AdminRule[]): readonly LifecycleRuleProblem[] {
  return rules.flatMap(({ transitions = [], noncurrentTransitions = [] }, index) =>
    transitions.length + noncurrentTransitions.length === 0
      ? []
      : [{ index, code: 'NotImplemented', message: 'Transitions need a remote tier, and this server has none.' }],
  )
}

export function describeLifecycle(rules: readonly LifecycleRule[]) {
  return { rules: rules.map(describeRule) }
}

function describeRule(rule: LifecycleRule): AdminRule {
  const { id, enabled, expiration, noncurrentExpiration, abortIncompleteUpload } = rule
  const { prefix, tags, sizeGreaterThan, sizeLessThan } = predicatesOf(rule)
  const { dateMs, ...rest } = expiration ?? {}
  return {
    id,
    enabled,
    filter: {
      prefix,
      ...(tags.length === 0 ? undefined : { tags: Object.fromEntries(tags.map(tag => [tag.key, tag.value])) }),
      ...(sizeGreaterThan === undefined ? undefined : { sizeGreaterThan }),
      ...(sizeLessThan === undefined ? undefined : { sizeLessThan }),
    },
    ...(expiration && {
      expiration: { ...rest, ...(dateMs === undefined ? undefined : { date: new Date(dateMs).toISOString() }) },
    }),
    ...(noncurrentExpiration && { noncurrentExpiration }),
    ...(abortIncompleteUpload && { abortIncompleteUpload }),
  }
}
