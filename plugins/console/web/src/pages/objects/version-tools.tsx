/** What can be done with one version in a list of versions. */
import { Group } from '@mantine/core'
import { IconArrowBackUp, IconDownload, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { urlOf } from '../../api/client.ts'
import type { ListedVersion } from '../../api/operations.ts'
import { type Action, Actions } from '../../parts/actions.tsx'
import { texts } from '../../texts/index.ts'
import { type Replaced, RestoreVersion, useRestore, useUndelete } from './change-versions.tsx'

export interface VersionToolsProps {
  readonly bucket: string
  readonly version: ListedVersion
  /** What tells it from the others. */
  readonly name: string
  /** What the caller may do with its key. */
  readonly rights: ReadonlySet<string>
  readonly onDelete: (version: ListedVersion) => void
}

export function VersionTools({ bucket, version, name, rights, onDelete }: VersionToolsProps) {
  const { key, versionId, isDeleteMarker, isLatest } = version
  const mayRead = rights.has('s3:GetObjectVersion')
  const mayDelete = rights.has('s3:DeleteObjectVersion')
  const [asked, setAsked] = useState<Replaced>()
  const restore = useRestore(bucket, setAsked)
  const undelete = useUndelete(bucket)
  const actions: Action[] = []
  if (!isDeleteMarker && mayRead) {
    const href = urlOf('downloadObject', { bucket }, { key, versionId })
    actions.push({ label: texts.objects.download, icon: IconDownload, href })
    if (!isLatest && rights.has('s3:PutObject')) {
      actions.push({
        label: texts.objects.restore,
        icon: IconArrowBackUp,
        onClick: () => restore.mutate(version),
        isBusy: restore.isPending,
        isOnce: true,
      })
    }
  }
  if (isDeleteMarker && isLatest && mayDelete) {
    actions.push({
      label: texts.objects.undelete,
      named: texts.objects.undeleteOne(key),
      icon: IconArrowBackUp,
      onClick: () => undelete.mutate(version),
      isBusy: undelete.isPending,
      isOnce: true,
    })
  } else if (mayDelete) {
    actions.push({ label: texts.common.delete, icon: IconTrash, isDeletion: true, onClick: () => onDelete(version) })
  }
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <Actions of={texts.objects.versionOn(name)} actions={actions} />
      {asked !== undefined && (
        <RestoreVersion bucket={bucket} version={version} replaced={asked} onClose={() => setAsked(undefined)} />
      )}
    </Group>
  )
}
