/** Reads and writes rules as XML. Unknown elements are refused: a rule of which a part is ignored would remove too much or too little. */
import { childrenNamed, childText, isoTime, s3Errors, type XmlNode, type XmlValue } from 'svc/plugins/s3/api'
import type { LifecycleFilter, LifecycleRule } from './rules.ts'

const transitions = ['Transition', 'NoncurrentVersionTransition']
const tagElements = { Key: 'text', Value: 'text' } as const
const predicates = {
  Prefix: 'text',
  Tag: tagElements,
  ObjectSizeGreaterThan: 'text',
  ObjectSizeLessThan: 'text',
} as const

/** The allowed elements of a rule. */
export const ruleElements = {
  ID: 'text',
  Status: 'text',
  Prefix: 'text',
  Filter: { ...predicates, And: predicates },
  Expiration: { Days: 'text', Date: 'text', ExpiredObjectDeleteMarker: 'text' },
  NoncurrentVersionExpiration: { NoncurrentDays: 'text', NewerNoncurrentVersions: 'text' },
  AbortIncompleteMultipartUpload: { DaysAfterInitiation: 'text' },
  Transition: 'anything',
  NoncurrentVersionTransition: 'anything',
} as const

// biome-ignore lint/suspicious/noControlCharactersInRegex: the id goes into the header x-amz-expiration
const controlCharacter = /[\u0000-\u001f\u007f]/

/** Throws MalformedXML, and NotImplemented for transitions. A missing `id` becomes the empty text. */
export function readLifecycleRule(node: XmlNode): LifecycleRule {
  for (const name of transitions) {
    if (childrenNamed(node, name).length > 0) {
      throw s3Errors.NotImplemented('Transitions need a remote tier, and this server has none.', {
        extra: { Element: name },
      })
    }
  }
  const status = childText(node, 'Status')?.trim()
  if (status !== 'Enabled' && status !== 'Disabled') throw s3Errors.MalformedXML('Status must be Enabled or Disabled.')
  const filter = onlyChild(node, 'Filter')
  const expiration = onlyChild(node, 'Expiration')
  const noncurrent = onlyChild(node, 'NoncurrentVersionExpiration')
  const abort = onlyChild(node, 'AbortIncompleteMultipartUpload')
  const id = childText(node, 'ID') ?? ''
  if (controlCharacter.test(id)) throw s3Errors.MalformedXML('An ID must not contain control characters.')
  return {
    id,
    enabled: status === 'Enabled',
    ...optional('prefix', childText(node, 'Prefix')),
    ...optional('filter', filter && readFilter(filter)),
    ...optional('expiration', expiration && readExpiration(expiration)),
    ...optional('noncurrentExpiration', noncurrent && readNoncurrent(noncurrent)),
    ...optional('abortIncompleteUpload', abort && readAbort(abort)),
  }
}

function readFilter(node: XmlNode): LifecycleFilter {
  const tag = onlyChild(node, 'Tag')
  const and = onlyChild(node, 'And')
  return {
    ...readPredicates(node),
    ...optional('tag', tag && readTag(tag)),
    ...optional('and', and && readAnd(and)),
  }
}

function readAnd(node: XmlNode): NonNullable<LifecycleFilter['and']> {
  return { ...readPredicates(node), tags: childrenNamed(node, 'Tag').map(readTag) }
}

function readPredicates(node: XmlNode) {
  return {
    ...optional('prefix', childText(node, 'Prefix')),
    ...optional('sizeGreaterThan', integer(node, 'ObjectSizeGreaterThan')),
    ...optional('sizeLessThan', integer(node, 'ObjectSizeLessThan')),
  }
}

function readTag(node: XmlNode): { key: string; value: string } {
  const key = childText(node, 'Key')
  const value = childText(node, 'Value')
  if (key === undefined || value === undefined) throw s3Errors.MalformedXML('A Tag needs a Key and a Value.')
  return { key, value }
}

function readExpiration(node: XmlNode): NonNullable<LifecycleRule['expiration']> {
  const marker = childText(node, 'ExpiredObjectDeleteMarker')?.trim()
  if (marker !== undefined && marker !== 'true' && marker !== 'false') {
    throw s3Errors.MalformedXML('ExpiredObjectDeleteMarker must be true or false.')
  }
  return {
    ...optional('days', integer(node, 'Days')),
    ...optional('dateMs', readDate(childText(node, 'Date')?.trim())),
    ...optional('expiredObjectDeleteMarker', marker === undefined ? undefined : marker === 'true'),
  }
}

const date = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

function readDate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const dateMs = date.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(dateMs)) throw s3Errors.MalformedXML('Date must be a time in ISO 8601.')
  return dateMs
}

function readNoncurrent(node: XmlNode): NonNullable<LifecycleRule['noncurrentExpiration']> {
  const noncurrentDays = integer(node, 'NoncurrentDays')
  if (noncurrentDays === undefined) throw s3Errors.MalformedXML('NoncurrentVersionExpiration needs NoncurrentDays.')
  return { noncurrentDays, ...optional('newerNoncurrentVersions', integer(node, 'NewerNoncurrentVersions')) }
}

function readAbort(node: XmlNode): NonNullable<LifecycleRule['abortIncompleteUpload']> {
  const daysAfterInitiation = integer(node, 'DaysAfterInitiation')
  if (daysAfterInitiation === undefined) {
    throw s3Errors.MalformedXML('AbortIncompleteMultipartUpload needs DaysAfterInitiation.')
  }
  return { daysAfterInitiation }
}

function onlyChild(node: XmlNode, name: string): XmlNode | undefined {
  const found = childrenNamed(node, name)
  if (found.length > 1) throw s3Errors.MalformedXML(`${node.name} has more than one ${name}.`)
  return found[0]
}

function integer(node: XmlNode, name: string): number | undefined {
  const text = childText(node, name)?.trim()
  if (text === undefined) return undefined
  if (!/^[+-]?\d{1,15}$/.test(text)) throw s3Errors.MalformedXML(`${name} must be an integer.`)
  return Number(text)
}

function optional<Name extends string, T>(name: Name, value: T | undefined): { readonly [K in Name]?: T } {
  return value === undefined ? {} : ({ [name]: value } as { [K in Name]: T })
}

/** The elements in the order of AWS, and in the form in which the client sent the rule. */
export function describeLifecycleRule(rule: LifecycleRule): XmlValue {
  const { expiration, noncurrentExpiration: noncurrent, abortIncompleteUpload: abort, filter } = rule
  return {
    ID: rule.id,
    Prefix: rule.prefix,
    Filter: filter && describeFilter(filter),
    Status: rule.enabled ? 'Enabled' : 'Disabled',
    Expiration: expiration && {
      Days: expiration.days,
      Date: expiration.dateMs === undefined ? undefined : isoTime(expiration.dateMs),
      ExpiredObjectDeleteMarker: expiration.expiredObjectDeleteMarker,
    },
    NoncurrentVersionExpiration: noncurrent && {
      NoncurrentDays: noncurrent.noncurrentDays,
      NewerNoncurrentVersions: noncurrent.newerNoncurrentVersions,
    },
    AbortIncompleteMultipartUpload: abort && { DaysAfterInitiation: abort.daysAfterInitiation },
  }
}

function describeFilter({ tag, and, ...predicates }: LifecycleFilter): XmlValue {
  return {
    ...describePredicates(predicates),
    Tag: tag && describeTag(tag),
    And: and && { ...describePredicates(and), Tag: and.tags.map(describeTag) },
  }
}

function describePredicates({ prefix, sizeGreaterThan, sizeLessThan }: Omit<LifecycleFilter, 'tag' | 'and'>) {
  return { Prefix: prefix, ObjectSizeGreaterThan: sizeGreaterThan, ObjectSizeLessThan: sizeLessThan }
}

function describeTag({ key, value }: { key: string; value: string }): XmlValue {
  return { Key: key, Value: value }
}
