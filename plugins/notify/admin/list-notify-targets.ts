import { type AdminRequest, adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import { NotifyTarget } from './notify-schema.ts'

export default defineAdminOperation({
  id: 'listNotifyTargets',
  method: 'GET',
  path: '/notify/targets',
  tag: 'notify',
  summary:
    'Lists the configured targets of events, including disabled ones, with their states. Allowed for callers who may read the configuration or the state of the server, or may put the event subscriptions of some bucket.',
  authorize: [['admin:GetConfig', 'admin:ServerInfo', 's3:PutBucketNotification']],
  // No action is required here, because the permission to put subscriptions may be for any bucket: the handler looks for one.
  authorizeRequest: () => ({ actions: [] }),
  response: Type.Object({ items: Type.Array(NotifyTarget) }),
  uses: ['notify', 'objects'],
  async handle({ isAllowed }, { notify, objects }) {
    const mayRead = isAllowed('admin:GetConfig') || isAllowed('admin:ServerInfo')
    if (!mayRead && !(await maySubscribe(isAllowed, objects))) throw adminErrors.access_denied()
    const targets = await notify.targets()
    return {
      items: targets.map(({ kind, isEnabled, isOnline, lastErrorMs, lastSuccessMs, ...target }) => ({
        ...target,
        // Addresses of chats have their secret in the path, and failures tell about the network.
        ...(mayRead ? undefined : { endpoint: '', lastError: '' }),
        type: kind,
        enabled: isEnabled,
        online: isOnline,
        ...(lastErrorMs === undefined ? undefined : { lastErrorAt: new Date(lastErrorMs).toISOString() }),
        ...(lastSuccessMs === undefined ? undefined : { lastSuccessAt: new Date(lastSuccessMs).toISOString() }),
      })),
    }
  },
})

/** Whether the caller may put event subscriptions in some bucket: they name the targets. */
async function maySubscribe(isAllowed: AdminRequest['isAllowed'], objects: ObjectsService): Promise<boolean> {
  for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
    const page: Awaited<ReturnType<ObjectsService['listBuckets']>> = await objects.listBuckets({
      prefix: '',
      startAfter,
      limit: 1000,
    })
    if (page.buckets.some(({ name }) => isAllowed('s3:PutBucketNotification', name))) return true
    startAfter = page.next
  }
  return false
}
