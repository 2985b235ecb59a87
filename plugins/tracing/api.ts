/** Spans of requests for a collector of OpenTelemetry. */

/** How spans are exported; without a collector `enabled` is false and the rest has its defaults. */
export interface TracingStatus {
  readonly enabled: boolean
  /** Without credentials: none can be in it. Empty without a collector. */
  readonly endpoint: string
  readonly protocol: TracingProtocol
  /** 0 to 1: the share of the traces that begin here. */
  readonly sampleRatio: number
}

export type TracingProtocol = 'http/protobuf' | 'grpc'

export interface TracingService {
  status(): TracingStatus
}

/** Stands in for the service if the plugin is not loaded. */
export const noTracing: TracingService = {
  status: () => ({ enabled: false, endpoint: '', protocol: 'http/protobuf', sampleRatio: 0 }),
}

declare module 'svc/kernel' {
  interface Services {
    tracing: TracingService
  }
}
