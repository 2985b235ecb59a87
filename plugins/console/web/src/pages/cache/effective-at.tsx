/** What counts in the end at one address of a distribution, as it is stored: every field with its level. */
import { Paper, SimpleGrid, Stack, TextInput, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { Facts } from '../../parts/facts.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { Suggestions } from '../../parts/suggestions.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { FieldOrigins, whetherOn } from './effective.tsx'

const words = cacheTexts.cacheSettings

export function EffectiveAt({ id, domains }: { id: string; domains: readonly string[] }) {
  const [place, setPlace] = useState({ domain: '', path: '/' })
  const [{ domain, path }] = useDebouncedValue(place, 300)
  const url = domain === '' ? path : `https://${domain}${path}`
  const inspection = useQuery({
    queryKey: ['cache-effective', id, url],
    queryFn: ({ signal }) => call('inspectCache', { query: { url, distribution: id }, signal }),
    placeholderData: keepPreviousData,
    retry: false,
    enabled: path.startsWith('/'),
  })
  return (
    <Paper withBorder p="md">
      <Stack>
        <Title order={2} size="h4">
          {words.effective}
        </Title>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Suggestions
            label={words.domainName}
            data={domains.filter(each => !each.startsWith('*'))}
            placeholder={domains[0] ?? ''}
            value={place.domain}
            onChange={value => setPlace({ ...place, domain: value.trim() })}
          />
          <TextInput
            label={texts.distributions.pattern}
            value={place.path}
            onChange={event => setPlace({ ...place, path: event.currentTarget.value })}
          />
        </SimpleGrid>
        {inspection.error !== null && <ProblemAlert error={inspection.error} />}
        {inspection.data !== undefined && (
          <>
            <Facts facts={[whetherOn(inspection.data.policy)]} />
            <FieldOrigins policy={inspection.data.policy} />
          </>
        )}
      </Stack>
    </Paper>
  )
}
