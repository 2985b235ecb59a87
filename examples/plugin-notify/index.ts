import { definePlugin } from 'svc/kernel'
// For its types only: it declares the extension point `notify.target`.
import type {} from 'svc/plugins/notify/api'
import { mqttKind } from './target.ts'

export default definePlugin({
  name: 'notify-mqtt',
  version: '0.1.0',
  setup({ contribute }) {
    contribute('notify.target', 'mqtt', mqttKind)
    return {}
  },
})
