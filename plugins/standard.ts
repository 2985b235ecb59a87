/** What ships, one line each: reading this is reading the product. Order does not matter; dependencies decide. */
import type { AnyPlugin } from 'svc/kernel'
import audit from './audit/index.ts'
import authSigv4 from './auth-sigv4/index.ts'
import bucketOperations from './bucket-operations/index.ts'
import checksums from './checksums/index.ts'
import drive from './drive/index.ts'
import health from './health/index.ts'
import http from './http/index.ts'
import iam from './iam/index.ts'
import init from './init/index.ts'
import kms from './kms/index.ts'
import metrics from './metrics/index.ts'
import multipart from './multipart/index.ts'
import objectOperations from './object-operations/index.ts'
import objects from './objects/index.ts'
import policy from './policy/index.ts'
import s3 from './s3/index.ts'
import storage from './storage/index.ts'
import storageStatus from './storage-status/index.ts'
import tls from './tls/index.ts'
import trace from './trace/index.ts'

const standard: readonly AnyPlugin[] = [
  // platform
  http,
  tls,
  health,
  metrics,
  trace,
  audit,
  init,
  // storage
  storage,
  drive,
  objects,
  storageStatus,
  // identity
  policy,
  iam,
  authSigv4,
  kms,
  checksums,
  // protocols
  s3,
  bucketOperations,
  objectOperations,
  multipart,
]

export default standard
