import { hash } from 'node:crypto'
import { canonicalJson } from 'svc/plugins/sealing/api'
import type { PublicAccessBlock } from './api.ts'

/** Of what is blocked in a bucket by itself, whether that was said or not: as that of documents, 32 hexadecimal digits. */
export const etagOfBlock = (block: PublicAccessBlock): string => hash('sha256', canonicalJson(block)).slice(0, 32)
