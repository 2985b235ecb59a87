import Type, { type Static } from 'typebox'
import { certsDirKey } from './keys.ts'

export const tlsConfig = Type.Object({
  certsDir: certsDirKey,
  tlsMinVersion: Type.Union([Type.Literal('1.2'), Type.Literal('1.3')], {
    variable: 'SVC_TLS_MIN_VERSION',
    default: '1.2',
    description: 'Oldest TLS version that clients may speak.',
  }),
  reloadInterval: Type.Integer({
    format: 'duration',
    minimum: 100,
    default: 60_000,
    description:
      'The directory is watched; where that does not work (network file systems) it is looked at this often.',
  }),
})

export type TlsConfig = Static<typeof tlsConfig>
