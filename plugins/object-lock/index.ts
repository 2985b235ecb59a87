import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/s3/api'
import 'svc/plugins/stored-needs/api'
import { Type } from 'typebox'
import getBucketObjectLock from './admin/get-bucket-object-lock.ts'
import getLegalHoldAsAdmin from './admin/get-object-legal-hold.ts'
import getRetentionAsAdmin from './admin/get-object-retention.ts'
import setBucketObjectLock from './admin/set-bucket-object-lock.ts'
import setObjectLegalHold from './admin/set-object-legal-hold.ts'
import setObjectRetention from './admin/set-object-retention.ts'
import { lockHeaders } from './lock-headers.ts'
import getObjectLegalHold from './s3/get-object-legal-hold.ts'
import getObjectLockConfiguration from './s3/get-object-lock-configuration.ts'
import getObjectRetention from './s3/get-object-retention.ts'
import putObjectLegalHold from './s3/put-object-legal-hold.ts'
import putObjectLockConfiguration from './s3/put-object-lock-configuration.ts'
import putObjectRetention from './s3/put-object-retention.ts'

const operations = [
  getObjectLegalHold,
  getObjectLockConfiguration,
  getObjectRetention,
  putObjectLegalHold,
  putObjectLockConfiguration,
  putObjectRetention,
]

const adminOperations = [
  getBucketObjectLock,
  getLegalHoldAsAdmin,
  getRetentionAsAdmin,
  setBucketObjectLock,
  setObjectLegalHold,
  setObjectRetention,
]

export default definePlugin({
  name: 'object-lock',
  description: 'Retention and legal holds.',
  requires: ['objects'],
  contributes: { 's3.operation': operations, 'admin.operation': adminOperations },
  config: Type.Object({}),
  setup({ contribute }) {
    contribute('s3.attribute', 'lock', lockHeaders)
    contribute(
      'stored.need',
      'object-lock',
      {
        sign: { kind: 'record', name: 'bucket-lock' },
        has: 'object lock',
        consequence: 'locks that exist hold, but clients can neither see, set nor extend any',
      },
      { optional: true },
    )
  },
})
