/** Something that the server does for some seconds when it is asked to. */
import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { formErrorsOf } from '../api/problem.ts'
import { toolTexts } from '../texts/tools.ts'
import { useUnsaid } from './beside-fields.ts'
import { choicesOf } from './choices.ts'
import { ProblemAlert } from './failure.tsx'
import { NumberInput } from './number-input.tsx'

const words = toolTexts

export interface MeasurementProps<Kind extends string, Result> {
  /** The first is chosen at first. */
  readonly kinds: Readonly<Partial<Record<Kind, string>>>
  /** What to know of the kind before. */
  readonly hintOf?: (kind: Kind) => string
  /** What more can be chosen of the kind. `errors` by the name of the field, for all until one of them `changed`. */
  readonly fieldsOf?: (kind: Kind, errors: Readonly<Record<string, string>>, changed: () => void) => ReactNode
  readonly submit: string
  readonly icon?: ReactNode
  readonly run: (kind: Kind, seconds: number) => Promise<Result>
  readonly children?: (result: Result) => ReactNode
}

export function Measurement<Kind extends string, Result>(props: MeasurementProps<Kind, Result>) {
  const { kinds, hintOf, fieldsOf, submit, icon, run, children } = props
  const [kind, setKind] = useState(Object.keys(kinds)[0] as Kind)
  const [seconds, setSeconds] = useState<number | string>(10)
  const measuring = useMutation({ mutationFn: () => run(kind, Number(seconds)) })
  // What is under way is of the values before, and is waited for.
  const forget = () => {
    if (!measuring.isPending) measuring.reset()
  }
  const ref = useRef<HTMLDivElement>(null)
  const unsaid = useUnsaid(ref, measuring.error)
  const errors = formErrorsOf(measuring.error)
  const flaw = errors.durationSeconds ?? errors.seconds
  const button = (
    <Button leftSection={icon} loading={measuring.isPending} onClick={() => measuring.mutate()}>
      {submit}
    </Button>
  )
  return (
    <Stack gap="sm" ref={ref}>
      <Group align={flaw === undefined ? 'flex-end' : 'center'}>
        <NativeSelect
          label={words.measure}
          data={choicesOf(kinds)}
          value={kind}
          onChange={event => {
            setKind(event.currentTarget.value as Kind)
            forget()
          }}
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
            forget()
          }}
        />
        {fieldsOf === undefined && button}
      </Group>
      {fieldsOf !== undefined && (
        <>
          <Group align="flex-start">{fieldsOf(kind, errors, forget)}</Group>
          <Group>{button}</Group>
        </>
      )}
      {hintOf !== undefined && (
        <Text size="xs" c="dimmed">
          {hintOf(kind)}
        </Text>
      )}
      {unsaid !== null && <ProblemAlert error={unsaid} />}
      {measuring.data !== undefined && children?.(measuring.data)}
    </Stack>
  )
}
