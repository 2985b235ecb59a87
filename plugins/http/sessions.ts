/**
 * Slow clients on HTTP/2. A connection without progress is closed with its streams. If a client does not read one stream (its flow-control
 * window stays closed) while others make progress, that stream is reset.
 */
import { constants, type ServerHttp2Session } from 'node:http2'
import type { Connection } from './connection.ts'
import type { Http2Response } from './response.ts'
import { countSilence, idleStepMs } from './timeouts.ts'

export interface SessionLimits {
  readonly bodyTimeoutMs: number
  readonly sendTimeoutMs: number
  readonly keepAliveTimeoutMs: number
}

/** Maximum number of unread bytes of a client on one connection, for all streams together. */
const connectionWindowBytes = 4 << 20
/** A stream shows progress only after a whole chunk was sent, so it may take this many send timeouts. */
const streamPatience = 3

export function watchSession(session: ServerHttp2Session, connection: Connection, limits: SessionLimits): void {
  const responses = connection.streams ?? new Set<Http2Response>()
  const stepMs = idleStepMs(limits)
  session.setLocalWindowSize(connectionWindowBytes)

  // Node.js restarts this timer with every frame and every sent chunk: it fires if the connection makes no progress.
  session.on('timeout', () => {
    countSilence(connection, session.socket, stepMs)
    if (responses.size === 0) {
      if (connection.idleMs >= limits.keepAliveTimeoutMs) return session.close()
    } else if (isStuck(responses, connection.idleMs, limits)) {
      return session.destroy()
    }
    session.setTimeout(stepMs)
  })

  const sweep = setInterval(() => resetStalledStreams(responses, stepMs, limits.sendTimeoutMs), stepMs)
  sweep.unref()
  session.on('close', () => clearInterval(sweep))
}

function isStuck(responses: Set<Http2Response>, quietMs: number, limits: SessionLimits): boolean {
  for (const { stream, req } of responses) {
    if (stream.writableLength > 0 && quietMs >= limits.sendTimeoutMs) return true
    const wantsBody = !req.complete && req.readableFlowing !== null && !req.isPaused() && req.readableLength === 0
    if (wantsBody && quietMs >= limits.bodyTimeoutMs) return true
  }
  return false
}

function resetStalledStreams(responses: Set<Http2Response>, stepMs: number, sendTimeoutMs: number): void {
  for (const response of responses) {
    const { stream } = response
    const flushedBytes = response.writtenBytes - stream.writableLength
    const moved = stream.writableLength === 0 || flushedBytes !== response.flushedBytes
    response.stalledMs = moved ? 0 : response.stalledMs + stepMs
    response.flushedBytes = flushedBytes
    if (response.stalledMs >= streamPatience * sendTimeoutMs) stream.close(constants.NGHTTP2_CANCEL)
  }
}
