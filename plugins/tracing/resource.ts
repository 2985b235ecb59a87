/** The attributes that describe this server to the collector. */
import { hostname } from 'node:os'
import { readNameValues } from './name-values.ts'
import type { Attributes } from './span.ts'

export interface ResourceOptions {
  /** `OTEL_SERVICE_NAME`, which wins, and `OTEL_RESOURCE_ATTRIBUTES`. */
  readonly serviceName?: string
  readonly resourceAttributes?: string
  readonly version: string
}

export function resourceAttributesOf({ serviceName, resourceAttributes = '', version }: ResourceOptions): Attributes {
  const host = hostname()
  const attributes = {
    'service.name': 'svc',
    'service.version': version,
    'service.instance.id': host,
    'host.name': host,
    'process.pid': process.pid,
    ...Object.fromEntries(readNameValues(resourceAttributes) ?? []),
  }
  return serviceName === undefined ? attributes : { ...attributes, 'service.name': serviceName }
}
