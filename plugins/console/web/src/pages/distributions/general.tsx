import { NativeSelect, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { useMay } from '../../app/signed-in.ts'
import { choicesOf } from '../../parts/choices.ts'
import { Suggestions } from '../../parts/suggestions.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { texts } from '../../texts/index.ts'
import { CertificateState } from '../publishing/certificate-state.tsx'
import { providerNamesQuery } from '../publishing/queries.ts'
import type { Distribution } from './draft.ts'
import { useDraft } from './form.ts'

const words = texts.distributions

export function General({ of }: { of: Distribution }) {
  const form = useDraft()
  const { mode, tls, logging, origin } = form.getValues()
  const names = useCertificateNames()
  return (
    <Stack>
      <Switch label={words.enabled} {...form.getInputProps('enabled', { type: 'checkbox' })} />
      <TagsInput
        label={words.domains}
        description={words.domainsHint}
        withAsterisk
        {...form.getInputProps('aliases')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput label={words.bucket} required {...form.getInputProps('origin.bucket')} />
        <TextInput label={words.prefix} {...form.getInputProps('origin.pathPrefix')} />
        <NativeSelect label={words.mode} data={['website', 's3']} {...form.getInputProps('mode')} />
        <TextInput label={words.comment} {...form.getInputProps('comment')} />
        <Suggestions
          label={words.certificate}
          description={words.certificateHint}
          // An older release took these two names for certificates.
          data={[...new Set(['none', 'auto', ...names.certificates])]}
          {...form.getInputProps('tls.certificate')}
        />
        {tls.certificate === 'auto' && (
          <NativeSelect
            label={words.challenge}
            data={choicesOf(words.challenges)}
            {...form.getInputProps('tls.challenge')}
          />
        )}
        {tls.certificate === 'auto' && tls.challenge === 'dns-01' && (
          <Suggestions label={words.dnsProvider} data={names.providers} {...form.getInputProps('tls.dnsProvider')} />
        )}
      </SimpleGrid>
      <Stack gap={4}>
        <Text size="sm" fw={600}>
          {words.served}
        </Text>
        <CertificateState of={of} />
      </Stack>
      {/* To be switched off where it is refused. */}
      {(mode === 'website' || origin.versionPinning) && (
        <Switch
          label={words.versionPinning}
          description={words.versionPinningHint}
          {...form.getInputProps('origin.versionPinning', { type: 'checkbox' })}
        />
      )}
      <Switch label={words.accessLog} {...form.getInputProps('logging.accessLog', { type: 'checkbox' })} />
      {logging.accessLog && (
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <NativeSelect
            label={words.logFormat}
            data={choicesOf(words.logFormats)}
            {...form.getInputProps('logging.format')}
          />
          <TextInput label={words.logTarget} {...form.getInputProps('logging.target')} />
        </SimpleGrid>
      )}
    </Stack>
  )
}

/** Names of certificates to choose from; users who may not list them can type them. */
function useCertificateNames() {
  const enabled = useMay('admin:ManageCertificates')
  const certificates = useQuery({
    queryKey: ['names', 'certificates'],
    queryFn: async ({ signal }) =>
      (await call('listCertificates', { signal })).items
        .filter(({ source }) => source === 'upload')
        .map(({ id }) => id),
    enabled,
  })
  const providers = useQuery({ ...providerNamesQuery, enabled })
  return { certificates: certificates.data ?? [], providers: providers.data ?? [] }
}
