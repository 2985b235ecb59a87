/**
 * Scopes the calls between threads by drive, so that a process can have several drives: every message name gets the drive's
 * prefix. Handlers of the kernel's threads can never be removed, so each is registered once and forwards to the current scope. A
 * drive that is created again after a failed start replaces the former scope.
 */
import type { Threads } from 'svc/kernel'

type Handler = (payload: never, from: number) => unknown

interface Scope {
  readonly threads: Threads
  readonly handlers: Map<string, Handler>
  exitListeners: ((index: number) => void)[]
}

/** Returns a function that creates the scope of a prefix. Asking for the same prefix again empties its scope. */
export function createThreadScopes(): (threads: Threads, prefix: string) => Threads {
  const scopes = new WeakMap<Threads, Map<string, Scope>>()
  return (threads, prefix) => {
    let known = scopes.get(threads)
    if (known === undefined) {
      known = new Map()
      scopes.set(threads, known)
    }
    let scope = known.get(prefix)
    if (scope === undefined) {
      scope = createScope(threads, prefix)
      known.set(prefix, scope)
    }
    // The names stay registered with the kernel, which looks up the handler when a message arrives.
    for (const name of scope.handlers.keys()) scope.handlers.set(name, notNow)
    scope.exitListeners = []
    return scope.threads
  }
}

function notNow(): never {
  throw new Error('the drive is being made again')
}

function createScope(threads: Threads, prefix: string): Scope {
  const handlers = new Map<string, Handler>()
  const scope: Scope = {
    handlers,
    exitListeners: [],
    threads: {
      index: threads.index,
      workerCount: threads.workerCount,
      isMain: threads.isMain,
      isFront: threads.isFront,
      handle(name, handler) {
        const isNew = !handlers.has(name)
        handlers.set(name, handler as Handler)
        if (isNew) threads.handle(prefix + name, (payload, from) => handlers.get(name)!(payload as never, from))
      },
      call: (target, name, payload, transfer) => threads.call(target, prefix + name, payload, transfer),
      callOthers: (name, payload) => threads.callOthers(prefix + name, payload),
      post: (target, name, payload, transfer) => threads.post(target, prefix + name, payload, transfer),
      onExit(listener) {
        scope.exitListeners.push(listener)
      },
    },
  }
  threads.onExit(index => {
    for (const listener of scope.exitListeners) listener(index)
  })
  return scope
}
