import { Skeleton, Stack, Tabs, Text, Title } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { type CacheTab, cacheTabs, needsOf } from '../../app/cache-tabs.ts'
import { useSignedIn } from '../../app/signed-in.ts'
import { TabRow } from '../../parts/tab-row.tsx'
import { texts } from '../../texts/index.ts'
import { Purge } from './purge.tsx'
import { Statistics } from './statistics.tsx'

const Inspect = lazy(async () => ({ default: (await import('./inspect.tsx')).Inspect }))
const Policies = lazy(async () => ({ default: (await import('./policies.tsx')).Policies }))
const WarmUp = lazy(async () => ({ default: (await import('./warm-up.tsx')).WarmUp }))
const Settings = lazy(async () => ({ default: (await import('./settings.tsx')).Settings }))

export function Cache() {
  const { allowed } = useSignedIn()
  const shown = cacheTabs.filter(tab => needsOf[tab].some(action => allowed.has(action)))
  const { tab = shown[0] ?? 'statistics' } = useSearch({ from: '/inside/cache' })
  const navigate = useNavigate()
  const choose = (chosen: string | null) =>
    void navigate({ to: '/cache', search: chosen === null ? {} : { tab: chosen as CacheTab } })
  return (
    <Stack>
      <Title order={1} size="h2">
        {texts.cache.title}
      </Title>
      <Tabs value={shown.includes(tab) ? tab : null} onChange={choose} keepMounted={false}>
        <TabRow chosen={tab} tabs={shown.map(name => [name, texts.cache.tabs[name]])} />
        {!shown.includes(tab) && <Text>{texts.common.deniedTab(needsOf[tab])}</Text>}
        <Suspense fallback={<Skeleton h={240} />}>
          <Tabs.Panel value="statistics">
            <Statistics />
          </Tabs.Panel>
          <Tabs.Panel value="purge">
            <Purge />
          </Tabs.Panel>
          <Tabs.Panel value="warmup">
            <WarmUp />
          </Tabs.Panel>
          <Tabs.Panel value="inspect">
            <Inspect />
          </Tabs.Panel>
          <Tabs.Panel value="policies">
            <Policies />
          </Tabs.Panel>
          <Tabs.Panel value="settings">
            <Settings />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
    </Stack>
  )
}
