/** For tests of plugins that post to webhooks. */
import type { HttpClientService } from 'svc/plugins/http-client/api'
import type { WebhookService } from './api.ts'
import { createWebhookService } from './service.ts'

export function createTestWebhooks(httpClient: HttpClientService): WebhookService {
  return createWebhookService(httpClient)
}
