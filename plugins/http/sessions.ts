/**
 * Who is too slow, on HTTP/2. A connection on which nothing moves is closed with its streams; a stream whose client takes
 * nothing (its flow-control window stays shut) while others move is reset.
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

/** Bytes that a client may have under way on one connection, all streams together. */
const connectionWindowBytes = 4 << 20
/** A stream shows progress only when a whole chunk has left, so it gets this many send timeouts. */
const streamPatience = 3

export function watchSession(session: ServerHttp2Session, connection: Connection, limits: SessionLimits): void {
  const responses = connection.streams ?? new Set<Http2Response>()
  const stepMs = idleStepMs(limits)
  session.setLocalWindowSize(connectionWindowBytes)

  // Node refreshes this timer with every frame and every chunk sent: it fires when the connection stands still.
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
