/** The part of prometheus.yml that scrapes this server. */
import type { MetricScope } from 'svc/plugins/metrics/api'

export interface ScrapeTarget {
  /** `host:port`. */
  readonly target: string
  readonly isTls: boolean
  /** Empty or undefined: everybody may scrape. */
  readonly token: string | undefined
  readonly scopes: readonly MetricScope[]
}

const dayMs = 86_400_000
export const expiryMsDefault = 365 * dayMs
export const expiryMsMax = 3650 * dayMs

export function scrapeConfig({ target, isTls, token, scopes }: ScrapeTarget): string {
  const lines = ['scrape_configs:']
  for (const scope of scopes) {
    lines.push(
      `  - job_name: svc-${scope}`,
      `    metrics_path: /svc/metrics/v1/${scope}`,
      `    scheme: ${isTls ? 'https' : 'http'}`,
      // Usage of buckets changes slowly, and there may be many.
      ...(scope === 'bucket' ? ['    scrape_interval: 1m'] : []),
      ...(token ? ['    authorization:', `      credentials: ${token}`] : []),
      '    static_configs:',
      `      - targets: ['${target}']`,
    )
  }
  return `${lines.join('\n')}\n`
}
