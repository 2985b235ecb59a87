import { Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { isoTime } from '../../parts/local-time.ts'
import { texts } from '../../texts/index.ts'

const words = texts.events

export function Replay({ id, onClose }: { id: string; onClose: () => void }) {
  const queryClient = useQueryClient()
  const form = useForm({
    initialValues: { bucket: '', prefix: '', from: '', to: '' },
    // That one comes after the other is said at the first.
    onValuesChange: (now, before) => {
      if (now.to !== before.to) form.clearFieldError('from')
    },
  })
  const replay = async () => {
    const { bucket, prefix, from, to } = form.getValues()
    const body = {
      bucket: bucket.trim(),
      prefix,
      ...(from !== '' && { from: isoTime(from, '/from') }),
      ...(to !== '' && { to: isoTime(to, '/to') }),
    }
    const { queued } = await call('replayNotifyTarget', { params: { id }, body })
    notifications.show({ color: 'teal', message: words.replayed(queued) })
    await queryClient.invalidateQueries({ queryKey: ['notify-targets'] })
  }
  return (
    <FormDialog title={words.replayTitle(id)} submit={words.replay} form={form} onSubmit={replay} onClose={onClose}>
      <Text size="sm" c="dimmed">
        {words.replayHint}
      </Text>
      <TextInput label={words.bucket} required data-autofocus {...form.getInputProps('bucket')} />
      <TextInput label={words.prefix} {...form.getInputProps('prefix')} />
      <TextInput type="datetime-local" {...words.from} {...form.getInputProps('from')} />
      <TextInput type="datetime-local" {...words.to} {...form.getInputProps('to')} />
    </FormDialog>
  )
}
