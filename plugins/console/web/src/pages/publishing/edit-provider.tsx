/** A DNS provider: new, or changed without showing its credentials. */
import { NumberInput, Select, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { useMay } from '../../app/signed-in.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { objectOf, type Pair, PairsInput, pairsOf } from '../../parts/pairs-input.tsx'
import { texts } from '../../texts/index.ts'
import type { Provider } from './dns-providers.tsx'

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
      credentials: [] as readonly Pair[],
    },
  })
  const kinds = useKinds()
  const save = async () => {
    const { name, type, comment, ttl, propagationTimeout, settings, credentials } = form.getValues()
    const body = {
      name: name.trim(),
      type,
      ...(comment !== '' && { comment }),
      ...(ttl !== '' && { ttl }),
      ...(propagationTimeout !== '' && { propagationTimeout }),
      ...(provider?.pollingInterval !== undefined && { pollingInterval: provider.pollingInterval }),
      ...(settings.length > 0 && { [blockOf(type)]: objectOf(settings) }),
      ...(credentials.length > 0 && { credentials: objectOf(credentials) }),
    }
    if (provider === undefined) await call('createDnsProvider', { body })
    else await call('putDnsProvider', { params: { name: provider.name }, body, ifMatch: provider.etag })
    await onDone()
  }
  return (
    <FormDialog
      title={provider?.name ?? words.addProvider}
      submit={texts.common.save}
      form={form}
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
      {kinds.length > 0 ? (
        <Select
          label={texts.operate.type}
          data={kinds}
          required
          allowDeselect={false}
          {...form.getInputProps('type')}
        />
      ) : (
        <TextInput label={texts.operate.type} required {...form.getInputProps('type')} />
      )}
      <PairsInput
        of={words.setting}
        label={words.settings}
        hint={words.settingsHint}
        value={form.values.settings}
        onChange={value => form.setFieldValue('settings', value)}
      />
      <PairsInput
        of={words.credential}
        label={words.credentials}
        hint={provider?.hasCredentials === true ? words.credentialsKept : words.credentialsHint}
        isSecret
        value={form.values.credentials}
        onChange={value => form.setFieldValue('credentials', value)}
      />
      <NumberInput label={words.ttl} min={0} {...form.getInputProps('ttl')} />
      <TextInput label={words.propagation} {...form.getInputProps('propagationTimeout')} />
      <TextInput label={texts.common.description} {...form.getInputProps('comment')} />
    </FormDialog>
  )
}

function storedSettings(provider: Provider | undefined): readonly Pair[] {
  if (provider === undefined) return []
  const stored = pairsOf((provider as unknown as Record<string, object>)[blockOf(provider.type)])
  return stored.map(([name, value]) => [name, String(value)])
}

/** The kinds that plugins provide; empty for whoever may not list plugins. */
function useKinds(): string[] {
  const { data = [] } = useQuery({
    queryKey: ['names', 'dns-kinds'],
    queryFn: async ({ signal }) => {
      const { items } = await call('listPlugins', { query: { limit: 1000 }, signal })
      const provided = items.flatMap(({ provides }) => provides)
      return provided.filter(({ extensionPoint }) => extensionPoint === 'dns-provider').map(({ id }) => id)
    },
    enabled: useMay('admin:ServerInfo'),
  })
  return data
}
