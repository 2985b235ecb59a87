/** What ships, one line each: reading this is reading the product. Order does not matter; dependencies decide. */
import type { AnyPlugin } from 'svc/kernel'
import admin from './admin/index.ts'
import audit from './audit/index.ts'
import auditWebhook from './audit-webhook/index.ts'
import authSession from './auth-session/index.ts'
import authSigv4 from './auth-sigv4/index.ts'
import bucketNotification from './bucket-notification/index.ts'
import bucketOperations from './bucket-operations/index.ts'
import bucketOwnership from './bucket-ownership/index.ts'
import bucketPolicy from './bucket-policy/index.ts'
import checksums from './checksums/index.ts'
import cors from './cors/index.ts'
import drive from './drive/index.ts'
import encryption from './encryption/index.ts'
import erasure from './erasure/index.ts'
import fixedSettings from './fixed-settings/index.ts'
import heal from './heal/index.ts'
import health from './health/index.ts'
import http from './http/index.ts'
import iam from './iam/index.ts'
import init from './init/index.ts'
import kms from './kms/index.ts'
import lifecycle from './lifecycle/index.ts'
import metrics from './metrics/index.ts'
import multipart from './multipart/index.ts'
import notify from './notify/index.ts'
import notifyWebhook from './notify-webhook/index.ts'
import objectLock from './object-lock/index.ts'
import objectOperations from './object-operations/index.ts'
import objects from './objects/index.ts'
import outbound from './outbound/index.ts'
import policy from './policy/index.ts'
import policyOperations from './policy-operations/index.ts'
import pools from './pools/index.ts'
import postObject from './post-object/index.ts'
import prometheus from './prometheus/index.ts'
import queue from './queue/index.ts'
import quota from './quota/index.ts'
import s3 from './s3/index.ts'
import scanner from './scanner/index.ts'
import server from './server/index.ts'
import settings from './settings/index.ts'
import share from './share/index.ts'
import storage from './storage/index.ts'
import storageStatus from './storage-status/index.ts'
import store from './store/index.ts'
import storeStatus from './store-status/index.ts'
import sts from './sts/index.ts'
import tagging from './tagging/index.ts'
import tls from './tls/index.ts'
import trace from './trace/index.ts'
import usage from './usage/index.ts'
import users from './users/index.ts'
import webhook from './webhook/index.ts'

const standard: readonly AnyPlugin[] = [
  // platform
  http,
  tls,
  health,
  metrics,
  prometheus,
  trace,
  audit,
  auditWebhook,
  init,
  server,
  outbound,
  webhook,
  // storage
  storage,
  store,
  queue,
  settings,
  drive,
  erasure,
  pools,
  objects,
  storageStatus,
  scanner,
  heal,
  usage,
  storeStatus,
  // identity
  policy,
  iam,
  users,
  share,
  sts,
  authSigv4,
  authSession,
  kms,
  encryption,
  checksums,
  // protocols
  s3,
  admin,
  policyOperations,
  bucketOperations,
  objectOperations,
  multipart,
  // features
  bucketNotification,
  notify,
  notifyWebhook,
  postObject,
  bucketOwnership,
  bucketPolicy,
  cors,
  fixedSettings,
  tagging,
  objectLock,
  quota,
  lifecycle,
]

export default standard
