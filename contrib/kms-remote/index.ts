import { definePlugin } from 'svc/kernel'
import { checkRemote, RemoteConfig } from './config.ts'
import { createKes, type ProbedBackend } from './kes.ts'
import { createKeyServers } from './key-servers.ts'
import { createTransit } from './transit.ts'

export default definePlugin({
  name: 'kms-remote',
  description: 'Keys on key servers: KES, HashiCorp Vault and OpenBao.',
  version: '0.1.0',
  config: RemoteConfig,
  validate: checkRemote,
  setup({ config, ports, contribute, background, log }) {
    const { protocol, token, mount, namespace, keyName: defaultKeyId = '' } = config
    const isConfigured = config.endpoints.length > 0
    let backend: ProbedBackend | undefined
    let wasOnline = true
    contribute(
      'kms.backend',
      protocol,
      {
        isConfigured,
        kind: 'remote',
        create() {
          const servers = createKeyServers(config)
          backend =
            protocol === 'kes'
              ? createKes(servers, defaultKeyId)
              : createTransit({ servers, defaultKeyId, token, mount, namespace, ...ports })
          return backend
        },
      },
      { optional: true },
    )
    background({
      name: 'probe',
      // Each thread has its own connections.
      runsIn: 'every-thread',
      pauseMs: config.probeIntervalMs,
      async work() {
        if (!isConfigured) return 'done'
        // Before `kms` has started there is no backend.
        await backend?.probe()
        const { online = true, error } = backend?.status() ?? {}
        if (online !== wasOnline) {
          if (online) log.info('a key server answers again')
          else log.warn({ reason: error }, 'no key server answers: objects with SSE-S3 or SSE-KMS are not available')
        }
        wasOnline = online
        return 'idle'
      },
    })
    return {}
  },
})
