import type { NotifyTargetKind } from 'svc/plugins/notify/api'
import { type WebhookService, WebhookSettings } from './api.ts'

/** Posts under way to one receiver. The queue sends the events of a key one after the other. */
const concurrency = 8

export function createNotifyTargets(webhooks: WebhookService): NotifyTargetKind<typeof WebhookSettings> {
  return {
    description: 'Events of objects as JSON to a URL, one POST for each.',
    settings: WebhookSettings,
    validate: settings => webhooks.problems(settings),
    endpoint: settings => webhooks.endpoint(settings),
    connect(settings) {
      const webhook = webhooks.connect(settings, { purpose: 'notify', concurrency })
      return {
        concurrency,
        async send(messages, signal) {
          for (const { body } of messages) await webhook.post(body, signal)
        },
        test: (body, signal) => webhook.post(body, signal),
        close: () => webhook.close(),
      }
    },
  }
}
