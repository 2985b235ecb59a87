import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/s3/api'
import { Type } from 'typebox'
import getBucketTags from './admin/get-bucket-tags.ts'
import setBucketTags from './admin/set-bucket-tags.ts'
import setObjectTags from './admin/set-object-tags.ts'
import { objectTags } from './object-tags.ts'
import deleteBucketTagging from './s3/delete-bucket-tagging.ts'
import deleteObjectTagging from './s3/delete-object-tagging.ts'
import getBucketTagging from './s3/get-bucket-tagging.ts'
import getObjectTagging from './s3/get-object-tagging.ts'
import putBucketTagging from './s3/put-bucket-tagging.ts'
import putObjectTagging from './s3/put-object-tagging.ts'

const operations = [
  deleteBucketTagging,
  deleteObjectTagging,
  getBucketTagging,
  getObjectTagging,
  putBucketTagging,
  putObjectTagging,
]

const adminOperations = [getBucketTags, setBucketTags, setObjectTags]

export default definePlugin({
  name: 'tagging',
  description: 'Tags of objects and buckets.',
  requires: ['objects'],
  contributes: { 's3.operation': operations, 'admin.operation': adminOperations },
  config: Type.Object({}),
  setup({ contribute }) {
    contribute('s3.attribute', 'tags', objectTags)
  },
})
