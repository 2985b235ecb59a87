/** What holds for which paths: the default, and behaviours in their order. */
import { Accordion, Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { errorWithin } from '../../api/problem.ts'
import { choicesOf } from '../../parts/choices.ts'
import { focusNewField } from '../../parts/focus-new.ts'
import { MoveButtons } from '../../parts/move-buttons.tsx'
import type { Pair } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { Suggestions } from '../../parts/suggestions.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { texts } from '../../texts/index.ts'
import { behaviorOf } from './draft.ts'
import { faultyBehavior } from './error-words.ts'
import { useDraft } from './form.ts'

const words = texts.distributions

/** `error`: of the last attempt to save. */
export function Behaviors({ error }: { error: unknown }) {
  const form = useDraft()
  const { behaviors } = form.getValues()
  const [open, setOpen] = useState<string | null>('default')
  // The one that the server found fault with is opened, once for each answer.
  const [seen, setSeen] = useState<unknown>(null)
  if (error !== seen) {
    setSeen(error)
    setOpen(faultyBehavior(error) ?? open)
  }
  const add = () => {
    focusNewField()
    form.insertListItem('behaviors', { ...behaviorOf(), pathPattern: { type: 'prefix', pattern: '' } })
    setOpen(String(behaviors.length))
  }
  const move = (from: number, to: number) => {
    form.reorderListItem('behaviors', { from, to })
    setOpen(String(to))
  }
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {words.orderHint}
      </Text>
      <Accordion value={open} onChange={setOpen} variant="contained" keepMounted={false}>
        {behaviors.map(({ pathPattern }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: behaviours have no identity but their place
          <Accordion.Item key={index} value={String(index)}>
            <Accordion.Control>{words.behaviorTitle(index + 1, pathPattern?.pattern ?? '')}</Accordion.Control>
            <Accordion.Panel>
              <Stack>
                <Pattern path={`behaviors.${index}`} />
                <BehaviorFields path={`behaviors.${index}`} />
                <Group justify="flex-end">
                  <MoveButtons
                    nameOf={at => words.behavior(at + 1)}
                    index={index}
                    count={behaviors.length}
                    onMove={to => move(index, to)}
                    onRemove={() => form.removeListItem('behaviors', index)}
                  />
                </Group>
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        ))}
        <Accordion.Item value="default">
          <Accordion.Control>{words.defaultBehavior}</Accordion.Control>
          <Accordion.Panel>
            <Stack>
              <Text size="sm" c="dimmed">
                {words.defaultHint}
              </Text>
              <BehaviorFields path="defaultBehavior" />
            </Stack>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
      <Group>
        <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={add}>
          {words.addBehavior}
        </Button>
      </Group>
    </Stack>
  )
}

function Pattern({ path }: { path: string }) {
  const form = useDraft()
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TextInput
        label={words.pattern}
        placeholder="/private/"
        required
        {...form.getInputProps(`${path}.pathPattern.pattern`)}
        error={errorWithin(form.errors, `${path}.pathPattern`)}
      />
      <NativeSelect
        label={words.patternType}
        data={choicesOf(words.patternTypes)}
        {...form.getInputProps(`${path}.pathPattern.type`)}
      />
    </SimpleGrid>
  )
}

function BehaviorFields({ path }: { path: string }) {
  const form = useDraft()
  const keyGroups = useQuery({
    queryKey: ['names', 'key-groups'],
    queryFn: async ({ signal }) => (await call('listKeyGroups', { signal })).items.map(({ id }) => id),
  })
  const access = form.getInputProps(`${path}.access`)
  const isDefault = path === 'defaultBehavior'
  const isWebsite = form.getValues().mode === 'website'
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NativeSelect
          label={words.access}
          data={choicesOf(isWebsite ? words.accesses : words.accessesOfS3).filter(
            // The default itself is as nothing else says, and no link is signed for an S3 endpoint.
            ({ value }) =>
              value === access.value || ((value !== '' || !isDefault) && (isWebsite || value !== 'signed')),
          )}
          {...access}
        />
        {access.value === 'signed' && (
          <Suggestions
            label={words.keyGroup}
            data={keyGroups.data ?? []}
            {...form.getInputProps(`${path}.signing.keyGroup`)}
          />
        )}
        <TextInput label={words.indexDocument} {...form.getInputProps(`${path}.indexDocument`)} />
        <TextInput label={words.spaFallback} {...form.getInputProps(`${path}.spaFallback`)} />
        <TextInput
          label={words.cacheControl}
          placeholder="public, max-age=3600"
          {...form.getInputProps(`${path}.cache.cacheControl`)}
        />
      </SimpleGrid>
      <Headers path={`${path}.responseHeaders`} />
      <TagsInput label={words.corsOrigins} {...form.getInputProps(`${path}.cors.allowedOrigins`)} />
    </>
  )
}

export function Headers({ path }: { path: string }) {
  const form = useDraft()
  return (
    <PairsInput
      of={words.header}
      label={words.responseHeaders}
      hint={words.responseHeadersHint}
      value={form.getInputProps(path).value as readonly Pair[]}
      onChange={pairs => form.setFieldValue(path, pairs as never)}
      errors={form.errors}
      path={path}
    />
  )
}

/** Headers of the whole distribution. */
export function AllHeaders() {
  const form = useDraft()
  return (
    <Stack>
      <NativeSelect label={words.preset} data={choicesOf(words.presets)} {...form.getInputProps('headers.preset')} />
      <Headers path="headers.response" />
      <TagsInput label={words.corsOrigins} {...form.getInputProps('headers.cors.allowedOrigins')} />
      <Checkbox
        label={words.corsCredentials}
        {...form.getInputProps('headers.cors.allowCredentials', { type: 'checkbox' })}
      />
    </Stack>
  )
}
