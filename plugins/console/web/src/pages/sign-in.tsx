import { Center, Paper, Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { sessionQuery } from '../api/session.ts'
import { basePath } from '../app/base-path.ts'
import { wayBack } from '../app/way-back.ts'
import { SignInForm } from '../parts/sign-in-form.tsx'
import { texts } from '../texts/index.ts'

/** The server's version; `npm run console:dev` does not know it. */
const version = /^\d/.test(written('version')) ? written('version') : undefined

function written(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? ''
}

export function SignIn() {
  const { from } = useSearch({ from: '/sign-in' })
  const queryClient = useQueryClient()
  const router = useRouter()
  return (
    <Center mih="100vh" p="md">
      <Paper component="main" withBorder p="xl" w={360} maw="100%" shadow="sm">
        <SignInForm
          head={
            <div>
              <Title order={1} size="h3">
                {texts.signIn.title}
              </Title>
              {/* Whoever has several servers types no secret into the wrong one. */}
              <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {texts.signIn.server(location.host)}
              </Text>
            </div>
          }
          foot={
            version !== undefined && (
              <Text size="xs" c="dimmed" ta="center">
                {texts.signIn.version(version)}
              </Text>
            )
          }
          isInterrupted={from !== undefined && from !== '/'}
          onSignedIn={signedIn => {
            queryClient.setQueryData(sessionQuery.queryKey, signedIn)
            router.history.push(basePath + wayBack(from))
          }}
        />
      </Paper>
    </Center>
  )
}
