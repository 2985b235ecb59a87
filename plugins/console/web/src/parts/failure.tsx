/** What went wrong, in the server's words. */
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconAlertTriangle } from '@tabler/icons-react'
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { Problem } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { Name } from './name.tsx'

export interface ProblemAlertProps {
  readonly error: unknown
  readonly onRetry?: () => void
  /** What was read before is still shown: the failure is one of reading it again, not of what somebody has just done. */
  readonly isStale?: boolean
}

export function ProblemAlert({ error, onRetry, isStale = false }: ProblemAlertProps) {
  const problem = error instanceof Problem ? error : undefined
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle aria-hidden />}
      title={isStale ? texts.problems.stale : headlineOf(error)}
      role="alert"
    >
      <Stack gap="xs">
        <Text size="sm">
          <Name>{error instanceof Error ? error.message : String(error)}</Name>
        </Text>
        {/* The only field is in the sentence above. */}
        {(problem?.fields.length === 1 ? [] : problem?.fields)?.map(({ field, message }) => (
          <Text key={`${field} ${message}`} size="sm">
            {field !== '' && <Code>{field}</Code>} <Name>{message}</Name>
          </Text>
        ))}
        <Group gap="md">
          {onRetry !== undefined && (
            <Button size="compact-sm" variant="light" color="red" onClick={onRetry}>
              {texts.common.retry}
            </Button>
          )}
          {problem !== undefined && problem.requestId !== '' && (
            <Text size="xs" c="dimmed">
              {problem.code} · {texts.common.requestId(problem.requestId)}
            </Text>
          )}
        </Group>
      </Stack>
    </Alert>
  )
}

/** What the server says needs none. */
const headlineOf = (error: unknown): string | undefined =>
  error instanceof Problem && error.isOfServer ? undefined : texts.problems.failed

/** Reports a failure that has no place of its own on the page; `title` says of what, where the server's title would mislead. */
export function notifyFailure(error: unknown, title?: string): void {
  notifications.show({
    color: 'red',
    title: title ?? headlineOf(error),
    message: <Name>{error instanceof Error ? error.message : String(error)}</Name>,
    autoClose: 10_000,
  })
}

export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return <ProblemAlert error={error} onRetry={retry} />
}

export function NotFound() {
  return <Text p="md">{texts.problems.notFound}</Text>
}
