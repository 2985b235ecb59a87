import type { ActiveSession } from 'svc/plugins/iam/api'
import { Type } from 'typebox'

export const Identity = Type.Object(
  {
    accessKey: Type.String(),
    isRoot: Type.Boolean(),
    groups: Type.Array(Type.String()),
    policyNames: Type.Array(Type.String()),
  },
  { $id: 'Identity' },
)

export const Session = Type.Object(
  {
    id: Type.String({ description: 'Names the session; gives no access.' }),
    accessKey: Type.String(),
    identity: Identity,
    issuedAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.String({ format: 'date-time' }),
    csrfToken: Type.String({ description: 'To be sent as X-CSRF-Token with everything that changes something.' }),
  },
  { $id: 'Session' },
)

export function describeSession({ id, accessKey, identity, issuedAtMs, expiresAtMs, csrfToken }: ActiveSession) {
  return {
    id,
    accessKey,
    identity: {
      accessKey: identity.accessKey,
      isRoot: identity.isRoot,
      groups: [...(identity.groups ?? [])],
      policyNames: [],
    },
    issuedAt: new Date(issuedAtMs).toISOString(),
    expiresAt: new Date(expiresAtMs).toISOString(),
    csrfToken,
  }
}
