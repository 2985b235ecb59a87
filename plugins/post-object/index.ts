import { definePlugin } from 'svc/kernel'
import { Type } from 'typebox'
import { createPostObject } from './s3/post-object.ts'

export default definePlugin({
  name: 'post-object',
  description: 'Uploads by forms of browsers.',
  requires: ['objects', 'checksums'],
  config: Type.Object({}),
  setup({ services, ports, contribute }) {
    const operation = createPostObject({ ...services, clock: ports.clock })
    contribute('s3.operation', operation.name, operation)
  },
})
