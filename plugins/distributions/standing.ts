/** What decides whether and how a distribution answers beside its own document: the block of its bucket, the bucket of its log, the certificates of its domains. */
import type { HttpService } from 'svc/plugins/http/api'
import type { ObjectOwnershipService } from 'svc/plugins/object-ownership/api'
import type { DistributionCertificates, ServedCertificate } from './certificates.ts'
import type { Distribution } from './document.ts'
import { isPublicWebsite, logBucketOf } from './log-target.ts'
import type { Registry } from './registry.ts'
import type { RoutingRules } from './routing.ts'

export interface Standing {
  /** Its public pages answer 403, because public access to its bucket is blocked. */
  readonly blocked: boolean
  /** It writes no log any more, because the bucket for it was deleted. */
  readonly logEnded: boolean
  /** One for each alias that has one; none where no listener that answers for distributions speaks TLS. */
  readonly served: ServedCertificate[]
}

export interface StandingOptions {
  readonly registry: Pick<Registry<unknown>, 'mayLog'>
  readonly http: Pick<HttpService, 'listeners'>
  readonly certificates: Pick<DistributionCertificates, 'served'>
  readonly rules: Pick<RoutingRules, 'isOff' | 'onS3'>
  /** Undefined: nothing blocks public access. */
  readonly objectOwnership: Pick<ObjectOwnershipService, 'blocks'> | undefined
}

export type StandingOf = (distribution: Distribution) => Promise<Standing>

export function createStanding({ registry, http, certificates, rules, objectOwnership }: StandingOptions): StandingOf {
  const answersTls = (): boolean =>
    !rules.isOff &&
    http.listeners().some(({ name, secure }) => name === 'web-tls' || (name === 's3' && secure && rules.onS3))

  async function hasLogEnded(distribution: Distribution): Promise<boolean> {
    const log = logBucketOf(distribution)
    return log !== undefined && !(await registry.mayLog(distribution.id, log.bucket))
  }

  return async distribution => ({
    blocked:
      objectOwnership !== undefined &&
      isPublicWebsite(distribution) &&
      (await objectOwnership.blocks(distribution.origin.bucket)).restrictPublicBuckets,
    logEnded: await hasLogEnded(distribution),
    served: answersTls() ? await certificates.served(distribution.aliases) : [],
  })
}
