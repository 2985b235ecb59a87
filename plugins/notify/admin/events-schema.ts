import { Type } from 'typebox'
import { filterValue, type NotificationRule } from '../rules.ts'

export const Events = Type.Object(
  {
    subscriptions: Type.Array(
      Type.Object({
        id: Type.String({ default: '', description: 'Made where it is empty.' }),
        arn: Type.String({ description: 'Of a target that is configured.' }),
        events: Type.Array(Type.String()),
        prefix: Type.String({ default: '' }),
        suffix: Type.String({ default: '' }),
      }),
      { description: 'At most 100; empty: none.' },
    ),
  },
  { $id: 'Events' },
)

export function describeEvents(rules: readonly NotificationRule[]) {
  return {
    subscriptions: rules.map(rule => ({
      id: rule.id,
      arn: rule.arn,
      events: [...rule.events],
      prefix: filterValue(rule, 'prefix'),
      suffix: filterValue(rule, 'suffix'),
    })),
  }
}
