/** One object: what is known of it, how it looks, its versions, and what can be done with it. */
import { Alert, Button, Drawer, Group, Skeleton, Stack, Tabs, Text } from '@mantine/core'
import {
  IconArrowBackUp,
  IconCopy,
  IconDownload,
  IconLink,
  IconPencil,
  IconSignature,
  IconTrash,
} from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { call, urlOf } from '../../api/client.ts'
import type { ObjectDetails } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { type Action, MoreMenu } from '../../parts/actions.tsx'
import { once } from '../../parts/double-clicks.ts'
import { Facts } from '../../parts/facts.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { useFocusBack } from '../../parts/focus-back.ts'
import { formatBytes, formatCount, formatMoment } from '../../parts/format.ts'
import { Name } from '../../parts/name.tsx'
import { pairsOf } from '../../parts/pairs.ts'
import { useRights } from '../../parts/rights.ts'
import { LeaveQuestion, UnsavedInDialog } from '../../parts/unsaved.tsx'
import { texts } from '../../texts/index.ts'
import { DeleteVersion, useUndelete } from './change-versions.tsx'
import { Preview } from './preview.tsx'
import { Protection } from './protection.tsx'
import { detailsQuery } from './queries.ts'
import { Versions } from './versions.tsx'

const ShareObject = lazy(async () => ({ default: (await import('../shares/share-object.tsx')).ShareObject }))
const PresignUrl = lazy(async () => ({ default: (await import('../shares/presign-url.tsx')).PresignUrl }))
const CopyEntries = lazy(async () => ({ default: (await import('./copy-entries.tsx')).CopyEntries }))
const DeleteEntries = lazy(async () => ({ default: (await import('./delete-entries.tsx')).DeleteEntries }))
const EditDescription = lazy(async () => ({ default: (await import('./edit-description.tsx')).EditDescription }))

export interface DetailsDrawerProps {
  readonly bucket: string
  readonly objectKey: string
  readonly onClose: () => void
}

export function DetailsDrawer({ bucket, objectKey, onClose }: DetailsDrawerProps) {
  useFocusBack()
  const [versionId, setVersionId] = useState<string>()
  const [tab, setTab] = useState<string | null>('details')
  const [open, setOpen] = useState<'share' | 'presign' | 'copy' | 'edit' | 'delete'>()
  const { data, error, refetch } = useQuery(detailsQuery(bucket, objectKey, versionId))
  const rights = useRights(bucket, objectKey)
  // Of a delete marker there is nothing to read, share or edit.
  const isDeleted = data?.isDeleteMarker === true
  // Nothing but a program that has the key can read or copy it.
  const isOfCustomer = data?.encryption?.type === 'SSE-C'
  const mayPut = rights.has('s3:PutObject')
  const mayWrite = mayPut && !isOfCustomer
  const mayRead = rights.has(versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion')
  const mayOpen = mayRead && !isOfCustomer
  const isUnreadable = !mayRead && error instanceof Problem && error.status === 403
  const mayTag = rights.has('s3:PutObjectTagging')
  const mayDelete = rights.has(versionId === undefined ? 's3:DeleteObject' : 's3:DeleteObjectVersion')
  const mayListVersions = rights.has('s3:ListBucketVersions')
  const close = () => setOpen(undefined)
  const [unsaved] = useState(() => new Set<object>())
  /** What gives up what is not saved, once somebody has agreed. */
  const [asked, setAsked] = useState<() => void>()
  const leave = (then: () => void) => (unsaved.size > 0 ? setAsked(() => then) : then())
  const show = (version: string) => {
    const showIt = () => {
      setVersionId(version)
      setTab('details')
    }
    return version === versionId ? showIt() : leave(showIt)
  }
  const showWhatIsLeft = async () => {
    const query = { key: objectKey, limit: 1 }
    const listed = await call('listObjectVersions', { params: { bucket }, query }).catch(error => {
      // The version that was shown is gone in any case.
      setVersionId(undefined)
      throw error
    })
    const [latest] = listed.items
    if (latest === undefined) return onClose()
    setVersionId(undefined)
    // Behind a delete marker there are no details.
    if (latest.isDeleteMarker) setTab('versions')
  }
  // Whoever may not list versions sees the object that is current now, or that there is none.
  const afterDeletion = mayListVersions ? showWhatIsLeft : async () => setVersionId(undefined)
  const more: Action[] = []
  if (mayOpen || mayPut || mayDelete) {
    more.push({ label: texts.presign.action, icon: IconSignature, onClick: () => setOpen('presign') })
  }
  if (mayOpen && mayWrite) more.push({ label: texts.objects.copy, icon: IconCopy, onClick: () => setOpen('copy') })
  if ((mayWrite || mayTag) && data !== undefined) {
    more.push({ label: texts.objects.edit, icon: IconPencil, onClick: () => leave(() => setOpen('edit')) })
  }
  if (mayDelete && data !== undefined) {
    const label = versionId === undefined ? texts.common.delete : texts.objects.deleteShown
    more.push({ label, icon: IconTrash, isDeletion: true, onClick: () => setOpen('delete') })
  }
  return (
    <Drawer
      opened
      onClose={() => leave(onClose)}
      // A dialog above it is what Escape closes.
      closeOnEscape={open === undefined && asked === undefined}
      position="right"
      size="lg"
      title={<Name>{objectKey}</Name>}
      styles={{ title: { overflowWrap: 'anywhere' } }}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        {isDeleted && <Deleted bucket={bucket} marker={data} rights={rights} />}
        {isOfCustomer && <Text size="sm">{texts.objects.ofCustomer}</Text>}
        {!isDeleted && (
          <Group gap={6}>
            {mayOpen && (
              <Button
                component="a"
                href={urlOf('downloadObject', { bucket }, { key: objectKey, versionId })}
                download
                px={10}
                leftSection={<IconDownload size={16} aria-hidden />}
              >
                {texts.objects.download}
              </Button>
            )}
            {mayOpen && <InWords icon={IconLink} label={texts.objects.share} onClick={() => setOpen('share')} />}
            {more.length === 1 && <InWords {...more[0]!} />}
            {more.length > 1 && <MoreMenu of={objectKey} actions={more} isLarge />}
          </Group>
        )}
        <Tabs value={isDeleted ? 'versions' : tab} onChange={setTab} keepMounted={false} keepMountedMode="display-none">
          <Tabs.List mb="sm">
            {!isDeleted && <Tabs.Tab value="details">{texts.objects.tabs.details}</Tabs.Tab>}
            {!isDeleted && !isOfCustomer && <Tabs.Tab value="preview">{texts.objects.tabs.preview}</Tabs.Tab>}
            {mayListVersions && <Tabs.Tab value="versions">{texts.objects.tabs.versions}</Tabs.Tab>}
          </Tabs.List>
          {tab !== 'versions' && isUnreadable && <Text>{texts.objects.unreadable}</Text>}
          {tab !== 'versions' && error !== null && !isUnreadable && (
            <ProblemAlert error={error} onRetry={() => refetch()} />
          )}
          {tab !== 'versions' && data === undefined && error === null && <Skeleton h={200} />}
          {versionId !== undefined && data !== undefined && tab !== 'versions' && (
            <Text size="sm" c="dimmed">
              {texts.objects.versionOf(formatMoment(data.lastModified))}
            </Text>
          )}
          {/* What is changed there and not saved stays. */}
          <Tabs.Panel value="details" keepMounted>
            {data !== undefined && !isDeleted && <Details details={data} />}
            {data !== undefined && !isDeleted && (
              <UnsavedInDialog value={unsaved}>
                <Protection key={data.versionId} bucket={bucket} details={data} />
              </UnsavedInDialog>
            )}
          </Tabs.Panel>
          <Tabs.Panel value="preview">
            {data !== undefined && !isOfCustomer && <Preview bucket={bucket} details={data} versionId={versionId} />}
          </Tabs.Panel>
          <Tabs.Panel value="versions">
            {mayListVersions && (
              <Versions bucket={bucket} objectKey={objectKey} onShow={show} onDeleted={afterDeletion} />
            )}
          </Tabs.Panel>
        </Tabs>
      </Stack>
      {asked !== undefined && (
        <LeaveQuestion
          title={texts.common.closeTitle}
          text={texts.common.closeText}
          leave={texts.common.discard}
          onStay={() => setAsked(undefined)}
          onLeave={() => {
            setAsked(undefined)
            asked()
          }}
        />
      )}
      <Suspense>
        {open === 'share' && (
          <ShareObject bucket={bucket} objectKey={objectKey} versionId={versionId} onClose={close} />
        )}
        {open === 'presign' && (
          <PresignUrl
            bucket={bucket}
            objectKey={objectKey}
            versionId={versionId}
            isReadable={!isOfCustomer}
            onClose={close}
          />
        )}
        {open === 'copy' && (
          <CopyEntries
            bucket={bucket}
            entries={[{ kind: 'object', id: objectKey, versionId }]}
            onClose={close}
            onMoved={onClose}
          />
        )}
        {open === 'delete' &&
          data !== undefined &&
          (versionId === undefined ? (
            <DeleteEntries
              bucket={bucket}
              entries={[{ kind: 'object', id: objectKey, object: data }]}
              onClose={close}
              onDeleted={onClose}
            />
          ) : (
            <DeleteVersion
              bucket={bucket}
              version={{ ...data, key: objectKey, versionId }}
              onClose={close}
              onDeleted={afterDeletion}
            />
          ))}
        {open === 'edit' && data !== undefined && (
          <EditDescription
            bucket={bucket}
            details={data}
            versionId={versionId}
            mayWrite={mayWrite}
            mayTag={mayTag}
            onClose={close}
          />
        )}
      </Suspense>
    </Drawer>
  )
}

interface DeletedProps {
  readonly bucket: string
  readonly marker: Pick<ObjectDetails, 'key' | 'versionId' | 'etag' | 'lastModified'>
  readonly rights: ReadonlySet<string>
}

function Deleted({ bucket, marker, rights }: DeletedProps) {
  const undelete = useUndelete(bucket)
  return (
    <Alert color="yellow" title={texts.objects.isDeleted(formatMoment(marker.lastModified))}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{texts.objects.isDeletedText}</Text>
        {rights.has('s3:DeleteObjectVersion') && (
          <Button
            leftSection={<IconArrowBackUp size={16} aria-hidden />}
            loading={undelete.isPending}
            onClick={() => undelete.mutate(marker)}
            {...once}
          >
            {texts.objects.undelete}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

function InWords({ icon: Icon, label, onClick }: Action) {
  return (
    <Button
      variant="default"
      px={10}
      leftSection={<Icon size={16} aria-hidden />}
      {...(onClick !== undefined && { onClick })}
    >
      {label}
    </Button>
  )
}

function Details({ details }: { details: ObjectDetails }) {
  return (
    <>
      <Facts
        facts={[
          [texts.common.size, sizeInFull(details.size)],
          [texts.common.modified, formatMoment(details.lastModified)],
          [texts.objects.type, details.contentType],
          [texts.objects.contentEncoding, details.contentEncoding],
          [texts.objects.contentLanguage, details.contentLanguage],
          [texts.objects.contentDisposition, details.contentDisposition],
          [texts.objects.cacheControl, details.cacheControl],
          [texts.objects.etag, details.etag, 'id'],
          [texts.objects.version, details.versionId, 'id'],
          [texts.objects.checksum, details.checksum && `${details.checksumAlgorithm} ${details.checksum}`, 'id'],
          [texts.objects.encryption, details.encryption?.type ?? texts.objects.notEncrypted],
        ]}
      />
      <Section title={texts.objects.metadata} of={details.userMetadata} />
      <Section title={texts.objects.tags} of={details.tags} />
    </>
  )
}

function Section({ title, of }: { title: string; of: object | undefined }) {
  const facts = pairsOf(of)
  if (facts.length === 0) return null
  return (
    <>
      <Text fw={600} size="sm" mt="sm">
        {title}
      </Text>
      <Facts facts={facts} />
    </>
  )
}

/** Rounded, and exact where that is not the same. */
function sizeInFull(size: number): string {
  const exact = `${formatCount(size)} B`
  return size < 1024 ? exact : `${formatBytes(size)} (${exact})`
}
