/**
 * Server-sent events (WHATWG HTML, section 9.2). A stream ends when its client disconnects, its session ends or the server drains, and at
 * the first heartbeat at which its caller would not be allowed to open it again. A client that reads too slowly loses events and gets their
 * number; it delays no other client.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from 'svc/kernel'
import type { EventSink, EventSource } from './api.ts'

export const eventStreamType = 'text/event-stream'

/** Bytes that may wait for a slow client. */
export const backlogBytesMax = 256 * 1024
/**
 * Bytes that may come in one turn of the event loop for a client that was not slow at its begin: other threads send their events in batches,
 * and nothing leaves before the turn has ended.
 */
const turnBytesMax = 2 * 1024 * 1024
export const heartbeatMs = 15_000

export interface EventStreams {
  /**
   * Begins the answer. Throws the errors of `source.open`, without an answer. `mayGoOn` is called at each heartbeat; a rejection ends the
   * stream.
   */
  open(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    source: EventSource,
    mayGoOn?: () => Promise<boolean>,
  ): OpenStream
  /** Ends all streams, including those that are opened later. */
  close(): void
}

export interface OpenStream {
  end(): void
}

export function createEventStreams(node: string, clock: Clock): EventStreams {
  const open = new Set<() => void>()
  let closed = false

  return {
    open(response, headers, source, mayGoOn) {
      let sequence = 0
      let droppedHere = 0
      let droppedTold = 0
      let ended = false
      let cancelHeartbeat: (() => void) | undefined

      const dropped = (): number => droppedHere + (subscription.dropped ?? 0)

      function write(event: string, data: unknown): void {
        response.write(`event: ${event}\nid: ${node}-${sequence++}\ndata: ${JSON.stringify(data)}\n\n`)
      }

      function tellDropped(): void {
        const total = dropped()
        if (total === droppedTold) return
        write('dropped', { count: total - droppedTold })
        droppedTold = total
      }

      /** Of this turn of the event loop; undefined: no event has come in it. */
      let waitingMax: number | undefined

      function isBehind(): boolean {
        if (waitingMax === undefined) {
          waitingMax = response.writableLength > backlogBytesMax ? backlogBytesMax : turnBytesMax
          setImmediate(() => {
            waitingMax = undefined
          })
        }
        return response.writableLength > waitingMax
      }

      const sink: EventSink = {
        send(event, data) {
          if (ended) return
          if (isBehind()) {
            droppedHere++
            return
          }
          tellDropped()
          write(event, data)
        },
      }

      function beat(): void {
        if (mayGoOn === undefined) pulse()
        else mayGoOn().then(yes => (yes ? pulse() : end()), end)
      }

      function pulse(): void {
        if (ended) return
        if (response.writableLength <= backlogBytesMax) {
          tellDropped()
          response.write(': \n\n')
        }
        cancelHeartbeat = clock.after(heartbeatMs, beat)
      }

      function end(): void {
        if (ended) return
        ended = true
        open.delete(end)
        cancelHeartbeat?.()
        subscription.end()
        response.end()
      }

      let begun = false
      const early: [event: string, data: unknown][] = []
      const subscription = source.open({
        send: (event, data) => {
          if (begun) sink.send(event, data)
          else if (early.length < earlyMax) early.push([event, data])
          else droppedHere++
        },
      })
      begun = true
      // Not only written: whoever looks at the answer's end asks for it.
      response.setHeader('content-type', eventStreamType)
      response.writeHead(200, headers)
      // Sends the head at once: a client must know that it is connected before the first event.
      response.write(': \n\n')
      for (const [event, data] of early) sink.send(event, data)
      open.add(end)
      response.on('close', end)
      cancelHeartbeat = clock.after(heartbeatMs, beat)
      if (closed || response.destroyed) end()
      return { end }
    },

    close() {
      closed = true
      for (const end of [...open]) end()
    },
  }
}

/** Events that `open` itself may send, for example the last log lines. */
const earlyMax = 1000
