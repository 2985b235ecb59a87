/** Configuration keys that other plugins read too. */
import { isAbsolute } from 'node:path'
import Type from 'typebox'

export const certsDirKey = Type.Optional(
  Type.String({
    variable: 'SVC_CERTS_DIR',
    format: 'path',
    description: 'Directory with public.crt and private.key (PEM); enables TLS on every listener, reloaded on change.',
    check: (path: string) => (isAbsolute(path) ? undefined : 'must be an absolute path'),
  }),
)
