import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type { NotifyService } from '../api.ts'
import { deadLettersMax, idPattern, Left, TargetParameters, Through } from './notify-schema.ts'

export default defineAdminOperation({
  id: 'retryNotifyDeadLetters',
  method: 'POST',
  path: '/notify/queues/{id}/dead-letters/retry',
  tag: 'notify',
  summary:
    'Queues dead letters of a target again, behind the waiting events: all, those up to one that was seen, or those with these ids. Ids of other entries are ignored.',
  authorize: ['admin:ConfigUpdate'],
  params: TargetParameters,
  body: Type.Object(
    {
      ids: Type.Optional(
        Type.Array(Type.String({ pattern: idPattern, errorMessage: 'must be the id of an event that was given up' }), {
          minItems: 1,
          maxItems: deadLettersMax,
          description: 'Default: all.',
        }),
      ),
      through: Type.Optional(Through),
    },
    { $id: 'NotifyDeadLetterRetry' },
  ),
  response: Type.Object(
    {
      target: Type.String(),
      queued: Type.Integer(),
      left: Left,
      reason: Type.String({
        description:
          'If none was queued: why, and what becomes of the events that wait. Else why those that were queued are not sent; empty if they are.',
      }),
    },
    { $id: 'NotifyDeadLetterRetryResult' },
  ),
  errors: ['notify_queue_not_found', 'notify_target_not_found'],
  uses: ['notify'],
  async handle({ params: { id }, body: { ids, through } }, { notify }) {
    const { queued, left } = await notify.retryDeadLetters(id, { ids, through })
    const none =
      ids !== undefined
        ? 'None of these is the id of a dead letter.'
        : left > 0
          ? 'All dead letters were given up later.'
          : 'There are no dead letters.'
    return { target: id, queued, left, reason: await (queued > 0 ? whyNotSent(notify, id) : whyNone(notify, id, none)) }
  },
})

async function whyNotSent(notify: NotifyService, id: string): Promise<string> {
  const target = (await notify.targets()).find(target => target.id === id)
  return target?.isEnabled === false ? 'The target is not enabled: no event is sent to it until it is.' : ''
}

/** The events that the caller misses may still be waiting. */
async function whyNone(notify: NotifyService, id: string, none: string): Promise<string> {
  const [queues, targets] = await Promise.all([notify.queues(), notify.targets()])
  const { pendingEvents = 0 } = queues.find(queue => queue.id === id) ?? {}
  const { isEnabled, lastError = '' } = targets.find(target => target.id === id) ?? {}
  if (pendingEvents === 0) return `${none} No event waits.`
  const when =
    isEnabled === false
      ? 'stay until the target is enabled'
      : lastError === ''
        ? 'are being delivered'
        : `are tried again within a minute, or after a test that succeeds; the last attempt failed: ${lastError}`
  return `${none} Events that wait: ${pendingEvents}; they ${when}`.replace(/\.?$/, '.')
}
