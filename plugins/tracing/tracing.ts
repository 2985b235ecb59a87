/** All that runs with a collector; loaded only then. */
import type { KernelService, Logger, Ports } from 'svc/kernel'
import type { HttpClientService } from 'svc/plugins/http-client/api'
import type { TracingConfig } from './config.ts'
import { createExporter, type SpanResult } from './exporter.ts'
import { createGrpcSender } from './grpc-sender.ts'
import { readHeaders } from './headers.ts'
import { createHttpSender } from './http-sender.ts'
import { resourceAttributesOf } from './resource.ts'
import type { RequestRecord } from './span.ts'
import { createTracer } from './tracer.ts'

export interface TracingOptions {
  readonly config: TracingConfig & { readonly endpoint: string }
  readonly kernel: KernelService
  readonly httpClient: HttpClientService
  readonly ports: Ports
  readonly log: Logger
  count(result: SpanResult, spans: number): void
}

export interface Tracing {
  observe(record: RequestRecord): void
  stop(): Promise<void>
}

export function startTracing({ config, kernel, httpClient, ports, log, count }: TracingOptions): Tracing {
  const { endpoint, protocol, headers, timeoutMs, certificate = '', sampleRatio } = config
  const options = { endpoint, headers: readHeaders(headers), timeoutMs, authoritiesFile: certificate }
  const sender =
    protocol === 'grpc'
      ? createGrpcSender({ ...options, guard: httpClient.guard('private'), clock: ports.clock })
      : createHttpSender(httpClient, options)
  const { version } = kernel
  const resource = { attributes: resourceAttributesOf({ ...config, version }), version }
  const exporter = createExporter({ sender, resource, ...ports, log, count })
  return { observe: createTracer(exporter, ports.random, sampleRatio), stop: exporter.stop }
}
