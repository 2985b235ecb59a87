/**
 * Messages of the OpenTelemetry protocol in protobuf. Field numbers are those of opentelemetry/proto/trace/v1/trace.proto and
 * opentelemetry/proto/collector/trace/v1/trace_service.proto.
 */
import { PbfReader, PbfWriter } from 'pbf'
import type { Attributes, Span } from './span.ts'

const kindServer = 2
const statusError = 2
/** Bit 0: sampled. Bits 8 and 9: it is known whether the parent is of another process, and it is. */
const flagsOfRoot = 0x1
const flagsOfChild = 0x301
const nanosecondsPerMs = 1e6

/** Adds `repeated Span spans = 2` of ScopeSpans: spans that follow each other are the field. */
export function writeSpan(writer: PbfWriter, span: Span): void {
  writer.writeMessage(2, writeSpanFields, span)
}

function writeSpanFields(span: Span, writer: PbfWriter): void {
  writer.writeBytesField(1, span.traceId)
  writer.writeBytesField(2, span.spanId)
  if (span.traceState !== '') writer.writeStringField(3, span.traceState)
  if (span.parentSpanId !== undefined) writer.writeBytesField(4, span.parentSpanId)
  writer.writeStringField(5, span.name)
  writer.writeVarintField(6, kindServer)
  writer.writeFixed64Field(7, span.startMs * nanosecondsPerMs)
  writer.writeFixed64Field(8, span.endMs * nanosecondsPerMs)
  writeAttributes(9, span.attributes, writer)
  if (span.isFailed) writer.writeMessage(15, writeFailure, undefined)
  writer.writeFixed32Field(16, span.parentSpanId === undefined ? flagsOfRoot : flagsOfChild)
}

function writeFailure(_span: undefined, writer: PbfWriter): void {
  writer.writeVarintField(3, statusError)
}

function writeAttributes(field: number, attributes: Attributes, writer: PbfWriter): void {
  for (const name in attributes) {
    const value = attributes[name]
    if (value !== undefined && value !== '') writer.writeMessage(field, writeAttribute, [name, value])
  }
}

function writeAttribute([name, value]: readonly [string, string | number], writer: PbfWriter): void {
  writer.writeStringField(1, name)
  writer.writeMessage(2, writeValue, value)
}

function writeValue(value: string | number, writer: PbfWriter): void {
  if (typeof value === 'string') writer.writeStringField(1, value)
  else writer.writeVarintField(3, Math.round(value))
}

export interface Resource {
  readonly attributes: Attributes
  /** The version of the server, as that of the instrumentation. */
  readonly version: string
}

/** ExportTraceServiceRequest with spans that `writeSpan` wrote. */
export function exportRequest(resource: Resource, spans: Uint8Array): Uint8Array {
  const scope = new PbfWriter()
  scope.writeMessage(1, writeScope, resource)
  const writer = new PbfWriter()
  const resourceSpans = new PbfWriter()
  resourceSpans.writeMessage(1, writeResource, resource)
  resourceSpans.writeBytesField(2, Buffer.concat([scope.finish(), spans]))
  writer.writeBytesField(1, resourceSpans.finish())
  return writer.finish()
}

function writeScope({ version }: Resource, writer: PbfWriter): void {
  writer.writeStringField(1, 'svc')
  writer.writeStringField(2, version)
}

function writeResource({ attributes }: Resource, writer: PbfWriter): void {
  writeAttributes(1, attributes, writer)
}

export interface PartialSuccess {
  rejectedSpans: number
  message: string
}

/** The rejected spans of an ExportTraceServiceResponse. Throws if the bytes are not one. */
export function readPartialSuccess(bytes: Uint8Array): PartialSuccess {
  const result: PartialSuccess = { rejectedSpans: 0, message: '' }
  new PbfReader(bytes).readFields((field, _result, reader) => {
    if (field === 1) reader.readMessage(readPartial, result)
  }, result)
  return result
}

function readPartial(field: number, result: PartialSuccess, reader: PbfReader): void {
  if (field === 1) result.rejectedSpans = reader.readVarint()
  else if (field === 2) result.message = reader.readString()
}
