import { masterKeyKey, previousMasterKeysKey } from 'svc/plugins/sealing/api'
import { type Static, Type } from 'typebox'

export const KmsConfig = Type.Object({
  secretKey: masterKeyKey,
  previousSecretKeys: previousMasterKeysKey,
  cachedKeysMax: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 1024,
    description: 'Unwrapped data keys of a key server that are cached, per thread; 0 disables the cache.',
  }),
  cachedKeyAgeMs: Type.Integer({
    minimum: 0,
    maximum: 3_600_000,
    default: 60_000,
    format: 'duration',
    description:
      'How long a data key is cached. For so long objects stay readable after the key server has revoked the key.',
  }),
})

export type KmsConfig = Static<typeof KmsConfig>
