import { addressKey, proxyProtocolKey } from 'svc/plugins/http/api'
import { certsDirKey } from 'svc/plugins/tls/api'
import Type, { type Static } from 'typebox'

export const healthConfig = Type.Object({
  // The command `svc healthcheck` finds the server by the same keys that opened its listener.
  address: addressKey,
  proxyProtocol: proxyProtocolKey,
  certsDir: certsDirKey,
})

export type HealthConfig = Static<typeof healthConfig>

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    healthcheck: HealthConfig
  }
}
