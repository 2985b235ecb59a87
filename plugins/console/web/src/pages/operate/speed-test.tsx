import { Button, Group, NativeSelect, NumberInput, Progress, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { choicesOf } from '../../parts/choices.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'

const words = texts.tools

type Kind = keyof typeof words.speedKinds

export function SpeedTest() {
  const [kind, setKind] = useState<Kind>('object')
  const [seconds, setSeconds] = useState<number | string>(10)
  const test = useMutation({
    mutationFn: () => call('runSpeedtest', { params: { kind }, body: { durationSeconds: Number(seconds) } }),
  })
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <NativeSelect
          label={words.measure}
          data={choicesOf(words.speedKinds)}
          value={kind}
          onChange={event => setKind(event.currentTarget.value as Kind)}
        />
        <NumberInput label={words.seconds} min={1} max={60} w={100} value={seconds} onChange={setSeconds} />
        <Button loading={test.isPending} onClick={() => test.mutate()}>
          {words.run}
        </Button>
      </Group>
      {test.error !== null && <ProblemAlert error={test.error} />}
      {test.data !== undefined && <Bars bars={barsOf(test.data)} />}
    </Stack>
  )
}

interface Bar {
  readonly label: string
  readonly bytesPerSecond: number
  readonly note: string
}

function barsOf({ drive, object }: Answer<'runSpeedtest'>): Bar[] {
  const bars: Bar[] = []
  for (const { path, writeBytesPerSecond, readBytesPerSecond, error } of drive?.drives ?? []) {
    bars.push({ label: `${path}, ${words.write}`, bytesPerSecond: writeBytesPerSecond, note: error })
    bars.push({ label: `${path}, ${words.read}`, bytesPerSecond: readBytesPerSecond, note: error })
  }
  if (object !== undefined) {
    for (const [label, { bytesPerSecond, latencyMs }] of [
      ['PUT', object.put],
      ['GET', object.get],
    ] as const) {
      bars.push({ label, bytesPerSecond, note: words.latency(latencyMs.p50, latencyMs.p99) })
    }
  }
  return bars
}

/** All on one scale. */
function Bars({ bars }: { bars: readonly Bar[] }) {
  const most = Math.max(1, ...bars.map(({ bytesPerSecond }) => bytesPerSecond))
  return (
    <Stack gap="xs" role="group" aria-label={words.chart}>
      {bars.map(({ label, bytesPerSecond, note }) => (
        <div key={label}>
          <Group justify="space-between" wrap="nowrap">
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {label}
            </Text>
            <Text size="sm" className="numbers" style={{ whiteSpace: 'nowrap' }}>
              {words.rate(formatBytes(bytesPerSecond))}
            </Text>
          </Group>
          <Progress value={(bytesPerSecond / most) * 100} aria-label={`${label} ${formatBytes(bytesPerSecond)}`} />
          {note !== '' && (
            <Text size="xs" c="dimmed">
              {note}
            </Text>
          )}
        </div>
      ))}
    </Stack>
  )
}
