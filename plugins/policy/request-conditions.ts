/**
 * Computes the condition keys of a request from facts about it, each on demand. Without keys that depend on the identity, which the engine
 * adds.
 */
import type { ConditionLookup } from './api.ts'
import { kmsKeyIdOf } from './kms-key-id.ts'

type Tags = ReadonlyMap<string, string>

/** The values of the encryption headers. */
export interface RequestEncryption {
  /** `AES256`, `aws:kms`. */
  readonly algorithm?: string
  /** Any of its names. */
  readonly kmsKeyId?: string
  /** `AES256`, if the client sends the key. */
  readonly customerAlgorithm?: string
}

export interface RequestFacts {
  /** The client's address, behind trusted proxies; each address has one spelling. */
  readonly sourceAddress: string
  readonly secure: boolean
  /** `1.2`, `1.3`; undefined without TLS, or if a proxy terminated it. */
  readonly tlsVersion?: string
  /** Milliseconds since 1970. */
  readonly timeMs: number
  /** Lower-case names, as in Node.js. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** True where the request may have headers beside `headers`, as in a simulation. */
  readonly hasUnknownHeaders?: boolean
  /** Decoded parameters. */
  readonly query?: ReadonlyMap<string, string>
  /** The version that the request is about, from any part of the request. */
  readonly versionId?: string
  /** The prefix of a listing, normalized as the listing does; default: the query parameter. */
  readonly prefix?: string
  /** The source of a copy as `bucket/key`, normalized as the copy does. */
  readonly copySource?: string
  readonly signature?: 'anonymous' | 'header' | 'presigned' | 'form' | 'session'
  /** Absent for credentials without a signature. */
  readonly signatureVersion?: string | undefined
  /** When it was signed, milliseconds since 1970: for presigned requests. */
  readonly signedAtMs?: number
  /** The region in the body of CreateBucket. */
  readonly locationConstraint?: string
  /** True for PutObject; false for parts and for the creation of an upload. */
  readonly createsObject?: boolean
  readonly retention?: { readonly mode?: string; readonly retainUntilMs?: number }
  readonly legalHold?: string
  /** Tags of the object or version of the request; undefined if it does not exist. Fetched in advance: see `mentions`. */
  readonly existingTags?: () => Tags | undefined
  /** Tags that the request sets. */
  readonly requestTags?: () => Tags | undefined
  /** The encryption of the bytes that are written; undefined if they are not encrypted. Default: from the headers. */
  readonly encryption?: () => RequestEncryption | undefined
  /** The distribution that the request came through. */
  readonly distribution?: string
  /** The host that the client named, with a port where it named one. */
  readonly host?: string
  /** `GET`. */
  readonly method?: string
}

type Value = string | readonly string[] | undefined

const dayMs = 86_400_000

const fromQuery =
  (name: string) =>
  ({ query }: RequestFacts): Value =>
    query?.get(name)

const fromHeader =
  (name: string) =>
  ({ headers }: RequestFacts): Value =>
    headers[name]

const isSigned = ({ signature }: RequestFacts): boolean => signature !== undefined && signature !== 'anonymous'

const authTypes = {
  anonymous: undefined,
  session: undefined,
  header: 'REST-HEADER',
  presigned: 'REST-QUERY-STRING',
  form: 'POST',
} as const

const retainUntilMs = ({ retention, headers }: RequestFacts): number | undefined => {
  if (retention !== undefined) return retention.retainUntilMs
  const header = headers['x-amz-object-lock-retain-until-date']
  const timeMs = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(timeMs) ? undefined : timeMs
}

/** By lower-case key. Headers `x-amz-…` without an entry here are `s3:x-amz-…`; keys with tags are computed separately. */
const table: ReadonlyMap<string, (facts: RequestFacts) => Value> = new Map<string, (facts: RequestFacts) => Value>([
  ['aws:sourceip', facts => facts.sourceAddress],
  ['aws:securetransport', facts => String(facts.secure)],
  ['aws:currenttime', facts => new Date(facts.timeMs).toISOString()],
  ['aws:epochtime', facts => String(Math.floor(facts.timeMs / 1000))],
  ['aws:referer', fromHeader('referer')],
  ['aws:useragent', fromHeader('user-agent')],
  ['s3:authtype', facts => authTypes[facts.signature ?? 'anonymous']],
  ['s3:signatureversion', ({ signatureVersion }) => signatureVersion],
  ['s3:signatureage', signatureAge],
  ['s3:tlsversion', facts => facts.tlsVersion],
  ['s3:x-amz-content-sha256', contentSha256],
  ['s3:x-amz-copy-source', facts => facts.copySource],
  ['s3:prefix', facts => facts.prefix ?? facts.query?.get('prefix')],
  ['s3:delimiter', fromQuery('delimiter')],
  ['s3:max-keys', fromQuery('max-keys')],
  ['s3:versionid', facts => facts.versionId],
  ['s3:locationconstraint', facts => facts.locationConstraint],
  ['s3:x-amz-server-side-encryption', facts => encryptionOf(facts)?.algorithm],
  ['s3:x-amz-server-side-encryption-aws-kms-key-id', kmsKeyId],
  ['s3:x-amz-server-side-encryption-customer-algorithm', facts => encryptionOf(facts)?.customerAlgorithm],
  ['s3:if-match', fromHeader('if-match')],
  ['s3:if-none-match', fromHeader('if-none-match')],
  [
    's3:objectcreationoperation',
    facts => (facts.createsObject === undefined ? undefined : String(facts.createsObject)),
  ],
  [
    's3:object-lock-mode',
    facts => (facts.retention === undefined ? facts.headers['x-amz-object-lock-mode'] : facts.retention.mode),
  ],
  ['s3:object-lock-retain-until-date', retainUntilDate],
  ['s3:object-lock-remaining-retention-days', remainingRetentionDays],
  ['s3:object-lock-legal-hold', facts => facts.legalHold ?? facts.headers['x-amz-object-lock-legal-hold']],
  ['s3:requestobjecttagkeys', facts => [...(facts.requestTags?.()?.keys() ?? [])]],
  ['svc:distribution', facts => facts.distribution],
  ['svc:host', facts => (facts.distribution === undefined ? undefined : facts.host)],
])

const existingTag = 's3:existingobjecttag/'
const requestTag = 's3:requestobjecttag/'
const amzHeader = 's3:x-amz-'

/** For `AccessRequest.conditions`: `() => requestConditions(facts)`. */
export function requestConditions(facts: RequestFacts): ConditionLookup {
  return {
    facts,
    get(key) {
      const value = read(facts, key)
      return value === undefined || typeof value === 'object' ? value : [value]
    },
  }
}

function read(facts: RequestFacts, key: string): Value {
  const make = table.get(key)
  if (make !== undefined) return make(facts)
  if (key.startsWith(existingTag)) return tagValues(facts.existingTags?.(), key.slice(existingTag.length))
  if (key.startsWith(requestTag)) return tagValues(facts.requestTags?.(), key.slice(requestTag.length))
  if (key.startsWith(amzHeader)) return facts.headers[key.slice('s3:'.length)]
  return undefined
}

/** Condition keys are case-insensitive: two tags whose names differ in case only are two values of one key. */
function tagValues(tags: Tags | undefined, lowerCase: string): Value {
  if (tags === undefined) return undefined
  const values: string[] = []
  for (const [name, value] of tags) if (name.toLowerCase() === lowerCase) values.push(value)
  return values
}

function encryptionOf({ encryption, headers }: RequestFacts): RequestEncryption | undefined {
  return encryption === undefined ? encryptionAsked(headers) : encryption()
}

/** The encryption that the headers request. */
export function encryptionAsked(headers: RequestFacts['headers']): RequestEncryption {
  return {
    algorithm: textOf(headers['x-amz-server-side-encryption']),
    kmsKeyId: textOf(headers['x-amz-server-side-encryption-aws-kms-key-id']),
    customerAlgorithm: textOf(headers['x-amz-server-side-encryption-customer-algorithm']),
  }
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'object' ? header.join(', ') : header
}

/** The policy matches the key by any of its names. */
function kmsKeyId(facts: RequestFacts): Value {
  const named = encryptionOf(facts)?.kmsKeyId
  return named === undefined ? undefined : kmsKeyIdOf(named)
}

function signatureAge({ signature, signedAtMs, timeMs }: RequestFacts): Value {
  return signature === 'presigned' && signedAtMs !== undefined ? String(Math.max(0, timeMs - signedAtMs)) : undefined
}

function contentSha256(facts: RequestFacts): Value {
  if (!isSigned(facts)) return undefined
  return facts.headers['x-amz-content-sha256'] ?? (facts.signature === 'presigned' ? 'UNSIGNED-PAYLOAD' : undefined)
}

function retainUntilDate(facts: RequestFacts): Value {
  const timeMs = retainUntilMs(facts)
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString()
}

function remainingRetentionDays(facts: RequestFacts): Value {
  const timeMs = retainUntilMs(facts)
  return timeMs === undefined ? undefined : String(Math.ceil((timeMs - facts.timeMs) / dayMs))
}
