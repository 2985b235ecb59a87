/** Searches stored data for the signs of needs. Reads records in slices, so that the event loop is not blocked, and keeps only a count. */
import type { MaybePromise } from 'svc/kernel'
import { placeOfRecord, type RecordFeature, recordFeatures } from 'svc/plugins/objects/api'
import type { Cursor, RecordKey } from 'svc/plugins/storage/api'
import { bucketDocuments, globalDocuments, parseDocumentKey } from 'svc/plugins/store/api'
import type { NamedNeed } from './named-need.ts'

/** Reads stored records: `StorageService.scan`, or `peekScan` for a dry run. Undefined if nothing was ever stored. */
export type Scan = <T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T) => MaybePromise<T | undefined>

export interface Evidence {
  /** Number of buckets with the sign, or of documents; for a search that ends with the first match, 1 means at least one. */
  readonly count: number
  /** The first of them. */
  readonly name: string
}

interface Search {
  readonly ranges: readonly (readonly [start: Buffer, end: Buffer])[]
  /** The bucket or the document of this record, if the record has the sign. */
  nameOf(key: Buffer, cursor: Cursor): string | undefined
  /** Whether one match is enough, because there may be any number of records. */
  readonly endsWithFirst: boolean
}

/** Records that are read in one turn of the event loop. */
export const sliceRecords = 2000

/** Whether the search may have to read the record of every object. */
export function isCostly({ sign }: NamedNeed): boolean {
  return sign.kind === 'record' && sign.name.startsWith('object-')
}

/** Undefined if stored data does not have the sign; `unknown` for a sign that this release does not know. */
export async function findEvidence(
  need: NamedNeed,
  scan: Scan,
  sliceMax = sliceRecords,
): Promise<Evidence | 'unknown' | undefined> {
  const search = searchFor(need)
  if (search === undefined) return 'unknown'
  let found: Evidence | undefined
  for (const [first, end] of search.ranges) {
    let start: Buffer | undefined = first
    while (start !== undefined) {
      start = await scan(start, end, cursor => {
        for (let count = 0; cursor.next(); count++) {
          if (count === sliceMax) return Buffer.from(cursor.key)
          const name = search.nameOf(cursor.key, cursor)
          if (name === undefined) continue
          found = { count: (found?.count ?? 0) + 1, name: found?.name ?? name }
          if (search.endsWithFirst) return undefined
        }
        return undefined
      })
      if (found !== undefined && search.endsWithFirst) return found
    }
  }
  return found
}

function searchFor(need: NamedNeed): Search | undefined {
  const { kind, name } = need.sign
  if (kind === 'bucket-document') {
    return {
      ranges: [bucketDocuments()],
      endsWithFirst: false,
      nameOf(key) {
        const place = parseDocumentKey(key)
        return place?.collection === name ? place.id : undefined
      },
    }
  }
  if (kind === 'document') {
    return { ranges: [globalDocuments(name)], endsWithFirst: false, nameOf: key => parseDocumentKey(key)?.id }
  }
  if (kind !== 'record' || !Object.hasOwn(recordFeatures, name)) return undefined
  const { ranges, shows } = recordFeatures[name as RecordFeature]
  return {
    ranges,
    endsWithFirst: isCostly(need),
    nameOf: (key, cursor) => (shows(key, asBuffer(cursor.value)) ? placeOfRecord(key).bucket : undefined),
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Describes the data that was found, as a clause. */
export function describeEvidence({ sign, has }: NamedNeed, evidence: Evidence | 'unknown'): string {
  if (evidence === 'unknown') return `this release cannot tell whether a bucket has ${has}`
  const { count, name } = evidence
  if (sign.kind === 'document') {
    return count === 1 ? `there is the ${has} "${name}"` : `there are ${count} ${has}s, "${name}" among them`
  }
  if (count === 1) return `the bucket "${name}" has ${has}`
  return `${count} buckets have ${has}, "${name}" among them`
}
