import { rootPasswordKey } from 'svc/plugins/iam/api'
import { masterKeyKey, previousMasterKeysKey } from 'svc/plugins/sealing/api'
import { type Static, Type } from 'typebox'

const own = Type.Object({
  cacheBytes: Type.Integer({
    minimum: 0,
    default: 16 * 1024 * 1024,
    format: 'size',
    description: 'Memory for recently read documents of one kind (users, policies, …), per thread.',
  }),
  resyncIntervalMs: Type.Integer({
    variable: 'SVC_CACHE_RESYNC_INTERVAL',
    environmentOnly: true,
    minimum: 1000,
    default: 120_000,
    format: 'duration',
    description: 'How often each thread compares its caches of shared state with the stored state.',
  }),
  previousRootPassword: Type.Optional(
    Type.String({
      variable: 'SVC_ROOT_PASSWORD_PREVIOUS',
      secret: true,
      description:
        'The former root password, for the first start after a change: without a master key, secrets at rest are sealed under it.',
    }),
  ),
  masterKey: masterKeyKey,
  previousMasterKeys: previousMasterKeysKey,
})

/** `iam` requires the root password; the store reads it under the same key. Without `iam` there may be none. */
export const StoreConfig = Type.Object(
  { ...own.properties, rootPassword: rootPasswordKey },
  { required: own.required as string[] },
)

export type StoreConfig = Static<typeof own> & { readonly rootPassword?: string }
