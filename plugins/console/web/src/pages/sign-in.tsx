import { Alert, Button, Center, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Problem } from '../api/problem.ts'
import { serverEnd, sessionQuery, signIn } from '../api/session.ts'
import { basePath } from '../app/base-path.ts'
import { wayBack } from '../app/way-back.ts'
import { ProblemAlert } from '../parts/failure.tsx'
import { uploadQueue } from '../parts/uploads/queue.ts'
import { texts } from '../texts/index.ts'

/** The last access key since this page was loaded. */
let lastAccessKey: string | undefined

/** The server's version; `npm run console:dev` does not know it. */
const version = /^\d/.test(written('version')) ? written('version') : undefined

function written(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? ''
}

export function SignIn() {
  const { from } = useSearch({ from: '/sign-in' })
  const queryClient = useQueryClient()
  const router = useRouter()
  const form = useForm({ initialValues: { accessKey: '', secretKey: '' } })
  const entry = useMutation({
    mutationFn: ({ accessKey, secretKey }: typeof form.values) => signIn(accessKey, secretKey),
    async onSuccess(signedIn) {
      // Uploads that a session's end has interrupted go on for their own user only.
      if (lastAccessKey !== undefined && lastAccessKey !== signedIn.session.accessKey) {
        void uploadQueue.discard()
      }
      lastAccessKey = signedIn.session.accessKey
      queryClient.setQueryData(sessionQuery.queryKey, signedIn)
      router.history.push(basePath + wayBack(from))
    },
  })
  return (
    <Center mih="100vh" p="md">
      <Paper component="main" withBorder p="xl" w={360} maw="100%" shadow="sm">
        <form onSubmit={form.onSubmit(values => entry.mutate(values))}>
          <Stack>
            <Title order={1} size="h3">
              {texts.signIn.title}
            </Title>
            {from !== undefined && from !== '/' && entry.error === null && (
              <Alert color="gray">{serverEnd.isSeen ? texts.signIn.restarted : texts.signIn.ended}</Alert>
            )}
            <Failure error={entry.error} />
            <TextInput
              label={texts.signIn.accessKey}
              autoComplete="username"
              autoCapitalize="off"
              spellCheck={false}
              required
              data-autofocus
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
            {version !== undefined && (
              <Text size="xs" c="dimmed" ta="center">
                {texts.signIn.version(version)}
              </Text>
            )}
          </Stack>
        </form>
      </Paper>
    </Center>
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
