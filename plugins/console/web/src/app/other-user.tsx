/** Somebody else has signed in with this browser, in another page: this one shows nothing any more, for it would be of both. */
import { Button, Center, Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'
import { createPageState } from './page-state.ts'

/** The name of that user; undefined for none. */
export const otherUser = createPageState<string | undefined>(undefined)

/** Its children, as long as they are the user's who opened them. */
export function OwnPages({ children }: { children: ReactNode }) {
  const user = otherUser.use()
  if (user === undefined) return children
  return (
    <Center mih="100vh" p="md">
      <Paper component="main" withBorder p="xl" w={400} maw="100%" shadow="sm">
        <Stack role="alert">
          <Title order={1} size="h3" style={{ overflowWrap: 'anywhere' }}>
            {texts.otherUser.title(user)}
          </Title>
          <Text size="sm">{texts.otherUser.text}</Text>
          <Button onClick={() => location.reload()}>{texts.otherUser.reload}</Button>
        </Stack>
      </Paper>
    </Center>
  )
}
