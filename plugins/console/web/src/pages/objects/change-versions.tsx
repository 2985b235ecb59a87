/** Restoring an old version, undeleting an object, and deleting a version for good. */
import { Checkbox, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { ListedVersion } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatExactMoment } from '../../parts/format.ts'
import { useKnownRights } from '../../parts/rights.ts'
import { texts } from '../../texts/index.ts'
import { etagAt } from './etag-at.ts'
import { mayBypass, protectionText } from './protection.tsx'
import { bucketQuery, versioningOf } from './queries.ts'

/** Returns a function that reads all lists of the bucket's versions anew. */
function useRefresh(bucket: string): () => Promise<unknown> {
  const queryClient = useQueryClient()
  return () =>
    Promise.all(
      ['objects', 'object', 'bucket-versions'].map(name => queryClient.invalidateQueries({ queryKey: [name, bucket] })),
    )
}

type Named = Pick<ListedVersion, 'key' | 'versionId'>
/** As it was seen: without versioning, what is stored next has the same version id. */
type Seen = Pick<ListedVersion, 'key' | 'versionId' | 'etag'>

/** Does something to a version that can be undone as well: it is done without a question. */
function useChange(bucket: string, done: string, change: (version: Seen) => Promise<'asked' | void>) {
  const refresh = useRefresh(bucket)
  return useMutation({
    async mutationFn(version: Seen) {
      try {
        if ((await change(version)) === 'asked') return
        notifications.show({ color: 'teal', message: done })
      } catch (error) {
        notifyFailure(error)
      }
      await refresh()
    },
  })
}

/** What a restored version takes the place of. */
export interface Replaced {
  /** Of the bucket, undefined where it is not known. */
  readonly versioning: string | undefined
  /** Of what stands there; null where nothing does, undefined where the caller may not know. */
  readonly etag: string | null | undefined
}

/** Makes an old version the current one again. `onQuestion`: where the bucket does not keep what is there now, nothing is done but this. */
export function useRestore(bucket: string, onQuestion: (replaced: Replaced) => void) {
  const queryClient = useQueryClient()
  return useChange(bucket, texts.objects.restored, async version => {
    // As it is now: it can have been suspended since the page was loaded.
    const versioning = await versioningOf(queryClient, bucket)
    if (versioning === 'enabled') return restoreVersion(bucket, version)
    onQuestion({ versioning, etag: await etagAt(bucket, version.key) })
    return 'asked'
  })
}

/** Removes the delete marker that is the current version. */
export const useUndelete = (bucket: string) =>
  useChange(bucket, texts.objects.undeleted, version => deleteVersion(bucket, version))

export interface RestoreVersionProps {
  readonly bucket: string
  readonly version: Pick<ListedVersion, 'key' | 'versionId'>
  readonly replaced: Replaced
  readonly onClose: () => void
}

/** Asks, where nothing would be left of what is there now. */
export function RestoreVersion({ bucket, version, replaced, onClose }: RestoreVersionProps) {
  const refresh = useRefresh(bucket)
  return (
    <ConfirmDeletion
      title={texts.objects.restoreTitle(version.key)}
      action={texts.objects.restore}
      onConfirm={async () => {
        await restoreVersion(bucket, version, replaced.etag)
        notifications.show({ color: 'teal', message: texts.objects.restored })
      }}
      onDone={refresh}
      onClose={onClose}
    >
      <Text size="sm">
        {replaced.versioning === undefined ? texts.objects.restoreUnknown : texts.objects.restoreText}
      </Text>
    </ConfirmDeletion>
  )
}

async function restoreVersion(bucket: string, { key, versionId }: Named, replaced?: string | null): Promise<void> {
  const body = { source: { bucket, key, versionId }, key, overwrite: replaced !== null }
  try {
    await call('copyObject', {
      params: { bucket },
      body,
      ...(typeof replaced === 'string' && { headers: { 'if-match': `"${replaced}"` } }),
    })
  } catch (error) {
    const isReplaced = error instanceof Problem && error.code === 'precondition_failed'
    throw isReplaced ? new Error(texts.objects.changedBefore(key)) : error
  }
}

async function deleteVersion(bucket: string, version: Seen, bypassGovernance = false): Promise<void> {
  const { key, versionId, etag } = version
  const attempt = (seen: object) =>
    call('deleteObjects', { params: { bucket }, body: { objects: [{ key, versionId, ...seen }], bypassGovernance } })
  let { errors } = await attempt({ etag })
  // Whoever may not read it names nothing, as every program may.
  if (errors[0]?.code === 'access_denied') errors = (await attempt({})).errors
  if (errors[0]?.code === 'precondition_failed') throw new Error(texts.objects.versionChanged(key))
  if (errors[0] !== undefined) throw new Error(errors[0].message)
}

const none: ReadonlySet<string> = new Set()

export interface DeleteVersionProps {
  readonly bucket: string
  readonly version: Pick<ListedVersion, 'key' | 'versionId' | 'etag' | 'isDeleteMarker' | 'lastModified'>
  readonly onClose: () => void
  readonly onDeleted?: () => void | Promise<void>
}

export function DeleteVersion({ bucket, version, onClose, onDeleted }: DeleteVersionProps) {
  const { key, versionId, etag, isDeleteMarker, lastModified } = version
  const refresh = useRefresh(bucket)
  const [bypasses, setBypasses] = useState(false)
  const known = useKnownRights(bucket, key)
  const rights = known ?? none
  const { data: about, isLoading } = useQuery(bucketQuery(bucket))
  const retention = useQuery({
    queryKey: ['bucket-setting', bucket, `retention ${versionId} ${key}`, 'delete'],
    queryFn: ({ signal }) => call('getObjectRetention', { params: { bucket }, query: { key, versionId }, signal }),
    enabled: about?.objectLockEnabled === true && !isDeleteMarker && rights.has('s3:GetObjectRetention'),
    staleTime: 0,
    retry: false,
  })
  const hold = useQuery({
    queryKey: ['bucket-setting', bucket, `hold ${versionId} ${key}`, 'delete'],
    queryFn: ({ signal }) => call('getObjectLegalHold', { params: { bucket }, query: { key, versionId }, signal }),
    enabled: about?.objectLockEnabled === true && !isDeleteMarker && rights.has('s3:GetObjectLegalHold'),
    staleTime: 0,
    retry: false,
  })
  const isHeld = hold.data?.enabled === true
  const protectedBy = retention.data && protectionText(retention.data)
  return (
    <ConfirmDeletion
      title={texts.objects.deleteVersionTitle}
      isReady={known !== undefined && !isLoading && !retention.isLoading && !hold.isLoading}
      onConfirm={async () => {
        await deleteVersion(bucket, { key, versionId, etag }, bypasses)
        notifications.show({ color: 'teal', message: texts.objects.versionDeleted })
      }}
      onDone={async () => {
        await refresh()
        await onDeleted?.()
      }}
      onClose={onClose}
    >
      <Text size="sm">
        {isDeleteMarker
          ? texts.objects.deleteMarkerText(key)
          : texts.objects.deleteVersionText(key, formatExactMoment(lastModified), versionId ?? '')}
      </Text>
      {protectedBy !== undefined && <Text size="sm">{protectedBy}</Text>}
      {isHeld && <Text size="sm">{texts.objects.held}</Text>}
      {/* A hold cannot be bypassed. */}
      {protectedBy !== undefined && !isHeld && rights.has(mayBypass) && retention.data?.mode === 'GOVERNANCE' && (
        <Checkbox
          label={texts.objects.mayDelete}
          checked={bypasses}
          onChange={event => setBypasses(event.currentTarget.checked)}
        />
      )}
    </ConfirmDeletion>
  )
}
