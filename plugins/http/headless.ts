/**
 * Connections that have sent no whole head yet. Whoever opens as many as a listener takes, and sends half a head on each, would keep everybody else
 * out: the last sixteenth of the room is kept for new connections, for which the oldest of these are closed.
 */
import type { Socket } from 'node:net'
import type { Connection } from './connection.ts'

export interface Headless {
  /** A new connection; `open` is how many there are with it. */
  add(connection: Connection, socket: Socket, open: number): void
  /** It has sent a head, or is closed. */
  delete(connection: Connection): void
}

export function createHeadless(connectionsMax: number): Headless {
  /** In the order of their coming. */
  const sockets = new Map<Connection, Socket>()
  const openMax = connectionsMax - Math.floor(connectionsMax / 16)
  return {
    add(connection, socket, open) {
      const oldest = open > openMax ? sockets.entries().next().value : undefined
      sockets.set(connection, socket)
      if (oldest === undefined) return
      sockets.delete(oldest[0])
      oldest[1].destroy()
    },
    delete: connection => void sockets.delete(connection),
  }
}
