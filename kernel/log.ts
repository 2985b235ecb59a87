/** What plugins know of logging. */
export type { Logger } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFormat = 'json' | 'text'
