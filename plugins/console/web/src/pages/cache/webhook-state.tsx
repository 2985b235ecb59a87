import { Button, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { State } from '../../parts/names.tsx'
import { cacheTexts } from '../../texts/cache.ts'

const words = cacheTexts.cacheSettings

export interface WebhookStateProps {
  readonly distribution: string
  readonly id: string
  readonly isStored: boolean
  /** Undefined until it is known. */
  readonly state: Answer<'listDistributionWebhooks'>['items'][number] | undefined
}

export function WebhookState({ distribution, id, isStored, state }: WebhookStateProps) {
  const queryClient = useQueryClient()
  const test = useMutation({
    mutationFn: () => call('testDistributionWebhook', { params: { id: distribution, webhook: id }, body: {} }),
    onSuccess: ({ delivered, status, error, durationMs }) =>
      notifications.show({
        color: delivered ? 'teal' : 'red',
        message: delivered ? words.testWorked(id, status, durationMs) : words.testFailed(error),
      }),
    onError: notifyFailure,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['cache-webhooks', distribution] }),
  })
  if (!isStored) {
    return (
      <Text size="sm" c="dimmed">
        {words.notSaved}
      </Text>
    )
  }
  return (
    <Group justify="space-between" align="flex-start">
      <Stack gap={2}>
        {state !== undefined && (
          <>
            <Group gap="xs">
              {state.online === undefined ? (
                <Text size="sm" c="dimmed">
                  {words.notAsked}
                </Text>
              ) : (
                <State text={state.online ? words.online : words.failing} is={state.online ? 'good' : 'bad'} />
              )}
              <Text size="sm">{words.queue(state.queued, state.deliveredTotal, state.failedTotal)}</Text>
            </Group>
            {state.lastSuccessAt !== undefined && (
              <Text size="xs" c="dimmed">
                {words.lastSuccess(formatDate(state.lastSuccessAt))}
              </Text>
            )}
            <Notes
              notes={[
                state.lastError === '' ? '' : words.lastError(state.lastError),
                state.lastWidened === '' ? '' : words.widened(state.lastWidened),
                state.owesAll ? words.owesAll : '',
              ]}
            />
          </>
        )}
      </Stack>
      <Button variant="default" size="compact-sm" loading={test.isPending} onClick={() => test.mutate()}>
        {words.test} {id}
      </Button>
    </Group>
  )
}

function Notes({ notes }: { notes: readonly string[] }) {
  return notes
    .filter(note => note !== '')
    .map(note => (
      <Text key={note} size="sm" c="orange.9" style={{ overflowWrap: 'anywhere' }}>
        {note}
      </Text>
    ))
}
