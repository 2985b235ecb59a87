/** Sets of tags: their limits, and how XML has them. Source: AWS S3 User Guide, "Categorizing your objects using tags". */
import type { Tags } from 'svc/plugins/objects/api'
import { childrenNamed, childText, s3Errors, type XmlNode, type XmlValue } from 'svc/plugins/s3/api'
import { taggingErrors } from './errors.ts'

export type TagOwner = 'object' | 'bucket'

const tagsMax = { object: 10, bucket: 50 } as const
const tooMany = {
  object: 'Object tags cannot be greater than 10',
  bucket: 'Bucket tag count cannot be greater than 50',
} as const
/** Lengths in UTF-16 code units, as AWS counts. */
const keyLengthMax = 128
const valueLengthMax = 256
const allowed = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u

export interface TagProblem {
  readonly key: string
  readonly message: string
}

/** What is wrong with each tag, in sentences without a subject. */
export function tagProblems(pairs: Iterable<readonly [key: string, value: string]>): readonly TagProblem[] {
  const problems: TagProblem[] = []
  for (const [key, value] of pairs) {
    const flaw = (part: string, text: string, max: number) =>
      text.length > max
        ? `has a ${part} of more than ${max} characters`
        : `has a ${part} with other characters than ${inWords}`
    if (key === '') problems.push({ key, message: 'has no key' })
    else if (isSystemTag(key))
      problems.push({ key, message: 'has a key that begins with aws:, which is for AWS itself' })
    else if (!isKey(key)) problems.push({ key, message: flaw('key', key, keyLengthMax) })
    else if (!isValue(value)) problems.push({ key, message: flaw('value', value, valueLengthMax) })
  }
  return problems
}

const inWords = 'letters, digits, spaces and _ . : / = + - @'
const isKey = (key: string): boolean => key !== '' && key.length <= keyLengthMax && allowed.test(key)
const isValue = (value: string): boolean => value.length <= valueLengthMax && allowed.test(value)
const isSystemTag = (key: string): boolean => key.toLowerCase().startsWith('aws:')

/** The tags from key and value in turn. Throws InvalidTag, and BadRequest for too many. */
export function collectTags(pairs: Iterable<readonly [key: string, value: string]>, owner: TagOwner): Tags {
  const tags = new Map<string, string>()
  for (const [key, value] of pairs) {
    if (!isKey(key)) throw invalid('Key', key)
    if (!isValue(value)) throw invalid('Value', value)
    if (isSystemTag(key)) {
      throw taggingErrors.InvalidTag('System tags cannot be added/updated by requester', { extra: { TagKey: key } })
    }
    if (tags.has(key)) {
      throw taggingErrors.InvalidTag('Cannot provide multiple Tags with the same key', { extra: { TagKey: key } })
    }
    tags.set(key, value)
    if (tags.size > tagsMax[owner]) throw taggingErrors.BadRequest(tooMany[owner])
  }
  return tags
}

function invalid(part: 'Key' | 'Value', text: string) {
  return taggingErrors.InvalidTag(`The Tag${part} you have provided is invalid`, {
    extra: { [`Tag${part}`]: text.slice(0, 512) },
  })
}

/** What an element that is a set of tags may hold. */
export const tagSetElements = { Tag: { Key: 'text', Value: 'text' } } as const

/** The `Tag` elements of such an element. Throws as `collectTags`, and MalformedXML. */
export function readTagSet(set: XmlNode, owner: TagOwner): Tags {
  return collectTags(
    childrenNamed(set, 'Tag').map(tag => {
      const [key, value] = [childText(tag, 'Key'), childText(tag, 'Value')]
      if (key === undefined || value === undefined) throw s3Errors.MalformedXML('A Tag has a Key and a Value.')
      return [key, value] as const
    }),
    owner,
  )
}

/** The document `Tagging`. */
export function readTagging(xml: XmlNode, owner: TagOwner): Tags {
  const sets = childrenNamed(xml, 'TagSet')
  if (sets.length !== 1) throw s3Errors.MalformedXML('Tagging holds one TagSet.')
  return readTagSet(sets[0]!, owner)
}

export function describeTags(tags: Tags): XmlValue {
  return { TagSet: { Tag: [...tags].map(([Key, Value]) => ({ Key, Value })) } }
}
