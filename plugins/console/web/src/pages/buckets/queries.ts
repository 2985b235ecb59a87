import { infiniteQueryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'

export const bucketsQuery = (prefix: string) =>
  infiniteQueryOptions({
    queryKey: ['buckets', prefix],
    queryFn: ({ pageParam, signal }) =>
      call('listBuckets', { query: { prefix, cursor: pageParam, limit: 200 }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => (nextCursor === '' ? undefined : nextCursor),
  })
