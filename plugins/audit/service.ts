/** The ring of the last requests, and the way of each record to log and sinks. */
import { hostname } from 'node:os'
import type { Clock, Contribution, Logger, Threads } from 'svc/kernel'
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import type { AuditRecord, AuditService, AuditSink } from './api.ts'
import { createLineWriter } from './log-line.ts'
import { auditRecordOf, isAudited, type RequestRecord } from './record.ts'

export const ringRecords = 10_000

export interface RunningAuditService extends AuditService {
  observeS3(record: S3RequestRecord): void
  observeHttp(record: HttpRequestRecord): void
}

export interface AuditServiceOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly threads: Threads
  /** Called after set-up. */
  readonly sinks: () => readonly Contribution<AuditSink>[]
}

export function createAuditService({ log, clock, threads, sinks }: AuditServiceOptions): RunningAuditService {
  const node = hostname()
  const writeLine = createLineWriter(log, node)
  // Records of requests and their times side by side: the audit form is made when somebody asks.
  const ring: RequestRecord[] = []
  const times: number[] = []
  let next = 0
  let targets: readonly Contribution<AuditSink>[] | undefined

  function keep(record: RequestRecord, timeMs: number): void {
    ring[next] = record
    times[next] = timeMs
    next = next + 1 === ringRecords ? 0 : next + 1
  }

  function observe(record: RequestRecord): void {
    const timeMs = clock.now()
    writeLine(record, timeMs)
    keep(record, timeMs)
    targets ??= sinks()
    if (targets.length > 0) send(auditRecordOf(record, node, timeMs), targets)
  }

  function send(record: AuditRecord, list: readonly Contribution<AuditSink>[]): void {
    for (const { id, value } of list) {
      try {
        value.send(record)
      } catch (error) {
        log.error({ err: error, sink: id }, 'audit sink failed')
      }
    }
  }

  /** Newest first. */
  function ownRecent(limit: number): AuditRecord[] {
    const records: AuditRecord[] = []
    for (let back = 1; back <= ring.length && records.length < limit; back++) {
      const index = (next - back + ring.length) % ring.length
      records.push(auditRecordOf(ring[index], node, times[index]))
    }
    return records
  }

  threads.handle('audit.recent', ownRecent)

  return {
    observeS3: observe,
    observeHttp(record) {
      if (isAudited(record)) observe(record)
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
