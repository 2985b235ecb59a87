import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { wrongOwnSecret } from '../errors.ts'
import { SecretKey } from './secret-schema.ts'

const OwnSecretKeyChange = Type.Object(
  {
    currentSecretKey: Type.String({ minLength: 1, maxLength: 128, format: 'password' }),
    newSecretKey: SecretKey,
  },
  { $id: 'OwnSecretKeyChange' },
)

export default defineAdminOperation({
  id: 'changeOwnSecretKey',
  method: 'PUT',
  path: '/me/secret-key',
  tag: 'session',
  summary:
    'Changes the secret key of the calling user. Its other sessions end, and failures count like failed logins. The secret of root is set by the configuration.',
  authorize: 'self',
  body: OwnSecretKeyChange,
  bodyBytesMax: 16 * 1024,
  errors: ['conflict', 'too_many_requests'],
  uses: ['users', 'authSession'],
  async handle({ identity, exchange, session, body }, { users, authSession }) {
    const { accessKey, isRoot, kind = 'user' } = identity!
    const { currentSecretKey, newSecretKey } = body
    // For callers that cannot change it at all, the service throws, without a check of the secret.
    if (!isRoot && kind === 'user') {
      const verified = authSession.verify(exchange.clientAddress, accessKey, currentSecretKey)
      if (verified === undefined) throw wrongOwnSecret()
    }
    const change = () => users.changeOwnSecretKey(identity!, currentSecretKey, newSecretKey)
    if (session === undefined) await change()
    else await authSession.keepThrough(session.id, newSecretKey, change)
    authSession.endAll(accessKey, session?.id)
  },
})
