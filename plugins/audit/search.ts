/**
 * Searches the ring. Each thread searches its own lines, a slice at a time, and sends at most `limit` matches: ten thousand records are
 * never parsed at once, and never sent from thread to thread.
 */
import type { AuditRecord } from './api.ts'
import type { LineRing } from './line-ring.ts'
import { recordOfLine } from './log-line.ts'

/** Plain data, for messages to other threads. Times are ISO 8601, as in the records, whose texts compare like their times. */
export interface AuditSearch {
  /** Access key, or name of the user. */
  readonly user?: string
  /** Name of the operation, whatever its case: S3 says `DeleteObjects`, the Admin API `deleteObjects`. A trailing `*` matches any rest. */
  readonly action?: string
  readonly bucket?: string
  readonly since?: string
  readonly until?: string
  readonly errors?: boolean
  /** Without reads that were not refused. */
  readonly changes?: boolean
  /** `403`, `5xx`. */
  readonly statuses?: readonly string[]
  readonly requestId?: string
  readonly node?: string
  /** Only records behind this one in the order of the search. */
  readonly after?: { readonly time: string; readonly requestId: string }
  readonly limit: number
}

export interface AuditMatches {
  /** Newest first, at most `limit`. */
  readonly items: readonly AuditRecord[]
  readonly isMore: boolean
  /** The time of the oldest record in the ring; undefined when it is empty. */
  readonly oldest: string | undefined
}

/** Lines that block the thread, at most. */
const linesPerTurn = 100

export async function searchRing(ring: LineRing, search: AuditSearch): Promise<AuditMatches> {
  const items: AuditRecord[] = []
  let isMore = false
  let oldest: string | undefined
  let seen = 0
  for (const lines of ring.slices()) {
    for (const line of lines) {
      oldest = line
      if (!isMore && mayMatch(line, search)) {
        const record = recordOfLine(line)
        if (matches(record, search)) {
          // Keeps all records of the last millisecond, because ids order them and the ring has the order in which they ended.
          if (items.length < search.limit || items.at(-1)?.time === record.time) items.push(record)
          else isMore = true
        }
      }
      if (++seen % linesPerTurn === 0) await new Promise(setImmediate)
    }
  }
  return {
    items: items.sort(compareRecords).slice(0, search.limit),
    isMore: isMore || items.length > search.limit,
    oldest: oldest === undefined ? undefined : recordOfLine(oldest).time,
  }
}

/** Newest first; of records of one millisecond, by their ids. */
export function compareRecords(a: Pick<AuditRecord, 'time' | 'requestId'>, b: Pick<AuditRecord, 'time' | 'requestId'>) {
  if (a.time !== b.time) return a.time < b.time ? 1 : -1
  return a.requestId < b.requestId ? 1 : a.requestId > b.requestId ? -1 : 0
}

/** Merges the matches of all threads and keeps the newest. */
export function mergeMatches(found: readonly AuditMatches[], limit: number): AuditMatches {
  const all = found.flatMap(({ items }) => items).sort(compareRecords)
  const times = found.flatMap(({ oldest }) => oldest ?? []).sort()
  return {
    items: all.slice(0, limit),
    isMore: all.length > limit || found.some(({ isMore }) => isMore),
    oldest: times[0],
  }
}

/** A check without parsing: the line must contain these texts. Skips texts that JSON may escape. */
function mayMatch(line: string, { requestId, action, bucket }: AuditSearch): boolean {
  if (requestId !== undefined && !line.includes(requestId)) return false
  if (bucket !== undefined && isPlain(bucket) && !line.includes(bucket)) return false
  const name = action?.endsWith('*') ? action.slice(0, -1) : action
  return name === undefined || !isPlain(name) || line.toLowerCase().includes(name.toLowerCase())
}

const isPlain = (text: string): boolean => /^[\w.-]*$/.test(text)

const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Operations say by the tag that they changed nothing. */
const isRead = ({ method, tags }: AuditRecord): boolean => readMethods.has(method) || tags.changes === 'none'

/** Statuses of requests that the caller may not make. A read that finds nothing is no refusal. */
const refusals: ReadonlySet<number> = new Set([401, 403])

function matches(record: AuditRecord, search: AuditSearch): boolean {
  const { user, action, bucket, since, until, errors, changes, statuses, requestId, node, after } = search
  return (
    (user === undefined || record.identity.accessKey === user || record.identity.user === user) &&
    (action === undefined || matchesName(action, record.api)) &&
    (bucket === undefined || record.bucket === bucket) &&
    (since === undefined || record.event_time >= since) &&
    (until === undefined || record.event_time <= until) &&
    (errors !== true || record.status >= 400) &&
    (changes !== true || !isRead(record) || refusals.has(record.status)) &&
    (statuses === undefined || statuses.some(wanted => matchesStatus(wanted, record.status))) &&
    (requestId === undefined || record.requestId === requestId) &&
    (node === undefined || record.node === node) &&
    (after === undefined || compareRecords(after, record) < 0)
  )
}

function matchesName(given: string, api: string): boolean {
  const [wanted, name] = [given.toLowerCase(), api.toLowerCase()]
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}

function matchesStatus(wanted: string, status: number): boolean {
  return wanted === String(status) || wanted === `${Math.floor(status / 100)}xx`
}
