import { definePlugin } from 'svc/kernel'
import { bindS3Operation } from 'svc/plugins/s3/api'
import { Type } from 'typebox'
import copyObject from './s3/copy-object.ts'
import deleteObject from './s3/delete-object.ts'
import deleteObjects from './s3/delete-objects.ts'
import getObject from './s3/get-object.ts'
import getObjectAttributes from './s3/get-object-attributes.ts'
import headObject from './s3/head-object.ts'
import putObject from './s3/put-object.ts'

const operations = [copyObject, deleteObject, deleteObjects, getObject, getObjectAttributes, headObject, putObject]

export default definePlugin({
  name: 'object-operations',
  requires: ['objects', 'checksums'],
  config: Type.Object({}),
  setup({ services, contribute }) {
    for (const operation of operations) contribute('s3.operation', operation.name, bindS3Operation(operation, services))
  },
})
