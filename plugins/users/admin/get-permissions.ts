import { defineAdminOperation, invalidFields } from 'svc/plugins/admin/api'
import type { Exchange } from 'svc/plugins/http/api'
import { requestConditions } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'
import { noUser } from '../errors.ts'
import { userNameOf } from '../user-directory.ts'
import { ownUserOf } from './caller.ts'

const S3Place = Type.Object(
  {
    endpoint: Type.String({
      description: 'Its address: SVC_SERVER_URL, otherwise the host of this request with the port of the S3 API.',
    }),
    region: Type.String({ description: 'The region that signatures are for.' }),
  },
  { description: 'Where programs of the caller find the S3 API; absent without one.' },
)

const PermissionsView = Type.Object(
  {
    user: Type.String(),
    isRoot: Type.Boolean(),
    bucket: Type.String({ description: 'Empty: actions on the server.' }),
    prefix: Type.String(),
    allowed: Type.Array(Type.String()),
    denied: Type.Array(Type.String()),
    s3: Type.Optional(S3Place),
  },
  { $id: 'PermissionsView' },
)

export type S3PlaceOf = (exchange: Pick<Exchange, 'host' | 'secure'>) => Static<typeof S3Place> | undefined

declare module 'svc/kernel' {
  interface Services {
    s3Place: S3PlaceOf
  }
}

export default defineAdminOperation({
  id: 'getPermissions',
  method: 'GET',
  path: '/me/permissions',
  tag: 'session',
  summary:
    "Lists the actions that the caller may do on the server, or on a bucket and everything under a prefix. A hint for the console: every operation makes its own decision, and operations on the caller's own access keys and share links need none of these actions.",
  authorize: 'service',
  query: Type.Object({
    bucket: Type.String({ default: '', maxLength: 255 }),
    prefix: Type.String({ default: '', maxLength: 1024, description: 'Prefix of object keys; needs `bucket`.' }),
    user: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Default: the caller, with the rights of its credentials.',
      }),
    ),
  }),
  response: PermissionsView,
  errors: ['user_not_found'],
  uses: ['policy', 'users', 's3Place', 'ports'],
  async handle(request, { policy, users, s3Place, ports: { clock } }) {
    const { bucket, prefix, user } = request.query
    const { identity: caller, exchange, session } = request
    if (prefix !== '' && bucket === '') throw invalidFields([{ element: 'query/prefix', message: 'needs a bucket' }])
    const isOwn = user === undefined || user === ownUserOf(request)
    // Also for the caller's own user, if the credentials are restricted: they must not learn more than their own rights.
    if (!isOwn) request.requireAllowed('admin:GetUser')
    const identity = isOwn ? caller! : await users.describeIdentity(user)
    if (identity === undefined) throw noUser(user!)
    if (bucket !== '') await policy.prepare(bucket)
    const facts = requestConditions({
      sourceAddress: exchange.clientAddress,
      secure: exchange.secure,
      timeMs: clock.now(),
      headers: exchange.request.headers,
      signature: session === undefined ? 'header' : undefined,
      signatureVersion: session === undefined ? 'AWS4-HMAC-SHA256' : undefined,
    })
    const asked = bucket === '' ? { identity } : { identity, bucket, prefix: request.normalizeKey(prefix) }
    const { allowed, denied } = policy.permissions({ ...asked, conditions: () => facts })
    const s3 = s3Place(exchange)
    return {
      user: userNameOf(identity),
      isRoot: identity.isRoot,
      bucket,
      prefix,
      allowed: [...allowed],
      denied: [...denied],
      ...(s3 && { s3 }),
    }
  },
})
