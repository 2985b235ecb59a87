import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { deadLettersMax, idPattern, Left, TargetParameters, Through } from './notify-schema.ts'

export default defineAdminOperation({
  id: 'discardNotifyDeadLetters',
  method: 'DELETE',
  path: '/notify/queues/{id}/dead-letters',
  tag: 'notify',
  summary: 'Deletes dead letters: all, those up to one that was seen, or those with these ids.',
  authorize: ['admin:ConfigUpdate'],
  params: TargetParameters,
  query: Type.Object({
    ids: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: deadLettersMax * 21,
        description: `At most ${deadLettersMax}, separated by commas; default: all.`,
      }),
    ),
    through: Type.Optional(Through),
  }),
  response: Type.Object(
    { target: Type.String(), discarded: Type.Integer({ description: 'Dead letters.' }), left: Left },
    { $id: 'NotifyDeadLetterDiscardResult' },
  ),
  errors: ['notify_queue_not_found'],
  uses: ['notify'],
  async handle({ params: { id }, query: { ids, through } }, { notify }) {
    const named = ids?.split(',').map(text => text.trim())
    // Refuses a malformed id: without it the list could be empty, which means all dead letters.
    if (named?.some(text => !new RegExp(idPattern).test(text))) {
      throw adminErrors.invalid_argument('query/ids: must be ids of dead letters, separated by commas.')
    }
    return { target: id, ...(await notify.discardDeadLetters(id, { ids: named, through })) }
  },
})
