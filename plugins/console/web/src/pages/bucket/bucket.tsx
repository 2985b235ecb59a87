import { Anchor, Skeleton, Stack, Tabs, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { Problem } from '../../api/problem.ts'
import { type BucketTab, bucketTabs } from '../../app/bucket-tabs.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { Name } from '../../parts/name.tsx'
import { useKnownRights } from '../../parts/rights.ts'
import { TabRow } from '../../parts/tab-row.tsx'
import { texts } from '../../texts/index.ts'
import { Breadcrumb } from '../objects/breadcrumb.tsx'
import { bucketQuery } from '../objects/queries.ts'

const Browser = lazy(async () => ({ default: (await import('../objects/browser.tsx')).Browser }))
const AllVersions = lazy(async () => ({ default: (await import('./all-versions.tsx')).AllVersions }))
const Uploads = lazy(async () => ({ default: (await import('./uploads.tsx')).Uploads }))
const Settings = lazy(async () => ({ default: (await import('./settings.tsx')).Settings }))
const Access = lazy(async () => ({ default: (await import('../access/access.tsx')).Access }))
const Events = lazy(async () => ({ default: (await import('./events.tsx')).Events }))
const Policy = lazy(async () => ({ default: (await import('./policy.tsx')).Policy }))
const Distributions = lazy(async () => ({
  default: (await import('../publishing/distributions.tsx')).DistributionList,
}))
const Lifecycle = lazy(async () => ({ default: (await import('./lifecycle.tsx')).Lifecycle }))

/** Any of these opens the tab. */
const needs: Readonly<Record<BucketTab, readonly string[]>> = {
  objects: [],
  versions: ['s3:ListBucketVersions'],
  uploads: ['s3:ListBucketMultipartUploads'],
  settings: ['s3:GetBucketVersioning', 's3:GetEncryptionConfiguration', 's3:GetBucketTagging', 's3:DeleteBucket'],
  access: ['s3:GetBucketPolicy', 'admin:ManageAccessRules'],
  policy: ['s3:GetBucketPolicy'],
  lifecycle: ['s3:GetLifecycleConfiguration'],
  events: ['s3:GetBucketNotification'],
  distributions: ['admin:ManageDistributions'],
}

const none: ReadonlySet<string> = new Set()

export function Bucket() {
  const { bucket } = useParams({ from: '/inside/buckets/$bucket' })
  // Nothing that stands on the page of a bucket is of another one.
  return <BucketPage key={bucket} bucket={bucket} />
}

function BucketPage({ bucket }: { bucket: string }) {
  const { prefix = '', find = '', object, tab = 'objects' } = useSearch({ from: '/inside/buckets/$bucket' })
  const navigate = useNavigate()
  const known = useKnownRights(bucket)
  const rights = known ?? none
  const { error } = useQuery(bucketQuery(bucket))
  // The tab in the address stays, also before the rights are known.
  const isShown = (name: BucketTab) =>
    name === tab || needs[name].some(action => rights.has(action)) || needs[name].length === 0
  // Nothing is asked for that the server would refuse.
  const isOpen = known !== undefined && needs[tab].some(action => known.has(action))
  const isDenied = known !== undefined && needs[tab].length > 0 && !isOpen
  const choose = (chosen: string | null) =>
    void navigate({
      to: '/buckets/$bucket',
      params: { bucket },
      search: chosen === 'objects' || chosen === null ? {} : { tab: chosen as BucketTab },
    })
  // The address leads others to the object; going back leaves the folder.
  const show = (key: string | undefined) =>
    void navigate({
      to: '/buckets/$bucket',
      params: { bucket },
      search: {
        ...(prefix !== '' && { prefix }),
        ...(find !== '' && { find }),
        ...(key !== undefined && { object: key }),
      },
      replace: true,
      resetScroll: false,
    })
  return (
    <Stack>
      <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
        <Name>{bucket}</Name>
      </Title>
      {isMissing(error) ? (
        <>
          <ProblemAlert error={error} />
          <Anchor component={Link} to="/buckets" underline="always">
            {texts.bucket.toAll}
          </Anchor>
        </>
      ) : (
        <Tabs value={tab} onChange={choose} keepMounted={false}>
          <TabRow chosen={tab} tabs={bucketTabs.filter(isShown).map(name => [name, texts.bucket.tabs[name]])} />
          {isDenied && <Text>{texts.bucket.denied(needs[tab])}</Text>}
          <Suspense fallback={<Skeleton h={240} />}>
            <Tabs.Panel value="objects">
              <Stack>
                <Breadcrumb bucket={bucket} prefix={prefix} />
                <Browser
                  key={`${bucket}/${prefix} ${find}`}
                  bucket={bucket}
                  prefix={prefix}
                  find={find}
                  shown={object}
                  onShow={show}
                />
              </Stack>
            </Tabs.Panel>
            <Tabs.Panel value="versions">{isOpen && <AllVersions bucket={bucket} />}</Tabs.Panel>
            <Tabs.Panel value="uploads">{isOpen && <Uploads bucket={bucket} />}</Tabs.Panel>
            <Tabs.Panel value="settings">{isOpen && <Settings bucket={bucket} />}</Tabs.Panel>
            <Tabs.Panel value="access">{isOpen && <Access bucket={bucket} />}</Tabs.Panel>
            <Tabs.Panel value="events">{isOpen && <Events bucket={bucket} />}</Tabs.Panel>
            <Tabs.Panel value="policy">{isOpen && <Policy bucket={bucket} />}</Tabs.Panel>
            <Tabs.Panel value="distributions">{isOpen && <Distributions bucket={bucket} />}</Tabs.Panel>
            <Tabs.Panel value="lifecycle">{isOpen && <Lifecycle bucket={bucket} />}</Tabs.Panel>
          </Suspense>
        </Tabs>
      )}
    </Stack>
  )
}

const isMissing = (error: unknown): boolean => error instanceof Problem && error.status === 404
