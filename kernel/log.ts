/** The logger of plugins. */
export type { Logger } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFormat = 'json' | 'text'
