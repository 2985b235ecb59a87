import { definePlugin } from 'svc/kernel'
import { Type } from 'typebox'
import { createChecksums } from './checksums.ts'

export default definePlugin({
  name: 'checksums',
  description: 'The ten checksum algorithms of S3.',
  provides: ['checksums'],
  config: Type.Object({}),
  setup() {
    const checksums = createChecksums()
    return { services: { checksums }, start: checksums.start }
  },
})
