import type { Share } from 'svc/plugins/users/api'
import { Type } from 'typebox'

const Time = Type.String({ format: 'date-time' })

export const ShareState = Type.Union([Type.Literal('active'), Type.Literal('revoked'), Type.Literal('expired')])

/** Good for seven days at most, as all presigned URLs. */
export const expiresSecondsMax = 604_800

export const ShareLink = Type.Object(
  {
    id: Type.String(),
    bucket: Type.String(),
    key: Type.String(),
    versionId: Type.Optional(Type.String()),
    description: Type.String(),
    owner: Type.String({ description: 'Whose rights it has.' }),
    createdAt: Time,
    expiresAt: Time,
    state: ShareState,
    revokedAt: Type.Optional(Time),
    lastUsedAt: Type.Optional(Type.String({ format: 'date-time', description: 'The hour of the last request.' })),
    url: Type.Optional(Type.String({ description: 'Only in the answer that creates it.' })),
  },
  { $id: 'ShareLink' },
)

const timeOf = (timeMs: number): string => new Date(timeMs).toISOString()

export function describeShare(link: Share) {
  const { accessKey, share, description, user, createdMs, expiresMs = createdMs, state, revokedMs, lastUsedMs } = link
  return {
    id: accessKey,
    bucket: share.bucket,
    key: share.key,
    ...(share.versionId === undefined ? undefined : { versionId: share.versionId }),
    description,
    owner: user,
    createdAt: timeOf(createdMs),
    expiresAt: timeOf(expiresMs),
    state,
    ...(revokedMs === undefined ? undefined : { revokedAt: timeOf(revokedMs) }),
    ...(lastUsedMs === undefined ? undefined : { lastUsedAt: timeOf(lastUsedMs) }),
  }
}
