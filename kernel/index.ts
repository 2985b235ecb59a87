/** The public surface of the kernel: what `svc/kernel` means. Re-exports only. */
export * from './errors.ts'
export type * from './kernel-service.ts'
export type { Logger } from './log.ts'
export * from './plugin.ts'
export type * from './ports.ts'
export type * from './threads.ts'
export * from './units.ts'
export type { BackgroundWorker, WorkerStatus } from './worker.ts'
