/** Note, names and switches of a key group and its keys. */
import { Checkbox, Fieldset, Stack, Text, TextInput } from '@mantine/core'
import { call, type Tagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useForm } from '../../parts/form.ts'
import { FormModal } from '../../parts/form-modal.tsx'
import { SavedForm, useSaving } from '../../parts/saved-form.tsx'
import { StoredDocument } from '../../parts/stored-document.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.editKeyGroup

type KeyGroup = Answer<'getKeyGroup'>

export function EditKeyGroup({ id, onClose }: { id: string; onClose: () => void }) {
  const load = async (signal: AbortSignal): Promise<Tagged<KeyGroup>> => {
    const document = await call('getKeyGroup', { params: { id }, signal })
    return { document, etag: document.etag }
  }
  return (
    <FormModal title={words.title(id)} size="lg" onClose={onClose}>
      {() => (
        <StoredDocument queryKey={['key-group', id]} load={load}>
          {({ document }, reload) => <Editor group={document} reload={reload} onSaved={onClose} />}
        </StoredDocument>
      )}
    </FormModal>
  )
}

interface EditorProps {
  readonly group: KeyGroup
  readonly reload: () => Promise<boolean>
  readonly onSaved: () => void
}

function Editor({ group: { id, comment, keys, etag }, reload, onSaved }: EditorProps) {
  const form = useForm({ initialValues: { comment, keys } })
  const saving = useSaving({
    form,
    // Keys are known by their ids: whatever else they have stays.
    save: () => call('putKeyGroup', { params: { id }, body: form.getValues(), ifMatch: etag }),
    message: texts.common.saved,
    stale: [['key-groups']],
    reload: async () => onSaved(),
  })
  return (
    <SavedForm form={form} saving={saving} reload={reload}>
      <TextInput label={texts.common.description} {...form.getInputProps('comment')} />
      {keys.length > 0 && (
        <Text size="sm" c="dimmed">
          {words.hint}
        </Text>
      )}
      {keys.map((key, index) => (
        <Fieldset key={key.id} legend={`${key.id} · ${key.algorithm}`}>
          <Stack gap="xs">
            <TextInput label={words.keyName(key.id)} {...form.getInputProps(`keys.${index}.name`)} />
            <Checkbox
              label={words.enabled(key.id)}
              {...form.getInputProps(`keys.${index}.enabled`, { type: 'checkbox' })}
            />
            {key.algorithm === 'rsa' && (
              <Checkbox
                label={words.sha1(key.id)}
                {...form.getInputProps(`keys.${index}.allowSha1`, { type: 'checkbox' })}
              />
            )}
          </Stack>
        </Fieldset>
      ))}
    </SavedForm>
  )
}
