/** The extension points: issuers and users of certificates. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const certificatesPoints = {
  'certificate.issuer': {
    cardinality: 'one',
    schema: Type.Object({ renew: method }, { description: 'Orders the certificates of the source acme.' }),
  },
  'certificate.user': {
    cardinality: 'many',
    schema: Type.Object(
      { uses: method, preferred: method, names: method },
      { description: 'Uses certificates by their ids: prevents their deletion, and maps names to certificates.' },
    ),
  },
} as const
