import 'svc/plugins/cluster-archive/api'
import { hostname } from 'node:os'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { createLossLog, createTargets } from 'svc/plugins/delivery/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import 'svc/plugins/s3/api'
import { createAccessEvents } from './accessed.ts'
import discardNotifyDeadLetters from './admin/discard-notify-dead-letters.ts'
import discardNotifyQueue from './admin/discard-notify-queue.ts'
import getBucketEvents from './admin/get-bucket-events.ts'
import listNotifyDeadLetters from './admin/list-notify-dead-letters.ts'
import listNotifyQueues from './admin/list-notify-queues.ts'
import listNotifyTargets from './admin/list-notify-targets.ts'
import putBucketEvents from './admin/put-bucket-events.ts'
import replayNotifyTarget from './admin/replay-notify-target.ts'
import retryNotifyDeadLetters from './admin/retry-notify-dead-letters.ts'
import testNotifyTarget from './admin/test-notify-target.ts'
import type { NotifyMessage, NotifyTarget } from './api.ts'
import { NotifyConfig } from './config.ts'
import { decodeMessage } from './kept-event.ts'
import type { MessagePlace } from './message.ts'
import { createNotificationTarget } from './notification-target.ts'
import { createBucketNotifications, subscriptionsOf } from './notifications.ts'
import { createObserver } from './observer.ts'
import { createOutbox, deriveCount, tableByte } from './outbox.ts'
import { notifyPoints } from './points.ts'
import { createQueues } from './queues.ts'
import getBucketNotification from './s3/get-bucket-notification-configuration.ts'
import putBucketNotification from './s3/put-bucket-notification-configuration.ts'
import { createService } from './service.ts'
import { createTargetStates } from './targets.ts'
import { createTrimmer } from './trimmer.ts'

const adminOperations = [
  discardNotifyDeadLetters,
  discardNotifyQueue,
  listNotifyDeadLetters,
  listNotifyQueues,
  listNotifyTargets,
  replayNotifyTarget,
  retryNotifyDeadLetters,
  testNotifyTarget,
]

export default definePlugin({
  name: 'notify',
  description: 'Events about objects, to targets that operators name.',
  requires: ['authSigv4', 'iam', 'objects', 'queue', 'settings', 'storage', 'store'],
  optional: ['metrics'],
  provides: ['notify', 'bucketNotifications'],
  points: notifyPoints,
  contributes: {
    's3.operation': [getBucketNotification, putBucketNotification],
    'admin.operation': [getBucketEvents, putBucketEvents, ...adminOperations],
  },
  config: NotifyConfig,
  setup({ config, services, ports, threads, log, point, contribute, background }) {
    const { authSigv4, iam, metrics = noMetrics, queue, settings, storage } = services
    const bucketNotifications = createBucketNotifications(
      services.store,
      point('notification.target'),
      keyNormalizer(config.keyNormalization),
    )
    contribute('archive.section', bucketNotifications.section.documents.name, bucketNotifications.section, {
      optional: true,
    })
    const { clock, random } = ports
    const { isMain } = threads
    const node = hostname()
    const topic = queue.topic('notify')
    const matcher = (bucket: string) => bucketNotifications.matcher(bucket)
    let place: MessagePlace | undefined

    storage.derive(tableByte, deriveCount)
    const allOutbox = createOutbox(storage)
    storage.define(allOutbox.procedures)
    const outbox = config.outboxRetentionMs === 0 ? undefined : allOutbox
    const notQueued = createLossLog({
      counter: metrics.counter({
        name: 'svc_events_not_queued_total',
        help: 'Events that found the queue of their target full: changes are kept for a replay, reads are not.',
        labels: ['target'],
      }),
      clock,
      log,
      message: 'the queue of a target is full: events are not queued for it',
    })
    const targets = createTargets<NotifyMessage, NotifyTarget>({
      threads,
      settings,
      metrics,
      topic,
      clock,
      log,
      messages: 'events',
      subsystemPrefix: 'notify_',
      idPrefix: '',
      about: {
        enable: 'Events are delivered. While it is off they wait in the queue.',
        queueLimit: 'Events that may wait for the target. Beyond, new ones are only kept for a replay.',
        what: 'events',
      },
      measuresDisabled: true,
      roundTripsMax: 2,
      decode: entry => decodeMessage(entry, place!),
      removalProblem: name => subscriptionsOf(bucketNotifications, name, authSigv4.region),
    })
    const targetStates = createTargetStates({
      targets,
      notQueued: notQueued.count,
      region: () => authSigv4.region,
      clock,
    })
    const created = createService({
      threads,
      clock,
      random,
      log,
      node,
      targets: targetStates,
      outbox,
      replay: { topic, matcher, limitOf: targets.limitOf },
      queues: createQueues({ topic, settings, targets, log }),
    })
    const accessed = createAccessEvents({
      matcher,
      topic,
      limitOf: targets.limitOf,
      clock,
      log,
      onLost: notQueued.add,
    })
    contribute(
      'object.observer',
      'notify',
      createObserver({
        matcher,
        topic,
        outbox,
        limitOf: targets.limitOf,
        onFull: target => notQueued.add(target, 1),
      }),
    )
    contribute('s3.observer', 'notify', accessed.observe)
    const notification = createNotificationTarget({
      targets,
      region: () => authSigv4.region,
      test: created.test,
    })
    contribute('notification.target', 'notify', notification)
    // Also when no events are kept any more: it deletes those of the time before.
    background(createTrimmer({ outbox: allOutbox, clock, ...config }))
    return {
      services: { notify: created.service, bucketNotifications },
      async start() {
        if (isMain) {
          const drives = await storage.drives()
          const deploymentId = drives.find(drive => drive.deploymentId !== undefined)?.deploymentId ?? ''
          place = { region: authSigv4.region, ownerId: iam.owner.accessKey, node, deploymentId }
        }
        await targets.start(point('notify.target').list())
        await notification.prepare?.()
      },
      async drain() {
        created.stop()
        await targets.stop()
      },
      async stop() {
        created.stop()
        await accessed.stop()
        await targets.stop()
      },
    }
  },
})
