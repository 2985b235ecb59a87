import { createAddressGuard } from 'svc/plugins/http-client/api'
import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'

export const PurgeConfig = Type.Object({
  keyNormalization: keyNormalizationSetting,
  webhookAllow: Type.Array(Type.String(), {
    variable: 'SVC_CACHE_WEBHOOK_ALLOW',
    format: 'cidr-list',
    default: [],
    description:
      'Addresses and CIDR blocks of internal networks that purge webhooks may reach, also by plain HTTP. Others reach public addresses alone, over TLS.',
    check(networks: readonly string[]) {
      try {
        createAddressGuard({ reach: 'public', allowedNetworks: networks })
        return undefined
      } catch {
        return 'must be addresses and CIDR blocks'
      }
    },
  }),
})

export type PurgeConfig = Static<typeof PurgeConfig>
