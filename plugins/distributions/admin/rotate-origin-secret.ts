import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { IdParameters, manage, mayManageAs } from './distribution-request.ts'

const RotateOriginSecret = Type.Object(
  { keepPreviousFor: Type.String({ default: '24h', maxLength: 32, description: 'How long the others hold: `24h`.' }) },
  { $id: 'RotateOriginSecret', additionalProperties: false },
)
const OriginSecret = Type.Object(
  {
    name: Type.String({ description: 'Of the header.' }),
    value: Type.String({ description: 'Shown this once.' }),
    previousExpiresAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'OriginSecret' },
)

export default defineAdminOperation({
  id: 'rotateOriginSecret',
  method: 'POST',
  path: '/distributions/{id}/origin-secret/rotate',
  tag: 'distributions',
  summary: 'Makes a new origin secret, which holds at once. The others hold for a while.',
  authorize: [manage],
  params: IdParameters,
  body: RotateOriginSecret,
  bodyOptional: true,
  response: OriginSecret,
  errors: ['conflict', 'distribution_not_found'],
  uses: ['distributionsAdmin'],
  handle: (request, { distributionsAdmin: distributions }) =>
    distributions.rotate(request.params.id, mayManageAs(request), request.body?.keepPreviousFor ?? '24h'),
})
