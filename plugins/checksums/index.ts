import { definePlugin } from 'svc/kernel'
import { Type } from 'typebox'
import { createBulkDigests } from './bulk-digests.ts'
import { createChecksums } from './checksums.ts'

export default definePlugin({
  name: 'checksums',
  description: 'The ten checksum algorithms of S3.',
  provides: ['checksums'],
  config: Type.Object({}),
  setup({ log }) {
    const bulk = createBulkDigests({ log })
    const checksums = createChecksums(bulk.create)
    return { services: { checksums }, start: checksums.start, stop: bulk.stop }
  },
})
