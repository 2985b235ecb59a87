import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../publications.ts'
import { Bucket, BucketParameters, describeBucket, describePart, rightsOn } from './bucket-schema.ts'
import { viewOf } from './list-buckets.ts'

export default defineAdminOperation({
  id: 'getBucket',
  method: 'GET',
  path: '/buckets/{bucket}',
  tag: 'buckets',
  summary:
    'Returns a bucket with its usage, and with the settings that the caller may read by the operations about them; who may list only a part of it gets name, date and region.',
  authorize: 'service',
  params: BucketParameters,
  response: Bucket,
  errors: ['bucket_not_found'],
  uses: ['objects', 'authSigv4', 'policy', 'encryption', 'publications'],
  async handle(request, { publications, ...services }) {
    const { objects, authSigv4 } = services
    const { bucket: name } = request.params
    const view = viewOf(request, name)
    // Before looking for it: who may not list it does not learn whether it is there.
    if (view === 'none') throw adminErrors.access_denied()
    const bucket = await objects.getBucket(name)
    if (view === 'part') return describePart(bucket, authSigv4.region)
    return describeBucket(bucket, { ...services, isPublished: await publications.current() }, rightsOn(name, request))
  },
})
