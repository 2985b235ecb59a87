/**
 * Sealing: authenticated encryption of small secrets, derivation of keys, and canonical JSON, whose text can be hashed and authenticated.
 * Pure functions for `store`, `kms`, `users` and `encryption`; this is no plugin.
 */
export { canonicalJson, escapePointer, unescapePointer } from './canonical-json.ts'
export { differingFields } from './differing-fields.ts'
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
