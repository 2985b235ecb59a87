/** What ships, one line each: reading this is reading the product. Order does not matter; dependencies decide. */
import type { AnyPlugin } from 'svc/kernel'

const standard: readonly AnyPlugin[] = []

export default standard
