/** What the caller of an operation may do with the documents. */
import { type AdminRequest, isAuthorized } from 'svc/plugins/admin/api'
import { editorOf } from 'svc/plugins/key-groups/api'
import type { ArchiveRights } from '../stored.ts'

const manage = 'admin:ManageDistributions'
const cache = 'admin:ManageCache'

type Asking = Pick<AdminRequest, 'authorize' | 'identity' | 'isAllowed'>

export function rightsOf(request: Asking): ArchiveRights {
  const may = (action: string, bucket: string, key?: string): Promise<boolean> =>
    isAuthorized(request, [action], { bucket, ...(key !== undefined && { key }) })
  return {
    keyGroupEditor: editorOf(request),
    managesDistributions: request.isAllowed(manage),
    managesCache: request.isAllowed(cache),
    mayManage: bucket => may(manage, bucket),
    mayWrite: (bucket, prefix) => may('s3:PutObject', bucket, prefix),
    mayCache: bucket => may(cache, bucket),
  }
}
