import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { TargetParameters } from './notify-schema.ts'

const NotifyDeadLetter = Type.Object(
  {
    id: Type.String({ description: '20 hexadecimal digits; larger the later it was given up.' }),
    target: Type.String(),
    eventName: Type.String({ description: 'Empty, like bucket and key, if the stored event is damaged.' }),
    bucket: Type.String(),
    key: Type.String(),
    eventTime: Type.Optional(Type.String({ format: 'date-time' })),
    queuedAt: Type.String({ format: 'date-time' }),
    givenUpAt: Type.String({ format: 'date-time' }),
    attempts: Type.Integer({ description: 'Failed attempts since its delivery began; a restart resets the count.' }),
    reason: Type.String({ description: 'Why the target will never take it.' }),
  },
  { $id: 'NotifyDeadLetter' },
)

export default defineAdminOperation({
  id: 'listNotifyDeadLetters',
  method: 'GET',
  path: '/notify/queues/{id}/dead-letters',
  tag: 'notify',
  summary:
    'Lists events that a target will never take, oldest first, with the reason. A queue keeps 10000; a new one replaces the oldest.',
  authorize: ['admin:ConfigUpdate'],
  params: TargetParameters,
  query: Type.Object(pageParameters),
  response: Type.Object({
    ...pageOf(NotifyDeadLetter).properties,
    count: Type.Integer({ description: 'Dead letters of the queue, those on other pages too.' }),
    newest: Type.String({
      description:
        'The id of the newest of them, empty if there is none: as `through` of a retry or a discard it leaves out what is given up after this answer.',
    }),
  }),
  errors: ['notify_queue_not_found'],
  uses: ['notify'],
  async handle({ params: { id }, query: { cursor, limit } }, { notify }) {
    const startAfter = decodeCursor(cursor) ?? ''
    // Before the page, so that the pages have everything that is counted.
    const { count, newest } = await notify.countDeadLetters(id)
    const letters = await notify.deadLetters(id, { startAfter, limit })
    const last = letters.at(-1)?.id
    // A page may be shorter than its limit, because payloads are bounded, too.
    const isMore = last !== undefined && (await notify.deadLetters(id, { startAfter: last, limit: 1 })).length > 0
    return {
      items: letters.map(({ event, queuedMs, givenUpMs, ...letter }) => ({
        ...letter,
        eventName: event?.name ?? '',
        bucket: event?.bucket ?? '',
        key: event?.key ?? '',
        ...(event && { eventTime: new Date(event.timeMs).toISOString() }),
        queuedAt: new Date(queuedMs).toISOString(),
        givenUpAt: new Date(givenUpMs).toISOString(),
      })),
      nextCursor: encodeCursor(isMore ? last : undefined),
      count,
      newest,
    }
  },
})
