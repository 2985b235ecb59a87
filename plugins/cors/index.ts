import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/s3/api'
import { Type } from 'typebox'
import getCorsAsAdmin from './admin/get-bucket-cors.ts'
import putCorsAsAdmin from './admin/put-bucket-cors.ts'
import { createCors } from './cors.ts'
import deleteBucketCors from './s3/delete-bucket-cors.ts'
import getBucketCors from './s3/get-bucket-cors.ts'
import { preflights } from './s3/preflight.ts'
import putBucketCors from './s3/put-bucket-cors.ts'

const operations = [deleteBucketCors, getBucketCors, putBucketCors]
const adminOperations = [getCorsAsAdmin, putCorsAsAdmin]

export default definePlugin({
  name: 'cors',
  description: 'CORS rules of buckets, preflights and headers.',
  requires: ['objects', 's3', 'store'],
  provides: ['cors'],
  internal: ['corsMatcher'],
  contributes: { 's3.operation': [...operations, ...preflights], 'admin.operation': adminOperations },
  config: Type.Object({}),
  setup({ services, contribute }) {
    const cors = createCors(services.store, services.s3.apiSettings)
    contribute('archive.section', cors.section.documents.name, cors.section, { optional: true })
    contribute('s3.origin-answer', 'cors', cors.answerOrigin)
    return { services: { cors }, internal: { corsMatcher: cors } }
  },
})
