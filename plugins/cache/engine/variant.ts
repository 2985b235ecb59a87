/** Stored answers: one for each combination of the request fields that `Vary` names. */
import type { HeaderLine, OriginRecord, RequestHeaders } from '../api.ts'
import type { FenceList } from '../fence/fences.ts'
import { initialAgeMs, type Lifetime, lifetimeOf } from '../policy/freshness.ts'
import type { CachePolicy } from '../policy/policy.ts'
import { fieldOf, joined } from './headers.ts'

export interface Variant {
  readonly status: number
  readonly lines: readonly HeaderLine[]
  /** Undefined: the body is larger than an entry may be, and is kept in blocks. */
  readonly body: Buffer | undefined
  readonly sizeBytes: number
  /** Set if the origin has objects. */
  readonly record: StoredRecord | undefined
  /**
   * For purges: the distribution (`space`), the host and the path. The host is that of the request that read the answer; requests of other hosts may
   * use the same entry.
   */
  readonly space: string
  readonly host: string
  readonly path: string
  readonly tags: readonly string[]
  /** Number of the last purge when the reading of the answer began. */
  readonly purgeSequence: number
  /** Number of the last soft purge that has let it expire. */
  softSequence: number
  /** Number of the purge up to which the answer was compared for `checkedHost`, and is not dead. */
  checkedSequence: number
  checkedHost: string
  /** Request fields that `Vary` names, with their values. */
  readonly vary: readonly HeaderLine[]
  readonly etag: string | undefined
  readonly lastModified: string | undefined
  freshMs: number
  readonly staleWhileRevalidateMs: number
  readonly staleIfErrorMs: number
  receivedMs: number
  initialAgeMs: number
}

/** The origin's record of an answer. When its fences no longer hold and the answer is the same, it gets new ones. */
export interface StoredRecord extends Omit<OriginRecord, 'fences'> {
  fences: FenceList
  readonly isEncrypted: boolean
}

/** Fences of an answer from a tier: no counter ever has this value, so the answer has to be confirmed. */
export const unconfirmed: FenceList = [0, Number.NaN]

/** One variant, as in nearly all entries, or several, the newest first. */
export type Entry = Variant | readonly Variant[]

export const isList = (entry: Entry): entry is readonly Variant[] => Array.isArray(entry)
export const variantsOf = (entry: Entry | undefined): readonly Variant[] =>
  entry === undefined ? [] : isList(entry) ? entry : [entry]
/** The entry of at least one variant. */
export const entryOf = (variants: readonly Variant[]): Entry =>
  variants.length === 1 ? (variants[0] as Variant) : variants

export const variantsMax = 32
/** Memory of a variant that is not packed, beside its body, its lines and the text of its value. */
const variantBytes = 900
/** Memory of each line beside its text. */
const lineBytes = 96
/** Most bytes of an answer's fields; an answer with more is not stored. */
export const headBytesMax = 16 * 1024

export const headBytes = (lines: readonly HeaderLine[]) =>
  lines.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)

export const entryBytes = (entry: Entry) =>
  variantsOf(entry).reduce(
    (sum, { body, lines, record }) =>
      sum +
      (body?.length ?? 0) +
      (lines.length === 0 ? 0 : lineBytes * lines.length + headBytes(lines)) +
      (record === undefined ? 0 : 2 * JSON.stringify([record.identity, record.value]).length) +
      variantBytes,
    0,
  )

/** Fields that a 304 does not update: they describe the stored bytes. */
const ofTheBytes: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-md5',
  'content-range',
  'etag',
])

interface Received {
  readonly status: number
  readonly lines: readonly HeaderLine[]
  readonly body: Buffer | undefined
  readonly sizeBytes: number
  readonly record: StoredRecord | undefined
  readonly space: string
  readonly host: string
  readonly path: string
  readonly purgeSequence: number
  readonly vary: readonly HeaderLine[]
  readonly lifetime: Lifetime
  readonly requestedMs: number
  readonly receivedMs: number
}

export function createVariant(received: Received): Variant {
  const { status, lines, body, sizeBytes, record, path, purgeSequence, vary, lifetime, requestedMs, receivedMs } =
    received
  const headers = joined(lines)
  return {
    status,
    // Each answer gets a new `Age`. For an origin with objects, the value has all that the lines say.
    lines: record === undefined ? lines.filter(([name]) => name.toLowerCase() !== 'age') : noLines,
    body,
    sizeBytes,
    record,
    space: received.space,
    host: received.host,
    path,
    tags: record?.tags ?? noTags,
    purgeSequence,
    softSequence: 0,
    checkedSequence: 0,
    checkedHost: '',
    vary: vary.length === 0 ? noLines : vary,
    // For an object the identity takes the place of validators.
    etag: record === undefined ? headers.get('etag') : undefined,
    lastModified: record === undefined ? headers.get('last-modified') : undefined,
    freshMs: lifetime.freshMs,
    staleWhileRevalidateMs: lifetime.staleWhileRevalidateMs,
    staleIfErrorMs: lifetime.staleIfErrorMs,
    receivedMs,
    initialAgeMs: initialAgeMs(headers, requestedMs, receivedMs),
  }
}

const noLines: readonly HeaderLine[] = []
const noTags: readonly string[] = []

/** Replaces stored fields by those of a 304, or of the answer to a HEAD (RFC 9111 sections 3.2 and 4.3.4). */
export function renewVariant(
  variant: Variant,
  update: readonly HeaderLine[],
  times: { readonly requestedMs: number; readonly receivedMs: number; readonly purgeSequence: number },
  policy: CachePolicy,
  record?: StoredRecord,
): { readonly variant: Variant; readonly lifetime: Lifetime } {
  const { status, lines, body, sizeBytes, space, host, path, vary } = variant
  const fields = update.filter(([name]) => !ofTheBytes.has(name.toLowerCase()))
  const replaced = new Set(fields.map(([name]) => name.toLowerCase()))
  const merged = [...lines.filter(([name]) => !replaced.has(name.toLowerCase())), ...fields]
  const lifetime = lifetimeOf({ status, headers: joined(merged) }, policy, times.receivedMs)
  const received = { status, lines: merged, body, sizeBytes, record, space, host, path, vary, lifetime, ...times }
  return { variant: createVariant(received), lifetime }
}

export const ageMs = ({ initialAgeMs, receivedMs }: Variant, nowMs: number) =>
  initialAgeMs + Math.max(0, nowMs - receivedMs)

/** For how many more milliseconds the answer is fresh. It has expired from 0 downwards. */
export const freshForMs = (variant: Variant, nowMs: number) => variant.freshMs - ageMs(variant, nowMs)

/** Whether the answer is never fresh, such as with `no-cache`, and was not purged softly: confirming it changes only its age. */
export const isNeverFresh = ({ freshMs, softSequence }: Variant) => freshMs === 0 && softSequence === 0

export function confirm(variant: Variant, nowMs: number): void {
  variant.receivedMs = nowMs
  variant.initialAgeMs = 0
}

/** Lets the answer expire at the time of a soft purge; its stale windows begin then. */
export function expireAt(variant: Variant, { atMs, number }: { readonly atMs: number; readonly number: number }): void {
  variant.freshMs = Math.min(variant.freshMs, ageMs(variant, atMs))
  variant.softSequence = number
}

/** The request fields that `Vary` names, with their values; white space around commas is ignored. */
export function varyOf(lines: readonly HeaderLine[], request: RequestHeaders): readonly HeaderLine[] {
  const names = (joined(lines).get('vary') ?? '').split(',').map(name => name.trim().toLowerCase())
  return [...new Set(names)].filter(name => name !== '').map(name => [name, varyValue(request, name)])
}

export function findVariant(entry: Entry | undefined, request: RequestHeaders): Variant | undefined {
  if (entry === undefined) return undefined
  // Without `Vary` the one variant answers every request.
  if (!isList(entry) && entry.vary.length === 0) return entry
  return variantsOf(entry).find(({ vary }) => vary.every(([name, value]) => varyValue(request, name) === value))
}

/**
 * The entry with a new variant, which replaces `replaced` and any variant for the same field values. Of more than `variantsMax` variants the oldest
 * are dropped.
 */
export function withVariant(entry: Entry | undefined, variant: Variant, replaced?: Variant): Entry {
  const same = JSON.stringify(variant.vary)
  const others = variantsOf(entry).filter(one => one !== replaced && JSON.stringify(one.vary) !== same)
  return entryOf([variant, ...others].slice(0, variantsMax))
}

function varyValue(request: RequestHeaders, name: string): string {
  // A missing field and an empty one are different values.
  const value = fieldOf(request, name)
  return value === undefined ? '-' : `=${value.trim().replaceAll(/[ \t]*,[ \t]*/g, ',')}`
}
