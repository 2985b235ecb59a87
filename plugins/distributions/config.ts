import { browserRedirectUrlKey } from 'svc/plugins/auth-session/api'
import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { domainKey, serverUrlKey } from 'svc/plugins/s3/api'
import { type Static, Type } from 'typebox'

export const distributionsConfig = Type.Object({
  domain: domainKey,
  serverUrl: serverUrlKey,
  browserRedirectUrl: browserRedirectUrlKey,
  keyNormalization: keyNormalizationSetting,
  s3Distributions: Type.Enum(['auto', 'on', 'off'], {
    variable: 'SVC_S3_DISTRIBUTIONS',
    default: 'auto',
    description:
      'Whether distributions are also served on the S3 listener: on, off, or auto (on if SVC_SERVER_URL or SVC_DOMAIN names the hosts of S3).',
  }),
  noDistributions: Type.Boolean({
    variable: 'SVC_NO_DISTRIBUTIONS',
    default: false,
    description:
      'Routes no host to a distribution, on any listener, to recover from a faulty one. The Admin API works.',
  }),
  logIntervalMs: Type.Integer({
    variable: 'SVC_DISTRIBUTION_LOG_INTERVAL',
    format: 'duration',
    minimum: 100,
    maximum: 86_400_000,
    default: 60_000,
    description: 'How often access logs of distributions are written as objects into their target buckets.',
  }),
  unknownHost: Type.Enum(['path-style', 'misdirected'], {
    variable: 'SVC_UNKNOWN_HOST',
    default: 'path-style',
    description:
      'Hosts without a distribution on the S3 listener: path-style serves S3 there, misdirected answers 421.',
  }),
})

export type DistributionsConfig = Static<typeof distributionsConfig>
