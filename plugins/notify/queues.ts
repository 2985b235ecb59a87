/** Queues and dead letters, of removed targets too. */
import { isCatalogError, type Logger } from 'svc/kernel'
import { parseTargetId, type Targets } from 'svc/plugins/delivery/api'
import type { DeadLetter, QueueTopic } from 'svc/plugins/queue/api'
import type { SettingsService } from 'svc/plugins/settings/api'
import type { NotifyDeadLetter, NotifyQueueState, NotifyService, NotifyTarget } from './api.ts'
import { noTarget, notifyErrors } from './errors.ts'
import { decodeEvent } from './kept-event.ts'

export interface QueuesOptions {
  readonly topic: Pick<
    QueueTopic,
    'clear' | 'countDeadLetters' | 'deadLetters' | 'discardDeadLetters' | 'queues' | 'retryDeadLetters' | 'status'
  >
  readonly settings: Pick<SettingsService, 'administration'>
  readonly targets: Pick<Targets<NotifyTarget>, 'configured'>
  readonly log: Logger
}

export type NotifyQueues = Pick<
  NotifyService,
  'queues' | 'discardQueue' | 'deadLetters' | 'countDeadLetters' | 'retryDeadLetters' | 'discardDeadLetters'
>

export function createQueues({ topic, settings, targets, log }: QueuesOptions): NotifyQueues {
  const configured = async () => new Set((await targets.configured()).map(({ id }) => id))

  /** Settings that no loaded plugin declares are kept, and so are their queues: the plugin may be loaded again. */
  const isStored = async (id: string): Promise<boolean> => {
    const name = parseTargetId(id)
    if (name === undefined) return false
    try {
      await settings.administration.showOne(`notify_${name.kind}:${name.id}`)
      return true
    } catch (error) {
      if (isCatalogError(error) && error.code === 'subsystem_not_found') return false
      throw error
    }
  }

  const stateOf = async (id: string, known: ReadonlySet<string>): Promise<NotifyQueueState> => {
    const { pending, pendingBytes, deadLetters } = await topic.status(id)
    const target = known.has(id) ? 'configured' : (await isStored(id)) ? 'unloaded' : 'removed'
    return { id, target, pendingEvents: pending, pendingBytes, deadLetters }
  }

  const requireQueue = async (id: string): Promise<NotifyQueueState> => {
    const known = await configured()
    if (!known.has(id) && !(await topic.queues()).includes(id))
      throw notifyErrors.notify_queue_not_found(`There is no queue "${id}".`)
    return stateOf(id, known)
  }

  return {
    async queues() {
      const known = await configured()
      const ids = [...new Set([...known, ...(await topic.queues())])].sort()
      return Promise.all(ids.map(id => stateOf(id, known)))
    },
    async discardQueue(id) {
      const { target } = await requireQueue(id)
      if (target === 'configured') throw notifyErrors.notify_queue_in_use()
      if (target === 'unloaded') {
        throw notifyErrors.notify_queue_in_use('The target has settings that no loaded plugin knows: reset them first.')
      }
      const discarded = await topic.clear(id)
      log.warn({ target: id, discarded }, 'the queue of a target that is removed was discarded')
      return discarded
    },
    async deadLetters(id, page) {
      await requireQueue(id)
      return (await topic.deadLetters(id, page)).map(letter => describe(id, letter))
    },
    async countDeadLetters(id) {
      await requireQueue(id)
      return topic.countDeadLetters(id)
    },
    async retryDeadLetters(id, which) {
      const { target } = await requireQueue(id)
      if (target !== 'configured') throw noTarget(id)
      const queued = await topic.retryDeadLetters(id, which)
      log.info({ target: id, queued }, 'dead letters were queued again')
      return { queued, left: (await topic.status(id)).deadLetters }
    },
    async discardDeadLetters(id, which) {
      await requireQueue(id)
      const discarded = await topic.discardDeadLetters(id, which)
      log.warn({ target: id, discarded }, 'dead letters were discarded')
      return { discarded, left: (await topic.status(id)).deadLetters }
    },
  }
}

function describe(
  target: string,
  { id, reason, attempts, queuedMs, givenUpMs, payload }: DeadLetter,
): NotifyDeadLetter {
  return { id, target, reason, attempts, queuedMs, givenUpMs, event: readEvent(payload) }
}

function readEvent(payload: Buffer): NotifyDeadLetter['event'] {
  try {
    const { name, timeMs, bucket, key } = decodeEvent(payload).event
    return { name: `s3:${name}`, timeMs, bucket, key }
  } catch {
    // A damaged event became a dead letter.
    return undefined
  }
}
