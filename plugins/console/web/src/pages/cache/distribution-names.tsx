/** Which distribution: chosen from what the caller may see, or typed. */
import type { AutocompleteProps } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { Suggestions } from '../../parts/suggestions.tsx'
import { texts } from '../../texts/index.ts'

export type ListedDistribution = Answer<'listDistributions'>['items'][number]

/** Empty for whoever may not list them. */
export function useDistributions(): readonly ListedDistribution[] {
  const { data = [] } = useQuery({
    queryKey: ['names', 'distributions'],
    queryFn: async ({ signal }) => (await call('listDistributions', { signal })).items,
    enabled: useMay('admin:ManageDistributions'),
  })
  return data
}

interface DistributionNameProps extends Omit<AutocompleteProps, 'data' | 'label'> {
  /** Leaves out S3 endpoints, which have no cache here. */
  readonly isCached?: boolean
}

export function DistributionName({ isCached = false, ...props }: DistributionNameProps) {
  const names = useDistributions()
    .filter(({ mode }) => !isCached || mode !== 's3')
    .map(({ id }) => id)
  return <Suggestions label={texts.cache.distribution} data={names} {...props} />
}
