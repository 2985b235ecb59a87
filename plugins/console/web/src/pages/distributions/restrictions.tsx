import { Button, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { choicesOf } from '../../parts/choices.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { NumberInput } from '../../parts/number-input.tsx'
import { PasswordInput } from '../../parts/password-input.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { texts } from '../../texts/index.ts'
import { useDraft } from './form.ts'

const words = texts.distributions
const sourceIp = 'restrictions.sourceIp'
const rate = 'restrictions.rateLimit'

export type OriginSecret = Answer<'rotateOriginSecret'>

export interface RestrictionsProps {
  readonly id: string
  /** The editor is drawn anew after that, so what is shown once is shown outside of it. */
  readonly onRotated: (secret: OriginSecret) => void
}

export function Restrictions({ id, onRotated }: RestrictionsProps) {
  const form = useDraft()
  const [isRotating, setRotating] = useState(false)
  const { requestsPerSecond, burst } = form.values.restrictions.rateLimit
  const header = form.getInputProps('restrictions.originSecretHeader.name')
  const rotate = async () =>
    onRotated(await call('rotateOriginSecret', { params: { id }, body: { keepPreviousFor: '24h' } }))
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TagsInput label={words.allow} description={words.addressHint} {...form.getInputProps(`${sourceIp}.allow`)} />
        <TagsInput label={words.deny} description={words.addressHint} {...form.getInputProps(`${sourceIp}.deny`)} />
        <TextInput label={words.secretName} description={words.secretHint} {...header} />
        {header.value !== '' && (
          <PasswordInput
            label={words.secretValue}
            {...(!form.isDirty('restrictions.originSecretHeader.name') && { description: words.secretReplaced })}
            autoComplete="off"
            {...form.getInputProps('restrictions.originSecretHeader.value')}
            // What is said of both is said here; what is wrong with the name is said there.
            error={
              form.errors['restrictions.originSecretHeader.value'] ?? form.errors['restrictions.originSecretHeader']
            }
            value={form.getInputProps('restrictions.originSecretHeader.value').value ?? ''}
          />
        )}
      </SimpleGrid>
      {/* One that is not saved yet has no value to replace. */}
      {header.value !== '' && !form.isDirty('restrictions.originSecretHeader.name') && (
        <Group>
          <Button variant="default" disabled={form.isDirty()} onClick={() => setRotating(true)}>
            {words.rotateSecret}
          </Button>
          {/* It would be lost: the distribution is another one with the new value. */}
          {form.isDirty() && (
            <Text size="sm" c="dimmed">
              {words.rotateUnsaved}
            </Text>
          )}
        </Group>
      )}
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <NumberInput {...words.rate} min={1} {...form.getInputProps(`${rate}.requestsPerSecond`)} />
        <NumberInput {...words.burst} min={1} {...form.getInputProps(`${rate}.burst`)} />
        <NativeSelect
          label={words.per}
          data={choicesOf(words.pers)}
          {...form.getInputProps(`${rate}.per`)}
          disabled={requestsPerSecond === '' && burst === ''}
        />
      </SimpleGrid>
      {isRotating && (
        <ConfirmDeletion
          title={words.rotateTitle}
          action={words.rotateSecret}
          onConfirm={rotate}
          onClose={() => setRotating(false)}
        >
          <Text size="sm">{words.rotateText}</Text>
        </ConfirmDeletion>
      )}
    </Stack>
  )
}
