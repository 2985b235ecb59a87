/** The threads of the process: calls among them, and the pool of workers. Re-exports only. */
export { createSingleThread } from './calls.ts'
export { createThreadPool } from './pool.ts'
export type * from './threads.ts'
