/** The public surface of the kernel: what `svc/kernel` means. Re-exports only. */
export {
  type ConfigurationKey,
  type ConfigurationRow,
  choices,
  configurationKeys,
  describeConfiguration,
  writeValue,
} from './config-keys.ts'
export { checkValue, parseText } from './config-values.ts'
export * from './errors.ts'
export { exit } from './exit.ts'
export type * from './kernel-service.ts'
export type { LogFormat, Logger, LogLevel } from './log.ts'
export { logFormatKey, logLevelKey } from './log-keys.ts'
export type { MaybePromise } from './maybe-promise.ts'
export * from './plugin.ts'
export type * from './ports.ts'
export type * from './threads.ts'
export * from './units.ts'
export type { BackgroundWorker, WorkerStatus } from './worker.ts'
