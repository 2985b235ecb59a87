import { Alert, Checkbox, Group, NativeSelect, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.metrics

type Target = keyof typeof words.targetNames

const targets = Object.entries(words.targetNames) as [Target, string][]

export function PrometheusToken({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<Answer<'createPrometheusToken'>>()
  const form = useForm({ initialValues: { targets: ['node', 'bucket'] as string[], expiresInSeconds: '31536000' } })
  const make = async () => {
    const body = {
      targets: form.values.targets as Target[],
      expiresInSeconds: Number(form.values.expiresInSeconds),
    }
    setMade(await call('createPrometheusToken', { body }))
    return 'stay' as const
  }
  return (
    <FormDialog
      title={words.tokenTitle}
      size="lg"
      {...(made === undefined && { submit: words.make })}
      form={form}
      onSubmit={make}
      onClose={onClose}
    >
      {made === undefined ? (
        <>
          <Text size="sm" c="dimmed">
            {words.tokenHint}
          </Text>
          <Checkbox.Group label={words.targets} {...form.getInputProps('targets')}>
            <Group mt="xs">
              {targets.map(([value, label]) => (
                <Checkbox key={value} value={value} label={label} />
              ))}
            </Group>
          </Checkbox.Group>
          <NativeSelect label={words.expiry} data={words.expiries} {...form.getInputProps('expiresInSeconds')} />
        </>
      ) : (
        <>
          <Alert color="orange">{made.token === '' ? words.everybody : words.onlyNow}</Alert>
          <Copyable label={words.config} text={made.scrapeConfig} isMade />
        </>
      )}
    </FormDialog>
  )
}
