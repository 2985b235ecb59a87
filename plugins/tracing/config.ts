/** Variables of OpenTelemetry that other programs read too are looked at only where a collector is set. */
import { type Static, Type } from 'typebox'
import { endpointProblem } from './endpoint.ts'
import { headersProblem } from './headers.ts'
import { readNameValues } from './name-values.ts'

export const TracingConfig = Type.Object({
  endpoint: Type.Optional(
    Type.String({
      variable: 'SVC_OTEL_EXPORTER_OTLP_ENDPOINT',
      environmentOnly: true,
      description:
        'Collector for traces: a base URL for http/protobuf, to which /v1/traces is added where it is missing; host:port or a URL for grpc. Without it there is no tracing.',
    }),
  ),
  protocol: Type.Union([Type.Literal('http/protobuf'), Type.Literal('grpc')], {
    variable: 'SVC_OTEL_EXPORTER_OTLP_PROTOCOL',
    environmentOnly: true,
    default: 'http/protobuf',
    description: 'How the collector is spoken to.',
  }),
  sampleRatio: Type.Number({
    variable: 'SVC_OTEL_TRACES_SAMPLER_ARG',
    environmentOnly: true,
    minimum: 0,
    maximum: 1,
    default: 1,
    description:
      'Fraction of the traces that begin at this server, 0 to 1. A request whose traceparent is sampled is always recorded.',
  }),
  headers: Type.Optional(
    Type.String({
      variable: 'OTEL_EXPORTER_OTLP_HEADERS',
      secret: true,
      description: 'Headers of requests to the collector, as name=value,name=value with percent-encoded values.',
    }),
  ),
  timeoutMs: Type.Integer({
    variable: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    environmentOnly: true,
    minimum: 1,
    maximum: 600_000,
    default: 10_000,
    format: 'duration',
    description: 'Timeout of one request to the collector; plain numbers are milliseconds.',
  }),
  certificate: Type.Optional(
    Type.String({
      variable: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
      environmentOnly: true,
      description: 'PEM file with the authorities that the collector’s certificate is checked with.',
    }),
  ),
  serviceName: Type.Optional(
    Type.String({
      variable: 'OTEL_SERVICE_NAME',
      environmentOnly: true,
      description: 'Name of the service in traces; svc if neither this nor OTEL_RESOURCE_ATTRIBUTES names one.',
    }),
  ),
  resourceAttributes: Type.Optional(
    Type.String({
      variable: 'OTEL_RESOURCE_ATTRIBUTES',
      environmentOnly: true,
      description: 'Further attributes of the server in traces, as name=value,name=value with percent-encoded values.',
    }),
  ),
})

export type TracingConfig = Static<typeof TracingConfig>

/** Sentences that begin with the variable. Values of headers are never repeated. */
export function tracingProblems(config: TracingConfig): string[] {
  const { endpoint, protocol, headers, resourceAttributes } = config
  if (endpoint === undefined) return []
  const problems = {
    SVC_OTEL_EXPORTER_OTLP_ENDPOINT: endpointProblem(endpoint, protocol),
    OTEL_EXPORTER_OTLP_HEADERS: headers === undefined ? undefined : headersProblem(headers),
    OTEL_RESOURCE_ATTRIBUTES:
      resourceAttributes === undefined || readNameValues(resourceAttributes) !== undefined
        ? undefined
        : 'must be name=value,name=value with percent-encoded values',
  }
  return Object.entries(problems).flatMap(([name, problem]) => (problem === undefined ? [] : [`${name} ${problem}`]))
}
