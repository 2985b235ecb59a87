import { rootPasswordKey } from 'svc/plugins/iam/api'
import { masterKeyKey, previousMasterKeysKey } from 'svc/plugins/sealing/api'
import { type Static, Type } from 'typebox'

const own = Type.Object({
  cacheBytes: Type.Integer({
    minimum: 0,
    default: 16 * 1024 * 1024,
    format: 'size',
    description: 'Memory for the documents of one kind (users, policies, …) that were read recently, per thread.',
  }),
  resyncIntervalMs: Type.Integer({
    variable: 'SVC_CACHE_RESYNC_INTERVAL',
    environmentOnly: true,
    minimum: 1000,
    default: 120_000,
    format: 'duration',
    description: 'How often each thread compares what it remembers of shared state with what is stored.',
  }),
  previousRootPassword: Type.Optional(
    Type.String({
      variable: 'SVC_ROOT_PASSWORD_PREVIOUS',
      secret: true,
      description:
        'The former root password, for the first start after a change: secrets at rest are sealed under it where there is no master key.',
    }),
  ),
  masterKey: masterKeyKey,
  previousMasterKeys: previousMasterKeysKey,
})

/** The root password is required by `iam`, and read here under the same key; without `iam` there may be none. */
export const StoreConfig = Type.Object(
  { ...own.properties, rootPassword: rootPasswordKey },
  { required: own.required as string[] },
)

export type StoreConfig = Static<typeof own> & { readonly rootPassword?: string }
