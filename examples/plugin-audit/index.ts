import { definePlugin } from 'svc/kernel'
// For its types only: it declares the extension point `audit.sink`.
import 'svc/plugins/audit/api'
import { fileKind } from './target.ts'

export default definePlugin({
  name: 'example-audit',
  version: '0.1.0',
  setup({ contribute }) {
    // The id makes the subsystem of the settings: `audit_file`.
    contribute('audit.sink', 'file', fileKind)
  },
})
