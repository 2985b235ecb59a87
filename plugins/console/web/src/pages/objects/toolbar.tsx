import { Button, FileButton, Group, Text } from '@mantine/core'
import { IconFolderUp, IconTrash, IconUpload } from '@tabler/icons-react'
import { useRef, useState } from 'react'
import { filesOfInput } from '../../parts/uploads/chosen-files.ts'
import { uploadQueue } from '../../parts/uploads/queue.ts'
import { texts } from '../../texts/index.ts'
import { DeleteEntries } from './delete-entries.tsx'
import type { Entry } from './entries.ts'

export interface ToolbarProps {
  readonly bucket: string
  readonly prefix: string
  readonly entries: readonly Entry[]
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
}

export function Toolbar({ bucket, prefix, entries, selected, onSelect }: ToolbarProps) {
  const [isDeleting, setDeleting] = useState(false)
  const folderInput = useRef<HTMLInputElement>(null)
  const add = (files: FileList) => uploadQueue.add(bucket, filesOfInput(files, prefix))
  const chosen = entries.filter(({ id }) => selected.has(id))
  return (
    <Group gap="xs">
      <FileButton
        multiple
        onChange={files =>
          uploadQueue.add(
            bucket,
            files.map(file => ({ key: prefix + file.name, file })),
          )
        }
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
      {chosen.length > 0 && (
        <>
          <Text size="sm" aria-live="polite">
            {texts.objects.selected(chosen.length)}
          </Text>
          <Button
            variant="light"
            color="red"
            leftSection={<IconTrash size={16} aria-hidden />}
            onClick={() => setDeleting(true)}
          >
            {texts.common.delete}
          </Button>
        </>
      )}
      {isDeleting && (
        <DeleteEntries
          bucket={bucket}
          entries={chosen}
          onClose={() => setDeleting(false)}
          onDeleted={() => onSelect(new Set())}
        />
      )}
    </Group>
  )
}
