import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/health/api'
import createKmsKey from './admin/create-kms-key.ts'
import getKmsStatus from './admin/get-kms-status.ts'
import listKmsKeys from './admin/list-kms-keys.ts'
import { createBackendsInUse, UsedBackend } from './backends-in-use.ts'
import { CreatedKey, createBuiltInKeys } from './built-in-keys.ts'
import { KmsConfig } from './config.ts'
import { registerFamilies } from './families.ts'
import { createMasterKeyVersions, MasterKeyVersion } from './master-key-versions.ts'
import { kmsPoints } from './points.ts'
import { type ActiveBackend, createKms } from './service.ts'
import { createUnavailableLog } from './unavailable-log.ts'

const adminOperations = [createKmsKey, getKmsStatus, listKmsKeys]

export default definePlugin({
  name: 'kms',
  description: 'Key management: data keys, wrapped under keys that stay in their backend.',
  requires: ['store'],
  optional: ['metrics'],
  provides: ['kms'],
  points: kmsPoints,
  contributes: { 'admin.operation': adminOperations },
  config: KmsConfig,
  setup({ config, services, ports, threads, log, point, contribute }) {
    const { store, metrics = noMetrics } = services
    const { secretKey, previousSecretKeys = [], cachedKeysMax, cachedKeyAgeMs } = config
    const { clock, random } = ports
    const backends = point('kms.backend')
    const users = point('kms.user')
    const created = store.collection({
      name: 'kms-key',
      version: 1,
      archiveNote: 'not in it: keys of the key management are in no archive',
      schema: CreatedKey,
    })
    const builtIn = secretKey === undefined ? previousSecretKeys : [secretKey, ...previousSecretKeys]
    let active: ActiveBackend[] = []
    const masterKeys = createMasterKeyVersions({
      versions: store.collection({
        name: 'kms-master-key',
        version: 1,
        archiveNote: 'not in it: keys of the key management are in no archive',
        schema: MasterKeyVersion,
      }),
      masterKeys: builtIn,
      hasCurrent: secretKey !== undefined,
      created,
      clock,
      log,
    })
    const inUse = createBackendsInUse({
      used: store.collection({
        name: 'kms-backend',
        version: 1,
        archiveNote: 'not in it: tells of what is encrypted here',
        schema: UsedBackend,
      }),
      active: () => active,
      log,
    })
    const problem = async () => {
      const problems = [await masterKeys.problem(), await inUse.problem()].filter(each => each !== undefined)
      return problems.length === 0 ? undefined : problems.join('; ')
    }
    // The families need the service, and the service counts in them.
    const status = () => kms.status()
    const { onError } = registerFamilies(metrics, threads.isMain ? status : undefined)
    const onUnavailable = createUnavailableLog({
      clock,
      warn: reason => log.warn({ reason }, 'a key is not available'),
    })
    const kms = createKms({
      clock,
      cachedKeysMax,
      cachedKeyAgeMs,
      onError,
      onUnavailable,
      async onResealed() {
        await masterKeys.onResealed()
        await inUse.onResealed()
      },
      problem,
      users: () => users.list().map(({ value }) => value),
      formerKeys: masterKeys.formerKeys,
      isMasterKeyName: masterKeys.hasName,
    })
    contribute('kms.backend', 'builtin', {
      isConfigured: builtIn.length > 0,
      kind: 'local',
      unwrapsOnly: secretKey === undefined,
      create: () => {
        const [masterKey, ...previousMasterKeys] = builtIn as [string, ...string[]]
        return createBuiltInKeys({ masterKey, previousMasterKeys, created, random, clock })
      },
    })
    contribute(
      'health.check',
      'kms',
      async () => {
        const { isConfigured, online } = status()
        // Healthy nevertheless: unencrypted objects are served.
        if (isConfigured && !online) return { ok: true, detail: 'the key server is not reachable' }
        return { ok: true, detail: await problem() }
      },
      { optional: true },
    )
    return {
      services: { kms: kms.service },
      async start() {
        const configured = backends.list().filter(({ value }) => value.isConfigured)
        const remote = configured.filter(({ value }) => value.kind === 'remote')
        if (remote.length > 1) {
          throw new Error(
            `kms: both "${remote[0]!.id}" and "${remote[1]!.id}" are configured; configure one key server only`,
          )
        }
        const ordered = [...remote, ...configured.filter(({ value }) => value.kind === 'local')]
        active = ordered.map(({ id, value: { kind, unwrapsOnly = false, create } }) => ({
          name: id,
          kind,
          unwrapsOnly,
          backend: create(),
        }))
        for (const { backend } of active) await backend.start?.()
        kms.use(active)
        if (!threads.isMain) return
        await masterKeys.start()
        await inUse.start()
        const missing = await problem().catch(error =>
          log.warn({ err: error }, 'the list of needed keys cannot be read'),
        )
        if (missing !== undefined) log.error(missing)
        const { isConfigured, backend, defaultKeyId } = status()
        if (isConfigured) log.info({ backend, key: defaultKeyId }, 'key management is configured')
        else if (active.length > 0)
          log.warn(
            'only former master keys are configured: objects that they encrypted can be read, and new ones cannot be encrypted',
          )
      },
      async stop() {
        kms.stop()
        for (const { backend } of active.splice(0)) await backend.stop?.()
      },
    }
  },
})
