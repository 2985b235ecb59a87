import { Button, Checkbox, Group, Modal, NumberInput, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

const initialValues = { name: '', versioning: false, objectLock: false, quotaGiB: '' as number | string }

export function CreateBucket({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const queryClient = useQueryClient()
  const form = useForm({ initialValues })
  const creation = useMutation({
    mutationFn: ({ name, versioning, objectLock, quotaGiB }: typeof initialValues) =>
      call('createBucket', {
        body: {
          name: name.trim(),
          ...((versioning || objectLock) && { versioning: true }),
          ...(objectLock && { objectLock }),
          ...(quotaGiB !== '' && { quotaBytes: Math.round(Number(quotaGiB) * 1024 ** 3) }),
        },
      }),
    async onSuccess({ name }) {
      notifications.show({ color: 'teal', message: texts.buckets.created(name) })
      close()
      await queryClient.invalidateQueries({ queryKey: ['buckets'] })
    },
  })
  const close = () => {
    onClose()
    form.reset()
    creation.reset()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={texts.buckets.create}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <form onSubmit={form.onSubmit(values => creation.mutate(values))}>
        <Stack>
          {creation.error !== null && <ProblemAlert error={creation.error} />}
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
            disabled={form.values.objectLock}
            checked={form.values.versioning || form.values.objectLock}
          />
          <Checkbox label={texts.buckets.objectLock} {...form.getInputProps('objectLock', { type: 'checkbox' })} />
          <NumberInput label={texts.buckets.quota} min={0} {...form.getInputProps('quotaGiB')} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {texts.common.cancel}
            </Button>
            <Button type="submit" loading={creation.isPending}>
              {texts.common.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
