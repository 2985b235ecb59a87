import { Checkbox, NumberInput, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { texts } from '../../texts/index.ts'

const initialValues = { name: '', versioning: false, objectLock: false, quotaGiB: '' as number | string }

export function CreateBucket({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient()
  const form = useForm({ initialValues })
  const { name, versioning, objectLock, quotaGiB } = form.values
  const create = async () => {
    const made = await call('createBucket', {
      body: {
        name: name.trim(),
        ...((versioning || objectLock) && { versioning: true }),
        ...(objectLock && { objectLock }),
        ...(quotaGiB !== '' && { quotaBytes: Math.round(Number(quotaGiB) * 1024 ** 3) }),
      },
    })
    notifications.show({ color: 'teal', message: texts.buckets.created(made.name) })
    await queryClient.invalidateQueries({ queryKey: ['buckets'] })
  }
  return (
    <FormDialog
      form={form}
      title={texts.buckets.create}
      submit={texts.common.create}
      onSubmit={create}
      onClose={onClose}
    >
      <TextInput
        label={texts.buckets.name}
        description={texts.buckets.nameHint}
        required
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Checkbox
        label={texts.buckets.versioning}
        {...form.getInputProps('versioning', { type: 'checkbox' })}
        disabled={objectLock}
        checked={versioning || objectLock}
      />
      <Checkbox label={texts.buckets.objectLock} {...form.getInputProps('objectLock', { type: 'checkbox' })} />
      <NumberInput label={texts.buckets.quota} min={0} {...form.getInputProps('quotaGiB')} />
    </FormDialog>
  )
}
