/** The question before a bucket is opened to everybody: the same for access rules, policies and distributions. */
import { List, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { formatDate } from '../../parts/format.ts'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import type { OpenEffect } from './open-effect.ts'
import { type Opening, verbsOf } from './openings.tsx'

const words = accessRuleTexts
/** More are counted, not named. */
const effectsShown = 10

export interface OpenQuestion {
  /** Something that refused everybody changes. Not all that it kept closed can be known: lists of objects are theirs, other rules begin later. */
  readonly isLoosened?: boolean
  readonly more?: ReactNode
}

/** `ask` resolves with whether to go on: at once where nothing is opened. The question has to be drawn. */
export function useOpenQuestion() {
  const { ask, question } = useAskFirst()
  const askToOpen = async (
    effects: readonly OpenEffect[],
    { isLoosened = false, more }: OpenQuestion = {},
  ): Promise<boolean> => {
    const opens = effects.length > 0
    if (!opens && !isLoosened) return true
    const text = (
      <>
        {opens && <Effects effects={effects} />}
        {isLoosened && <Text size="sm">{words.loosened}</Text>}
        {more}
      </>
    )
    const [title, action] = opens ? [words.openTitle, words.confirm] : [words.loosenTitle, words.loosenConfirm]
    return ask({ title, action, text })
  }
  return { ask: askToOpen, question }
}

function Effects({ effects }: { effects: readonly OpenEffect[] }) {
  const sentences = effects.map(({ verbs, objects, limits }) =>
    [words.everybodyWill(verbs, objects), ...(limits === undefined ? [] : [limits])].join(' '),
  )
  const [only] = sentences
  if (sentences.length === 1) {
    return (
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {only}
      </Text>
    )
  }
  const shown = [...new Set(sentences)]
  return (
    <List size="sm" style={{ overflowWrap: 'anywhere' }}>
      {shown.slice(0, effectsShown).map(sentence => (
        <List.Item key={sentence}>{sentence}</List.Item>
      ))}
      {shown.length > effectsShown && <List.Item>{words.moreOpenings(shown.length - effectsShown)}</List.Item>}
    </List>
  )
}

/** What a statement of a policy would open. */
export const effectOfOpening = ({ actions, keys, limited, from }: Opening): OpenEffect => ({
  verbs: verbsOf(actions),
  objects: keys.length === 0 ? words.everyObject : new Intl.ListFormat('en').format(keys.map(objectsOf)),
  ...(limited && {
    limits: from === undefined ? words.ifStatementConditions : words.fromThenOn(formatDate(from)),
  }),
})

/** Of a pattern of a policy. */
const objectsOf = (pattern: string) =>
  /^[^*?]*\*$/.test(pattern) ? words.objectsBelow(pattern.slice(0, -1)) : words.objectsNamed(pattern)
