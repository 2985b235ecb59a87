import { Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { BytesInput, withSizes } from '../../parts/bytes-input.tsx'
import { formatBytes } from '../../parts/format.ts'
import { Measurement } from '../../parts/measurement.tsx'
import { NumberInput } from '../../parts/number-input.tsx'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { toolTexts } from '../../texts/tools.ts'
import { serverInfoQuery } from '../overview/queries.ts'

const words = toolTexts

type Kind = keyof typeof words.speedKinds

const mebibyte = 1024 ** 2
/** What the server takes where nothing is said. */
const defaultSizes = { object: 64 * mebibyte, drive: 1024 * mebibyte }
const defaultConcurrency = 32

/** Free space without which the server refuses the test. */
const roomOf = (kind: keyof typeof defaultSizes, size: number | '', concurrency: number | string) =>
  (size === '' ? defaultSizes[kind] : size) * (kind === 'drive' ? 2 : 4 * (Number(concurrency) || defaultConcurrency))

export function SpeedTest() {
  // Empty: the server's defaults, which differ by the kind.
  const [size, setSize] = useState<number | ''>('')
  const [concurrency, setConcurrency] = useState<number | string>('')
  const info = useQuery({ ...serverInfoQuery, enabled: useMay('admin:ServerInfo'), refetchInterval: false })
  // Of one node there is no network to measure: the server refuses it.
  const { net, ...own } = words.speedKinds
  const kinds: Partial<typeof words.speedKinds> = info.data?.nodes.length === 1 ? own : { ...own, net }
  const run = (kind: Kind, durationSeconds: number) =>
    call('runSpeedtest', {
      params: { kind },
      body: {
        durationSeconds,
        ...(kind !== 'net' && size !== '' && { size }),
        ...(kind === 'object' && concurrency !== '' && { concurrency: Number(concurrency) }),
      },
    })
  return (
    <Measurement
      kinds={kinds}
      submit={words.run}
      run={run}
      fieldsOf={(kind, errors, changed) =>
        kind !== 'net' && (
          <>
            <BytesInput
              label={words.size}
              description={words.sizeHints[kind](formatBytes(roomOf(kind, size, concurrency)))}
              none=""
              usualUnit="MiB"
              value={size}
              error={errors.size}
              onChange={bytes => {
                setSize(bytes)
                changed()
              }}
            />
            {kind === 'object' && (
              <NumberInput
                label={words.concurrency}
                description={words.concurrencyHint}
                min={1}
                value={concurrency}
                error={errors.concurrency}
                onChange={value => {
                  setConcurrency(value)
                  changed()
                }}
              />
            )}
          </>
        )
      }
    >
      {result => <Bars bars={barsOf(result)} />}
    </Measurement>
  )
}

interface Bar {
  readonly label: string
  /** Undefined where nothing was measured; the note says why. */
  readonly bytesPerSecond: number | undefined
  readonly note: string
}

function barsOf({ drive, object }: Answer<'runSpeedtest'>): Bar[] {
  const bars: Bar[] = []
  for (const { path, writeBytesPerSecond, readBytesPerSecond, error } of drive?.drives ?? []) {
    if (error !== '') {
      bars.push({ label: path, bytesPerSecond: undefined, note: withSizes(error) })
      continue
    }
    bars.push({ label: `${path}, ${words.write}`, bytesPerSecond: writeBytesPerSecond, note: '' })
    bars.push({ label: `${path}, ${words.read}`, bytesPerSecond: readBytesPerSecond, note: '' })
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
  const most = Math.max(1, ...bars.map(({ bytesPerSecond = 0 }) => bytesPerSecond))
  return (
    <Stack gap="xs" role="group" aria-label={words.chart}>
      {bars.map(({ label, bytesPerSecond, note }) => (
        <div key={label}>
          <Group justify="space-between" wrap="nowrap">
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {label}
            </Text>
            <Text size="sm" className="numbers" style={{ whiteSpace: 'nowrap' }}>
              {bytesPerSecond === undefined ? words.notMeasured : words.rate(formatBytes(bytesPerSecond))}
            </Text>
          </Group>
          {bytesPerSecond !== undefined && (
            <ProgressBar value={(bytesPerSecond / most) * 100} aria-label={`${label} ${formatBytes(bytesPerSecond)}`} />
          )}
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
