/** What the server spends its time and memory on. */
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import { createCaptureProfile } from './admin/capture-profile.ts'
import { createCaptures } from './captures.ts'

export default definePlugin({
  name: 'diagnostics',
  description: 'Profiles of processor and memory.',
  optional: ['locks', 'store'],
  setup({ services: { locks, store }, threads, ports: { clock }, contribute }) {
    const captureProfile = createCaptureProfile(createCaptures({ threads, clock, locks, store }), clock.now)
    contribute('admin.operation', captureProfile.id, bindAdminOperation(captureProfile, {}), { optional: true })
  },
})
