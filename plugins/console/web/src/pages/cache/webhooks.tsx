/** Caches in front of a distribution: how each is told what to forget, and whether it was. */
import { Button, Group, NativeSelect, Paper, SimpleGrid, Stack, Text, Textarea, TextInput, Title } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { choicesOf } from '../../parts/choices.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { PasswordInput } from '../../parts/password-input.tsx'
import { Suggestions } from '../../parts/suggestions.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { Tool } from '../../parts/tool.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import {
  fieldsOfKind,
  maskedValue,
  newWebhook,
  secretFields,
  type WebhookDraft,
  type WebhookFieldName,
} from './distribution-draft.ts'
import type { DistributionForm } from './distribution-settings.tsx'
import { WebhookState } from './webhook-state.tsx'

const words = cacheTexts.cacheSettings

export interface WebhooksProps {
  readonly id: string
  readonly form: DistributionForm
  /** Names of those that the server has, which can be tested. */
  readonly stored: readonly string[]
  readonly aliases: readonly string[]
}

export function Webhooks({ id, form, stored, aliases }: WebhooksProps) {
  const { webhooks } = form.values
  const states = useQuery({
    queryKey: ['cache-webhooks', id],
    queryFn: async ({ signal }) => (await call('listDistributionWebhooks', { params: { id }, signal })).items,
    enabled: stored.length > 0,
    refetchInterval: 5000,
  })
  return (
    <Stack>
      <div>
        <Title order={2} size="h4">
          {words.webhooks}
        </Title>
        <Text size="sm" c="dimmed">
          {words.webhooksHint}
        </Text>
      </div>
      {webhooks.map((webhook, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: its name is typed
        <Paper key={index} withBorder p="md" role="group" aria-label={words.webhook(index + 1)}>
          <Stack gap="sm">
            <WebhookState
              distribution={id}
              id={webhook.id}
              isStored={stored.includes(webhook.id)}
              state={states.data?.find(each => each.id === webhook.id)}
            />
            <WebhookFields form={form} webhook={webhook} path={`webhooks.${index}`} aliases={aliases} />
            <Group justify="flex-end">
              <Tool
                label={`${texts.common.remove} ${words.webhook(index + 1)}`}
                icon={IconTrash}
                onClick={() => form.removeListItem('webhooks', index)}
              />
            </Group>
          </Stack>
        </Paper>
      ))}
      <Group>
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => form.insertListItem('webhooks', newWebhook(webhooks))}
        >
          {words.addWebhook}
        </Button>
      </Group>
    </Stack>
  )
}

interface FieldsProps {
  readonly form: DistributionForm
  readonly webhook: WebhookDraft
  readonly path: string
}

function WebhookFields({ form, webhook, path, aliases }: FieldsProps & { aliases: readonly string[] }) {
  const fields = fieldsOfKind(webhook.type)
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TextInput label={words.id} required autoComplete="off" {...form.getInputProps(`${path}.id`)} />
      <Suggestions
        label={words.kind}
        description={words.kinds[webhook.type]}
        data={Object.keys(words.kinds)}
        required
        {...form.getInputProps(`${path}.type`)}
      />
      <TagsInput {...words.webhookDomains} data={[...aliases]} {...form.getInputProps(`${path}.domains`)} />
      {fields?.map(name => (
        <Setting key={name} form={form} webhook={webhook} path={path} name={name} />
      ))}
      {fields === undefined && (
        <PairsInput
          of={words.setting}
          label={words.otherSettings}
          value={webhook.pairs}
          errors={form.errors}
          path={`${path}.settings`}
          onChange={pairs => form.setFieldValue(`${path}.pairs`, pairs)}
        />
      )}
    </SimpleGrid>
  )
}

const choices: Partial<Record<WebhookFieldName, Readonly<Record<string, string>>>> = {
  method: namesOf(['', 'POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'PURGE', 'BAN', 'REFRESH']),
  scheme: namesOf(['', 'https', 'http', 'both']),
  network: namesOf(['', 'production', 'staging']),
}

/** The empty one is the kind's default. */
function namesOf(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map(name => [name, name || texts.distributions.statuses['']]))
}

function Setting({ form, webhook, path, name }: FieldsProps & { name: WebhookFieldName }) {
  const props = { label: words.fields[name], ...form.getInputProps(`${path}.${name}`) }
  const hint = webhook.type === 'generic' ? words.fieldHints[name] : undefined
  const described = hint === undefined ? {} : { description: hint }
  const data = choices[name]
  if (data !== undefined) return <NativeSelect data={choicesOf(data)} {...props} />
  if (name === 'headers') {
    return (
      <PairsInput
        of={texts.distributions.header}
        label={words.fields.headers}
        value={webhook.headers}
        errors={form.errors}
        path={`${path}.headers`}
        onChange={headers => form.setFieldValue(`${path}.headers`, headers)}
      />
    )
  }
  if (name === 'body') return <Textarea autosize minRows={2} {...described} {...props} />
  if (!secretFields.has(name)) return <TextInput {...described} {...props} />
  // What is stored is not known here: the mask goes back as it came.
  return (
    <PasswordInput
      {...described}
      autoComplete="new-password"
      {...props}
      value={props.value === maskedValue ? '' : props.value}
      placeholder={props.value === maskedValue ? words.secretKept : ''}
    />
  )
}
