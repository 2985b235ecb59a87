/**
 * The calls among threads as one drive of several sees them: every name begins with that of the drive. A drive that is made again,
 * because its first start failed, takes the place of the former one: handlers and listeners of threads are for ever, so each is
 * registered once and passes on to whoever has the scope now.
 */
import type { Threads } from 'svc/kernel'

type Handler = (payload: never, from: number) => unknown

interface Scope {
  readonly threads: Threads
  readonly handlers: Map<string, Handler>
  exitListeners: ((index: number) => void)[]
}

/** Returns what makes the scopes of one process's thread; a scope that is asked for again is empty again. */
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
    // Names stay: what is registered with the threads looks for its handler when a message comes.
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
