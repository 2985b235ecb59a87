/** Access key and secret key: on the page of the sign-in, and above a page whose session has ended. */
import { Alert, Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { formErrorsOf, Problem } from '../api/problem.ts'
import { hadSession, type SignedIn, sessionEnd, signIn } from '../api/session.ts'
import { texts } from '../texts/index.ts'
import { useBesideFields } from './beside-fields.ts'
import { ProblemAlert } from './failure.tsx'
import { useForm } from './form.ts'
import { PasswordInput } from './password-input.tsx'

export interface SignInFormProps {
  readonly head?: ReactNode
  readonly foot?: ReactNode
  /** Whether somebody was led here from what they did. */
  readonly isInterrupted: boolean
  readonly onSignedIn: (signedIn: SignedIn) => void
}

export function SignInForm({ head, foot, isInterrupted, onSignedIn }: SignInFormProps) {
  const form = useForm({ initialValues: { accessKey: '', secretKey: '' } })
  // The reason goes with the session that begins.
  const [reason] = useState(sessionEnd.reason)
  const entry = useMutation({
    mutationFn: ({ accessKey, secretKey }: typeof form.values) => signIn(accessKey, secretKey),
    onSuccess: onSignedIn,
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  const { element, unsaid } = useBesideFields(entry.error, form.setErrors)
  // Whoever types at once types the name here, and never the secret where it is seen.
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  return (
    <form
      {...element}
      onSubmit={event => {
        // Above a form of the page it is none of its parts.
        event.stopPropagation()
        form.onSubmit(values => entry.mutate(values))(event)
      }}
    >
      <Stack>
        {head}
        {(isInterrupted || reason !== undefined) && entry.error === null && (
          <Alert color="gray">{reasonText(reason)}</Alert>
        )}
        <Failure error={unsaid} />
        <TextInput
          label={texts.signIn.accessKey}
          autoComplete="username"
          autoCapitalize="off"
          spellCheck={false}
          required
          ref={first}
          {...form.getInputProps('accessKey')}
        />
        <PasswordInput
          label={texts.signIn.secretKey}
          autoComplete="current-password"
          required
          {...form.getInputProps('secretKey')}
        />
        <Button type="submit" loading={entry.isPending}>
          {texts.signIn.submit}
        </Button>
        {foot}
      </Stack>
    </form>
  )
}

function Failure({ error }: { error: unknown }) {
  if (error === null) return null
  if (!(error instanceof Problem)) return <ProblemAlert error={error} />
  if (error.status === 429) return <Throttled key={error.requestId} seconds={error.retryAfterSeconds ?? 60} />
  if (error.status === 401 || error.status === 403) {
    return (
      <Alert color="red" role="alert">
        {texts.signIn.wrong}
      </Alert>
    )
  }
  return <ProblemAlert error={error} />
}

function Throttled({ seconds }: { seconds: number }) {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    const timer = setInterval(() => setLeft(value => Math.max(0, value - 1)), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <Alert color="red" role="alert">
      {texts.signIn.throttled(left)}
    </Alert>
  )
}

/** Whoever comes with an address for the first time had no session. */
function reasonText(reason: typeof sessionEnd.reason): string {
  if (reason === 'restarted') return texts.signIn.restarted
  return reason === 'ended' || hadSession ? texts.signIn.ended : texts.signIn.asked
}
