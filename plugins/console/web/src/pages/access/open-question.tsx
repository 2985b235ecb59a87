/** The question before a bucket is opened to everybody: the same for access rules, policies and distributions. */
import { List, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { texts } from '../../texts/index.ts'
import type { OpenEffect } from './open-effect.ts'
import { type Opening, verbsOf } from './openings.tsx'

const words = texts.accessRules
/** More are counted, not named. */
const effectsShown = 10

/** `ask` resolves with whether to go on: at once where nothing is opened. The question has to be drawn. */
export function useOpenQuestion() {
  const { ask, question } = useAskFirst()
  const askToOpen = async (effects: readonly OpenEffect[], more?: ReactNode): Promise<boolean> => {
    if (effects.length === 0) return true
    const text = (
      <>
        <Effects effects={effects} />
        {more}
      </>
    )
    return ask({ title: words.openTitle, action: words.confirm, text })
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
export const effectOfOpening = ({ actions, keys, limited }: Opening): OpenEffect => ({
  verbs: verbsOf(actions),
  objects: keys.length === 0 ? words.everyObject : new Intl.ListFormat('en').format(keys.map(objectsOf)),
  ...(limited && { limits: words.ifStatementConditions }),
})

/** Of a pattern of a policy. */
const objectsOf = (pattern: string) =>
  /^[^*?]*\*$/.test(pattern) ? words.objectsBelow(pattern.slice(0, -1)) : words.objectsNamed(pattern)
