import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import type { MetricScope } from 'svc/plugins/metrics/api'
import { Type } from 'typebox'
import { expiryMsDefault, expiryMsMax, scrapeConfig } from '../scrape-config.ts'
import { createScrapeToken } from '../scrape-token.ts'

const PrometheusToken = Type.Object(
  {
    token: Type.String({ description: 'Empty where everybody may scrape.' }),
    expiresAt: Type.String({ format: 'date-time' }),
    scrapeConfig: Type.String({ description: 'For prometheus.yml, with the token in it.' }),
  },
  { $id: 'PrometheusToken' },
)

const scopes: readonly MetricScope[] = ['node', 'cluster', 'bucket']

export default defineAdminOperation({
  id: 'createPrometheusToken',
  method: 'POST',
  path: '/metrics/prometheus-token',
  tag: 'monitoring',
  summary:
    'Makes a token that lets Prometheus scrape as the caller. It is stored nowhere: it ends with its expiry, with the right admin:Prometheus of the caller, or when the secret key changes.',
  authorize: ['admin:Prometheus'],
  body: Type.Object({
    targets: Type.Array(Type.Union([Type.Literal('node'), Type.Literal('cluster'), Type.Literal('bucket')]), {
      minItems: 1,
      maxItems: scopes.length,
      uniqueItems: true,
      default: ['node', 'bucket'],
      description: 'Endpoints of the scrape configuration; cluster includes node.',
    }),
    expiresInSeconds: Type.Integer({ minimum: 1, maximum: expiryMsMax / 1000, default: expiryMsDefault / 1000 }),
  }),
  bodyOptional: true,
  response: PrometheusToken,
  location: () => '/metrics/prometheus-token',
  uses: ['iam', 's3', 'scraping', 'ports'],
  async handle({ identity, exchange, body }, { iam, s3, scraping: { authType }, ports: { clock } }) {
    const { accessKey } = identity!
    const key = await iam.verificationKey(accessKey)
    // Nobody could verify it: temporary credentials are in no directory.
    if (key === undefined)
      throw adminErrors.access_denied('Temporary credentials cannot sign a token that outlives them.')
    const nowMs = clock.now()
    const expiresAtMs = nowMs + body.expiresInSeconds * 1000
    const token = authType === 'public' ? '' : await createScrapeToken(accessKey, key, nowMs, expiresAtMs)
    const { host, protocol } = new URL(s3.endpointFor(exchange))
    const isTls = protocol === 'https:'
    const target = /:\d+$/.test(host) ? host : `${host}:${isTls ? 443 : 80}`
    return {
      token,
      expiresAt: new Date(expiresAtMs).toISOString(),
      scrapeConfig: scrapeConfig({
        target,
        isTls,
        token,
        scopes: scopes.filter(scope => body.targets.includes(scope)),
      }),
    }
  },
})
