/** The trace context of a request. Source: W3C Trace Context, level 1. */
import type { IncomingHttpHeaders } from 'node:http'

export interface TraceParent {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 hexadecimal digits, not all zero. */
  readonly spanId: string
  readonly isSampled: boolean
  /** The state as received; empty if it has more than 512 characters. */
  readonly state: string
}

const form = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const stateCharsMax = 512
const stateForm = /^[\x20-\x7e]*$/

/** Undefined if a request has no parent, or a malformed header: then it begins a trace. */
export function readTraceParent(headers: IncomingHttpHeaders): TraceParent | undefined {
  const text = headers.traceparent
  if (typeof text !== 'string' || text.length > stateCharsMax) return undefined
  const found = form.exec(text)
  if (found === null) return undefined
  const [, version, traceId, spanId, flags, more] = found
  // Later versions may add something, this one may not.
  if (version === '00' && more !== undefined) return undefined
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined
  const { tracestate } = headers
  const state = Array.isArray(tracestate) ? tracestate.join(',') : (tracestate ?? '')
  return {
    traceId: traceId!,
    spanId: spanId!,
    isSampled: (Number.parseInt(flags!, 16) & 1) === 1,
    state: state.length <= stateCharsMax && stateForm.test(state) ? state : '',
  }
}
