import { Group, Stack, Text } from '@mantine/core'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formatBytes } from '../../parts/format.ts'
import { Measurement } from '../../parts/measurement.tsx'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.tools

export function SpeedTest() {
  return (
    <Measurement
      kinds={words.speedKinds}
      submit={words.run}
      run={(kind, durationSeconds) => call('runSpeedtest', { params: { kind }, body: { durationSeconds } })}
    >
      {result => <Bars bars={barsOf(result)} />}
    </Measurement>
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
          <ProgressBar value={(bytesPerSecond / most) * 100} aria-label={`${label} ${formatBytes(bytesPerSecond)}`} />
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
