/** The ring of the last requests; writes each record to the log and the targets. */
import type { Clock, Logger, Threads } from 'svc/kernel'
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import type { AuditMatches, AuditRecord, AuditSearch, AuditService } from './api.ts'
import { createLineRing } from './line-ring.ts'
import { createLineFormat, createLineWriter, createShortLineFormat, isPlainRead, recordOfLine } from './log-line.ts'
import { isAudited, type RequestRecord } from './record.ts'
import { mergeMatches, searchRing } from './search.ts'

export const ringRecords = 10_000
/** An ordinary record takes about 600 bytes; one with the longest names ten times as much. */
const ringBytesMax = 32 * 1024 * 1024

export interface RunningAuditService extends Omit<AuditService, 'targets'> {
  observeS3(record: S3RequestRecord): void
  observeHttp(record: HttpRequestRecord): void
}

export interface AuditServiceOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly threads: Threads
  /** Name of this node, in every record. */
  readonly node: string
  readonly outlet: AuditOutlet
}

/** The way from a thread to the targets. */
export interface AuditOutlet {
  /** Whether a target is enabled. Checked for each record, so that records cost nothing without targets. */
  readonly isOpen: boolean
  /** Takes a line of the log at once; never throws. */
  add(line: string, requestId: string): void
}

export function createAuditService({ log, clock, threads, node, outlet }: AuditServiceOptions): RunningAuditService {
  const format = createLineFormat(node)
  const shortFormat = createShortLineFormat()
  const writeLine = createLineWriter(log)
  const ring = createLineRing(ringRecords, ringBytesMax)

  function observe(record: RequestRecord): void {
    const nowMs = clock.now()
    const line = format(record, nowMs)
    writeLine(isPlainRead(record) ? shortFormat(record, nowMs) : line)
    ring.push(line)
    if (outlet.isOpen) outlet.add(line, record.requestId)
  }

  const ownRecent = (limit: number): AuditRecord[] => ring.newest(limit).map(recordOfLine)
  threads.handle('audit.recent', ownRecent)
  const ownMatches = (search: AuditSearch) => searchRing(ring, search)
  threads.handle('audit.search', ownMatches)

  return {
    observeS3: observe,
    observeHttp(record) {
      if (isAudited(record)) observe(record)
    },
    async search(search) {
      const others = threads.callOthers<AuditMatches>('audit.search', search)
      return mergeMatches([await ownMatches(search), ...(await others)], search.limit)
    },
    async recent(limit) {
      const bounded = Math.max(0, Math.min(limit, ringRecords))
      const others = await threads.callOthers<AuditRecord[]>('audit.recent', bounded)
      const all = ownRecent(bounded).concat(...others)
      if (others.length > 0) all.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
      return all.slice(0, bounded)
    },
  }
}
