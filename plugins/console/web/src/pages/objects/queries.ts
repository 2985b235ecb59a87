import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'

export const bucketQuery = (bucket: string) =>
  queryOptions({
    queryKey: ['bucket', bucket],
    queryFn: ({ signal }) => call('getBucket', { params: { bucket }, signal }),
  })

/** As it is now; undefined for who may not see it. Rejects where it cannot be read for another reason. */
export async function versioningOf(queryClient: QueryClient, bucket: string): Promise<string | undefined> {
  try {
    return (await queryClient.fetchQuery({ ...bucketQuery(bucket), staleTime: 0 })).versioning
  } catch (error) {
    // What is changed next says that there is no such bucket.
    if (error instanceof Problem && (error.status === 403 || error.status === 404)) return undefined
    throw error
  }
}

/** Details of an object, or of one of its versions. */
export const detailsQuery = (bucket: string, key: string, versionId?: string) =>
  queryOptions({
    queryKey: ['object', bucket, key, versionId],
    queryFn: ({ signal }) => call('statObject', { params: { bucket }, query: { key, versionId }, signal }),
    staleTime: 0,
  })
