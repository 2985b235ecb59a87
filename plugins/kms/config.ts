import { masterKeyKey, previousMasterKeysKey } from 'svc/plugins/sealing/api'
import { type Static, Type } from 'typebox'

export const KmsConfig = Type.Object({
  secretKey: masterKeyKey,
  previousSecretKeys: previousMasterKeysKey,
  cachedKeysMax: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 1024,
    description: 'Data keys that a key server opened and that are remembered, per thread; 0 asks each time.',
  }),
  cachedKeyAgeMs: Type.Integer({
    minimum: 0,
    maximum: 3_600_000,
    default: 60_000,
    format: 'duration',
    description: 'How long a data key is remembered; so long it opens what a key server would no longer open.',
  }),
})

export type KmsConfig = Static<typeof KmsConfig>
