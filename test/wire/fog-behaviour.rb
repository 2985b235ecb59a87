# fog-aws, the library of GitLab, against a running server: `fog-behaviour.rb ENDPOINT`. Uploads go the way of GitLab's Workhorse: the
# application presigns, another process sends the bytes without credentials. Prints one line for each behaviour that held; raises
# otherwise.
require 'digest'
require 'fog/aws'
require 'net/http'
require 'rexml/document'
require 'securerandom'

ENDPOINT = ARGV.fetch(0)

def connect(**more)
  Fog::Storage.new({
    provider: 'AWS', endpoint: ENDPOINT, path_style: true, region: 'us-east-1', aws_signature_version: 4,
    aws_access_key_id: ENV.fetch('AWS_ACCESS_KEY_ID'), aws_secret_access_key: ENV.fetch('AWS_SECRET_ACCESS_KEY')
  }.merge(more))
end

def held(what)
  puts "held: #{what}"
  $stdout.flush
end

def assert(condition, what)
  raise "not so: #{what}" unless condition
end

def same(seen, expected, what)
  raise "#{what}: #{seen.inspect} instead of #{expected.inspect}" unless seen == expected
end

def refused(status, code)
  yield
rescue Excon::Error::HTTPStatus => error
  same(error.response.status, status, 'status')
  same(error.response.body[/<Code>(\w+)/, 1], code, 'code') unless code.nil?
else
  raise "#{status} #{code} expected, but the call succeeded"
end

# As another process would: nothing but the address.
def send_to(method, address, body = nil, headers = {})
  uri = URI(address)
  request = Net::HTTP.const_get(method.capitalize).new(uri, headers)
  request.body = body unless body.nil?
  Net::HTTP.start(uri.host, uri.port) { |http| http.request(request) }
end

s3 = connect
bucket = 'fog'
temporary = ->(name) { "tmp/uploads/#{SecureRandom.hex(8)}-#{name}" }
expires = -> { Time.now + 60 }
# Made anew each time: fog adds to what it is given.
artifact = -> { { 'Content-Type' => 'application/octet-stream' } }

directory = s3.directories.create(key: bucket)
same s3.directories.get(bucket).key, bucket, 'the directory'
assert s3.directories.get('no-such-bucket-here').nil?, 'a directory that is missing'
same s3.get_bucket_location(bucket).body['LocationConstraint'].to_s, '', 'location'
held('a directory is made and found')

[true, false].each do |streaming|
  connection = connect(enable_signature_v4_streaming: streaming)
  data = Random.new(7).bytes(300_000)
  key = "files/ü #{streaming} +&.bin"
  file = connection.directories.new(key: bucket).files.create(
    key: key, body: data, content_type: 'image/png', metadata: { 'x-amz-meta-owner' => 'ada' }, cache_control: 'max-age=60'
  )
  same file.etag, Digest::MD5.hexdigest(data), 'ETag'
  back = directory.files.get(key)
  same back.body, data, 'content'
  same [back.content_type, back.cache_control, back.metadata['x-amz-meta-owner']], ['image/png', 'max-age=60', 'ada'], 'headers'
end
held('files with signed payloads, whole and in chunks, keep what was said of them')

big = Random.new(8).bytes(12_000_000)
file = directory.files.new(key: 'files/big', body: StringIO.new(big))
file.multipart_chunk_size = 5 * 1024 * 1024
file.save
same directory.files.head('files/big').etag[-2..], '-3', 'three parts'
same Digest::SHA256.hexdigest(directory.files.get('files/big').body), Digest::SHA256.hexdigest(big), 'content'
pieces = +''
directory.files.get('files/big') { |chunk, _remaining, _total| pieces << chunk }
same pieces.bytesize, big.bytesize, 'read in pieces'
held('a large file goes in parts and is read in pieces')

# Workhorse, small: one presigned PUT, then the application looks, copies to the final key, and removes the temporary one.
key = temporary.('artifact.zip')
data = Random.new(9).bytes(100_000)
address = s3.put_object_url(bucket, key, expires.(), artifact.())
same send_to('put', address, data, 'Content-Type' => 'text/html').code, '403', 'another type than the signed one'
answer = send_to('put', address, data, artifact.())
same answer.code, '200', answer.body
same answer['etag'], %("#{Digest::MD5.hexdigest(data)}"), 'ETag, which Workhorse compares with what it sent'
head = s3.head_object(bucket, key)
same [head.headers['Content-Length'], head.headers['Content-Type']], ['100000', 'application/octet-stream'], 'HEAD'
copied = s3.copy_object(bucket, key, bucket, 'artifacts/final.zip', 'x-amz-metadata-directive' => 'REPLACE', 'Content-Type' => 'application/zip')
same copied.body['ETag'], Digest::MD5.hexdigest(data), 'ETag of the copy'
same send_to('delete', s3.delete_object_url(bucket, key, expires.())).code, '204', 'presigned delete'
assert directory.files.head(key).nil?, 'the temporary one is gone'
same directory.files.head('artifacts/final.zip').content_type, 'application/zip', 'the type of the copy'
held('a presigned PUT, a look at it, a copy to the final key, a presigned DELETE')

# Workhorse, large: the application begins the upload; parts, completion and abort are presigned.
key = temporary.('large.tar')
upload = s3.initiate_multipart_upload(bucket, key, artifact.()).body['UploadId']
part_url = lambda do |id, number|
  s3.signed_url({ method: 'PUT', bucket_name: bucket, object_name: key, query: { 'uploadId' => id, 'partNumber' => number }, headers: artifact.() }, expires.())
end
parts = [big[0, 5 << 20], big[5 << 20, 5 << 20], big[10 << 20..]]
etags = parts.each_with_index.map do |part, index|
  answer = send_to('put', part_url.(upload, index + 1), part, artifact.())
  same answer.code, '200', answer.body
  same answer['etag'], %("#{Digest::MD5.hexdigest(part)}"), 'ETag of a part'
  answer['etag']
end
complete_url = s3.signed_url(
  { method: 'POST', bucket_name: bucket, object_name: key, query: { 'uploadId' => upload }, headers: { 'Content-Type' => 'application/xml' } }, expires.()
)
document = lambda do |tags|
  rows = tags.each_with_index.map { |etag, index| "<Part><PartNumber>#{index + 1}</PartNumber><ETag>#{etag}</ETag></Part>" }
  "<CompleteMultipartUpload>#{rows.join}</CompleteMultipartUpload>"
end
wrong = send_to('post', complete_url, document.([etags[0], etags[0], etags[2]]), 'Content-Type' => 'application/xml')
assert wrong.body.include?('<Code>InvalidPart</Code>'), wrong.body
answer = send_to('post', complete_url, document.(etags), 'Content-Type' => 'application/xml')
same answer.code, '200', answer.body
result = REXML::Document.new(answer.body).root
same result.name, 'CompleteMultipartUploadResult', answer.body
whole = Digest::MD5.hexdigest(parts.map { |part| Digest::MD5.digest(part) }.join)
same result.elements['ETag'].text, %("#{whole}-3"), 'ETag of the whole'
same Digest::SHA256.hexdigest(s3.get_object(bucket, key).body), Digest::SHA256.hexdigest(big), 'content'
s3.copy_object(bucket, key, bucket, 'lfs/final')
same s3.head_object(bucket, 'lfs/final').headers['Content-Length'], big.bytesize.to_s, 'size of the copy'
held('an upload whose parts and completion are presigned')

upload = s3.initiate_multipart_upload(bucket, key, artifact.()).body['UploadId']
same send_to('put', part_url.(upload, 1), 'x', artifact.()).code, '200', 'a part'
abort_url = s3.signed_url({ method: 'DELETE', bucket_name: bucket, object_name: key, query: { 'uploadId' => upload } }, expires.())
same send_to('delete', abort_url).code, '204', 'abort'
# Workhorse aborts and deletes whatever became of the upload: neither may be an accident.
assert %w[204 404].include?(send_to('delete', abort_url).code), 'abort, again'
same send_to('put', part_url.(upload, 2), 'x', artifact.()).code, '404', 'a part of what was aborted'
same s3.list_multipart_uploads(bucket).body['Upload'], [], 'nothing is left open'
same s3.head_object(bucket, key).headers['Content-Length'], big.bytesize.to_s, 'what was complete before stays'
held('a presigned abort')

url = s3.get_object_url(bucket, 'artifacts/final.zip', Time.now.to_i + 60, query: {
  'response-content-disposition' => %(attachment; filename="build ü.zip"; filename*=UTF-8''build%20%C3%BC.zip),
  'response-content-type' => 'application/octet-stream'
})
answer = send_to('get', url)
same [answer.code, answer.body.bytesize, answer['content-type']], ['200', 100_000, 'application/octet-stream'], 'download'
same answer['content-disposition'].dup.force_encoding('UTF-8'), %(attachment; filename="build ü.zip"; filename*=UTF-8''build%20%C3%BC.zip), 'disposition'
range = send_to('get', url, nil, 'Range' => 'bytes=10-19')
same [range.code, range.body, range['content-range']], ['206', data[10, 10], 'bytes 10-19/100000'], 'a range of it'
same send_to('head', s3.head_object_url(bucket, 'artifacts/final.zip', expires.())).code, '200', 'presigned HEAD'
same send_to('get', url.sub('octet-stream', 'html')).code, '403', 'a changed type'
brief = s3.get_object_url(bucket, 'artifacts/final.zip', Time.now + 1)
sleep 2
same send_to('get', brief).code, '403', 'an address that has expired'
same send_to('put', url, 'x').code, '403', 'another method'
held('presigned downloads with a name and a type, and only as they were signed')

keys = (1..30).map { |number| "many/#{number} <&>'\".txt" }
keys.each { |name| s3.put_object(bucket, name, name) }
files = directory.files.all(prefix: 'many/', max_keys: 10)
assert files.is_truncated, 'a page'
names = []
directory.files.all(prefix: 'many/', max_keys: 10).each { |one| names << one.key }
same names, keys.sort, 'page by page'
same s3.get_bucket(bucket, 'delimiter' => '/').body['CommonPrefixes'], %w[artifacts/ files/ lfs/ many/ tmp/], 'common prefixes'
answer = s3.delete_multiple_objects(bucket, keys)
same answer.body['DeleteResult'].map { |row| row['Deleted']['Key'] }.sort, keys.sort, 'all are reported'
same s3.delete_multiple_objects(bucket, keys, quiet: true).body['DeleteResult'], [], 'quietly'
same directory.files.all(prefix: 'many/').length, 0, 'all are gone'
held('listings page by page, and many deletes with Content-MD5')

refused(404, 'NoSuchKey') { s3.get_object(bucket, 'missing') }
refused(404, 'NoSuchBucket') { s3.get_object('no-such-bucket-here', 'missing') }
refused(404, nil) { s3.head_object(bucket, 'missing') }
refused(409, 'BucketNotEmpty') { s3.delete_bucket(bucket) }
s3.put_bucket_tagging(bucket, 'team' => 'red')
same s3.get_bucket_tagging(bucket).body['BucketTagging'], { 'team' => 'red' }, 'tags'
s3.put_bucket_versioning(bucket, 'Enabled')
same s3.get_bucket_versioning(bucket).body['VersioningConfiguration'], { 'Status' => 'Enabled' }, 'versioning'
s3.put_bucket_lifecycle(bucket, 'Rules' => [{ 'ID' => 'tmp', 'Prefix' => 'tmp/', 'Enabled' => true, 'Days' => 1 }])
same s3.get_bucket_lifecycle(bucket).body['Rules'].map { |rule| rule['ID'] }, ['tmp'], 'lifecycle'
held('what is missing, and what a bucket is told')
