import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
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

export const versionsQuery = (bucket: string, key: string) =>
  infiniteQueryOptions({
    queryKey: ['object', bucket, key, 'versions'],
    queryFn: ({ pageParam, signal }) =>
      call('listObjectVersions', { params: { bucket }, query: { key, cursor: pageParam, limit: 100 }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor || undefined,
  })
