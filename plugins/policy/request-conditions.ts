/**
 * The condition keys of a request from plain facts about it, each made when a policy asks for it. What follows from the
 * identity is not among them: the engine knows it.
 */
import type { ConditionLookup } from './api.ts'
import { kmsKeyIdOf } from './kms-key-id.ts'

type Tags = ReadonlyMap<string, string>

/** In the words of the headers that ask for it. */
export interface RequestEncryption {
  /** `AES256`, `aws:kms`. */
  readonly algorithm?: string
  /** By any of its names. */
  readonly kmsKeyId?: string
  /** `AES256`, under a key of the customer. */
  readonly customerAlgorithm?: string
}

export interface RequestFacts {
  /** Behind trusted proxies; one spelling per address. */
  readonly sourceAddress: string
  readonly secure: boolean
  /** `1.2`, `1.3`; undefined without TLS, or behind a proxy that ended it. */
  readonly tlsVersion?: string
  /** Milliseconds since 1970. */
  readonly timeMs: number
  /** Lower-case names, as Node.js gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Decoded parameters. */
  readonly query?: ReadonlyMap<string, string>
  /** The version that the question is about, wherever the request names it. */
  readonly versionId?: string
  /** The prefix that a listing is for, as the listing takes it; default: the parameter as it came. */
  readonly prefix?: string
  /** `bucket/key` that a copy reads, as the copy takes it. */
  readonly copySource?: string
  readonly signature?: 'anonymous' | 'header' | 'presigned' | 'form' | 'session'
  /** Absent for credentials that are no signature. */
  readonly signatureVersion?: string | undefined
  /** When it was signed, milliseconds since 1970: for presigned requests. */
  readonly signedAtMs?: number
  /** The region that the body of CreateBucket asks for. */
  readonly locationConstraint?: string
  /** PutObject creates an object; the parts and the beginning of an upload do not. */
  readonly createsObject?: boolean
  readonly retention?: { readonly mode?: string; readonly retainUntilMs?: number }
  readonly legalHold?: string
  /** Tags of the object or version that the request is for; undefined when there is none. Fetched before: see `mentions`. */
  readonly existingTags?: () => Tags | undefined
  /** Tags that the request sets. */
  readonly requestTags?: () => Tags | undefined
  /** How what is written is encrypted, undefined where it is not. Default: as the headers ask. */
  readonly encryption?: () => RequestEncryption | undefined
  /** The distribution that the request came through, and its public host. */
  readonly distribution?: string
  readonly host?: string
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

/** By lower-case key. Headers `x-amz-…` that are not named here are `s3:x-amz-…`; tags have families of their own. */
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

/** Condition keys know no case: two tags that differ in nothing else are two values of one key. */
function tagValues(tags: Tags | undefined, lowerCase: string): Value {
  if (tags === undefined) return undefined
  const values: string[] = []
  for (const [name, value] of tags) if (name.toLowerCase() === lowerCase) values.push(value)
  return values
}

function encryptionOf({ encryption, headers }: RequestFacts): RequestEncryption | undefined {
  return encryption === undefined ? encryptionAsked(headers) : encryption()
}

/** What headers ask for. */
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

/** The policy is about the key, whatever the request calls it. */
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
