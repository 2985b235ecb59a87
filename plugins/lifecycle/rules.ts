/**
 * The stored form of rules, and their checks. A rule is returned in the form in which it was sent: with a filter or the older prefix, one
 * predicate or several under `and`. Source: AWS S3 API reference, PutBucketLifecycleConfiguration; S3 User Guide, "Lifecycle configuration
 * elements".
 */
import { type Static, Type } from 'typebox'

const closed = { additionalProperties: false }
const Tag = Type.Object({ key: Type.String(), value: Type.String() }, closed)

const predicates = {
  prefix: Type.Optional(Type.String()),
  sizeGreaterThan: Type.Optional(Type.Integer()),
  sizeLessThan: Type.Optional(Type.Integer()),
}

export const LifecycleRule = Type.Object(
  {
    id: Type.String(),
    enabled: Type.Boolean(),
    /** The older form, without a filter. */
    prefix: Type.Optional(Type.String()),
    filter: Type.Optional(
      Type.Object(
        {
          ...predicates,
          tag: Type.Optional(Tag),
          and: Type.Optional(Type.Object({ ...predicates, tags: Type.Array(Tag) }, closed)),
        },
        closed,
      ),
    ),
    expiration: Type.Optional(
      Type.Object(
        {
          days: Type.Optional(Type.Integer()),
          /** Milliseconds since 1970. */
          dateMs: Type.Optional(Type.Integer()),
          expiredObjectDeleteMarker: Type.Optional(Type.Boolean()),
        },
        closed,
      ),
    ),
    noncurrentExpiration: Type.Optional(
      Type.Object({ noncurrentDays: Type.Integer(), newerNoncurrentVersions: Type.Optional(Type.Integer()) }, closed),
    ),
    abortIncompleteUpload: Type.Optional(Type.Object({ daysAfterInitiation: Type.Integer() }, closed)),
  },
  closed,
)

export type LifecycleRule = Static<typeof LifecycleRule>
export type LifecycleFilter = NonNullable<LifecycleRule['filter']>

/** All conditions that a key, version or upload must fulfil. */
export interface Predicates {
  readonly prefix: string
  readonly tags: readonly { readonly key: string; readonly value: string }[]
  readonly sizeGreaterThan: number | undefined
  readonly sizeLessThan: number | undefined
}

/** The conditions of a rule, independent of its form. */
export function predicatesOf({ prefix, filter = {} }: LifecycleRule): Predicates {
  const { and, tag } = filter
  return {
    prefix: prefix ?? filter.prefix ?? and?.prefix ?? '',
    tags: and?.tags ?? (tag === undefined ? [] : [tag]),
    sizeGreaterThan: filter.sizeGreaterThan ?? and?.sizeGreaterThan,
    sizeLessThan: filter.sizeLessThan ?? and?.sizeLessThan,
  }
}

export interface LifecycleRuleProblem {
  /** Index of the rule; -1 for the list as a whole. */
  readonly index: number
  readonly code: 'InvalidArgument' | 'InvalidRequest' | 'MalformedXML' | 'NotImplemented'
  /** A sentence, in AWS's words if AWS refuses the same. */
  readonly message: string
  /** Of the rule as the Admin API has it: `expiration.days`. Absent where the rule as a whole is at fault. */
  readonly field?: string
}

type Problem = readonly [code: LifecycleRuleProblem['code'], message: string, field?: string]

const rulesMax = 1000
const idLengthMax = 255
const prefixBytesMax = 1024
const tagsMax = 10
const daysMax = 2 ** 31 - 1
const newerVersionsMax = 100
const dayMs = 86_400_000

/** All problems of a list of rules. */
export function checkLifecycleRules(rules: readonly LifecycleRule[]): readonly LifecycleRuleProblem[] {
  const problems: LifecycleRuleProblem[] = []
  if (rules.length > rulesMax) {
    problems.push({
      index: -1,
      code: 'MalformedXML',
      message: `A lifecycle configuration has at most ${rulesMax} rules.`,
    })
  }
  const ids = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    for (const [code, message, field] of problemsOf(rule))
      problems.push({ index, code, message, ...(field !== undefined && { field }) })
    // Rules without an id get different ones.
    if (rule.id !== '' && ids.has(rule.id)) {
      const message = 'Rule ID must be unique. Found same ID for more than one rule'
      problems.push({ index, code: 'InvalidArgument', message, field: 'id' })
    }
    ids.add(rule.id)
  }
  return problems
}

function* problemsOf(rule: LifecycleRule): Generator<Problem> {
  if (rule.id.length > idLengthMax) {
    yield ['InvalidArgument', `ID length should not exceed allowed limit of ${idLengthMax}`, 'id']
  }
  yield* filterProblems(rule)
  const { expiration, noncurrentExpiration, abortIncompleteUpload } = rule
  if (expiration === undefined && noncurrentExpiration === undefined && abortIncompleteUpload === undefined) {
    yield ['InvalidRequest', 'At least one action needs to be specified in a rule', 'expiration']
  }
  const predicates = predicatesOf(rule)
  if (expiration !== undefined) yield* expirationProblems(expiration, predicates)
  if (noncurrentExpiration !== undefined) {
    const { noncurrentDays, newerNoncurrentVersions = 1 } = noncurrentExpiration
    if (!isDays(noncurrentDays)) {
      const message = positive("'NoncurrentDays' for NoncurrentVersionExpiration action", noncurrentDays)
      yield ['InvalidArgument', message, 'noncurrentExpiration.noncurrentDays']
    }
    if (newerNoncurrentVersions < 1 || newerNoncurrentVersions > newerVersionsMax) {
      const message = `'NewerNoncurrentVersions' must be an integer from 1 to ${newerVersionsMax}`
      yield ['InvalidArgument', message, 'noncurrentExpiration.newerNoncurrentVersions']
    }
  }
  if (abortIncompleteUpload !== undefined) {
    const field = 'abortIncompleteUpload.daysAfterInitiation'
    const { daysAfterInitiation } = abortIncompleteUpload
    if (!isDays(daysAfterInitiation)) {
      const what = "'DaysAfterInitiation' for AbortIncompleteMultipartUpload action"
      yield ['InvalidArgument', positive(what, daysAfterInitiation), field]
    }
    // An upload has no size, and its tags are not stored separately.
    if (predicates.tags.length > 0) {
      yield ['InvalidRequest', 'AbortIncompleteMultipartUpload cannot be specified with Tags', field]
    }
    if (hasSize(predicates)) {
      yield ['InvalidRequest', 'AbortIncompleteMultipartUpload cannot be specified with ObjectSize', field]
    }
  }
}

function* filterProblems({ prefix, filter, ...rule }: LifecycleRule): Generator<Problem> {
  if ((prefix === undefined) === (filter === undefined)) {
    yield ['MalformedXML', 'A rule must have either a Filter or a Prefix.']
  }
  if (filter !== undefined) {
    if (Object.keys(filter).length > 1)
      yield ['MalformedXML', 'A Filter may have one predicate, or several inside And.']
    const { and } = filter
    if (and !== undefined && and.tags.length === 0 && Object.keys(and).length === 1) {
      yield ['MalformedXML', 'And must have at least one predicate.']
    }
  }
  const { tags, sizeGreaterThan, sizeLessThan, ...rest } = predicatesOf({ prefix, filter, ...rule })
  if (Buffer.byteLength(rest.prefix) > prefixBytesMax) {
    yield ['InvalidRequest', `The maximum size of a prefix is ${prefixBytesMax}`, 'filter.prefix']
  }
  if (tags.length > tagsMax) yield ['InvalidRequest', `A rule has at most ${tagsMax} tags.`, 'filter.tags']
  if (new Set(tags.map(tag => tag.key)).size < tags.length)
    yield ['InvalidRequest', 'Duplicate Tag Keys are not allowed.', 'filter.tags']
  for (const { key, value } of tags) {
    if (key === '' || key.length > 128 || value.length > 256) {
      yield ['InvalidRequest', 'The key of a tag has 1 to 128 characters, its value at most 256.', `filter.tags.${key}`]
    }
  }
  if (sizeGreaterThan !== undefined && !isSize(sizeGreaterThan, 0)) {
    yield ['InvalidRequest', "'ObjectSizeGreaterThan' must be a number of bytes from 0", 'filter.sizeGreaterThan']
  }
  if (sizeLessThan !== undefined && !isSize(sizeLessThan, 1)) {
    yield ['InvalidRequest', "'ObjectSizeLessThan' must be a number of bytes from 1", 'filter.sizeLessThan']
  }
  if (sizeGreaterThan !== undefined && sizeLessThan !== undefined && sizeGreaterThan >= sizeLessThan) {
    yield [
      'InvalidRequest',
      "'ObjectSizeLessThan' has to be a value greater than 'ObjectSizeGreaterThan'",
      'filter.sizeLessThan',
    ]
  }
}

function* expirationProblems(
  { days, dateMs, expiredObjectDeleteMarker }: NonNullable<LifecycleRule['expiration']>,
  predicates: Predicates,
): Generator<Problem> {
  const given = { days, date: dateMs, expiredObjectDeleteMarker }
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : name))
  if (names.length !== 1) {
    const message = 'Expiration must have exactly one of Days, Date and ExpiredObjectDeleteMarker.'
    yield ['MalformedXML', message, ['expiration', ...names.slice(-1)].join('.')]
  }
  if (days !== undefined && !isDays(days)) {
    yield ['InvalidArgument', positive("'Days' for Expiration action", days), 'expiration.days']
  }
  if (dateMs !== undefined && dateMs % dayMs !== 0)
    yield ['InvalidArgument', "'Date' must be at midnight GMT", 'expiration.date']
  if (expiredObjectDeleteMarker === undefined) return
  if (predicates.tags.length > 0 || hasSize(predicates)) {
    yield [
      'InvalidRequest',
      'ExpiredObjectDeleteMarker cannot be specified with Tags or ObjectSize',
      'expiration.expiredObjectDeleteMarker',
    ]
  }
}

/** AWS says no more of one that is too large. */
const positive = (what: string, days: number): string =>
  `${what} must be a positive integer${days > daysMax ? `, at most ${daysMax}` : ''}`

function isDays(days: number): boolean {
  return Number.isInteger(days) && days > 0 && days <= daysMax
}

function isSize(size: number, minimum: number): boolean {
  return Number.isSafeInteger(size) && size >= minimum
}

export function hasSize({ sizeGreaterThan, sizeLessThan }: Predicates): boolean {
  return sizeGreaterThan !== undefined || sizeLessThan !== undefined
}
