/** Collects the changes of one transaction. */
import type { ChangeOptions, Collection, Preconditions, TransactionBuilder } from './api.ts'
import { DocumentCollection } from './collection.ts'
import type { Step } from './commit.ts'
import { storeErrors } from './errors.ts'

const stepsMax = 4000
const bytesMax = 16 * 1024 * 1024

/** The steps that `fill` collects. Throws for an invalid value or id, and for a transaction that is too large. */
export function collectSteps(fill: (tx: TransactionBuilder) => void): Step[] {
  const steps: Step[] = []
  const taken = new Set<string>()
  let bytes = 0

  const add = (step: Step): void => {
    // Conditions of several parts of a transaction may be about one document, and all of them must hold.
    if (step.kind !== 'require') {
      const place = `${step.collection}\0${step.id}`
      if (taken.has(place)) throw new RangeError(`store: a transaction changes ${step.collection} ${step.id} twice`)
      taken.add(place)
    }
    bytes += step.record?.length ?? 0
    if (steps.length === stepsMax || bytes > bytesMax) {
      throw storeErrors.document_too_large(`A transaction has at most ${stepsMax} changes and ${bytesMax} bytes.`)
    }
    steps.push(step)
  }

  fill({
    put<T>(collection: Collection<T>, id: string, value: T, options: ChangeOptions = {}) {
      add(own(collection).putStep(id, value, options).step)
    },
    delete<T>(collection: Collection<T>, id: string, options: ChangeOptions = {}) {
      add(own(collection).deleteStep(id, options))
    },
    require<T>(collection: Collection<T>, id: string, preconditions: Preconditions) {
      add(own(collection).requireStep(id, preconditions))
    },
  })
  return steps
}

function own(collection: unknown): DocumentCollection {
  if (collection instanceof DocumentCollection) return collection
  throw new TypeError('store: a transaction takes collections of the store')
}
