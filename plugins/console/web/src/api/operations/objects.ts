/** Objects, their uploads, tags and locks, and links to them. */
import type abortUpload from '../../../../../multipart/admin/abort-upload.ts'
import type completeUpload from '../../../../../multipart/admin/complete-upload.ts'
import type createUpload from '../../../../../multipart/admin/create-upload.ts'
import type getUpload from '../../../../../multipart/admin/get-upload.ts'
import type listUploads from '../../../../../multipart/admin/list-uploads.ts'
import type getBucketObjectLock from '../../../../../object-lock/admin/get-bucket-object-lock.ts'
import type getObjectLegalHold from '../../../../../object-lock/admin/get-object-legal-hold.ts'
import type getObjectRetention from '../../../../../object-lock/admin/get-object-retention.ts'
import type setBucketObjectLock from '../../../../../object-lock/admin/set-bucket-object-lock.ts'
import type setObjectLegalHold from '../../../../../object-lock/admin/set-object-legal-hold.ts'
import type setObjectRetention from '../../../../../object-lock/admin/set-object-retention.ts'
import type copyObject from '../../../../../object-operations/admin/copy-object.ts'
import type deleteObjects from '../../../../../object-operations/admin/delete-objects.ts'
import type downloadObject from '../../../../../object-operations/admin/download-object.ts'
import type downloadZip from '../../../../../object-operations/admin/download-zip.ts'
import type listObjectVersions from '../../../../../object-operations/admin/list-object-versions.ts'
import type listObjects from '../../../../../object-operations/admin/list-objects.ts'
import type setObjectMetadata from '../../../../../object-operations/admin/set-object-metadata.ts'
import type statObject from '../../../../../object-operations/admin/stat-object.ts'
import type createPostPolicy from '../../../../../share/admin/create-post-policy.ts'
import type createShare from '../../../../../share/admin/create-share.ts'
import type listShares from '../../../../../share/admin/list-shares.ts'
import type presignUrl from '../../../../../share/admin/presign-url.ts'
import type revokeShare from '../../../../../share/admin/revoke-share.ts'
import type getBucketTags from '../../../../../tagging/admin/get-bucket-tags.ts'
import type setBucketTags from '../../../../../tagging/admin/set-bucket-tags.ts'
import type setObjectTags from '../../../../../tagging/admin/set-object-tags.ts'

export interface ObjectOperations {
  abortUpload: typeof abortUpload
  completeUpload: typeof completeUpload
  copyObject: typeof copyObject
  createPostPolicy: typeof createPostPolicy
  createShare: typeof createShare
  createUpload: typeof createUpload
  deleteObjects: typeof deleteObjects
  downloadObject: typeof downloadObject
  downloadZip: typeof downloadZip
  getBucketObjectLock: typeof getBucketObjectLock
  getBucketTags: typeof getBucketTags
  getObjectLegalHold: typeof getObjectLegalHold
  getObjectRetention: typeof getObjectRetention
  getUpload: typeof getUpload
  listObjectVersions: typeof listObjectVersions
  listObjects: typeof listObjects
  listShares: typeof listShares
  listUploads: typeof listUploads
  presignUrl: typeof presignUrl
  revokeShare: typeof revokeShare
  setBucketObjectLock: typeof setBucketObjectLock
  setBucketTags: typeof setBucketTags
  setObjectLegalHold: typeof setObjectLegalHold
  setObjectMetadata: typeof setObjectMetadata
  setObjectRetention: typeof setObjectRetention
  setObjectTags: typeof setObjectTags
  statObject: typeof statObject
}
