import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { choicesOf } from '../../parts/choices.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.accessRules

type Preset = keyof typeof words.presets

export interface PresetsProps {
  readonly bucket: string
  readonly etag: string
  readonly onChanged: () => Promise<void>
}

export function Presets({ bucket, etag, onChanged }: PresetsProps) {
  const [preset, setPreset] = useState<Preset>('private')
  const [prefix, setPrefix] = useState('')
  /** The server's question that must be confirmed, in its words. */
  const [question, setQuestion] = useState<string>()
  const apply = (confirm: boolean): Promise<Answer<'setAccessPreset'>> =>
    call('setAccessPreset', {
      params: { bucket },
      ifMatch: etag,
      body: {
        preset,
        ...(preset === 'public-prefix' && { match: { type: 'prefix' as const, pattern: prefix } }),
        ...(confirm && { confirm }),
      },
    })
  const applying = useMutation({
    mutationFn: () => apply(false),
    onSuccess: onChanged,
    onError: error => {
      if (error instanceof Problem && error.code === 'confirmation_required') setQuestion(error.message)
    },
  })
  return (
    <Section title={words.presetTitle} hint={words.presetHint}>
      {question === undefined && <Conflict error={applying.error} onLoad={onChanged} />}
      <Group align="flex-end">
        <NativeSelect
          label={words.choose}
          data={choicesOf(words.presets)}
          value={preset}
          onChange={event => setPreset(event.currentTarget.value as Preset)}
        />
        {preset === 'public-prefix' && (
          <TextInput label={words.prefix} value={prefix} onChange={event => setPrefix(event.currentTarget.value)} />
        )}
        <Button onClick={() => applying.mutate()} loading={applying.isPending}>
          {words.apply}
        </Button>
      </Group>
      {question !== undefined && (
        <ConfirmDeletion
          title={words.presets[preset]}
          action={words.confirm}
          onConfirm={async () => {
            await apply(true)
            await onChanged()
          }}
          onClose={() => {
            setQuestion(undefined)
            applying.reset()
          }}
        >
          <Text size="sm">{question}</Text>
        </ConfirmDeletion>
      )}
    </Section>
  )
}
