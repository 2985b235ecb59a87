import { definePlugin } from 'svc/kernel'
import { Type } from 'typebox'
import { procedures } from './commit.ts'
import { table } from './keys.ts'
import { createObjects } from './objects.ts'
import { deriveObjectUsage, derivePartUsage, deriveUploadUsage } from './usage.ts'

export default definePlugin({
  name: 'objects',
  requires: ['storage', 'checksums'],
  provides: ['objects'],
  config: Type.Object({}),
  setup({ services, ports }) {
    const { storage, checksums } = services
    storage.define(procedures)
    storage.derive(table.object, deriveObjectUsage)
    storage.derive(table.upload, deriveUploadUsage)
    storage.derive(table.part, derivePartUsage)
    return { services: { objects: createObjects({ storage, checksums, random: ports.random }) } }
  },
})
