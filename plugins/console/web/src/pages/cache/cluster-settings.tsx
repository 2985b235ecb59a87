import { Checkbox, Fieldset, SimpleGrid, Text, TextInput, Title } from '@mantine/core'
import { asRead, callTagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useForm } from '../../parts/form.ts'
import { PasswordInput } from '../../parts/password-input.tsx'
import { SavedForm, useSaving } from '../../parts/saved-form.tsx'
import { type Reload, StoredDocument } from '../../parts/stored-document.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { relatedFields } from './fields.ts'
import { LevelFields, levelDraftOf, levelOf } from './level-fields.tsx'

const words = cacheTexts.cacheSettings

type Document = Answer<'getCacheSettings'>

export function ClusterSettings() {
  return (
    <StoredDocument queryKey={['cache-settings']} load={signal => callTagged('getCacheSettings', { signal })}>
      {({ document, etag }, reload) => <Editor stored={document} etag={etag} reload={reload} />}
    </StoredDocument>
  )
}

interface EditorProps {
  readonly stored: Document
  readonly etag: string | undefined
  readonly reload: Reload<Document>
}

function Editor({ stored, etag, reload }: EditorProps) {
  const form = useForm({
    initialValues: {
      cache: levelDraftOf(stored.cache),
      nodeHeader: stored.nodeHeader,
      debug: { header: stored.debug.header, secret: '' },
    },
    related: relatedFields,
  })
  const saving = useSaving({
    form,
    save: () => {
      const { cache, nodeHeader, debug } = form.getValues()
      const body = { cache: levelOf(cache), nodeHeader, debug: debugOf(debug) }
      return callTagged('putCacheSettings', { body, ...asRead(etag) })
    },
    message: words.saved,
    stale: [['cache-policy-check']],
    reload,
  })
  return (
    <SavedForm isOfPage form={form} saving={saving} reload={reload}>
      <div>
        <Title order={2} size="h4">
          {words.level}
        </Title>
        <Text size="sm" c="dimmed">
          {words.clusterHint}
        </Text>
      </div>
      <LevelFields form={form} path="cache" level={form.values.cache} isTop />
      <Checkbox label={words.nodeHeader} {...form.getInputProps('nodeHeader', { type: 'checkbox' })} />
      <Fieldset legend={words.debug}>
        <Text size="sm" c="dimmed" mb="xs">
          {words.debugHint}
        </Text>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput label={words.debugHeader} {...form.getInputProps('debug.header')} />
          <PasswordInput
            label={words.debugSecret}
            {...(stored.debug.secret !== '' && { placeholder: words.secretKept })}
            autoComplete="new-password"
            {...form.getInputProps('debug.secret')}
          />
        </SimpleGrid>
      </Fieldset>
    </SavedForm>
  )
}

/** The body of the debug settings. Fields that are left out keep their values. */
const debugOf = ({ header, secret }: { header: string; secret: string }) => ({
  ...(header !== '' && { header }),
  ...(secret !== '' && { secret }),
})
