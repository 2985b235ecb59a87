import { defineErrors } from 'svc/kernel'

/** Errors of `notify`. Codes are those of the Admin API. */
export const notifyErrors = defineErrors({
  conflict: { status: 409, title: 'Events are being replayed to the target already.' },
  notify_outbox_disabled: { status: 409, title: 'No events are kept: SVC_NOTIFY_OUTBOX_RETENTION is 0.' },
  notify_queue_in_use: { status: 409, title: 'The target of the queue is configured.' },
  notify_queue_full: { status: 503, title: 'The queue of the target is full.' },
  notify_queue_not_found: { status: 404, title: 'There is no such queue.' },
  notify_target_not_found: { status: 404, title: 'The target does not exist.' },
})

/** With the id of the target. */
export const noTarget = (id: string): Error => notifyErrors.notify_target_not_found(`There is no target "${id}".`)
