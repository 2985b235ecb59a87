import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/s3/api'
import { Type } from 'typebox'
import copyObjectAsAdmin from './admin/copy-object.ts'
import deleteObjectsAsAdmin from './admin/delete-objects.ts'
import downloadObject from './admin/download-object.ts'
import downloadZip from './admin/download-zip.ts'
import listObjectVersions from './admin/list-object-versions.ts'
import listObjects from './admin/list-objects.ts'
import setObjectMetadata from './admin/set-object-metadata.ts'
import statObject from './admin/stat-object.ts'
import uploadObject from './admin/upload-object.ts'
import copyObject from './s3/copy-object.ts'
import deleteObject from './s3/delete-object.ts'
import deleteObjects from './s3/delete-objects.ts'
import getObject from './s3/get-object.ts'
import getObjectAttributes from './s3/get-object-attributes.ts'
import headObject from './s3/head-object.ts'
import putObject from './s3/put-object.ts'
import renameObject from './s3/rename-object.ts'

const operations = [
  copyObject,
  deleteObject,
  deleteObjects,
  getObject,
  getObjectAttributes,
  headObject,
  putObject,
  renameObject,
]

const adminOperations = [
  copyObjectAsAdmin,
  deleteObjectsAsAdmin,
  downloadObject,
  listObjects,
  listObjectVersions,
  setObjectMetadata,
  statObject,
]

export default definePlugin({
  name: 'object-operations',
  description: 'Stores, reads, copies, renames and deletes objects.',
  requires: ['objects', 'checksums', 's3'],
  optional: ['authSession'],
  contributes: { 's3.operation': operations, 'admin.operation': [...adminOperations, uploadObject, downloadZip] },
  config: Type.Object({}),
  setup() {},
})
