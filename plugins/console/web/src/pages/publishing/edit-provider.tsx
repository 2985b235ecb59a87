/** A DNS provider: new, or changed without showing its credentials. */
import { Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { NumberInput } from '../../parts/number-input.tsx'
import { texts } from '../../texts/index.ts'
import type { Provider } from './dns-providers.tsx'
import { ProviderFields, type ProviderKind } from './provider-fields.tsx'

const words = texts.publishing

export interface EditProviderProps {
  /** Absent for a new one. */
  readonly provider?: Provider
  readonly onClose: () => void
  readonly onDone: () => Promise<void>
}

/** The field of a provider's document that has the settings of its kind: of `cloud_dns` it is `cloudDns`. */
const blockOf = (type: string) => type.replace(/[_.-]+([a-z0-9])/g, (_, first: string) => first.toUpperCase())

export function EditProvider({ provider, onClose, onDone }: EditProviderProps) {
  const form = useForm({
    initialValues: {
      name: provider?.name ?? '',
      type: provider?.type ?? '',
      comment: provider?.comment ?? '',
      ttl: (provider?.ttl ?? '') as number | '',
      propagationTimeout: provider?.propagationTimeout ?? '',
      settings: storedSettings(provider),
    },
  })
  const kinds = useKinds()
  const kind = kinds.find(({ type }) => type === form.values.type)
  const save = async () => {
    const { name, type, comment, ttl, propagationTimeout, settings } = form.getValues()
    const isSecret = (field: string) => kind?.fields.find(one => one.name === field)?.secret === true
    const given = Object.entries(settings).filter(([, value]) => value !== '')
    const credentials = given.filter(([field]) => isSecret(field))
    const rest = given.filter(([field]) => !isSecret(field))
    const body = {
      name: name.trim(),
      type,
      ...(comment !== '' && { comment }),
      ...(ttl !== '' && { ttl }),
      ...(propagationTimeout !== '' && { propagationTimeout }),
      ...(provider?.pollingInterval !== undefined && { pollingInterval: provider.pollingInterval }),
      ...(rest.length > 0 && { [blockOf(type)]: Object.fromEntries(rest) }),
      ...(credentials.length > 0 && { credentials: Object.fromEntries(credentials) }),
    }
    if (provider === undefined) await call('createDnsProvider', { body })
    else await call('putDnsProvider', { params: { name: provider.name }, body, ifMatch: provider.etag })
    await onDone()
  }
  // The server speaks of the document, where the settings are in two places.
  const places = [`${blockOf(form.values.type)}.`, 'credentials.']
  const fieldOf = (path: string) => {
    const place = places.find(start => path.startsWith(start))
    return place === undefined ? path : `settings.${path.slice(place.length)}`
  }
  const fields = {
    isDirty: () => form.isDirty(),
    setErrors: (errors: Record<string, string>) =>
      form.setErrors(Object.fromEntries(Object.entries(errors).map(([path, message]) => [fieldOf(path), message]))),
  }
  return (
    <FormDialog
      title={provider?.name ?? words.addProvider}
      submit={texts.common.save}
      form={fields}
      onSubmit={save}
      onClose={onClose}
    >
      {provider === undefined && (
        <TextInput
          label={texts.common.name}
          required
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
      )}
      <Select
        label={texts.operate.type}
        data={kinds.map(({ type, description }) => ({ value: type, label: `${type}: ${description}` }))}
        required
        allowDeselect={false}
        {...form.getInputProps('type')}
        // Settings of one kind say nothing to another.
        onChange={type => form.setValues({ type: type ?? '', settings: {} })}
      />
      {kind !== undefined && (
        <ProviderFields
          kind={kind}
          values={form.values.settings}
          errors={form.errors}
          hasCredentials={provider?.hasCredentials === true && provider.type === kind.type}
          onChange={(name, value) => form.setFieldValue('settings', { ...form.values.settings, [name]: value })}
        />
      )}
      <NumberInput {...words.ttl} min={0} {...form.getInputProps('ttl')} />
      <TextInput {...words.propagation} {...form.getInputProps('propagationTimeout')} />
      <TextInput label={texts.common.description} {...form.getInputProps('comment')} />
    </FormDialog>
  )
}

function storedSettings(provider: Provider | undefined): Record<string, string> {
  if (provider === undefined) return {}
  const stored = (provider as unknown as Readonly<Record<string, object | undefined>>)[blockOf(provider.type)] ?? {}
  return Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, String(value)]))
}

/** The kinds that plugins provide. */
function useKinds(): readonly ProviderKind[] {
  const { data = [] } = useQuery({
    queryKey: ['dns-kinds'],
    queryFn: async ({ signal }) => (await call('listDnsProviders', { query: { limit: 1 }, signal })).kinds,
  })
  return data
}
