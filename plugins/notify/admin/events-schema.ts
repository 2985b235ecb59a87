import { Type } from 'typebox'
import { filterValue, type NotificationRule } from '../rules.ts'

export const Events = Type.Object(
  {
    subscriptions: Type.Array(
      Type.Object({
        id: Type.String({ default: '', description: 'Generated if empty.' }),
        arn: Type.String({ description: 'Of a configured target.' }),
        events: Type.Array(Type.String()),
        prefix: Type.String({ default: '' }),
        suffix: Type.String({ default: '' }),
      }),
      { description: 'At most 100; an empty list removes all.' },
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
