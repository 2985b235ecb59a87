/** Profiles of the server's use of time and memory. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import captureProfile from './admin/capture-profile.ts'
import './api.ts'
import { createCaptures } from './captures.ts'

export default definePlugin({
  name: 'diagnostics',
  description: 'Profiles of processor and memory.',
  optional: ['locks', 'store'],
  internal: ['captures'],
  contributes: { 'admin.operation': [captureProfile] },
  setup({ services: { locks, store }, threads, ports: { clock } }) {
    return { internal: { captures: createCaptures({ threads, clock, locks, store }) } }
  },
})
