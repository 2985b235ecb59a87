/** Certificates from an authority that speaks ACME. */
import { definePlugin } from 'svc/kernel'
import type { RenewOptions } from 'svc/plugins/certificates/api'
import 'svc/plugins/http/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { createAccounts } from './accounts.ts'
import { requireAuthorityFile } from './authority-file.ts'
import { createChallenges } from './challenges.ts'
import { AcmeConfig, validateAcmeConfig } from './config.ts'
import { createDnsValidation } from './dns-validation.ts'
import { declareAcmeDocuments } from './documents.ts'
import { createHttpChallenge } from './http-challenge.ts'
import { createOrders } from './orders.ts'
import { createPreflight } from './preflight.ts'
import { createRenewalInformation } from './renewal-information.ts'

const requestTimeoutMs = 30_000
/** Timeout of requests to the names of an order; they should lead to this server. */
const ownTimeoutMs = 5000
/** A look costs nothing where nothing has changed and nothing is due. */
const lookPauseMs = 1000

interface RenewCall {
  readonly id: string
  readonly options: RenewOptions | undefined
}

export default definePlugin({
  name: 'acme',
  description: 'Certificates from an authority that speaks ACME.',
  requires: ['certificates', 'http', 'httpClient', 'locks', 'store', 'tls'],
  optional: ['dns', 'metrics'],
  config: AcmeConfig,
  validate: validateAcmeConfig,
  setup({ config, services, ports, threads, log, contribute, background }) {
    const { certificates, httpClient, locks, store, metrics = noMetrics } = services
    const { clock } = ports
    const documents = declareAcmeDocuments(store)
    const dns = createDnsValidation(services.dns)
    const challenges = createChallenges({ store, documents, clock, dns })
    contribute('host.route', 'acme', createHttpChallenge(challenges))
    contribute('tls.challenge', 'acme', challenges.alpn)
    const results = metrics.counter({
      name: 'svc_acme_orders_total',
      help: 'Orders of certificates that have ended.',
      labels: ['result'],
    })
    if (!threads.isMain) {
      contribute('certificate.issuer', 'acme', {
        renew: (id, options) => threads.call(0, 'acme.renew', { id, options }),
      })
      return {}
    }
    for (const result of ['success', 'failure']) results.inc({ result }, 0)
    const tls = { authoritiesFile: config.caCert ?? '', certificateFile: '', keyFile: '', isVerified: true }
    const http = httpClient.client({ purpose: 'acme', reach: 'private', timeoutMs: requestTimeoutMs, tls })
    const accounts = createAccounts(documents, config, http, clock)
    const ownHttp = httpClient.client({ purpose: 'acme-preflight', reach: 'private', timeoutMs: ownTimeoutMs })
    const preflight = createPreflight({
      dns: services.dns,
      http: ownHttp,
      httpPort: config.httpPort,
      challenges,
      ...ports,
      log,
    })
    const orders = createOrders({
      config,
      store,
      documents,
      certificates,
      accounts,
      challenges,
      dns,
      preflight,
      locks,
      renewalInformation: createRenewalInformation(config.directory, http, ports),
      ports,
      log,
      onResult: result => results.inc({ result }),
    })
    contribute('certificate.issuer', 'acme', { renew: orders.renew })
    threads.handle('acme.renew', ({ id, options }: RenewCall) => orders.renew(id, options))
    background({
      name: 'orders',
      pauseMs: lookPauseMs,
      async work() {
        await orders.look()
        return 'idle'
      },
    })
    const inspect = async ({ caCert }: AcmeConfig) => {
      await requireAuthorityFile(caCert)
      return {}
    }
    return {
      inspect: () => inspect(config),
      inspectRestart: inspect,
      start: () => requireAuthorityFile(config.caCert),
      async stop() {
        await orders.stop()
        await Promise.all([http.close(), ownHttp.close()])
      },
    }
  },
})
