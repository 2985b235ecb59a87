/** The extension point for sources of certificates besides the operator's files. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const tlsPoints = {
  'tls.source': {
    cardinality: 'many',
    schema: Type.Object(
      { find: method },
      {
        description:
          'Certificates by server name. They go before the certificate of SVC_CERTS_DIR, on every TLS listener.',
      },
    ),
  },
  'tls.challenge': {
    cardinality: 'many',
    schema: Type.Object(
      { isPending: method, find: method },
      {
        description: 'Certificates that answer the challenge tls-alpn-01, for connections that offer acme-tls/1 alone.',
      },
    ),
  },
} as const
