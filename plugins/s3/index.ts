import { chain, definePlugin } from 'svc/kernel'
import { keyNormalizer } from 'svc/plugins/objects/api'
import { declareApiSettings } from './api-settings.ts'
import { s3Config } from './config.ts'
import { createDispatchTable } from './dispatch.ts'
import { createRequestFamilies } from './families.ts'
import { createS3Handler, type S3Handler } from './handler.ts'
import { s3Points } from './points.ts'
import { rehearse } from './rehearsal.ts'
import type { S3Environment } from './request.ts'
import { createRequestLimit } from './request-limit.ts'
import { createRootAccess } from './root-access.ts'
import { createS3Service } from './service.ts'

export default definePlugin({
  name: 's3',
  description: 'The S3 protocol: finds the operation, authorizes the request, writes the answer.',
  requires: ['http', 'authSigv4', 'iam', 'policy', 'objects', 'checksums', 'settings', 'storedNeeds'],
  optional: ['metrics', 'rateLimits'],
  provides: ['s3'],
  points: s3Points,
  config: s3Config,
  setup({ config, services, ports, threads, log, point, contribute }) {
    const operations = point('s3.operation')
    const attributes = point('s3.attribute')
    const observers = point('s3.observer')
    const originAnswers = point('s3.origin-answer')
    const errorPages = point('s3.error-page')
    const queryApis = point('s3.query-api')
    // The points can be read only after set-up, and requests come only after `start`.
    let environment: S3Environment | undefined
    let handler: S3Handler | undefined
    contribute('http.mount', 's3', { listener: 's3', handler: exchange => handler!(exchange) })
    if (services.metrics !== undefined) {
      contribute('s3.observer', 'metrics', createRequestFamilies(services.metrics, services.objects))
    }
    const apiSettings = declareApiSettings(services.settings)
    const isRootDenied = createRootAccess(apiSettings, services.iam)
    const isAclIgnored = () => chain(apiSettings.get(), ({ acl_ignored }) => acl_ignored)
    const requestLimit = createRequestLimit({ api: apiSettings, threads, clock: ports.clock })
    const s3 = createS3Service({
      attributes: attributes.list,
      http: services.http,
      serverUrl: config.serverUrl,
      apiSettings,
      isRootDenied,
      serveBucket: (exchange, domain) => handler!(exchange, domain),
      rehearseBucket: (exchange, domain, rehearsal) => rehearse(exchange, domain, rehearsal, environment!),
    })
    return {
      services: { s3 },
      async start() {
        await requestLimit.start()
        environment = {
          ...services,
          clock: ports.clock,
          log,
          region: services.authSigv4.region,
          hostId: ports.random.bytes(24).toString('base64'),
          target: {
            domains: config.domain.map(domain => domain.toLowerCase()).sort((a, b) => b.length - a.length),
            normalizeKey: keyNormalizer(config.keyNormalization),
          },
          table: createDispatchTable(operations.list()),
          attributes: attributes.list().map(({ value }) => value),
          attributeHeaders: new Set(attributes.list().flatMap(({ value }) => value.headers)),
          observers: observers.list().map(({ value }) => value),
          originAnswers: originAnswers.list().map(({ value }) => value),
          errorPage: errorPages.list()[0]?.value,
          queryApi: queryApis.list()[0]?.value,
          requestLimit,
          isRootDenied,
          isAclIgnored,
        }
        handler = createS3Handler(environment)
      },
    }
  },
})
