/** The last log lines of this node, and a live stream of new ones. */

export const logLevels = ['debug', 'info', 'warn', 'error', 'fatal'] as const
export type LineLevel = (typeof logLevels)[number]

/** A line with its own keys beside these. Lines are written without secrets. */
export interface LogLine {
  /** ISO 8601. */
  readonly time: string
  readonly node: string
  readonly level: LineLevel
  /** The plugin that wrote it; `kernel` where none did. */
  readonly component: string
  readonly msg: string
  readonly requestId?: string
  readonly [key: string]: unknown
}

/** Everything that is set must hold. */
export interface LogFilter {
  /** The least important level that is wanted. */
  readonly level?: LineLevel
  readonly component?: string
  /** False leaves out audit records, of which there is one for each request. */
  readonly audit?: boolean | undefined
}

export interface LogSubscription {
  /** Lines that this subscription lost because they came faster than they could be handed over. */
  readonly dropped: number
  end(): void
}

export interface LogsService {
  /**
   * Calls the listener with each matching line of every thread, in the order in which they were written, the last `last` (at most 1000)
   * that have been written first. It must return quickly and must not throw.
   */
  subscribe(filter: LogFilter, last: number, listener: (line: LogLine) => void): LogSubscription
}

declare module 'svc/kernel' {
  interface Services {
    logs: LogsService
  }
}
