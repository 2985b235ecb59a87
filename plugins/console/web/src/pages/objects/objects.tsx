import { Stack, Title } from '@mantine/core'
import { useParams, useSearch } from '@tanstack/react-router'
import { Breadcrumb } from './breadcrumb.tsx'
import { Browser } from './browser.tsx'

export function Objects() {
  const { bucket } = useParams({ from: '/inside/buckets/$bucket' })
  const { prefix = '' } = useSearch({ from: '/inside/buckets/$bucket' })
  return (
    <Stack>
      <Title order={1} size="h2">
        {bucket}
      </Title>
      <Breadcrumb bucket={bucket} prefix={prefix} />
      <Browser key={`${bucket}/${prefix}`} bucket={bucket} prefix={prefix} />
    </Stack>
  )
}
