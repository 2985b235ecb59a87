/**
 * Fields of objects in JSON, and the corresponding headers of S3. The headers are then read, checked and authorized like those of S3
 * requests.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { asHeaderValue, headerFlaw } from 'svc/plugins/payload/api'
import { type Static, Type } from 'typebox'
import type { ConditionFacts } from './api.ts'
import { type FieldProblem, invalidFields } from './errors.ts'
import { placeIn } from './pointers.ts'

const Text = Type.String({ maxLength: 2048 })
/** Metadata of 2 KB has no more names, and an object has 10 tags. */
const Texts = Type.Record(Type.String({ maxLength: 2048 }), Text, { maxProperties: 2048 })

/** System metadata and user metadata. */
export const metadataFields = {
  contentType: Type.Optional(Text),
  contentEncoding: Type.Optional(Text),
  contentDisposition: Type.Optional(Text),
  contentLanguage: Type.Optional(Text),
  cacheControl: Type.Optional(Text),
  expires: Type.Optional(Text),
  userMetadata: Type.Optional(Texts),
}

/** All fields of a new object. */
export const newObjectFields = {
  ...metadataFields,
  tags: Type.Optional(Texts),
  storageClass: Type.Optional(Text),
  encryption: Type.Optional(
    Type.Object({
      algorithm: Type.Union([Type.Literal('AES256'), Type.Literal('aws:kms')]),
      kmsKeyId: Type.Optional(Text),
    }),
  ),
  retention: Type.Optional(
    Type.Object({
      mode: Type.Union([Type.Literal('GOVERNANCE'), Type.Literal('COMPLIANCE')]),
      retainUntil: Type.String({ format: 'date-time' }),
    }),
  ),
  legalHold: Type.Optional(Type.Object({ enabled: Type.Boolean() })),
}

const NewObject = Type.Object(newObjectFields)
export type ObjectFields = Static<typeof NewObject>

const metadataHeaders = [
  ['contentType', 'content-type'],
  ['contentEncoding', 'content-encoding'],
  ['contentDisposition', 'content-disposition'],
  ['contentLanguage', 'content-language'],
  ['cacheControl', 'cache-control'],
  ['expires', 'expires'],
  ['storageClass', 'x-amz-storage-class'],
] as const

/** Throws `invalid_argument`, which names each field that no header can hold. */
export function headersOfFields(fields: ObjectFields): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {}
  const problems: FieldProblem[] = []
  const set = (name: string, value: string | undefined, element = '') => {
    if (value === undefined || value === '') return
    const flaw = headerFlaw(name, value)
    if (flaw === undefined) headers[name] = asHeaderValue(name, value)
    else problems.push({ element, message: flaw })
  }
  for (const [field, name] of metadataHeaders) set(name, fields[field], `/${field}`)
  const names = new Set<string>()
  for (const [name, value] of Object.entries(fields.userMetadata ?? {})) {
    const lower = name.toLowerCase()
    const header = `x-amz-meta-${lower}`
    const element = placeIn('/userMetadata', name)
    const flaw = names.has(lower)
      ? 'is there twice: names that differ only in case are the same'
      : headerFlaw(header, value)
    if (flaw === undefined) headers[header] = asHeaderValue(header, value)
    else problems.push({ element, message: flaw })
    names.add(lower)
  }
  const { tags, encryption, retention, legalHold } = fields
  if (tags !== undefined) set('x-amz-tagging', new URLSearchParams(tags).toString())
  set('x-amz-server-side-encryption', encryption?.algorithm)
  set('x-amz-server-side-encryption-aws-kms-key-id', encryption?.kmsKeyId, '/encryption/kmsKeyId')
  set('x-amz-object-lock-mode', retention?.mode)
  set('x-amz-object-lock-retain-until-date', retention?.retainUntil)
  if (legalHold !== undefined) set('x-amz-object-lock-legal-hold', legalHold.enabled ? 'ON' : 'OFF')
  if (problems.length > 0) throw invalidFields(problems)
  return headers
}

/** Actions that headers of a write need in addition to `s3:PutObject`, and facts about them for conditions. */
export function attributeRequirements(headers: IncomingHttpHeaders): {
  readonly actions: readonly string[]
  readonly facts: ConditionFacts
} {
  const actions: string[] = []
  const tagging = headers['x-amz-tagging']
  if (tagging !== undefined && tagging !== '') actions.push('s3:PutObjectTagging')
  const isRetained =
    headers['x-amz-object-lock-mode'] !== undefined || headers['x-amz-object-lock-retain-until-date'] !== undefined
  if (isRetained) actions.push('s3:PutObjectRetention')
  if (headers['x-amz-object-lock-legal-hold'] !== undefined) actions.push('s3:PutObjectLegalHold')
  return {
    actions,
    facts: {
      headers,
      requestTags: () => (typeof tagging === 'string' ? new Map(new URLSearchParams(tagging)) : undefined),
    },
  }
}
