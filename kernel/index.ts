/** The public surface of the kernel: the module `svc/kernel`. Re-exports only. */
export {
  type ConfigurationKey,
  type ConfigurationRow,
  checkValue,
  choices,
  configurationKeys,
  describeConfiguration,
  formatDuration,
  formatSize,
  parseDuration,
  parseSize,
  parseText,
  schemaWords,
  suggest,
  writeValue,
} from './config/index.ts'
export * from './errors.ts'
export * from './kernel-service.ts'
export type { LogFormat, Logger, LogLevel } from './log.ts'
export { chain, type MaybePromise, promised, rescue } from './maybe-promise.ts'
export * from './plugin.ts'
export type * from './ports.ts'
export { exit } from './program/exit.ts'
export { logFormatKey, logLevelKey } from './program/log-keys.ts'
export { withOwnMemory } from './threads/own-memory.ts'
export type { Threads } from './threads/threads.ts'
export type { BackgroundWorker, WorkerStatus } from './worker.ts'
