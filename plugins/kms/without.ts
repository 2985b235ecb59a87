/** The stand-in for the service when the plugin `kms` is not loaded: wrapping and unwrapping are refused. */
import type { KmsService } from './api.ts'
import { kmsErrors } from './errors.ts'

const refuse = (): never => {
  throw kmsErrors.kms_not_configured('The plugin "kms" is not loaded: objects cannot be encrypted under its keys.')
}

const refuseToUnwrap = (): never => {
  throw kmsErrors.kms_unavailable(
    'The plugin "kms" is not loaded: objects that are encrypted under its keys cannot be read.',
  )
}

export const noKms: KmsService = {
  isConfigured: false,
  defaultKeyId: undefined,
  generate: refuse,
  unwrap: refuseToUnwrap,
  wrap: refuse,
  isCurrent: refuse,
  requireKey: refuse,
  presentKeyId: refuse,
  createKey: async () => refuse(),
  listKeys: refuse,
  async status() {
    const none = { backend: '', defaultKeyId: '', endpoints: [], online: false, version: '', formerKeys: 0 }
    return { ...none, isConfigured: false, error: 'the plugin "kms" is not loaded' }
  },
  onResealed: async () => refuse(),
}
