/** Opens a folder that is not there yet. Nothing is stored: a folder is the beginning of the keys in it. */
import { Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { problemAt } from '../../api/problem.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { typedFolder } from '../../parts/typed-folder.ts'
import { texts } from '../../texts/index.ts'

const keyBytesMax = 1024

export interface NewFolderProps {
  readonly bucket: string
  /** The folder that it is in; empty or with a slash at its end. */
  readonly prefix: string
  readonly onClose: () => void
}

export function NewFolder({ bucket, prefix, onClose }: NewFolderProps) {
  const navigate = useNavigate()
  const form = useForm({ initialValues: { name: '' } })
  const open = async () => {
    const folder = typedFolder(form.values.name)
    if (folder === '') throw problemAt('/name', texts.objects.newFolderNameless)
    if (folder.split('/').some(part => part === '.' || part === '..') || /\p{Cc}/u.test(folder))
      throw problemAt('/name', texts.objects.newFolderOdd)
    if (new TextEncoder().encode(`${prefix}${folder}`).length > keyBytesMax)
      throw problemAt('/name', texts.objects.newFolderLong)
    await navigate({ to: '/buckets/$bucket', params: { bucket }, search: { prefix: `${prefix}${folder}` } })
    // One sees it.
    return 'told' as const
  }
  return (
    <FormDialog
      title={texts.objects.newFolder}
      submit={texts.objects.newFolderOpen}
      form={form}
      onSubmit={open}
      onClose={onClose}
    >
      <TextInput label={texts.common.name} required autoComplete="off" data-autofocus {...form.getInputProps('name')} />
      <Text size="sm" c="dimmed">
        {texts.objects.newFolderHint}
      </Text>
    </FormDialog>
  )
}
