import { Button, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { atField, formErrorsOf } from '../../api/problem.ts'
import { useBesideFields } from '../../parts/beside-fields.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { useForm } from '../../parts/form.ts'
import type { Pair } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { DistributionName } from './distribution-names.tsx'
import { Effective } from './effective.tsx'

const words = cacheTexts.cacheInspect

/** `distribution`: whose addresses are looked at; absent: one may choose. */
export function Inspect({ distribution }: { distribution?: string }) {
  const form = useForm({
    initialValues: {
      url: distribution === undefined ? '' : '/',
      distribution: distribution ?? '',
      headers: [] as readonly Pair[],
    },
  })
  const inspection = useMutation({
    mutationFn: () => {
      const { url, headers, distribution: chosen } = form.getValues()
      const header = headers.filter(([name]) => name !== '').map(([name, value]) => `${name}: ${value}`)
      const isChosen = chosen.trim() !== ''
      return call('inspectCache', {
        query: { url: url.trim(), header, ...(isChosen && { distribution: chosen.trim() }) },
      }).catch(error => {
        throw atField(error, 'distribution_not_found', isChosen ? '/distribution' : '/url')
      })
    },
    onMutate: form.clearErrors,
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  const { element, unsaid } = useBesideFields(inspection.error, form.setErrors)
  return (
    <Stack>
      <form {...element} onSubmit={form.onSubmit(() => inspection.mutate())}>
        <Stack>
          <Text size="sm" c="dimmed">
            {words.hint}
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput
              label={words.url}
              description={words.urlHint}
              placeholder="https://www.example.test/docs/"
              required
              {...form.getInputProps('url')}
            />
            {distribution === undefined && (
              <DistributionName description={texts.cache.distributionHint} {...form.getInputProps('distribution')} />
            )}
          </SimpleGrid>
          <PairsInput
            of={words.header}
            value={form.values.headers}
            errors={form.errors}
            path="header"
            onChange={headers => form.setFieldValue('headers', headers)}
          />
          <div>
            <Button type="submit" loading={inspection.isPending}>
              {words.submit}
            </Button>
          </div>
        </Stack>
      </form>
      {unsaid !== null && <ProblemAlert error={unsaid} />}
      {inspection.data !== undefined && <Effective inspection={inspection.data} />}
    </Stack>
  )
}
