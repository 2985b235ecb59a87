import { hostname } from 'node:os'
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { bindS3Operation } from 'svc/plugins/s3/api'
import { createAccessEvents } from './accessed.ts'
import discardNotifyDeadLetters from './admin/discard-notify-dead-letters.ts'
import discardNotifyQueue from './admin/discard-notify-queue.ts'
import getBucketEvents from './admin/get-bucket-events.ts'
import listNotifyDeadLetters from './admin/list-notify-dead-letters.ts'
import listNotifyQueues from './admin/list-notify-queues.ts'
import listNotifyTargets from './admin/list-notify-targets.ts'
import { createPutBucketEvents } from './admin/put-bucket-events.ts'
import replayNotifyTarget from './admin/replay-notify-target.ts'
import retryNotifyDeadLetters from './admin/retry-notify-dead-letters.ts'
import testNotifyTarget from './admin/test-notify-target.ts'
import { NotifyConfig } from './config.ts'
import { createFullQueues } from './full-queues.ts'
import type { MessagePlace } from './message.ts'
import { registerFamilies } from './metrics.ts'
import { createNotificationTarget } from './notification-target.ts'
import { createBucketNotifications } from './notifications.ts'
import { createObserver } from './observer.ts'
import { createOutbox, deriveCount, tableByte } from './outbox.ts'
import { notifyPoints } from './points.ts'
import { createQueues } from './queues.ts'
import getBucketNotification from './s3/get-bucket-notification-configuration.ts'
import { createPutBucketNotification } from './s3/put-bucket-notification-configuration.ts'
import { createService } from './service.ts'
import { declareSubsystems, type KindSettings } from './subsystems.ts'
import { createTargets } from './targets.ts'
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
  requires: ['authSigv4', 'iam', 'objects', 'queue', 'settings', 'storage', 'store'],
  optional: ['metrics'],
  provides: ['notify', 'bucketNotifications'],
  points: notifyPoints,
  config: NotifyConfig,
  setup({ config, services, ports, threads, log, point, contribute, background }) {
    const { authSigv4, iam, metrics = noMetrics, queue, settings, storage } = services
    const bucketNotifications = createBucketNotifications(services.store, point('notification.target'))
    const { clock, random } = ports
    const { isMain } = threads
    const kindPoint = point('notify.target')
    const node = hostname()
    const family = queue.family('notify')
    const matcher = (bucket: string) => bucketNotifications.matcher(bucket)
    let kinds: ReadonlyMap<string, KindSettings> = new Map()
    let place: MessagePlace | undefined

    storage.derive(tableByte, deriveCount)
    const allOutbox = createOutbox(storage)
    storage.define(allOutbox.procedures)
    const outbox = config.outboxRetentionMs === 0 ? undefined : allOutbox
    const full = createFullQueues(clock, log)
    const targets = createTargets({
      family,
      notQueued: full.count,
      get region() {
        return authSigv4.region
      },
      place: () => place!,
      clock,
      log,
      onSent: (target, count) => families.onSent(target, count),
      onFailed: target => families.onFailed(target),
    })
    const families = registerFamilies(metrics, isMain ? () => targets.states() : undefined)
    const onNotQueued = (lane: string, count: number) => {
      families.onNotQueued(lane, count)
      full.note(lane, count)
    }
    const created = createService({
      threads,
      clock,
      random,
      log,
      node,
      targets,
      outbox,
      replay: { family, matcher, limitOf: targets.limitOf },
      queues: createQueues({ family, settings, kinds: () => kinds, log }),
    })
    const accessed = createAccessEvents({
      matcher,
      family,
      limitOf: lane => targets.limitOf(lane),
      clock,
      log,
      onLost: onNotQueued,
    })
    contribute(
      'object.observer',
      'notify',
      createObserver({
        matcher,
        family,
        outbox,
        limitOf: lane => targets.limitOf(lane),
        onFull: lane => onNotQueued(lane, 1),
      }),
    )
    contribute('s3.observer', 'notify', accessed.observe)
    const notification = createNotificationTarget({
      kinds: () => kinds,
      region: () => authSigv4.region,
      test: created.test,
    })
    contribute('notification.target', 'notify', notification)
    const forBuckets = { objects: services.objects, bucketNotifications }
    const putBucketNotification = createPutBucketNotification(forBuckets, ports)
    contribute(
      's3.operation',
      getBucketNotification.name,
      bindS3Operation(getBucketNotification, { ...services, bucketNotifications }),
    )
    contribute('s3.operation', putBucketNotification.name, putBucketNotification)
    for (const operation of [getBucketEvents, createPutBucketEvents(ports)]) {
      const bound = bindAdminOperation(operation, { ...services, bucketNotifications })
      contribute('admin.operation', operation.id, bound, { optional: true })
    }
    for (const operation of adminOperations) {
      const bound = { notify: created.service, objects: services.objects }
      contribute('admin.operation', operation.id, bindAdminOperation(operation, bound), { optional: true })
    }
    // Also where nothing is kept any more: what was kept has to go.
    if (isMain) background(createTrimmer({ outbox: allOutbox, clock, ...config }))
    return {
      services: { notify: created.service, bucketNotifications },
      async start() {
        kinds = declareSubsystems(kindPoint, {
          settings,
          region: authSigv4.region,
          subscribers: bucketNotifications.subscribers,
        })
        targets.use(kinds)
        await notification.prepare?.()
        if (!isMain) return
        const drives = await storage.drives()
        const deploymentId = drives.find(drive => drive.deploymentId !== undefined)?.deploymentId ?? ''
        place = { region: authSigv4.region, ownerId: iam.owner.accessKey, node, deploymentId }
        await targets.start()
      },
      async drain() {
        created.stop()
        if (isMain) await targets.stop()
      },
      async stop() {
        created.stop()
        await accessed.stop()
        if (isMain) await targets.stop()
      },
    }
  },
})
