/**
 * Lets all front threads listen on one port. Each thread binds the port itself (SO_REUSEPORT; the system distributes connections). For
 * port 0, where the system chooses a port, the first thread reserves the choice: it binds port 0 and tells the main thread the result,
 * for which the other threads wait. The main thread keeps the port, so that the replacement of a failed thread binds the same one.
 */
import type { Threads } from 'svc/kernel'

export interface PortReservations {
  /** The port of the listener as the front threads have bound it; undefined before. Only in the main thread. */
  bound(): number | undefined
  /** Binds the shared port. `bindHere` is called with the port to bind in this thread: 0 if this thread makes the choice. */
  bind(port: number, bindHere: (port: number) => Promise<number>): Promise<number>
}

/** The main thread's answer to a thread that is about to bind. */
type Turn = { readonly port: number }

export function createPortReservations(threads: Threads, name: string): PortReservations {
  const askName = `http.reserve-port.${name}`
  const tellName = `http.bound-port.${name}`
  let boundPort: number | undefined
  let choosing = false
  let waiting: ((turn: Turn) => void)[] = []

  /** Returns the port, or 0 to let this thread choose it. Waits while another thread chooses. */
  function ask(port: number): Turn | Promise<Turn> {
    if (boundPort !== undefined) return { port: boundPort }
    if (port !== 0) return { port }
    if (!choosing) {
      choosing = true
      return { port: 0 }
    }
    return new Promise(resolve => waiting.push(resolve))
  }

  /** A thread has bound this port, or failed to (undefined): then the next waiting thread chooses. */
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
    async bind(port, bindHere) {
      const turn = threads.isMain ? await ask(port) : await threads.call<Turn>(0, askName, port)
      let taken: number | undefined
      try {
        taken = await bindHere(turn.port)
        return taken
      } finally {
        // Awaited: the main thread announces the port as soon as every worker serves.
        if (threads.isMain) tell(taken)
        else await threads.call(0, tellName, taken)
      }
    },
  }
}
