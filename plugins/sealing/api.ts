/**
 * Sealing: authenticated encryption of small secrets, derivation of keys, and the one text of a JSON value that is hashed or
 * authenticated. Pure functions that `store` and `kms` share; no plugin is loaded for them.
 */
export { canonicalJson, escapePointer, unescapePointer } from './canonical-json.ts'
export { sealingErrors } from './errors.ts'
export { checkSecretKey, masterKeyKey, previousMasterKeysKey } from './master-key.ts'
export {
  deriveKey,
  deriveKeyFromPassword,
  openSealed,
  passwordCost,
  type ScryptCost,
  SealError,
  seal,
  sealingKeyBytes,
} from './sealing.ts'
