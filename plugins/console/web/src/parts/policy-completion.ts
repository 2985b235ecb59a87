/** What may stand at a place of a policy: elements, actions, resources, condition operators and keys. */
import type { Completion, CompletionResult } from '@codemirror/autocomplete'
import { jsonLanguage } from '@codemirror/lang-json'

type SyntaxNode = ReturnType<ReturnType<typeof jsonLanguage.parser.parse>['resolveInner']>

/** What the server knows. */
export interface PolicyVocabulary {
  readonly actions: readonly {
    readonly action: string
    readonly description: string
    readonly conditionKeys: readonly string[]
  }[]
  readonly buckets: readonly string[]
  /** The policy is a bucket's own: it names who it is for. */
  readonly hasPrincipal: boolean
}

/** The operators that the server evaluates; each may have `IfExists` behind it. */
export const conditionOperators: readonly string[] = [
  'StringEquals',
  'StringNotEquals',
  'StringEqualsIgnoreCase',
  'StringNotEqualsIgnoreCase',
  'StringLike',
  'StringNotLike',
  'NumericEquals',
  'NumericNotEquals',
  'NumericLessThan',
  'NumericLessThanEquals',
  'NumericGreaterThan',
  'NumericGreaterThanEquals',
  'DateEquals',
  'DateNotEquals',
  'DateLessThan',
  'DateLessThanEquals',
  'DateGreaterThan',
  'DateGreaterThanEquals',
  'Bool',
  'BinaryEquals',
  'IpAddress',
  'NotIpAddress',
  'ArnEquals',
  'ArnLike',
  'ArnNotEquals',
  'ArnNotLike',
  'Null',
]

const plain = (labels: readonly string[], type: string): Completion[] => labels.map(label => ({ label, type }))

/** Undefined where nothing is known of the place. The place is in a text that may not be complete yet. */
export function completePolicy(text: string, at: number, known: PolicyVocabulary): CompletionResult | null {
  const node = jsonLanguage.parser.parse(text).resolveInner(at, -1)
  const isName = node.name === 'PropertyName'
  if ((!isName && node.name !== 'String') || at <= node.from) return null
  const path = pathOf(isName ? node.parent! : node, text)
  // A name is a place in its object, and not below itself.
  const options = isName ? namesAt(path.slice(0, -1), known) : valuesAt(path, known)
  if (options.length === 0) return null
  const isClosed = node.to > node.from + 1 && text[node.to - 1] === '"'
  return { from: node.from + 1, to: isClosed ? Math.max(node.to - 1, at) : node.to, options, validFor: /^[^"]*$/ }
}

/** Names of the properties that lead to a node, the outermost first. */
function pathOf(from: SyntaxNode, text: string): string[] {
  const path: string[] = []
  for (let node: SyntaxNode | null = from; node !== null; node = node.parent) {
    if (node.name !== 'Property') continue
    const name = node.getChild('PropertyName')
    if (name !== null) path.unshift(text.slice(name.from + 1, name.to - 1))
  }
  return path
}

function namesAt(path: readonly string[], { actions, hasPrincipal }: PolicyVocabulary): Completion[] {
  const [top, element, ...rest] = path
  if (top === undefined) return plain(['Version', 'Id', 'Statement'], 'property')
  if (top !== 'Statement') return []
  if (element === undefined) {
    const principals = hasPrincipal ? ['Principal', 'NotPrincipal'] : []
    const names = ['Sid', 'Effect', ...principals, 'Action', 'NotAction', 'Resource', 'NotResource', 'Condition']
    return plain(names, 'property')
  }
  if (element === 'Principal' || element === 'NotPrincipal') return plain(['AWS'], 'property')
  if (element !== 'Condition') return []
  if (rest.length === 0) return plain(conditionOperators, 'function')
  const keys = new Set(actions.flatMap(({ conditionKeys }) => conditionKeys))
  return plain([...keys].sort(), 'variable')
}

function valuesAt([top, element, ...rest]: readonly string[], known: PolicyVocabulary): Completion[] {
  if (top === 'Version') return plain(['2012-10-17'], 'constant')
  if (top !== 'Statement') return []
  if (element === 'Effect') return plain(['Allow', 'Deny'], 'keyword')
  if (element === 'Action' || element === 'NotAction') {
    const services = new Set(known.actions.map(({ action }) => action.split(':')[0]!))
    return [
      ...known.actions.map(({ action, description }) => ({ label: action, detail: description, type: 'function' })),
      ...plain(
        [...services].map(service => `${service}:*`),
        'function',
      ),
    ]
  }
  if (element === 'Resource' || element === 'NotResource') {
    const arns = known.buckets.flatMap(bucket => [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`])
    return plain([...arns, 'arn:aws:s3:::*'], 'constant')
  }
  if (element === 'Principal' || element === 'NotPrincipal') return plain(['*'], 'constant')
  if (element === 'Condition' && (rest[0]?.startsWith('Bool') || rest[0]?.startsWith('Null')))
    return plain(['true', 'false'], 'constant')
  return []
}
