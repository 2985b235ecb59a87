import { State } from '../../parts/names.tsx'
import { type TargetFacts, wordOf } from './target-word.ts'

export const TargetState = (target: TargetFacts) => <State {...wordOf(target)} />
