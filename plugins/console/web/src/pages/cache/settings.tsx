/** Settings of the cache: of the whole cluster, or of one distribution. */
import { NativeSelect, Skeleton, Stack, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { lazy, Suspense, useState } from 'react'
import { useMay } from '../../app/signed-in.ts'
import { LeaveQuestion } from '../../parts/unsaved.tsx'
import { useHasUnsaved } from '../../parts/unsaved-forms.ts'
import { cacheTexts } from '../../texts/cache.ts'
import { ClusterSettings } from './cluster-settings.tsx'
import { useDistributions } from './distribution-names.tsx'

const words = cacheTexts.cacheSettings

/** Loaded when one is chosen. */
const DistributionSettings = lazy(async () => ({
  default: (await import('./distribution-settings.tsx')).DistributionSettings,
}))

export function Settings() {
  const [id, setId] = useState('')
  const [asked] = useDebouncedValue(id.trim(), 300)
  const [shown, setShown] = useState('')
  const hasUnsaved = useHasUnsaved()
  if (asked !== shown && !hasUnsaved) setShown(asked)
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
      <Suspense fallback={<Skeleton height={320} />}>
        {shown === '' ? <ClusterSettings /> : <DistributionSettings key={shown} id={shown} />}
      </Suspense>
      {hasUnsaved && asked !== shown && asked === id.trim() && (
        <LeaveQuestion onStay={() => setId(shown)} onLeave={() => setShown(asked)} />
      )}
    </Stack>
  )
}
