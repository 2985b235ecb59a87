/**
 * How threads come to share one port. Each front thread binds the port itself (SO_REUSEPORT, the system spreads the
 * connections); when the system is to choose it (port 0), the first thread that asks chooses and the others follow. The main
 * thread remembers the choice, so that a thread that replaces a dead one finds it too.
 */
import type { Threads } from 'svc/kernel'

export interface PortClaims {
  /** The port of the listener as the front threads have bound it; undefined before. Only in the main thread. */
  bound(): number | undefined
  /** Binds a port that is shared by threads: `bind` is called with the port to take, 0 for the one that chooses. */
  claim(port: number, bind: (port: number) => Promise<number>): Promise<number>
}

/** What the main thread answers to a thread that wants to bind. */
type Turn = { readonly port: number }

export function createPortClaims(threads: Threads, name: string): PortClaims {
  const askName = `http.claim-port.${name}`
  const tellName = `http.bound-port.${name}`
  let boundPort: number | undefined
  let choosing = false
  let waiting: ((turn: Turn) => void)[] = []

  /** Gives the port, or the right to choose it; with a thread already choosing, waits for its choice. */
  function ask(port: number): Turn | Promise<Turn> {
    if (boundPort !== undefined) return { port: boundPort }
    if (port !== 0) return { port }
    if (!choosing) {
      choosing = true
      return { port: 0 }
    }
    return new Promise(resolve => waiting.push(resolve))
  }

  /** A thread has bound this port, or has failed to (undefined): then the next one may choose. */
  function tell(port: number | undefined): void {
    choosing = false
    boundPort ??= port
    const turns = waiting
    waiting = []
    if (boundPort !== undefined) for (const resolve of turns) resolve({ port: boundPort })
    else if (turns.length > 0) {
      choosing = true
      turns.shift()?.({ port: 0 })
      waiting = turns
    }
  }

  if (threads.isMain) {
    threads.handle(askName, ask)
    threads.handle(tellName, tell)
  }

  return {
    bound: () => boundPort,
    async claim(port, bind) {
      const turn = threads.isMain ? await ask(port) : await threads.call<Turn>(0, askName, port)
      let taken: number | undefined
      try {
        taken = await bind(turn.port)
        return taken
      } finally {
        // Awaited: the main thread announces the port as soon as every worker serves.
        if (threads.isMain) tell(taken)
        else await threads.call(0, tellName, taken)
      }
    },
  }
}
