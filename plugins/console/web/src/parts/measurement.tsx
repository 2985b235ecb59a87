/** Something that the server does for some seconds when it is asked to. */
import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Problem } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { choicesOf } from './choices.ts'
import { ProblemAlert } from './failure.tsx'
import { NumberInput } from './number-input.tsx'

const words = texts.tools

export interface MeasurementProps<Kind extends string, Result> {
  /** The first is chosen at first. */
  readonly kinds: Readonly<Record<Kind, string>>
  /** What to know of the kind before. */
  readonly hintOf?: (kind: Kind) => string
  readonly submit: string
  readonly icon?: ReactNode
  readonly run: (kind: Kind, seconds: number) => Promise<Result>
  readonly children?: (result: Result) => ReactNode
}

export function Measurement<Kind extends string, Result>(props: MeasurementProps<Kind, Result>) {
  const { kinds, hintOf, submit, icon, run, children } = props
  const [kind, setKind] = useState(Object.keys(kinds)[0] as Kind)
  const [seconds, setSeconds] = useState<number | string>(10)
  const measuring = useMutation({ mutationFn: () => run(kind, Number(seconds)) })
  // It has one field that may be wrong.
  const flaw = measuring.error instanceof Problem ? measuring.error.fields[0]?.message : undefined
  return (
    <Stack gap="sm">
      <Group align={flaw === undefined ? 'flex-end' : 'center'}>
        <NativeSelect
          label={words.measure}
          data={choicesOf(kinds)}
          value={kind}
          onChange={event => setKind(event.currentTarget.value as Kind)}
        />
        <NumberInput
          label={words.seconds}
          min={1}
          max={60}
          w={flaw === undefined ? 100 : 240}
          value={seconds}
          error={flaw}
          onChange={value => {
            setSeconds(value)
            measuring.reset()
          }}
        />
        <Button leftSection={icon} loading={measuring.isPending} onClick={() => measuring.mutate()}>
          {submit}
        </Button>
      </Group>
      {hintOf !== undefined && (
        <Text size="xs" c="dimmed">
          {hintOf(kind)}
        </Text>
      )}
      {measuring.error !== null && flaw === undefined && <ProblemAlert error={measuring.error} />}
      {measuring.data !== undefined && children?.(measuring.data)}
    </Stack>
  )
}
