/** Restart and stop of the server: what happens is said before, and the page waits until the server answers again. */
import { Button, Group, Loader, Modal, Text } from '@mantine/core'
import { IconPower, IconRefresh } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { sessionEnd } from '../../api/session.ts'
import { useMay } from '../../app/signed-in.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.server
const askAgainMs = 1000

type Way = 'restart' | 'stop'

interface Ended {
  readonly way: Way
  readonly startedAt: string
}

/** `startedAt`: of the server that runs now. */
export function Power({ startedAt }: { startedAt: string }) {
  const may = { restart: useMay('admin:ServiceRestart'), stop: useMay('admin:ServiceStop') }
  const [asking, setAsking] = useState<Way>()
  const [ended, setEnded] = useState<Ended>()
  const { ask, question } = useAskFirst()
  if (!may.restart && !may.stop) return null
  const restart = async () => {
    try {
      await ending(() => call('restartService', { body: {} }))
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'start_would_fail')) throw error
      const isWanted = await ask({
        title: words.restartFailsTitle,
        action: words.restartForce,
        text: (
          <>
            <Text size="sm">{error.message}</Text>
            <Text size="sm">{words.restartFails}</Text>
          </>
        ),
      })
      if (!isWanted) return 'declined'
      await ending(() => call('restartService', { body: { force: true } }))
    }
    return undefined
  }
  const end = async (way: Way) => {
    const outcome = way === 'restart' ? await restart() : await ending(() => call('stopService', { body: {} }))
    if (outcome === 'declined') return outcome
    setEnded({ way, startedAt })
    return undefined
  }
  return (
    <Section title={words.power} hint={words.powerHint}>
      <Group>
        {may.restart && (
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} aria-hidden />}
            onClick={() => setAsking('restart')}
          >
            {words.restart}
          </Button>
        )}
        {may.stop && (
          <Button
            variant="light"
            color="red"
            leftSection={<IconPower size={16} aria-hidden />}
            onClick={() => setAsking('stop')}
          >
            {words.stop}
          </Button>
        )}
      </Group>
      {asking !== undefined && (
        <ConfirmDeletion
          title={asking === 'restart' ? words.restartTitle : words.stopTitle}
          action={words[asking]}
          {...(asking === 'stop' && { typed: words.stopTyped })}
          onConfirm={() => end(asking)}
          onClose={() => setAsking(undefined)}
        >
          <Text size="sm">{asking === 'restart' ? words.restartText : words.stopText}</Text>
        </ConfirmDeletion>
      )}
      {question}
      {ended !== undefined && <Waiting {...ended} />}
    </Section>
  )
}

/** A call that ends the server, and the session with it. */
async function ending(send: () => Promise<unknown>): Promise<undefined> {
  // Known before: the answer may come from the next server, where the browser has sent it again.
  sessionEnd.reason = 'restarted'
  try {
    await send()
  } catch (error) {
    if (!(error instanceof Problem && error.status === 401)) sessionEnd.reason = undefined
    throw error
  }
}

/** Sessions end with the server: its first answer after the next start leads to the sign-in, and from there back to this page. */
function Waiting({ way, startedAt }: Ended) {
  const { failureReason } = useQuery({
    queryKey: ['next-start', startedAt],
    queryFn: async ({ signal }) => {
      const info = await call('getServerInfo', { signal })
      if (info.startedAt === startedAt) throw new Error('the server has not ended yet')
      return info.startedAt
    },
    retry: (_, error) => !(error instanceof Problem && error.status === 401),
    retryDelay: askAgainMs,
    gcTime: 0,
  })
  // While it finishes its work it still answers, that it is not available.
  const [isGone, setGone] = useState(false)
  useEffect(() => {
    if (failureReason instanceof Problem && failureReason.code !== 'service_unavailable') setGone(true)
  }, [failureReason])
  return (
    <Modal opened onClose={() => {}} withCloseButton={false} closeOnEscape={false} title={words[way]}>
      <Group wrap="nowrap" role="status">
        <Loader size="sm" aria-hidden />
        <Text size="sm">{isGone ? (way === 'stop' ? words.stopped : words.gone) : words.waiting}</Text>
      </Group>
    </Modal>
  )
}
