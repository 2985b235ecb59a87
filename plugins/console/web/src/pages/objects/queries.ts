import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'

export const bucketQuery = (bucket: string) =>
  queryOptions({
    queryKey: ['bucket', bucket],
    queryFn: ({ signal }) => call('getBucket', { params: { bucket }, signal }),
  })

/** Details of an object, or of one of its versions. */
export const detailsQuery = (bucket: string, key: string, versionId?: string) =>
  queryOptions({
    queryKey: ['object', bucket, key, versionId],
    queryFn: ({ signal }) => call('statObject', { params: { bucket }, query: { key, versionId }, signal }),
    staleTime: 0,
  })
