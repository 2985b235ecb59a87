import { Accordion, Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { IconFlask } from '@tabler/icons-react'
import { useState } from 'react'
import { movedErrors } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { choicesOf } from '../../parts/choices.ts'
import { type UseFormReturnType, useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useNames } from '../../parts/names-input.tsx'
import { NumberInput } from '../../parts/number-input.tsx'
import { useOpenedSections } from '../../parts/opened-sections.ts'
import { conditionsOf, type Pair, pairsOf } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import { texts } from '../../texts/index.ts'
import type { Rule, RulesDocument } from './access.tsx'
import type { OpenEffect } from './open-effect.ts'
import { effectOfOpening, useOpenQuestion } from './open-question.tsx'
import { verbsOf } from './openings.tsx'
import { TestRules } from './test-rules.tsx'

const words = accessRuleTexts

export interface EditRuleProps {
  /** Absent for a new one. */
  readonly rule?: Rule
  /** Index that the rule has, or gets, in the list: errors of the server name it. */
  readonly place: number
  readonly bucket: string
  /** All rules of the bucket with this one in its place. */
  readonly within: (rule: Rule) => readonly Rule[]
  /** Rejects as `onSave` would, and stores nothing. Resolves with what would be. */
  readonly onCheck: (rule: Rule) => Promise<RulesDocument>
  readonly onSave: (rule: Rule) => Promise<void>
  readonly onClose: () => void
}

const lists = ['sourceIp', 'notSourceIp', 'referer', 'host', 'methods'] as const

interface Values {
  id: string
  effect: Rule['effect']
  priority: number | string
  principals: string[]
  actions: string[]
  match: { type: '' | NonNullable<Rule['match']>['type']; pattern: string; caseInsensitive: boolean }
  conditions: Record<(typeof lists)[number], string[]> & {
    secureTransport: '' | 'true' | 'false'
    timeWindow: { from: string; to: string }
    headers: readonly Pair[]
    captureEquals: readonly Pair[]
  }
  description: string
}

function valuesOf(rule: Rule | undefined): Values {
  const conditions = rule?.conditions ?? {}
  return {
    id: rule?.id ?? '',
    effect: rule?.effect ?? 'allow',
    priority: rule?.priority ?? 100,
    principals: rule?.principals ?? ['*'],
    actions: rule?.actions ?? ['read'],
    match: { type: '', pattern: '', caseInsensitive: false, ...rule?.match },
    conditions: {
      ...(Object.fromEntries(lists.map(name => [name, conditions[name] ?? []])) as Record<
        (typeof lists)[number],
        string[]
      >),
      secureTransport: conditions.secureTransport === undefined ? '' : conditions.secureTransport ? 'true' : 'false',
      timeWindow: { from: '', to: '', ...conditions.timeWindow },
      headers: pairsOf(conditions.headers),
      captureEquals: pairsOf(conditions.captureEquals),
    },
    description: rule?.description ?? '',
  }
}

function ruleOf({ id, effect, priority, principals, actions, match, conditions, description }: Values): Rule {
  const { secureTransport, timeWindow, headers, captureEquals } = conditions
  const given = {
    ...Object.fromEntries(lists.filter(name => conditions[name].length > 0).map(name => [name, conditions[name]])),
    ...(secureTransport !== '' && { secureTransport: secureTransport === 'true' }),
    ...((timeWindow.from !== '' || timeWindow.to !== '') && {
      timeWindow: {
        ...(timeWindow.from !== '' && { from: timeWindow.from }),
        ...(timeWindow.to !== '' && { to: timeWindow.to }),
      },
    }),
    ...(headers.length > 0 && { headers: conditionsOf(headers, '/conditions/headers') }),
    ...(captureEquals.length > 0 && { captureEquals: conditionsOf(captureEquals, '/conditions/captureEquals') }),
  }
  return {
    id: id.trim(),
    effect,
    // Nothing is not 0, which would decide before all others: the server refuses it.
    priority: priority === '' ? Number.NaN : Number(priority),
    principals,
    actions,
    ...(match.type !== '' && {
      match: {
        type: match.type,
        pattern: match.pattern,
        ...(match.caseInsensitive && { caseInsensitive: true }),
      },
    }),
    ...(Object.keys(given).length > 0 && { conditions: given }),
    ...(description !== '' && { description }),
  } as Rule
}

/** What decides for whom a rule does what. */
const reachOf = ({ effect, principals, actions, match, conditions, priority }: Rule) =>
  JSON.stringify([effect, principals, actions, match, conditions, priority])

const isOfEverybody = (effect: Rule['effect'], rule: Rule | undefined): rule is Rule =>
  rule?.effect === effect && rule.principals.includes('*')

function keysOf(match: Rule['match']): string {
  return match === undefined ? words.everyObject : words.keysThat(words.matchTypes[match.type], match.pattern)
}

/** A rule for nobody is taken by the server: a user may be made later, or be one of a directory. */
function Principals(props: { value?: string[]; onChange?: (value: string[]) => void }) {
  const users = useNames('users', useMay('admin:ListUsers'))
  const groups = useNames('groups', useMay('admin:ListGroups'))
  const known = new Set(['*', ...users.names, ...groups.names.map(name => `group:${name}`)])
  const unknown = (props.value ?? []).filter(
    name => !known.has(name) && (name.startsWith('group:') ? groups : users).isWhole,
  )
  return (
    <TagsInput
      label={words.principals}
      description={
        unknown.length === 0 ? words.principalsHint : `${words.principalsHint} ${words.unknownPrincipals(unknown)}`
      }
      data={[...known]}
      {...props}
    />
  )
}

const related = [['conditions.timeWindow.from', 'conditions.timeWindow.to']]

export function EditRule({ rule, place, bucket, within, onCheck, onSave, onClose }: EditRuleProps) {
  const [isTesting, setTesting] = useState(false)
  const form = useForm<Values>({ initialValues: valuesOf(rule), related })
  const opened = useOpenedSections(
    { conditions: ['conditions'] },
    form.errors,
    rule?.conditions === undefined ? [] : ['conditions'],
  )
  const { ask, question } = useOpenQuestion()
  const submit = async (): Promise<'declined' | void> => {
    const next = ruleOf(form.getValues())
    const isOther = rule === undefined || reachOf(next) !== reachOf(ruleOf(valuesOf(rule)))
    const effects: OpenEffect[] = []
    if (isOther && isOfEverybody('allow', next)) {
      const limits = next.conditions === undefined ? {} : { limits: words.ifConditions }
      effects.push({ verbs: verbsOf(next.actions), objects: keysOf(next.match), ...limits })
    }
    // What it denied may be open to everybody by something else.
    const denied = isOther && isOfEverybody('deny', rule)
    if (effects.length > 0 || denied) {
      const { openings } = await onCheck(next)
      if (denied)
        effects.push(
          ...openings
            .filter(({ source, name, blocked }) => !blocked && (source !== 'access-rule' || name !== next.id))
            .map(effectOfOpening),
        )
    }
    if (!(await ask(effects, { isLoosened: denied }))) return 'declined'
    await onSave(next)
  }
  const prefix = `rules.${place}.`
  // The server speaks of the list, the form is one of its rules.
  const fields = {
    isDirty: () => form.isDirty(),
    setErrors: (errors: Record<string, string>) =>
      form.setErrors(
        movedErrors(errors, path => {
          if (!path.startsWith(prefix)) return path
          const within = path.slice(prefix.length)
          // It ends before it begins.
          if (within === 'conditions.timeWindow') return `${within}.to`
          return within.replace(/^(principals|actions|.*Ip)\.\d+$/, '$1')
        }),
      ),
  }
  const { match } = form.values
  return (
    <FormDialog
      title={rule === undefined ? words.add : words.edit(rule.id)}
      submit={texts.common.save}
      size="lg"
      form={fields}
      onSubmit={submit}
      onClose={onClose}
    >
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <TextInput label={words.id} required data-autofocus autoComplete="off" {...form.getInputProps('id')} />
        <NativeSelect label={words.effect} data={choicesOf(words.effects)} {...form.getInputProps('effect')} />
        <NumberInput label={words.priority} {...form.getInputProps('priority')} />
      </SimpleGrid>
      <Principals {...form.getInputProps('principals')} />
      <TagsInput
        label={words.actions}
        description={words.actionsHint}
        data={['read', 'list', 'write', 'delete', 'tag']}
        {...form.getInputProps('actions')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NativeSelect
          label={words.matchType}
          data={choicesOf(words.matchTypes)}
          {...form.getInputProps('match.type')}
        />
        {match.type !== '' && (
          <TextInput
            label={words.pattern}
            description={words.patternHint}
            required
            {...form.getInputProps('match.pattern')}
          />
        )}
      </SimpleGrid>
      {match.type !== '' && (
        <Checkbox
          label={words.caseInsensitive}
          {...form.getInputProps('match.caseInsensitive', { type: 'checkbox' })}
        />
      )}
      <Accordion variant="contained" multiple {...opened}>
        <Accordion.Item value="conditions">
          <Accordion.Control>{words.conditions}</Accordion.Control>
          <Accordion.Panel>
            <Conditions form={form} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
      <TextInput label={words.description} {...form.getInputProps('description')} />
      <Group>
        <Button variant="default" leftSection={<IconFlask size={16} aria-hidden />} onClick={() => setTesting(true)}>
          {words.testDraft}
        </Button>
      </Group>
      {isTesting && (
        <TestRules bucket={bucket} draft={() => within(ruleOf(form.getValues()))} onClose={() => setTesting(false)} />
      )}
      {question}
    </FormDialog>
  )
}

function Conditions({ form }: { form: UseFormReturnType<Values> }) {
  const { headers, captureEquals } = form.values.conditions
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {lists.map(name => (
          <TagsInput key={name} label={words[name]} {...form.getInputProps(`conditions.${name}`)} />
        ))}
        <NativeSelect
          label={words.secure}
          data={choicesOf(words.secures)}
          {...form.getInputProps('conditions.secureTransport')}
        />
        <TextInput label={words.from} {...form.getInputProps('conditions.timeWindow.from')} />
        <TextInput label={words.to} {...form.getInputProps('conditions.timeWindow.to')} />
      </SimpleGrid>
      <PairsInput
        of={words.header}
        label={words.headers}
        value={headers}
        errors={form.errors}
        path="conditions.headers"
        onChange={pairs => form.setFieldValue('conditions.headers', pairs)}
      />
      <PairsInput
        of={words.capture}
        label={words.captures}
        value={captureEquals}
        errors={form.errors}
        path="conditions.captureEquals"
        onChange={pairs => form.setFieldValue('conditions.captureEquals', pairs)}
      />
    </Stack>
  )
}
