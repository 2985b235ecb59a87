/** The mode `website` of distributions. */
import { setTimeout as sleep } from 'node:timers/promises'
import { chain, definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/access-rules/api'
import type {} from 'svc/plugins/bucket-policy/api'
import type {} from 'svc/plugins/cache/api'
import type {} from 'svc/plugins/distributions/api'
import type {} from 'svc/plugins/key-groups/api'
import type {} from 'svc/plugins/object-ownership/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import type {} from 'svc/plugins/purge/api'
import { websiteConfig } from './config.ts'
import { createInspection } from './inspection.ts'
import { createOrigin } from './origin.ts'
import { websiteProblems } from './problems.ts'
import { createWarming } from './warming.ts'
import { createWebsite } from './website.ts'

export default definePlugin({
  name: 'website',
  description: 'Distributions as websites: index documents, error pages, redirects, headers, CORS.',
  requires: ['iam', 'objectOwnership', 'objects', 'policy', 's3'],
  optional: ['accessRules', 'authSession', 'bucketPolicy', 'cache', 'keyGroups', 'purge'],
  config: websiteConfig,
  setup({ config, services, ports, log, contribute }) {
    const { accessRules, authSession, bucketPolicy, cache, keyGroups, objectOwnership, purge } = services
    // The cluster's block belongs to bucket policies; without that plugin only the flags of the bucket count.
    const blocksPublic = (bucket: string) =>
      bucketPolicy?.ignoresPublic(bucket) ??
      chain(objectOwnership.blocks(bucket), ({ restrictPublicBuckets }) => restrictPublicBuckets)
    const normalizeKey = keyNormalizer(config.keyNormalization)
    if (cache !== undefined) {
      const originOf = (bucket: string, prefix: string) => createOrigin(services.objects, bucket, prefix)
      const site = {
        ...createInspection(cache, normalizeKey, originOf),
        warm: createWarming({ cache, normalizeKey, originOf, blocksPublic, sleep: ms => sleep(ms) }),
      }
      contribute('cache.site', 'website', site, { optional: true })
    }
    contribute(
      'distribution.mode',
      'website',
      {
        problems: websiteProblems,
        compile(distribution) {
          const { bucket, pathPrefix } = distribution.origin
          const origin = createOrigin(services.objects, bucket, pathPrefix)
          return createWebsite(distribution, {
            ...services,
            accessRules,
            authSession,
            cache,
            keyGroups,
            purge,
            blocksPublic,
            clock: ports.clock,
            log,
            origin,
            normalizeKey,
          })
        },
      },
      { optional: true },
    )
  },
})
