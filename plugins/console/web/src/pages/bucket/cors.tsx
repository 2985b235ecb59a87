/** Which pages of other origins may use a bucket. */
import { Button, Fieldset, Group, Stack, Text } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { asRead, callTagged, type Tagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { errorWithin } from '../../api/problem.ts'
import { NumberInput } from '../../parts/number-input.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { BucketSetting } from './bucket-setting.tsx'

const words = texts.bucket

type Document = Answer<'getBucketCors'>
type Rule = Document['rules'][number]

const newRule: Rule = { allowedOrigins: [], allowedMethods: ['GET'], allowedHeaders: [], exposeHeaders: [] }
const lists = [
  ['allowedOrigins', words.corsOrigins, words.corsOriginsHint, []],
  ['allowedMethods', words.corsMethods, '', ['GET', 'PUT', 'POST', 'DELETE', 'HEAD']],
  ['allowedHeaders', words.corsHeaders, '', ['*']],
  ['exposeHeaders', words.corsExposed, '', ['ETag']],
] as const

/** What somebody means who types it as it is seen elsewhere: browsers send no slash after an origin, and methods in capitals. */
const meant: Readonly<Record<(typeof lists)[number][0], (text: string) => string>> = {
  allowedOrigins: text => text.replace(/^([a-z]+:\/\/[^/]+)\/$/i, '$1'),
  allowedMethods: text => text.toUpperCase(),
  allowedHeaders: text => text,
  exposeHeaders: text => text,
}

export function CorsRules({ bucket }: { bucket: string }) {
  const params = { bucket }
  return (
    <BucketSetting
      bucket={bucket}
      id="cors"
      needs={['s3:PutBucketCORS']}
      title={words.cors}
      hint={words.corsHint}
      load={signal => callTagged('getBucketCors', { params, signal })}
      save={({ document, etag }) => callTagged('putBucketCors', { params, body: document, ...asRead(etag) })}
    >
      {(stored, change, _, errors) => <Rules stored={stored} errors={errors} onChange={change} />}
    </BucketSetting>
  )
}

interface RulesProps {
  readonly stored: Tagged<Document>
  readonly errors: Readonly<Record<string, string>>
  readonly onChange: (changed: Tagged<Document>) => void
}

function Rules({ stored, errors, onChange }: RulesProps) {
  const { rules } = stored.document
  const change = (next: readonly Rule[]) => onChange({ ...stored, document: { rules: [...next] } })
  return (
    <Stack gap="sm">
      {rules.length === 0 && (
        <Text size="sm" c="dimmed">
          {words.noCors}
        </Text>
      )}
      {rules.map((rule, index) => (
        <RuleFields
          // biome-ignore lint/suspicious/noArrayIndexKey: rules have an order, and need no id
          key={index}
          rule={rule}
          name={words.corsRule(index + 1)}
          errorOf={field => errorWithin(errors, `rules.${index}.${field}`)}
          onChange={changed => change(rules.with(index, changed))}
          onRemove={() => change(rules.toSpliced(index, 1))}
        />
      ))}
      <Group>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => change([...rules, newRule])}
        >
          {texts.events.addRule}
        </Button>
      </Group>
    </Stack>
  )
}

interface RuleFieldsProps {
  readonly rule: Rule
  readonly name: string
  readonly errorOf: (field: string) => string | undefined
  readonly onChange: (rule: Rule) => void
  readonly onRemove: () => void
}

function RuleFields({ rule, name, errorOf, onChange, onRemove }: RuleFieldsProps) {
  return (
    <Fieldset legend={name}>
      <Stack gap="xs">
        {lists.map(([field, label, hint, data]) => (
          <TagsInput
            key={field}
            label={label}
            {...(hint !== '' && { description: hint })}
            data={[...data]}
            value={rule[field]}
            error={errorOf(field)}
            onChange={value => onChange({ ...rule, [field]: value.map(meant[field]) })}
          />
        ))}
        <Group justify="space-between" align="flex-end">
          <NumberInput
            label={words.corsMaxAge}
            min={0}
            allowDecimal={false}
            value={rule.maxAgeSeconds ?? ''}
            error={errorOf('maxAgeSeconds')}
            onChange={given => {
              const { maxAgeSeconds: _, ...rest } = rule
              onChange(given === '' ? rest : { ...rest, maxAgeSeconds: Number(given) })
            }}
          />
          <Tool label={`${texts.common.remove} ${name}`} icon={IconX} onClick={onRemove} />
        </Group>
      </Stack>
    </Fieldset>
  )
}
