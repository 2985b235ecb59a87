/** Collects the problems of access rules: nothing is stored if there is one. */

export interface AccessRuleProblem {
  /** Index of the rule, from 0; -1 for the list as a whole. */
  readonly rule: number
  /** Empty where it has none that can be read. */
  readonly id: string
  /** `match.pattern`, `conditions.sourceIp[1]`; empty for the rule as a whole. */
  readonly field: string
  /** Offset in the text of the field, from 0, in UTF-16 units. */
  readonly position: number
  readonly message: string
}

/** More problems are not helpful. */
const problemsMax = 100

export class Problems {
  readonly list: AccessRuleProblem[] = []
  rule = -1
  id = ''

  add(field: string, message: string, position = 0): void {
    if (this.list.length < problemsMax) {
      this.list.push({ rule: this.rule, id: this.id, field, position, message })
    }
  }
}
