/**
 * Wraps the keys of what is stored with the present key: bucket by bucket, so that one sees how far it is, and then all buckets at once.
 * Only that, if nothing fails, lets the server do without former keys: it looks at buckets that have come meanwhile, too, and at those
 * that the caller may not list.
 */
import { Alert, Button, Group, List, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.keys

type Counts = Pick<Answer<'resealKms'>, 'versions' | 'uploads' | 'resealed' | 'failed' | 'firstError' | 'formerKeys'>

interface Way {
  readonly done: number
  readonly buckets: number
  readonly counts: Counts
  /** Whether all buckets were looked at once more. */
  readonly isComplete: boolean
}

const nothing: Counts = { versions: 0, uploads: 0, resealed: 0, failed: 0, firstError: '' }

async function allBuckets(): Promise<string[]> {
  const names: string[] = []
  let cursor = ''
  do {
    const page = await call('listBuckets', { query: { cursor, limit: 1000 } })
    names.push(...page.items.map(({ name }) => name))
    cursor = page.nextCursor ?? ''
  } while (cursor !== '')
  return names
}

export function Reseal({ onClose }: { onClose: () => void }) {
  const [way, setWay] = useState<Way>()
  const isWanted = useRef(true)
  const [isStopping, setStopping] = useState(false)
  const queryClient = useQueryClient()
  const resealing = useMutation({
    async mutationFn() {
      isWanted.current = true
      setStopping(false)
      const names = await allBuckets()
      let counts = nothing
      for (const [index, bucket] of names.entries()) {
        setWay({ done: index, buckets: names.length, counts, isComplete: false })
        if (!isWanted.current) return
        counts = sumOf(counts, await call('resealKms', { query: { bucket } }))
      }
      setWay({ done: names.length, buckets: names.length, counts, isComplete: false })
      if (!isWanted.current) return
      const all = await call('resealKms', {})
      const resealed = counts.resealed + all.resealed
      setWay({ done: all.buckets, buckets: all.buckets, counts: { ...all, resealed }, isComplete: true })
      await queryClient.invalidateQueries({ queryKey: ['kms'] })
    },
  })
  /** The server has one request for all, and goes through with it. */
  const isLast = way !== undefined && way.done === way.buckets
  const canStop = resealing.isPending && !isLast
  const stop = () => {
    isWanted.current = false
    setStopping(true)
  }
  const close = () => {
    isWanted.current = false
    onClose()
  }
  return (
    <Modal opened onClose={close} title={words.reseal} closeButtonProps={{ 'aria-label': texts.common.close }}>
      <Stack>
        <Text size="sm">{words.resealHint}</Text>
        {way !== undefined && <HowFar way={way} isPending={resealing.isPending} />}
        {resealing.error !== null && <ProblemAlert error={resealing.error} />}
        <Group justify="flex-end" className="dialog-buttons">
          <Button variant="default" loading={canStop && isStopping} onClick={canStop ? stop : close}>
            {canStop ? words.stop : texts.common.close}
          </Button>
          <Button
            loading={resealing.isPending}
            disabled={way?.isComplete === true && way.counts.failed === 0}
            onClick={() => resealing.mutate()}
          >
            {words.reseal}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

function HowFar({ way: { done, buckets, counts, isComplete }, isPending }: { way: Way; isPending: boolean }) {
  const text = words.resealProgress(done, buckets)
  return (
    <>
      <ProgressBar value={buckets === 0 ? 100 : (done / buckets) * 100} aria-label={text} />
      <Alert color={counts.failed > 0 ? 'orange' : isComplete ? 'teal' : 'gray'} role="status" title={text}>
        <List size="sm">
          {words.resealed(counts).map(line => (
            <List.Item key={line}>{line}</List.Item>
          ))}
          {isComplete && <List.Item>{words.formerKeys(counts.failed, counts.formerKeys)}</List.Item>}
          {!isPending && !isComplete && <List.Item>{words.resealStopped}</List.Item>}
          {isPending && !isComplete && done === buckets && <List.Item>{words.resealsAll}</List.Item>}
        </List>
      </Alert>
    </>
  )
}

const sumOf = (a: Counts, b: Counts): Counts => ({
  versions: a.versions + b.versions,
  uploads: a.uploads + b.uploads,
  resealed: a.resealed + b.resealed,
  failed: a.failed + b.failed,
  firstError: a.firstError || b.firstError,
})
