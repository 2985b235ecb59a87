/** One setting of a bucket: read by itself, saved by itself, with the server's words where it may not be read or changed. */
import { Button, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Problem } from '../../api/problem.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

export interface SettingProps<Value> {
  readonly bucket: string
  readonly title: string
  readonly hint?: string
  /** Names the setting within its bucket. */
  readonly id: string
  readonly load: (signal: AbortSignal) => Promise<Value>
  readonly save: (value: Value) => Promise<unknown>
  readonly children: (value: Value, change: (value: Value) => void, stored: Value) => ReactNode
}

export function Setting<Value>(props: SettingProps<Value>) {
  const { bucket, title, hint, id, load, save, children } = props
  const queryClient = useQueryClient()
  const [changed, setChanged] = useState<{ readonly value: Value }>()
  const stored = useQuery({ queryKey: ['bucket-setting', bucket, id], queryFn: ({ signal }) => load(signal) })
  const saving = useMutation({
    mutationFn: (value: Value) => save(value),
    async onSuccess() {
      await stored.refetch()
      setChanged(undefined)
      notifications.show({ color: 'teal', message: `${title}: ${texts.common.saved}` })
      await queryClient.invalidateQueries({ queryKey: ['buckets'] })
      await queryClient.invalidateQueries({ queryKey: ['bucket', bucket] })
    },
  })
  // Whoever may not read a setting need not see that there is one.
  if (stored.error instanceof Problem && stored.error.status === 403) return null
  const value = changed === undefined ? stored.data : changed.value
  return (
    <Paper withBorder p="md">
      <form
        onSubmit={event => {
          event.preventDefault()
          if (changed !== undefined) saving.mutate(changed.value)
        }}
      >
        <Stack gap="sm">
          <div>
            <Title order={2} size="h5">
              {title}
            </Title>
            {hint !== undefined && (
              <Text size="sm" c="dimmed">
                {hint}
              </Text>
            )}
          </div>
          {stored.error !== null && <ProblemAlert error={stored.error} onRetry={() => stored.refetch()} />}
          {saving.error !== null && <ProblemAlert error={saving.error} />}
          {stored.isPending && <Skeleton h={36} />}
          {value !== undefined &&
            stored.data !== undefined &&
            children(value, changedValue => setChanged({ value: changedValue }), stored.data)}
          {changed !== undefined && (
            <Group>
              <Button type="submit" size="compact-md" loading={saving.isPending}>
                {texts.common.save}
              </Button>
              <Button
                variant="default"
                size="compact-md"
                onClick={() => {
                  setChanged(undefined)
                  saving.reset()
                }}
              >
                {texts.common.cancel}
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Paper>
  )
}
