/** Hands requests of a distribution to S3, which authenticates, authorizes and records them as its own. */
import type { Distribution, DistributionRefusal, DistributionServer, Visit } from 'svc/plugins/distributions/api'
import { refusalDetails } from 'svc/plugins/http/api'
import { type BucketDomain, type S3Service, s3Errors } from 'svc/plugins/s3/api'

export function createBucketServer(
  s3: Pick<S3Service, 'serveBucket'>,
): (distribution: Distribution) => DistributionServer {
  return ({ id, origin, defaultBehavior, restrictions }) => {
    const { access = 'public' } = defaultBehavior

    function serve(visit: Visit, more: Partial<BucketDomain> = {}): void {
      const { exchange, host } = visit
      visit.isRecordedElsewhere = true
      visit.access = access
      const onRecord: BucketDomain['onRecord'] = ({ operation, key, sentBytes }) => {
        visit.operation = operation
        visit.key = key
        visit.sentBytes = sentBytes
      }
      s3.serveBucket(exchange, { bucket: origin.bucket, distribution: id, host, onRecord, ...more })
    }

    function errorOf({ status, retryAfterSeconds = 1 }: DistributionRefusal): Error {
      if (status !== 429) return s3Errors.AccessDenied()
      const kind = restrictions.rateLimit?.per ?? 'ip'
      return s3Errors.SlowDown(undefined, refusalDetails({ kind, retryAfterSeconds }))
    }

    return {
      serve(visit) {
        if (access === 'public') serve(visit)
        else if (access === 'authenticated') serve(visit, { refusesAnonymous: true })
        else serve(visit, { refusal: s3Errors.AccessDenied() })
      },
      refuse: (visit, refusal) => serve(visit, { refusal: errorOf(refusal) }),
    }
  }
}
