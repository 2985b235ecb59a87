/** What went wrong, in the server's words. */
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconAlertTriangle } from '@tabler/icons-react'
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { Problem, wordsOf } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { Name } from './name.tsx'

export interface ProblemAlertProps {
  readonly error: unknown
  /** Set where something could not be read; absent where something that somebody asked for was not done. */
  readonly onRetry?: () => void
  /** What was read before is still shown: the failure is one of reading it again, not of what somebody has just done. */
  readonly isStale?: boolean
}

export function ProblemAlert({ error, onRetry, isStale = false }: ProblemAlertProps) {
  const problem = error instanceof Problem ? error : undefined
  const isOfChange = onRetry === undefined && !isStale
  const alert = useSeen(error, isOfChange)
  return (
    <Alert
      ref={alert}
      tabIndex={-1}
      color="red"
      icon={<IconAlertTriangle aria-hidden />}
      title={isStale ? texts.problems.stale : headlineOf(error)}
      role="alert"
    >
      <Stack gap="xs">
        <Text size="sm">
          <Name>{sentenceOf(error)}</Name> {isOfChange && problem?.status === 0 && texts.problems.mayBeDone}
        </Text>
        {/* The only field is in the sentence above. */}
        {(problem?.fields.length === 1 ? [] : problem?.fields)?.map(({ field, message }) => (
          <Text key={`${field} ${message}`} size="sm">
            {field !== '' && <Code>{field}</Code>} <Name>{message}</Name>
          </Text>
        ))}
        <Group gap="md">
          {onRetry !== undefined && problem?.status !== 403 && (
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

/**
 * Brings the answer to what somebody has just done into view, with the focus, wherever a long form or dialog has been scrolled to. A field
 * that is wrong, and has the focus by then, keeps it.
 */
export function useSeen(error: unknown, isAnswer = true) {
  const alert = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next failure is the next answer
  useEffect(() => {
    if (!isAnswer || document.activeElement?.getAttribute('aria-invalid') === 'true') return
    alert.current?.scrollIntoView({ block: 'center' })
    alert.current?.focus({ preventScroll: true })
  }, [error, isAnswer])
  return alert
}

/** What was refused because the session was over: whoever reads it has signed in again above the page. */
const sentenceOf = (error: unknown, words = messageOf): string =>
  error instanceof Problem && error.code === 'unauthenticated' ? texts.problems.sessionWasOver : words(error)

/** The request id stands below it. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What the server says, and what this page itself has found, needs none. */
const headlineOf = (error: unknown): string | undefined =>
  error instanceof Problem && !error.isOfServer ? texts.problems.failed : undefined

/** Reports a failure that has no place of its own on the page; `title` says of what, where the server's title would mislead. */
export function notifyFailure(error: unknown, title?: string): void {
  notifications.show({
    color: 'red',
    title: title ?? headlineOf(error),
    message: <Name>{sentenceOf(error, wordsOf)}</Name>,
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
