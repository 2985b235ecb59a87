import { definePlugin } from 'svc/kernel'
// For its types only: it declares the extension point `storage.backend`.
import { createMemoryBackend } from './memory-backend.ts'

export default definePlugin({
  name: 'example-storage',
  version: '0.1.0',
  setup({ contribute }) {
    contribute('storage.backend', 'memory', {
      validate: endpoints =>
        endpoints.length === 1 ? [] : ['The memory backend takes one endpoint, which only names it.'],
      create: createMemoryBackend,
    })
  },
})
