import { Skeleton, Stack, Tabs, Title } from '@mantine/core'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { type BucketTab, bucketTabs } from '../../app/bucket-tabs.ts'
import { texts } from '../../texts/index.ts'
import { Breadcrumb } from '../objects/breadcrumb.tsx'
import { Browser } from '../objects/browser.tsx'

const Settings = lazy(async () => ({ default: (await import('./settings.tsx')).Settings }))
const Policy = lazy(async () => ({ default: (await import('./policy.tsx')).Policy }))
const Lifecycle = lazy(async () => ({ default: (await import('./lifecycle.tsx')).Lifecycle }))

export function Bucket() {
  const { bucket } = useParams({ from: '/inside/buckets/$bucket' })
  const { prefix = '', tab = 'objects' } = useSearch({ from: '/inside/buckets/$bucket' })
  const navigate = useNavigate()
  const choose = (chosen: string | null) =>
    void navigate({
      to: '/buckets/$bucket',
      params: { bucket },
      search: chosen === 'objects' || chosen === null ? {} : { tab: chosen as BucketTab },
    })
  return (
    <Stack>
      <Title order={1} size="h2">
        {bucket}
      </Title>
      <Tabs value={tab} onChange={choose} keepMounted={false}>
        <Tabs.List mb="md">
          {bucketTabs.map(name => (
            <Tabs.Tab key={name} value={name}>
              {texts.bucket.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Suspense fallback={<Skeleton h={240} />}>
          <Tabs.Panel value="objects">
            <Stack>
              <Breadcrumb bucket={bucket} prefix={prefix} />
              <Browser key={`${bucket}/${prefix}`} bucket={bucket} prefix={prefix} />
            </Stack>
          </Tabs.Panel>
          <Tabs.Panel value="settings">
            <Settings bucket={bucket} />
          </Tabs.Panel>
          <Tabs.Panel value="policy">
            <Policy bucket={bucket} />
          </Tabs.Panel>
          <Tabs.Panel value="lifecycle">
            <Lifecycle bucket={bucket} />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
    </Stack>
  )
}
