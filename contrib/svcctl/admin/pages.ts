/** Lists, page by page, as long as there are any and as many as are wanted. */
import type { Context } from '../context.ts'
import { type TableOptions, tableOf } from './answer-view.ts'
import type { AdminClient, AdminRequest } from './client.ts'

const pageItemsMax = 1000

export interface PageOptions extends TableOptions {
  readonly limit: number | undefined
  /** The row of an item in the table; `--json` has the item as it came. */
  readonly rowOf?: (item: object) => object
}

export async function showPages(
  { output }: Context,
  client: AdminClient,
  request: AdminRequest,
  { limit, rowOf = item => item, ...table }: PageOptions,
): Promise<void> {
  let cursor = ''
  let shown = 0
  do {
    const wanted = Math.min(pageItemsMax, (limit ?? Number.POSITIVE_INFINITY) - shown)
    const page = [...(request.query ?? []), ['limit', String(wanted)], ...(cursor === '' ? [] : [['cursor', cursor]])]
    const { body } = await client.send({ ...request, query: page as [string, string][] })
    const { items, nextCursor = '' } = body as { readonly items: readonly object[]; readonly nextCursor?: string }
    if (output.options.isJson) for (const item of items) output.result(item as Record<string, unknown>)
    else if (items.length > 0)
      output.result({}, ...tableOf(items.map(rowOf), { ...table, width: output.options.width, isContinued: shown > 0 }))
    else if (shown === 0) output.note('There are none.')
    await output.drained()
    shown += items.length
    // A server that answers the same for ever must not keep us.
    cursor = nextCursor === cursor ? '' : nextCursor
  } while (cursor !== '' && (limit === undefined || shown < limit))
}
