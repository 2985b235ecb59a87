/** Distributions: buckets on names of their own. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/cluster-archive/api'
import type { RateLimitsService } from 'svc/plugins/http/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/stored-needs/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import { noSecretReferences } from 'svc/plugins/secret-references/api'
import { type AccessLog, createAccessLog, createLineLog } from './access-log.ts'
import { createAccessRoutes } from './access-routes.ts'
import createDistribution from './admin/create-distribution.ts'
import deleteDistribution from './admin/delete-distribution.ts'
import getDistribution from './admin/get-distribution.ts'
import listDistributions from './admin/list-distributions.ts'
import putDistribution from './admin/put-distribution.ts'
import resolveRoute from './admin/resolve-route.ts'
import rotateOriginSecret from './admin/rotate-origin-secret.ts'
import signDistributionUrl from './admin/sign-distribution-url.ts'
import testDistribution from './admin/test-distribution.ts'
import type { DistributionMode } from './api.ts'
import { createArchivePart, distributionPart } from './archive-part.ts'
import { createBucketLogs } from './bucket-logs.ts'
import { certificateOf, createDistributionCertificates } from './certificates.ts'
import { createChecks } from './checking.ts'
import { distributionsConfig } from './config.ts'
import type { Distribution } from './document.ts'
import { createHostRoute } from './host-route.ts'
import { logBucketOf, logPrefixOf } from './log-target.ts'
import { serverNames } from './names.ts'
import { distributionPoints } from './points.ts'
import { createDistributions } from './reading.ts'
import { createRegistry } from './registry.ts'
import { compileRestrictions } from './restrictions.ts'
import type { RoutingRules } from './routing.ts'
import { createSaving } from './saving.ts'
import { createSavingWarnings } from './saving-warnings.ts'
import { createDistributionsAdmin, unserved } from './service.ts'
import { createUrlSigning } from './signing.ts'
import { createStaging } from './staging.ts'
import { createStanding } from './standing.ts'
import { createUses } from './uses.ts'
import { createVisits, type Ready } from './visit.ts'

type Limits = Pick<RateLimitsService, 'limiter'>

/** Limits of drafts: none. */
const noLimits: Limits = { limiter: () => () => undefined }

export default definePlugin({
  name: 'distributions',
  description: 'Distributions: buckets on names of their own.',
  requires: ['http', 'iam', 'store', 'objects'],
  optional: [
    'certificates',
    'dnsProviders',
    'keyGroups',
    'metrics',
    'objectOwnership',
    'policy',
    'queue',
    'rateLimits',
    'secretReferences',
  ],
  provides: ['distributions'],
  internal: ['distributionsAdmin'],
  points: distributionPoints,
  contributes: {
    'admin.operation': [
      listDistributions,
      createDistribution,
      getDistribution,
      putDistribution,
      deleteDistribution,
      rotateOriginSecret,
      signDistributionUrl,
      resolveRoute,
      testDistribution,
    ],
  },
  config: distributionsConfig,
  setup({ config, services, ports, threads, log, point, contribute, background }) {
    const { http, store, objects, keyGroups, queue, rateLimits, metrics = noMetrics } = services
    const { secretReferences = noSecretReferences } = services
    const resolveSecret = secretReferences.resolve
    const bucketLogs =
      queue &&
      createBucketLogs({
        objects,
        queue,
        metrics,
        mayLog: (id, bucket) => registry.mayLog(id, bucket),
        intervalMs: config.logIntervalMs,
        ports,
        log,
      })
    if (bucketLogs !== undefined) background(bucketLogs.worker)
    const modePoint = point('distribution.mode')
    let modes: ReadonlyMap<string, DistributionMode> = new Map()
    const names = serverNames(config)
    const hasNames = names.domains.length > 0 || config.serverUrl !== ''
    const rules: RoutingRules = {
      names,
      onS3: config.s3Distributions === 'on' || (config.s3Distributions === 'auto' && hasNames),
      refusesUnknown: config.unknownHost === 'misdirected',
      isOff: config.noDistributions,
    }
    function accessLogOf(distribution: Distribution): AccessLog | undefined {
      const { accessLog = false, format = 'json' } = distribution.logging
      if (!accessLog) return undefined
      const target = logBucketOf(distribution)
      if (target === undefined) return createAccessLog(log, format)
      // Nothing that answers requests may depend on the log.
      if (bucketLogs === undefined) return undefined
      const destination = { distribution: distribution.id, prefix: logPrefixOf(distribution.id, target) }
      return createLineLog(format, (line, timeMs) => bucketLogs.add(target.bucket, destination, line, timeMs))
    }
    /** Drafts are compiled without limits, so that they spend no token and change no limit in force. */
    function compile(distribution: Distribution, limits: Limits | undefined = rateLimits): Ready {
      const mode = modes.get(distribution.mode)
      if (mode === undefined) throw new TypeError(`no loaded plugin serves the mode ${distribution.mode}`)
      return {
        distribution,
        server: mode.compile(distribution),
        restrictions: compileRestrictions(distribution, { clock: ports.clock, rateLimits: limits, resolveSecret }),
        accessLog: accessLogOf(distribution),
      }
    }
    const normalizeKey = keyNormalizer(config.keyNormalization)
    const registry = createRegistry<Ready>({
      store,
      log,
      compile: distribution => compile(distribution),
      normalizeKey,
    })
    const certificates = createDistributionCertificates(services.certificates, services.dnsProviders)
    const checks = createChecks({
      objects,
      certificates,
      modes: () => modes,
      names,
      ports,
      normalizeKey,
      keyGroups,
      hasBucketLogs: bucketLogs !== undefined,
    })
    const archivePart = createArchivePart({
      registry,
      certificates,
      modes: () => modes,
      names,
      clock: ports.clock,
      hasBucketLogs: bucketLogs !== undefined,
      normalizeKey,
    })
    contribute('archive.part', distributionPart, archivePart, { optional: true })
    const save = createSaving({
      registry,
      checks,
      warningsOf: createSavingWarnings({
        objects,
        http,
        certificates,
        rules,
        keyGroups,
        objectOwnership: services.objectOwnership,
        policy: services.policy,
      }),
    })
    const signUrl = keyGroups && createUrlSigning({ table: registry.table, keyGroups, http, rules, certificates })
    const uses = createUses(registry)
    contribute('secretReferences.user', 'distributions', { references: uses.secrets }, { optional: true })
    contribute('keyGroups.user', 'distributions', { uses: uses.keyGroups }, { optional: true })
    const distributionsAdmin = createDistributionsAdmin({
      registry,
      save,
      certificates,
      standingOf: createStanding({ registry, http, certificates, rules, objectOwnership: services.objectOwnership }),
      rules,
      signUrl,
      isServed: mode => modes.has(mode),
      compileDraft: distribution => compile(distribution, noLimits),
      ...ports,
    })
    const serve = createVisits({ clock: ports.clock, log, http, metrics })
    const route = createHostRoute({ registry, rules, serve })
    if (route !== undefined) contribute('host.route', 'distributions', route)
    contribute('accessRules.route', 'distributions', createAccessRoutes(registry), { optional: true })
    contribute(
      'stored.need',
      'distributions',
      {
        sign: { kind: 'document', name: 'distribution' },
        has: 'distribution',
        consequence: 'no domain of a distribution is answered, but as S3',
      },
      { optional: true },
    )
    let isStarted = false
    contribute(
      'certificate.user',
      'distributions',
      {
        uses: uses.certificates,
        names: async () =>
          (await registry.all()).flatMap(({ id, value }) => value.aliases.map(domain => ({ domain, name: id }))),
        async preferred(host) {
          // A table that is made before modes are known would be kept.
          if (!isStarted) return undefined
          const found = (await registry.table()).hosts.find(host)
          return found && certificateOf(found.value.distribution)
        },
      },
      { optional: true },
    )
    contribute('dns.user', 'distributions', { uses: uses.dnsProviders }, { optional: true })
    async function keepBuckets(): Promise<void> {
      for (const { id, bucket, isOfLog } of await registry.keepBuckets()) {
        const flaw = isOfLog
          ? 'the bucket for the log of the distribution is not there: no log is written'
          : 'the bucket of the distribution is not there: the distribution is disabled'
        log.warn({ distribution: id, bucket }, `${flaw}; make the bucket, and save the distribution again`)
      }
    }
    async function reportUnserved(): Promise<void> {
      for (const { id, value } of await registry.all()) {
        if (!modes.has(value.mode)) log.error({ distribution: id }, unserved(value.mode))
      }
    }
    return {
      services: {
        distributions: createDistributions(
          registry,
          createStaging({ registry, checks, certificates }),
          ports.clock.now,
        ),
      },
      internal: { distributionsAdmin },
      async start() {
        isStarted = true
        modes = new Map(modePoint.list().map(({ id, value }) => [id, value]))
        if (!threads.isMain) return
        await keepBuckets()
        await reportUnserved()
      },
      drain: bucketLogs?.drain,
      stop: bucketLogs?.stop,
    }
  },
})
