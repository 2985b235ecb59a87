import { defineAdminOperation, invalidFields } from 'svc/plugins/admin/api'
import type { Signed } from 'svc/plugins/key-groups/api'
import { type Static, Type } from 'typebox'
import type {} from '../service.ts'
import { IdParameters } from './distribution-request.ts'

const sign = 'admin:SignDistributionURL'
const Time = Type.String({ format: 'date-time' })
const secondsMax = 31_536_000

const SignRequest = Type.Object(
  {
    url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 8192, description: 'An absolute URL on a domain of the distribution.' }),
    ),
    path: Type.Optional(Type.String({ minLength: 1, maxLength: 8192, description: 'Instead of `url`.' })),
    domain: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 260,
        description:
          'Of the path; default: the first exact alias. Without a port it gets that of the listener that answers for distributions.',
      }),
    ),
    kind: Type.Enum(['url', 'cookies'], { default: 'url' }),
    keyId: Type.Optional(
      Type.String({ maxLength: 64, description: 'Default: the newest enabled key that the server can sign with.' }),
    ),
    expiresAt: Type.Optional(Time),
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: secondsMax, description: 'Instead of `expiresAt`; default 3600.' }),
    ),
    startsAt: Type.Optional(Time),
    ip: Type.Optional(Type.String({ maxLength: 64, description: 'An address or a CIDR block.' })),
    resource: Type.Optional(
      Type.String({
        maxLength: 8192,
        description:
          'A URL with wildcards in its path and query, or such a path alone, at the address of the URL. Default: the URL.',
      }),
    ),
  },
  { $id: 'SignRequest', additionalProperties: false },
)

const SignedCookie = Type.Object({
  name: Type.String(),
  value: Type.String(),
  domain: Type.String(),
  path: Type.String(),
  secure: Type.Boolean(),
  httpOnly: Type.Boolean(),
  expires: Time,
})

const SignResult = Type.Object(
  {
    kind: Type.Enum(['url', 'cookies']),
    url: Type.Optional(Type.String()),
    cookies: Type.Optional(Type.Array(SignedCookie)),
    keyId: Type.String(),
    keyGroup: Type.String(),
    policy: Type.Optional(Type.String({ description: 'The text that was signed.' })),
    expiresAt: Time,
  },
  { $id: 'SignResult' },
)

export default defineAdminOperation({
  id: 'signDistributionUrl',
  method: 'POST',
  path: '/distributions/{id}/sign',
  tag: 'distributions',
  summary:
    'Signs a URL, or cookies for many, with a key that the server has. The path has a behavior with signed access.',
  authorize: [sign],
  params: IdParameters,
  body: SignRequest,
  response: SignResult,
  errors: ['distribution_not_found', 'key_group_not_found', 'key_not_found', 'not_implemented'],
  uses: ['distributionsAdmin', 'ports'],
  async handle(request, { distributionsAdmin, ports }) {
    const { kind, url, path, domain, keyId, ip, resource, startsAt } = request.body
    requireConsistent(request.body)
    const { keyGroup, ...signed } = await distributionsAdmin.sign(
      request.params.id,
      bucket => request.authorize([sign], { bucket }),
      {
        kind,
        secure: request.exchange.secure,
        expiresMs: expiryOf(request.body, ports.clock.now()),
        ...defined({ url, path, domain, keyId, ip, resource }),
        ...(startsAt !== undefined && { startsMs: Date.parse(startsAt) }),
      },
    )
    return { kind, keyGroup, ...describe(signed) }
  },
})

function requireConsistent(request: Static<typeof SignRequest>): void {
  const { url, path, domain, expiresAt, expiresInSeconds } = request
  const refuse = (element: string, message: string) => {
    throw invalidFields([{ element, message }])
  }
  if ((url === undefined) === (path === undefined)) refuse('/url', 'or /path must be given, and not both')
  if (domain !== undefined && path === undefined) refuse('/domain', 'is for /path')
  if (Date.parse(request.startsAt ?? '1970-01-01') < 0) refuse('/startsAt', 'must not be before 1970')
  if (expiresAt !== undefined && expiresInSeconds !== undefined) refuse('/expiresAt', 'excludes /expiresInSeconds')
}

function expiryOf({ expiresAt, expiresInSeconds = 3600 }: Static<typeof SignRequest>, nowMs: number): number {
  return expiresAt === undefined ? nowMs + expiresInSeconds * 1000 : Date.parse(expiresAt)
}

function describe({ url, cookies, keyId, expiresMs, policy }: Signed) {
  return {
    keyId,
    policy,
    expiresAt: new Date(expiresMs).toISOString(),
    ...(url !== undefined && { url }),
    ...(cookies !== undefined && {
      cookies: cookies.map(({ expiresMs, ...cookie }) => ({ ...cookie, expires: new Date(expiresMs).toISOString() })),
    }),
  }
}

/** Removes undefined fields. */
function defined<T extends object>(fields: T): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
