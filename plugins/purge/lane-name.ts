/** The queue of a webhook. Metrics show its name up to the colon. */
export const laneName = (distribution: string, { id, type }: { readonly id: string; readonly type: string }): string =>
  `${type}:${distribution}/${id}`
