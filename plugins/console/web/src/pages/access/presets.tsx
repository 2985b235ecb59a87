import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { useBesideFields } from '../../parts/beside-fields.ts'
import { choicesOf } from '../../parts/choices.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { Section } from '../../parts/section.tsx'
import { SentFields } from '../../parts/sent-fields.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import type { Rule, RulesDocument } from './access.tsx'
import { useOpenQuestion } from './open-question.tsx'

const words = accessRuleTexts

type Preset = keyof typeof words.presets

export interface PresetsProps {
  readonly bucket: string
  readonly rules: readonly Rule[]
  readonly etag: string
  /** Told what is stored now, where that is known. */
  readonly onChanged: (saved?: RulesDocument) => Promise<void>
}

/** These let nobody new in, and take away what others have set. */
const closes: ReadonlySet<Preset> = new Set(['private', 'custom'])
const presetPrefix = 'preset-'
const isOfPreset = ({ id, effect }: Rule) => effect === 'allow' && id.startsWith(presetPrefix)

/** The choice that the stored rules are. */
function currentOf(rules: readonly Rule[]) {
  const own = rules.find(isOfPreset)
  const name = own?.id.slice(presetPrefix.length) ?? ''
  const isOpen = rules.some(isPublic)
  const preset = name in words.presets ? (name as Preset) : isOpen ? 'custom' : 'private'
  return { preset, prefix: own?.match?.pattern ?? '' }
}

/** The server speaks of the rules that the choice would be. */
const patternFlaw = (errors: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(errors).find(([path]) => /\bmatch\b/.test(path))?.[1]

const isPublic = ({ effect, principals }: Rule) => effect === 'allow' && principals.includes('*')

export function Presets({ bucket, rules, etag, onChanged }: PresetsProps) {
  const current = currentOf(rules)
  const [preset, setPreset] = useState<Preset>(current.preset)
  const [prefix, setPrefix] = useState(current.prefix)
  const isSame = preset === current.preset && (preset !== 'public-prefix' || prefix === current.prefix)
  const removed = rules.filter(rule => isOfPreset(rule) || (preset === 'private' && isPublic(rule)))
  const [flaw, setFlaw] = useState<string>()
  const [isClosing, setClosing] = useState(false)
  const applied = useRef<RulesDocument>(undefined)
  const { ask, question } = useOpenQuestion()
  const apply = (confirm: boolean): Promise<Answer<'setAccessPreset'>> =>
    call('setAccessPreset', {
      params: { bucket },
      ifMatch: etag,
      body: {
        preset,
        ...(preset === 'public-prefix' && { match: { type: 'prefix' as const, pattern: prefix } }),
        ...(confirm && { confirm }),
      },
    })
  const applying = useMutation({
    mutationFn: (isConfirmed: boolean) => apply(isConfirmed),
    onSuccess: saved => onChanged(saved),
    onError: error => setFlaw(patternFlaw(formErrorsOf(error))),
  })
  const { element, unsaid } = useBesideFields(applying.error, errors => setFlaw(errors.prefix))
  const open = async () => {
    const effect = {
      verbs: words.presetVerbs[preset as keyof typeof words.presetVerbs],
      objects: preset === 'public-prefix' && prefix !== '' ? words.objectsBelow(prefix) : words.everyObject,
    }
    const replaced = removed.length > 0 && <Text size="sm">{words.replaces(removed.map(({ id }) => id))}</Text>
    if (await ask([effect], { more: replaced })) applying.mutate(true)
  }
  const choose = () => {
    if (!closes.has(preset)) void open()
    else if (removed.length > 0) setClosing(true)
    else applying.mutate(false)
  }
  return (
    <Section title={words.presetTitle} hint={words.presetHint}>
      <form
        {...element}
        onSubmit={event => {
          event.preventDefault()
          choose()
        }}
      >
        <Conflict error={unsaid} onLoad={() => onChanged()} />
        <SentFields isSending={applying.isPending}>
          <Group align="flex-end">
            <NativeSelect
              label={words.choose}
              data={choicesOf(words.presets)}
              value={preset}
              onChange={event => setPreset(event.currentTarget.value as Preset)}
            />
            {preset === 'public-prefix' && (
              <TextInput
                label={words.prefix}
                required
                data-path="prefix"
                value={prefix}
                error={flaw}
                inputWrapperOrder={['label', 'error', 'input']}
                onChange={event => {
                  setPrefix(event.currentTarget.value)
                  setFlaw(undefined)
                }}
              />
            )}
            <Button type="submit" loading={applying.isPending} disabled={isSame}>
              {words.apply}
            </Button>
          </Group>
        </SentFields>
      </form>
      {/* What “Apply” does. */}
      {!isSame && (
        <Text size="sm" c="dimmed">
          {words.presetHints[preset]}
        </Text>
      )}
      {isClosing && (
        <ConfirmDeletion
          title={words.presets[preset]}
          action={words.apply}
          onConfirm={async () => {
            applied.current = await apply(false)
          }}
          onDone={() => onChanged(applied.current)}
          onClose={() => setClosing(false)}
        >
          <Text size="sm">{words.removes(removed.map(({ id }) => id))}</Text>
        </ConfirmDeletion>
      )}
      {question}
    </Section>
  )
}
