/** In the place of the service where the plugin is not loaded: nothing is sealed, and nothing that was sealed is opened. */
import type { KmsService } from './api.ts'
import { kmsErrors } from './errors.ts'

const refuse = (): never => {
  throw kmsErrors.kms_not_configured('The plugin "kms" is not loaded: nothing can be encrypted under its keys.')
}

const refuseToOpen = (): never => {
  throw kmsErrors.kms_unavailable('The plugin "kms" is not loaded: what is encrypted under its keys cannot be read.')
}

export const noKms: KmsService = {
  isConfigured: false,
  defaultKeyId: undefined,
  generate: refuse,
  open: refuseToOpen,
  seal: refuse,
  isCurrent: refuse,
  requireKey: refuse,
  presentKeyId: refuse,
  createKey: async () => refuse(),
  listKeys: refuse,
  async status() {
    const none = { backend: '', defaultKeyId: '', endpoints: [], online: false, version: '' }
    return { ...none, isConfigured: false, error: 'the plugin "kms" is not loaded' }
  },
  onResealed: async () => refuse(),
}
