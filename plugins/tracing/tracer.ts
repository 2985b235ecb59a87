/** Decides which requests have spans. */
import type { Random } from 'svc/kernel'
import type { Exporter } from './exporter.ts'
import { createSpanIds } from './ids.ts'
import { isTraced, type RequestRecord, spanOf } from './span.ts'
import { readTraceParent } from './trace-context.ts'

/** An observer of finished requests. Whoever sampled the trace of a request has decided for it. */
export function createTracer(exporter: Exporter, random: Random, sampleRatio: number): (record: RequestRecord) => void {
  const ids = createSpanIds(random)
  return record => {
    if (!isTraced(record)) return
    const { request } = record
    const parent = request === undefined ? undefined : readTraceParent(request.headers)
    const isSampled = parent === undefined ? sampleRatio >= 1 || random.float() < sampleRatio : parent.isSampled
    if (isSampled && exporter.hasRoom()) exporter.add(spanOf(record, parent, ids))
  }
}
