/**
 * The threads of one process. The main thread (index 0) runs every plugin; with `workers` > 0 that many worker threads run
 * the same plugins again, and the plugins share work through the calls below. With `workers` = 0 the main thread does all.
 */
export interface Threads {
  /** 0 is the main thread, 1… are workers. */
  readonly index: number
  /** How many workers there are; 0 = everything runs in the main thread. */
  readonly workerCount: number
  readonly isMain: boolean
  /** True where requests from outside are to be accepted: in each worker, or in the main thread when it is alone. */
  readonly isFront: boolean
  /** Registers the handler of `call` and `post` with this name in this thread. Once per name, during `setup`. */
  handle<Payload, Result>(name: string, handler: (payload: Payload, from: number) => Result | Promise<Result>): void
  /** Asks a thread; rejects with the handler's error (catalogue errors keep code and status), or when the thread is gone. */
  call<Result>(target: number, name: string, payload?: unknown, transfer?: readonly unknown[]): Promise<Result>
  /** Asks every other running thread; the order of answers is by index. */
  callOthers<Result>(name: string, payload?: unknown): Promise<Result[]>
  /** Tells a thread, without an answer. Messages from one thread to another arrive in order. */
  post(target: number, name: string, payload?: unknown, transfer?: readonly unknown[]): void
  /** Called in the main thread when a worker has ended for any reason, before it is replaced. */
  onExit(listener: (index: number) => void): void
}
