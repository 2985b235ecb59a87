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

export type EnvelopeKind = 'post' | 'call' | 'result' | 'error'

/** What travels between threads. Answers carry the id of their call and go from its target to its origin. */
export interface Envelope {
  readonly kind: EnvelopeKind
  readonly to: number
  readonly from: number
  readonly id: number
  readonly name: string
  readonly payload: unknown
  /** What moves instead of being copied: repeated here for the main thread, which passes envelopes on among workers. */
  readonly transfer: readonly unknown[] | undefined
}

/** Returns false when the target is not there; throws DataCloneError when the payload cannot be sent. */
export type SendEnvelope = (envelope: Envelope) => boolean

export interface ThreadCallsOptions {
  readonly index: number
  readonly workerCount: number
  readonly send: SendEnvelope
  readonly log: Logger
}

export interface ThreadCalls {
  readonly threads: Threads
  /** Takes an envelope that has arrived for this thread. */
  dispatch(envelope: Envelope): void
  /** Who can be asked, beside this thread itself. */
  readonly running: Set<number>
  /** Fails every call that waits for this thread. */
  forget(index: number): void
  /** Tells the listeners of `onExit`. */
  exited(index: number): void
}

interface PendingCall {
  readonly target: number
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

  const handlerOf = (name: string): Handler => {
    const handler = handlers.get(name)
    if (handler === undefined) throw new Error(`thread ${index} has no handler for "${name}"`)
    return handler
  }

  const answer = (call: Envelope, kind: EnvelopeKind, payload: unknown): void => {
    const envelope = { kind, to: call.from, from: index, id: call.id, name: call.name, payload, transfer: undefined }
    try {
      send(envelope)
    } catch (error) {
      // The result cannot be cloned: that is the handler's defect, and the caller must not wait for ever.
      send({ ...envelope, kind: 'error', payload: packError(error) })
    }
  }

  const post: Threads['post'] = (target, name, payload, transfer) => {
    if (target === index) {
      queueMicrotask(() => runPost(name, payload, index))
      return
    }
    send({ kind: 'post', to: target, from: index, id: 0, name, payload, transfer })
  }

  const runPost = (name: string, payload: unknown, from: number): void => {
    try {
      const result = handlerOf(name)(payload, from)
      if (result instanceof Promise)
        result.catch(error => log.error({ err: error, name, from }, 'message handler failed'))
    } catch (error) {
      log.error({ err: error, name, from }, 'message handler failed')
    }
  }

  const call = (target: number, name: string, payload?: unknown, transfer?: readonly unknown[]): Promise<unknown> => {
    if (target === index) return Promise.resolve().then(() => handlerOf(name)(payload, index))
    return new Promise((resolve, reject) => {
      const id = ++lastId
      // `send` may throw: it must do so before the call is remembered.
      if (!send({ kind: 'call', to: target, from: index, id, name, payload, transfer })) {
        reject(threadErrors.thread_gone(`Thread ${target} is not running.`))
        return
      }
      pending.set(id, { target, resolve, reject })
    })
  }

  const runCall = (envelope: Envelope): void => {
    try {
      const result = handlerOf(envelope.name)(envelope.payload, envelope.from)
      if (result instanceof Promise) {
        result.then(
          value => answer(envelope, 'result', value),
          error => answer(envelope, 'error', packError(error)),
        )
      } else answer(envelope, 'result', result)
    } catch (error) {
      answer(envelope, 'error', packError(error))
    }
  }

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
      if (envelope.kind === 'post') runPost(envelope.name, envelope.payload, envelope.from)
      else if (envelope.kind === 'call') runCall(envelope)
      else {
        const waiting = pending.get(envelope.id)
        // An answer without a call: the call was failed when its target was declared gone.
        if (waiting === undefined) return
        pending.delete(envelope.id)
        if (envelope.kind === 'result') waiting.resolve(envelope.payload)
        else waiting.reject(unpackError(envelope.payload as PackedError, envelope.from))
      }
    },
    forget(target) {
      running.delete(target)
      for (const [id, waiting] of pending) {
        if (waiting.target !== target) continue
        pending.delete(id)
        waiting.reject(threadErrors.thread_gone(`Thread ${target} has ended.`))
      }
    },
    exited(target) {
      for (const listener of exitListeners) listener(target)
    },
  }
}

interface PackedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
  readonly status: number | undefined
  readonly extra: Readonly<Record<string, string>> | undefined
}

/** An error as plain data: structured clone would drop the class and the fields of a declared error. */
export function packError(thrown: unknown): PackedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const catalogued = error instanceof CatalogError ? error : undefined
  const code = (error as NodeJS.ErrnoException).code
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    code: typeof code === 'string' ? code : undefined,
    status: catalogued?.status,
    extra: catalogued?.extra,
  }
}

/** The error again: a CatalogError when it was one, with the stack of the thread where it was thrown. */
export function unpackError(packed: PackedError, from: number): Error {
  const error =
    packed.status === undefined
      ? new Error(packed.message)
      : new CatalogError(packed.code ?? packed.name, packed.status, packed.message, { extra: packed.extra })
  if (packed.status === undefined) {
    error.name = packed.name
    if (packed.code !== undefined) Object.assign(error, { code: packed.code })
  }
  error.stack = `${packed.stack ?? packed.message}\n    in thread ${from}`
  return error
}

/** The threads of a process that has only one: for tests and for commands. */
export function createSingleThread(log: Logger): Threads {
  return createThreadCalls({ index: 0, workerCount: 0, send: () => false, log }).threads
}
