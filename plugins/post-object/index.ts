import { definePlugin } from 'svc/kernel'
import { Type } from 'typebox'
import postObject from './s3/post-object.ts'

export default definePlugin({
  name: 'post-object',
  description: 'Uploads by forms of browsers.',
  requires: ['objects', 'checksums'],
  contributes: { 's3.operation': [postObject] },
  config: Type.Object({}),
  setup() {},
})
