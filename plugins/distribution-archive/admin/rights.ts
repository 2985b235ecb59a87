/** What the caller of an operation may do with the documents. */
import { isCatalogError } from 'svc/kernel'
import type { AdminRequest } from 'svc/plugins/admin/api'
import type { ArchiveRights } from '../stored.ts'

const manage = 'admin:ManageDistributions'
const cache = 'admin:ManageCache'

type Asking = Pick<AdminRequest, 'authorize' | 'isAllowed'>

export function rightsOf(request: Asking): ArchiveRights {
  async function may(action: string, bucket: string, key?: string): Promise<boolean> {
    try {
      await request.authorize([action], { bucket, ...(key !== undefined && { key }) })
      return true
    } catch (error) {
      if (isCatalogError(error) && error.code === 'access_denied') return false
      throw error
    }
  }
  return {
    managesDistributions: request.isAllowed(manage),
    managesCache: request.isAllowed(cache),
    mayManage: bucket => may(manage, bucket),
    mayWrite: (bucket, prefix) => may('s3:PutObject', bucket, prefix),
    mayCache: bucket => may(cache, bucket),
  }
}
