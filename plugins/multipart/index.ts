import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/s3/api'
import { Type } from 'typebox'
import abortUpload from './admin/abort-upload.ts'
import completeUpload from './admin/complete-upload.ts'
import createUpload from './admin/create-upload.ts'
import getUpload from './admin/get-upload.ts'
import listUploads from './admin/list-uploads.ts'
import uploadPartAsAdmin from './admin/upload-part.ts'
import abortMultipartUpload from './s3/abort-multipart-upload.ts'
import completeMultipartUpload from './s3/complete-multipart-upload.ts'
import createMultipartUpload from './s3/create-multipart-upload.ts'
import listMultipartUploads from './s3/list-multipart-uploads.ts'
import listParts from './s3/list-parts.ts'
import uploadPart from './s3/upload-part.ts'
import uploadPartCopy from './s3/upload-part-copy.ts'

const operations = [
  abortMultipartUpload,
  completeMultipartUpload,
  createMultipartUpload,
  listMultipartUploads,
  listParts,
  uploadPart,
  uploadPartCopy,
]

const adminOperations = [abortUpload, completeUpload, createUpload, getUpload, listUploads, uploadPartAsAdmin]

export default definePlugin({
  name: 'multipart',
  description: 'Uploads in parts.',
  requires: ['objects', 'checksums', 'iam', 's3'],
  contributes: { 's3.operation': operations, 'admin.operation': adminOperations },
  config: Type.Object({}),
  setup() {},
})
