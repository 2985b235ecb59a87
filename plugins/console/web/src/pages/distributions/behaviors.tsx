/** What holds for which paths: the default, and behaviours in their order. */
import { Accordion, Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { errorWithin } from '../../api/problem.ts'
import { choicesOf } from '../../parts/choices.ts'
import { focusNewField } from '../../parts/focus-new.ts'
import { InheritableText, NoneBox } from '../../parts/inheritable.tsx'
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
      <Checkbox
        label={words.caseInsensitive}
        {...form.getInputProps(`${path}.pathPattern.caseInsensitive`, { type: 'checkbox' })}
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
          description={(isWebsite ? words.accessHints : words.accessHintsOfS3)[access.value]}
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
        <OwnText label={words.indexDocument} path={`${path}.indexDocument`} isDefault={isDefault} />
        <OwnText label={words.spaFallback} path={`${path}.spaFallback`} isDefault={isDefault} />
        <OwnText
          label={words.cacheControl}
          example="public, max-age=3600"
          path={`${path}.cache.cacheControl`}
          isDefault={isDefault}
        />
      </SimpleGrid>
      {isDefault ? <Headers path={`${path}.responseHeaders`} /> : <OwnHeaders path={`${path}.responseHeaders`} />}
      <TagsInput label={words.corsOrigins} {...form.getInputProps(`${path}.cors.allowedOrigins`)} />
    </>
  )
}

interface OwnTextProps {
  readonly label: string
  readonly path: string
  readonly example?: string
  /** Of the default behaviour, there is nothing that it would be inherited from. */
  readonly isDefault: boolean
}

function OwnText({ label, path, example, isDefault }: OwnTextProps) {
  const form = useDraft()
  const props = form.getInputProps(path)
  if (isDefault) return <TextInput label={label} {...(example && { placeholder: example })} {...props} />
  return (
    <InheritableText
      label={label}
      placeholder={words.asDefault}
      noneLabel={words.noneHere}
      value={props.value as string | null}
      error={props.error}
      onChange={next => form.setFieldValue(path, next as never)}
    />
  )
}

/** Those of a behaviour stand in the place of all headers of the default. */
function OwnHeaders({ path }: { path: string }) {
  const form = useDraft()
  const pairs = form.getInputProps(path).value as readonly Pair[] | null
  const change = (next: readonly Pair[] | null) => form.setFieldValue(path, next as never)
  const isNone = pairs?.length === 0
  const isBlank = (pairs ?? []).every(([name, value]) => name.trim() === '' && value === '')
  return (
    <Stack gap={4}>
      <PairsInput
        of={words.header}
        label={words.responseHeaders}
        hint={isBlank && !isNone ? words.defaultHeadersHint : words.responseHeadersHint}
        value={pairs ?? []}
        onChange={next => change(next.length === 0 ? null : next)}
        errors={form.errors}
        path={path}
      />
      {isBlank && (
        <NoneBox
          of={words.responseHeaders}
          label={words.noneHere}
          checked={isNone}
          onChange={checked => change(checked ? [] : null)}
        />
      )}
    </Stack>
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
