/** Settings of the cache: of the whole cluster, or of one distribution. */
import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useMay } from '../../app/signed-in.ts'
import { cacheTexts } from '../../texts/cache.ts'
import { ClusterSettings } from './cluster-settings.tsx'
import { useDistributions } from './distribution-names.tsx'
import { DistributionSettings } from './distribution-settings.tsx'

const words = cacheTexts.cacheSettings

export function Settings() {
  const [id, setId] = useState('')
  const [asked] = useDebouncedValue(id.trim(), 300)
  const distributions = useDistributions()
  const mayList = useMay('admin:ManageDistributions')
  const props = { label: words.of, description: words.ofHint, maw: 420, value: id }
  return (
    <Stack>
      {mayList ? (
        <NativeSelect
          {...props}
          data={[
            { value: '', label: words.cluster },
            ...distributions.map(each => ({ value: each.id, label: each.id })),
          ]}
          onChange={event => setId(event.currentTarget.value)}
        />
      ) : (
        <TextInput {...props} placeholder={words.cluster} onChange={event => setId(event.currentTarget.value)} />
      )}
      {asked === '' ? <ClusterSettings /> : <DistributionSettings key={asked} id={asked} />}
    </Stack>
  )
}
