/** Hands requests of a distribution to S3, which authenticates, authorizes and records them as its own. */
import type { MaybePromise } from 'svc/kernel'
import type {
  Distribution,
  DistributionRefusal,
  DistributionServer,
  Rehearsal,
  Visit,
} from 'svc/plugins/distributions/api'
import { refusalDetails } from 'svc/plugins/http/api'
import { type BucketDomain, type S3Service, s3Errors } from 'svc/plugins/s3/api'

export function createBucketServer(
  s3: Pick<S3Service, 'rehearseBucket' | 'serveBucket'>,
): (distribution: Distribution) => DistributionServer {
  return ({ id, origin, defaultBehavior, restrictions }) => {
    const { access = 'public' } = defaultBehavior

    function serve(visit: Visit, more: Partial<BucketDomain> = {}): MaybePromise<void> {
      const { exchange, host } = visit
      visit.isRecordedElsewhere = true
      visit.access = access
      if (visit.rehearsal !== undefined) return rehearse(visit, visit.rehearsal, more)
      const onRecord: BucketDomain['onRecord'] = ({ operation, key, sentBytes }) => {
        visit.operation = operation
        visit.key = key
        visit.sentBytes = sentBytes
      }
      s3.serveBucket(exchange, { bucket: origin.bucket, distribution: id, host, onRecord, ...more })
    }

    async function rehearse(visit: Visit, rehearsal: Rehearsal, more: Partial<BucketDomain>): Promise<void> {
      const domain = { bucket: origin.bucket, distribution: id, host: visit.host, ...more }
      const { key, status, errorCode, decision } = await s3.rehearseBucket(visit.exchange, domain, rehearsal)
      visit.key = key
      visit.identity = rehearsal.identity
      // A refusal of the distribution has its reason already.
      if (more.refusal === undefined || visit.reason === undefined) visit.reason = errorCode
      if (decision?.allowed === false) {
        if (decision.rule !== undefined)
          Object.assign(visit.tags, { deniedBy: 'access-rule', accessRule: decision.rule })
        else if (decision.source === 'block-public') visit.tags.deniedBy = 'block-public'
      }
      rehearsal.onAnswer(status, [])
    }

    function errorOf({ status, retryAfterSeconds = 1 }: DistributionRefusal): Error {
      if (status !== 429) return s3Errors.AccessDenied()
      const kind = restrictions.rateLimit?.per ?? 'ip'
      return s3Errors.SlowDown(undefined, refusalDetails({ kind, retryAfterSeconds }))
    }

    return {
      serve(visit) {
        if (access === 'public') return serve(visit)
        if (access === 'authenticated') return serve(visit, { refusesAnonymous: true })
        return serve(visit, { refusal: s3Errors.AccessDenied() })
      },
      refuse: (visit, refusal) => serve(visit, { refusal: errorOf(refusal) }),
    }
  }
}
