import { Button, FileButton, Group, Text, Tooltip } from '@mantine/core'
import {
  IconCopy,
  IconFileZip,
  IconFolderPlus,
  IconFolderUp,
  IconForms,
  IconTrash,
  IconUpload,
} from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { notifyFailure } from '../../parts/failure.tsx'
import { useRights } from '../../parts/rights.ts'
import { filesOfInput } from '../../parts/uploads/chosen-files.ts'
import { replacing } from '../../parts/uploads/replacing.ts'
import { texts } from '../../texts/index.ts'
import { openedByHand } from '../../texts/opened-by-hand.ts'
import { downloadZip } from './download-zip.ts'
import type { Entry, Selection } from './entries.ts'

const CopyEntries = lazy(async () => ({ default: (await import('./copy-entries.tsx')).CopyEntries }))
const PostForm = lazy(async () => ({ default: (await import('../shares/post-form.tsx')).PostForm }))
const NewFolder = lazy(async () => ({ default: (await import('./new-folder.tsx')).NewFolder }))
const DeleteEntries = lazy(async () => ({ default: (await import('./delete-entries.tsx')).DeleteEntries }))

export interface ToolbarProps {
  readonly bucket: string
  readonly prefix: string
}

export function Toolbar({ bucket, prefix }: ToolbarProps) {
  const [dialog, setDialog] = useState<'folder' | 'form'>()
  const close = () => setDialog(undefined)
  const mayWrite = useRights(bucket, prefix).has('s3:PutObject')
  return (
    <Group gap="xs">
      {mayWrite && <UploadButtons bucket={bucket} prefix={prefix} />}
      {mayWrite && (
        <Button
          variant="default"
          leftSection={<IconFolderPlus size={16} aria-hidden />}
          onClick={() => setDialog('folder')}
        >
          {texts.objects.newFolder}
        </Button>
      )}
      {mayWrite && (
        <Button variant="default" leftSection={<IconForms size={16} aria-hidden />} onClick={() => setDialog('form')}>
          {openedByHand.postForm.action}
        </Button>
      )}
      <Suspense>
        {dialog === 'folder' && <NewFolder bucket={bucket} prefix={prefix} onClose={close} />}
        {dialog === 'form' && <PostForm bucket={bucket} prefix={prefix} onClose={close} />}
      </Suspense>
    </Group>
  )
}

export interface SelectionBarProps extends ToolbarProps {
  readonly hasEntries: boolean
  readonly selected: Selection
  readonly onSelect: (selected: Selection) => void
}

/** What can be done with the entries that are ticked. Its room is there before one is. */
export function SelectionBar({ bucket, prefix, hasEntries, selected, onSelect }: SelectionBarProps) {
  const [dialog, setDialog] = useState<'copy' | 'delete'>()
  const close = () => setDialog(undefined)
  const clear = () => onSelect(new Map())
  const rights = useRights(bucket, prefix)
  const mayWrite = rights.has('s3:PutObject')
  const mayDelete = rights.has('s3:DeleteObject')
  const chosen = [...selected.values()]
  const idsOf = (kind: Entry['kind']) => chosen.filter(entry => entry.kind === kind).map(({ id }) => id)
  const queryClient = useQueryClient()
  const zipping = useMutation({
    mutationFn: () => downloadZip(bucket, prefix, idsOf('object'), idsOf('folder')),
    async onError(error) {
      notifyFailure(error, texts.objects.zip)
      // What is listed may be gone.
      await queryClient.invalidateQueries({ queryKey: ['objects', bucket] })
    },
  })
  if (chosen.length === 0) {
    return (
      <Group className="selection-bar">
        {/* On a phone the room would look like a gap. */}
        {hasEntries && (
          <Text size="sm" c="dimmed" className="selection-hint">
            {texts.objects.toSelect({ copy: mayWrite, delete: mayDelete })}
          </Text>
        )}
      </Group>
    )
  }
  return (
    <Group gap="xs" className="selection-bar">
      <Text size="sm" aria-live="polite">
        {texts.objects.selected(chosen.length)}
      </Text>
      {/* Once it has begun the browser alone learns whether it comes to its end. */}
      <Tooltip label={texts.objects.zipHint} events={{ hover: true, focus: true, touch: true }}>
        <Button
          variant="default"
          leftSection={<IconFileZip size={16} aria-hidden />}
          loading={zipping.isPending}
          aria-description={texts.objects.zipHint}
          onClick={() => zipping.mutate()}
        >
          {texts.objects.zip}
        </Button>
      </Tooltip>
      {mayWrite && (
        <Button variant="default" leftSection={<IconCopy size={16} aria-hidden />} onClick={() => setDialog('copy')}>
          {texts.objects.copy}
        </Button>
      )}
      {mayDelete && (
        <Button
          variant="light"
          color="red"
          leftSection={<IconTrash size={16} aria-hidden />}
          onClick={() => setDialog('delete')}
        >
          {texts.common.delete}
        </Button>
      )}
      <Suspense>
        {dialog === 'delete' && <DeleteEntries bucket={bucket} entries={chosen} onClose={close} onDeleted={clear} />}
        {dialog === 'copy' && <CopyEntries bucket={bucket} entries={chosen} onClose={close} onMoved={clear} />}
      </Suspense>
    </Group>
  )
}

function UploadButtons({ bucket, prefix }: { bucket: string; prefix: string }) {
  const folderInput = useRef<HTMLInputElement>(null)
  const resetFiles = useRef<() => void>(null)
  // Before there are uploads to show: later the connection may be cut.
  useEffect(() => {
    for (const load of [
      () => import('../../parts/uploads/upload-panel.tsx'),
      () => import('../../parts/uploads/replace-question.tsx'),
    ])
      void load().catch(() => {})
  }, [])
  const add = (files: FileList) => replacing.upload(bucket, filesOfInput(files, prefix))
  return (
    <>
      <FileButton
        multiple
        resetRef={resetFiles}
        onChange={files => {
          replacing.upload(
            bucket,
            files.map(file => ({ key: prefix + file.name, file })),
          )
          // Else the same file, changed meanwhile, would be no new choice.
          resetFiles.current?.()
        }}
      >
        {props => (
          <Button leftSection={<IconUpload size={16} aria-hidden />} {...props}>
            {texts.objects.upload}
          </Button>
        )}
      </FileButton>
      <Button
        variant="default"
        leftSection={<IconFolderUp size={16} aria-hidden />}
        onClick={() => folderInput.current?.click()}
      >
        {texts.objects.uploadFolder}
      </Button>
      <input
        ref={folderInput}
        type="file"
        hidden
        multiple
        aria-label={texts.objects.uploadFolder}
        // @ts-expect-error React does not know this attribute, every browser does.
        webkitdirectory=""
        onChange={event => {
          if (event.currentTarget.files !== null) add(event.currentTarget.files)
          event.currentTarget.value = ''
        }}
      />
    </>
  )
}
