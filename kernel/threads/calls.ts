/**
 * Calls among threads, apart from how messages travel: names to handlers, calls to answers, errors to messages and back.
 * Every thread has one of these; `send` puts an envelope on its way.
 */
import { CatalogError, defineErrors } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Threads } from './threads.ts'

export const threadErrors = defineErrors({
  thread_gone: { status: 503, title: 'The thread that was asked has ended.' },
})

/** A message between threads. Answers carry the id of their call and go from its target to its origin. */
export interface Envelope {
  readonly kind: 'post' | 'call' | 'result' | 'error'
  readonly to: number
  readonly from: number
  readonly id: number
  readonly name: string
  readonly payload: unknown
  /** Objects that are moved instead of copied: repeated here for the main thread, which forwards envelopes between workers. */
  readonly transfer: readonly unknown[] | undefined
}

export interface ThreadCallsOptions {
  readonly index: number
  readonly workerCount: number
  /** Returns false when the target is not there; throws DataCloneError when the payload cannot be sent. */
  readonly send: (envelope: Envelope) => boolean
  readonly log: Logger
}

export interface ThreadCalls {
  readonly threads: Threads
  /** Takes an envelope that has arrived for this thread. */
  dispatch(envelope: Envelope): void
  /** The threads that can be called, besides this one. */
  readonly running: Set<number>
  /** Fails every call that waits for this thread. */
  forget(index: number): void
  /** Tells the listeners of `onExit`. */
  exited(index: number): void
}

interface PendingCall {
  readonly to: number
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

type Handler = (payload: unknown, from: number) => unknown

export function createThreadCalls({ index, workerCount, send, log }: ThreadCallsOptions): ThreadCalls {
  const handlers = new Map<string, Handler>()
  const pending = new Map<number, PendingCall>()
  const exitListeners: ((index: number) => void)[] = []
  const running = new Set<number>()
  let lastId = 0

  /** Ends with the handler's result or error, at once if it answers at once. */
  const run = (
    { name, payload, from }: Pick<Envelope, 'name' | 'payload' | 'from'>,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ): void => {
    try {
      const handler = handlers.get(name)
      if (handler === undefined) throw new Error(`thread ${index} has no handler for "${name}"`)
      const result = handler(payload, from)
      if (result instanceof Promise) result.then(resolve, reject)
      else resolve(result)
    } catch (error) {
      reject(error)
    }
  }

  const runPost = (post: Pick<Envelope, 'name' | 'payload' | 'from'>): void =>
    run(
      post,
      () => {},
      error => log.error({ err: error, name: post.name, from: post.from }, 'message handler failed'),
    )

  const runCall = (call: Envelope): void => {
    const head = { to: call.from, from: index, id: call.id, name: call.name, transfer: undefined }
    const refuse = (error: unknown) => send({ ...head, kind: 'error', payload: packError(error) })
    const answer = (payload: unknown) => {
      try {
        send({ ...head, kind: 'result', payload })
      } catch (error) {
        // The result cannot be cloned: that is the handler's defect, and the caller must not wait for ever.
        refuse(error)
      }
    }
    run(call, answer, refuse)
  }

  const post: Threads['post'] = (to, name, payload, transfer) => {
    if (to === index) queueMicrotask(() => runPost({ name, payload, from: index }))
    else send({ kind: 'post', to, from: index, id: 0, name, payload, transfer })
  }

  const call = (to: number, name: string, payload?: unknown, transfer?: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (to === index) {
        queueMicrotask(() => run({ name, payload, from: index }, resolve, reject))
        return
      }
      const id = ++lastId
      // `send` may throw: it must do so before the call is remembered.
      if (send({ kind: 'call', to, from: index, id, name, payload, transfer })) pending.set(id, { to, resolve, reject })
      else reject(threadErrors.thread_gone(`Thread ${to} is not running.`))
    })

  const threads: Threads = {
    index,
    workerCount,
    isMain: index === 0,
    isFront: index > 0 || workerCount === 0,
    handle(name, handler) {
      if (handlers.has(name)) throw new Error(`"${name}" has two handlers in thread ${index}`)
      handlers.set(name, handler as Handler)
    },
    call: call as Threads['call'],
    async callOthers<Result>(name: string, payload?: unknown) {
      const targets = [...running].filter(other => other !== index).sort((a, b) => a - b)
      // A thread that ends while it is asked is no longer one of the running threads, so it has no answer to give.
      const answers = await Promise.all(
        targets.map(target =>
          call(target, name, payload).catch(error => {
            if (error instanceof CatalogError && error.code === 'thread_gone') return threadErrors
            throw error
          }),
        ),
      )
      return answers.filter(result => result !== threadErrors) as Result[]
    },
    post,
    onExit(listener) {
      exitListeners.push(listener)
    },
  }

  return {
    threads,
    running,
    dispatch(envelope) {
      if (envelope.kind === 'post') runPost(envelope)
      else if (envelope.kind === 'call') runCall(envelope)
      else {
        const waiting = pending.get(envelope.id)
        // An answer without a call: the call was failed when its target was declared gone.
        if (waiting === undefined) return
        pending.delete(envelope.id)
        if (envelope.kind === 'result') waiting.resolve(envelope.payload)
        else waiting.reject(unpackError(envelope.payload as ReturnType<typeof packError>, envelope.from))
      }
    },
    forget(target) {
      running.delete(target)
      for (const [id, waiting] of pending) {
        if (waiting.to !== target) continue
        pending.delete(id)
        waiting.reject(threadErrors.thread_gone(`Thread ${target} has ended.`))
      }
    },
    exited(target) {
      for (const listener of exitListeners) listener(target)
    },
  }
}

/** An error as plain data: structured clone would drop the class and the fields of a declared error. */
export function packError(thrown: unknown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { name, message, stack } = error
  const { status, extra } = error instanceof CatalogError ? error : {}
  const { code } = error as { code?: unknown }
  return { name, message, stack, code: typeof code === 'string' ? code : undefined, status, extra }
}

/** The error again: a CatalogError when it was one, with the stack of the thread where it was thrown. */
export function unpackError(packed: ReturnType<typeof packError>, from: number): Error {
  const { name, message, code, status, extra } = packed
  const error =
    status === undefined
      ? Object.assign(new Error(message), { name }, code && { code })
      : new CatalogError(code ?? name, status, message, { extra })
  error.stack = `${packed.stack ?? message}\n    in thread ${from}`
  return error
}

/** The threads of a process that has only one: for tests and for commands. */
export function createSingleThread(log: Logger): Threads {
  return createThreadCalls({ index: 0, workerCount: 0, send: () => false, log }).threads
}
